//! What `foltr-server` does when it is called.

mod federation;
mod init;
mod invite;
mod run;
mod status;
mod verify;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};

use crate::application::system_clock;
use crate::folder::Folder;
use crate::operator::{Action, Done, Operator};
use crate::service::Service;

/// The server of federations that learn to rank.
#[derive(Debug, Parser)]
#[command(name = "foltr-server", version, about, propagate_version = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a server's folder with a federation: that of a finished run, or one with safe defaults.
    Init(init::InitArgs),
    /// Serve the federations of a folder until Ctrl-C or SIGTERM.
    Run(run::RunArgs),
    /// Invitations: what devices join with.
    #[command(subcommand)]
    Invite(invite::InviteCommand),
    /// What the federations do, and why no round closes.
    Status {
        #[command(flatten)]
        folder: FolderArg,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check everything that is stored: releases, rounds, receipts, histories.
    Verify {
        #[command(flatten)]
        folder: FolderArg,
    },
    /// Write the published ranker to a file that `foltr evaluate` reads.
    Export(federation::ExportArgs),
    /// Give out no task any more, until `resume`.
    Hold(One),
    /// Go on after `hold`.
    Resume(One),
    /// Close the open round now.
    Close(One),
    /// Publish the parameters of an earlier release as a new one.
    Rollback {
        #[command(flatten)]
        one: One,
        /// The version to return to.
        #[arg(value_name = "VERSION")]
        version: u32,
    },
    /// Forget a device: unlearn what it contributed, and erase what is stored of it.
    Forget(federation::ForgetArgs),
    /// Do not know a device any more.
    Revoke(Device),
    /// Put another plan into force. Devices stay enrolled.
    Plan(federation::PlanArgs),
    /// Publish a release that names a new signing key.
    RotateKey(One),
    /// Make a new token for the operator, in place of all earlier ones.
    Token {
        #[command(flatten)]
        folder: FolderArg,
    },
}

#[derive(Debug, Args)]
struct FolderArg {
    /// The server's folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
struct One {
    #[command(flatten)]
    folder: FolderArg,
    /// The federation; needed where there are several.
    #[arg(long, value_name = "NAME")]
    federation: Option<String>,
}

#[derive(Debug, Args)]
struct Device {
    #[command(flatten)]
    one: One,
    /// Its id: 64 hexadecimal digits.
    #[arg(value_name = "ID")]
    device: String,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Init(arguments) => init::run(arguments)?,
        Command::Run(arguments) => run::run(arguments)?,
        Command::Invite(command) => invite::run(command)?,
        Command::Status { folder, json } => status::run(folder, *json)?,
        Command::Verify { folder } => return verify::run(folder),
        Command::Export(arguments) => federation::export(arguments)?,
        Command::Hold(one) => act(one, &Action::Hold)?,
        Command::Resume(one) => act(one, &Action::Resume)?,
        Command::Close(one) => act(one, &Action::CloseRound)?,
        Command::Rollback { one, version } => act(one, &Action::RollBack { version: *version })?,
        Command::Forget(arguments) => federation::forget(arguments)?,
        Command::Revoke(Device { one, device }) => act(one, &Action::RevokeDevice { device: device.clone() })?,
        Command::Plan(arguments) => federation::change_plan(arguments)?,
        Command::RotateKey(one) => act(one, &Action::RotateKey)?,
        Command::Token { folder } => init::new_token(&Folder::open(&folder.folder)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The federations of a folder, beside a server that may be running: what is done is in the database.
fn service(folder: &Folder) -> Result<Arc<Service>> {
    Ok(Arc::new(folder.service(folder.pool()?, system_clock())?))
}

/// The federation that is meant: the one that is named, or the only one.
fn name_of(folder: &Folder, named: Option<&str>) -> Result<String> {
    let names = folder.names()?;
    match (named, names.as_slice()) {
        (Some(name), names) if names.iter().any(|own| own == name) => Ok(name.to_owned()),
        (Some(name), names) => bail!("there is no federation {name:?}; there are {}", names.join(", ")),
        (None, [only]) => Ok(only.clone()),
        (None, names) => bail!("name one of the federations with --federation: {}", names.join(", ")),
    }
}

fn act(one: &One, action: &Action) -> Result<()> {
    let folder = Folder::open(&one.folder.folder)?;
    let name = name_of(&folder, one.federation.as_deref())?;
    match service(&folder)?.act(&name, action)? {
        Done::Done => say(&format!("done: {}", action.name())),
        Done::Release { version } => say(&format!("done: release {version} is published")),
        Done::Invitation { invitation, .. } => say(&invitation),
    }
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
