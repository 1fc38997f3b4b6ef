//! The commands: one file each, and how they end.

pub mod audit;
mod audit_figure;
pub mod data;
pub mod dry_run;
pub mod evaluate;
pub mod list;
pub mod main_job;
pub mod merge;
pub mod mimic;
pub mod privacy;
pub mod report;
pub mod reproduce;
mod results;
pub mod run;
pub mod search;
pub mod trec;
pub mod tune;
pub mod unlearn;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use foltr_experiment::spec::SpecError;
use foltr_report::report::ChoiceError;

pub static STOP: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// Everything was done, and something did not hold; it was printed already.
    Failed,
    Interrupted,
}

/// Turns the first Ctrl-C into [`STOP`], the second into an immediate end. To be called where [`STOP`] is looked at.
fn catch_interrupts() -> Result<()> {
    let handler = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nstopping after this round; press Ctrl-C again to stop at once");
    };
    ctrlc::set_handler(handler).context("Ctrl-C cannot be caught")
}

pub fn exit_code(end: Result<End>) -> ExitCode {
    match end {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Failed) => ExitCode::FAILURE,
        Ok(End::Interrupted) => ExitCode::from(130),
        Err(error) => {
            let wrong_file = error.downcast_ref::<SpecError>().is_some();
            let wrong_choice = error.is::<ChoiceError>() || error.is::<reproduce::UnknownEntry>();
            eprintln!("{}{error:#}", if wrong_file { "" } else { "error: " });
            ExitCode::from(if wrong_file || wrong_choice { 2 } else { 1 })
        }
    }
}

/// Prints the output of a command. Whoever reads may stop reading, as `head` does.
pub fn print(text: &str) -> Result<End> {
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(End::Done)
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("the folder {} cannot be made", path.display()))
}
