//! `foltr-server export` and `plan`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::{One, name_of, say, service};
use crate::folder::Folder;
use crate::operator::{Action, Operator};
use crate::plan_file::{self, DEPLOY_FILE, MODEL_FILE, PLAN_FILE};

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    one: One,
    /// An earlier release [default: the published ranker].
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Where to write [default: FEDERATION-VERSION.safetensors].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the history instead, which `foltr receipt verify` compares receipts with.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["version", "out"])]
    history: Option<PathBuf>,
    /// Of this shard.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "history")]
    shard: u32,
}

#[derive(Debug, Args)]
pub struct ForgetArgs {
    #[command(flatten)]
    one: One,
    /// The device's id: 64 hexadecimal digits.
    #[arg(value_name = "ID")]
    device: String,
    /// Write the deletion receipt here [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn forget(arguments: &ForgetArgs) -> Result<()> {
    let folder = Folder::open(&arguments.one.folder.folder)?;
    let name = name_of(&folder, arguments.one.federation.as_deref())?;
    let service = service(&folder)?;
    service.act(&name, &Action::Forget { device: arguments.device.clone() })?;
    let Some(receipt) = service.receipt_of(&name, &arguments.device)? else {
        return say("queued: it is met when the round that is being closed is over, or the federation is resumed");
    };
    match &arguments.out {
        None => say(&String::from_utf8_lossy(&receipt)),
        Some(out) => {
            std::fs::write(out, &receipt).with_context(|| out.display().to_string())?;
            say(&format!("{}: the deletion receipt", out.display()))
        }
    }
}

pub fn export(arguments: &ExportArgs) -> Result<()> {
    let folder = Folder::open(&arguments.one.folder.folder)?;
    let name = name_of(&folder, arguments.one.federation.as_deref())?;
    if let Some(file) = &arguments.history {
        let bytes = service(&folder)?.history_of(&name, arguments.shard)?;
        std::fs::write(file, &bytes).with_context(|| file.display().to_string())?;
        return say(&format!("{} ({} bytes)", file.display(), bytes.len()));
    }
    let model = service(&folder)?.export(&name, arguments.version)?;
    let out = arguments.out.clone().unwrap_or_else(|| model.file_name.clone().into());
    std::fs::write(&out, &model.bytes).with_context(|| out.display().to_string())?;
    say(&format!("{} ({} bytes)", out.display(), model.bytes.len()))
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    one: One,
    /// A folder with plan.toml, or a finished run: the plan, and the model where there is one.
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
}

pub fn change_plan(arguments: &PlanArgs) -> Result<()> {
    let folder = Folder::open(&arguments.one.folder.folder)?;
    let name = name_of(&folder, arguments.one.federation.as_deref())?;
    let source = plan_file::read(&arguments.from)?;
    let version = service(&folder)?.change_plan(&name, &source.plan, source.model)?;
    // Exports and later servers look here; the database has the plan itself.
    let own = folder.federation(&name);
    for file in [PLAN_FILE, DEPLOY_FILE, MODEL_FILE] {
        let (from, to) = (arguments.from.join(file), own.join(file));
        if from.is_file() && from != to {
            std::fs::copy(&from, &to).with_context(|| to.display().to_string())?;
        } else if to.is_file() && from != to {
            std::fs::remove_file(&to).with_context(|| to.display().to_string())?;
        }
    }
    say(&format!("done: release {version} names the new plan"))
}
