//! The commands: one file each, and how they end.

pub mod audit;
mod audit_figure;
pub mod cache;
pub mod data;
pub mod demo;
pub mod dry_run;
pub mod evaluate;
pub mod interleave;
pub mod list;
pub mod main_job;
pub mod merge;
pub mod mimic;
pub mod models;
pub mod privacy;
pub mod report;
pub mod reproduce;
mod results;
pub mod run;
pub mod search;
pub mod shell;
pub mod trec;
pub mod tune;
pub mod unlearn;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use crate::output::{self, note};
use foltr_experiment::spec::SpecError;
use foltr_report::report::ChoiceError;

pub static STOP: AtomicBool = AtomicBool::new(false);

/// Arguments that cannot be meant: nothing was run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUsage(pub String);

/// Turns any failure into one of the arguments.
pub fn usage<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| WrongUsage(format!("{error:#}")).into())
}

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
        note(format_args!("\nstopping after this round; press Ctrl-C again to stop at once"));
    };
    ctrlc::set_handler(handler).context("Ctrl-C cannot be caught")
}

/// Prints the last messages; returns the code for the shell.
pub fn exit_code(end: Result<End>) -> ExitCode {
    after_output(match end {
        Ok(End::Done) => 0,
        Ok(End::Failed) => 1,
        Ok(End::Interrupted) => 130,
        Err(error) => code_of(&error),
    })
}

/// Of a command line that is wrong or asks for help.
pub fn exit_code_of_usage(error: &clap::Error) -> ExitCode {
    output::print_clap(error);
    after_output(if error.use_stderr() { 2 } else { 0 })
}

/// Lost output is a failure, unless its reader had read enough.
fn after_output(code: u8) -> ExitCode {
    let Some(error) = output::failure() else { return ExitCode::from(code) };
    note(format_args!("error: standard output cannot be written: {error}"));
    ExitCode::from(code.max(1))
}

fn code_of(error: &anyhow::Error) -> u8 {
    let wrong_file = error.downcast_ref::<SpecError>().is_some();
    let wrong_choice = error.is::<ChoiceError>() || error.is::<reproduce::UnknownEntry>() || error.is::<WrongUsage>();
    note(format_args!("{}{error:#}", if wrong_file { "" } else { "error: " }));
    if wrong_file || wrong_choice { 2 } else { 1 }
}

/// Prints the output of a command as it is. A failed write is reported by [`exit_code`]: whoever prints goes on.
pub fn print(text: &str) -> Result<End> {
    output::print(text);
    Ok(End::Done)
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("the folder {} cannot be made", path.display()))
}
