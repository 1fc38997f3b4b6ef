//! What `foltr-agent` does when it is called.

mod export;
mod federation;
mod folders;
mod reach;
mod run;
mod search;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::extract;
use crate::home::Home;

/// How a worker that reads files is started.
pub const WORKER: &str = "read-files";

/// Search over your own files that gets better as you use it. Nothing leaves this machine unless you join a federation.
#[derive(Debug, Parser)]
#[command(name = "foltr-agent", version, propagate_version = true)]
pub struct Arguments {
    /// The agent's folder, in place of the usual one (or that in FOLTR_AGENT_HOME).
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the files below a folder searchable.
    Add(folders::AddArgs),
    /// Take a folder out of the index. Its files stay where they are.
    Remove(folders::RemoveArgs),
    /// Answer searches on a page of this machine, and watch the folders, until Ctrl-C.
    Run(run::RunArgs),
    /// Open the page of the agent that runs in the browser.
    Page,
    /// Search, here or through the agent that runs.
    Search(search::SearchArgs),
    /// Open a result of the last search. The agent learns from it.
    Open(search::OpenArgs),
    /// What the agent knows, how good it is, and what it has sent.
    Status(status::StatusArgs),
    /// Why a result of the last search is where it is; without a number, what stays on this machine and what leaves it.
    Explain(search::ExplainArgs),
    /// Learn with others: take part in a federation.
    Join(federation::JoinArgs),
    /// Record, learn and send nothing any more, until `resume`.
    Pause,
    /// Go on after `pause`.
    Resume,
    /// Delete what was learnt and what was opened, and ask the federation to forget it.
    Forget(federation::ForgetArgs),
    /// Write all that the agent has recorded and learnt about you as JSON.
    Export(export::ExportArgs),
    /// Read texts of files for another process.
    #[command(name = WORKER, hide = true)]
    ReadFiles,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode> {
        if let Command::ReadFiles = self.command {
            extract::run_child();
        }
        let home = Home::open(self.home.as_deref())?;
        match self.command {
            Command::Add(arguments) => folders::add(home, &arguments)?,
            Command::Remove(arguments) => folders::remove(home, &arguments)?,
            Command::Run(arguments) => run::run(home, &arguments)?,
            Command::Page => run::open_page(&home)?,
            Command::Search(arguments) => search::search(home, &arguments)?,
            Command::Open(arguments) => search::open(home, &arguments)?,
            Command::Status(arguments) => status::status(home, &arguments)?,
            Command::Explain(arguments) => search::explain(home, &arguments)?,
            Command::Join(arguments) => federation::join(home, &arguments)?,
            Command::Pause => federation::set_paused(home, true)?,
            Command::Resume => federation::set_paused(home, false)?,
            Command::Forget(arguments) => federation::forget(home, &arguments)?,
            Command::Export(arguments) => export::export(home, &arguments)?,
            Command::ReadFiles => unreachable!("it was run above"),
        }
        Ok(ExitCode::SUCCESS)
    }
}
