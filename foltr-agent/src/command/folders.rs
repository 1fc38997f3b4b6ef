//! `add` and `remove`: which files can be searched.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};

use super::WORKER;
use super::reach::Reach;
use crate::agent::Agent;
use crate::extract::{Extractor, Limits, Program};
use crate::home::Home;
use crate::scan::{Asked, Progress, Report, Scanner};

#[derive(Debug, Args)]
pub struct AddArgs {
    /// The folders.
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct RemoveArgs {
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(super) fn extractor() -> Result<Extractor> {
    Ok(Extractor::new(Program::itself(WORKER).context("the program's own file is not known")?, Limits::default()))
}

pub(super) fn add(home: Home, arguments: &AddArgs) -> Result<()> {
    match Reach::of(home)? {
        Reach::Running(client) => {
            for folder in &arguments.folders {
                let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
                client.post::<Value>("folders", &json!({ "add": folder }))?;
                writeln!(std::io::stdout(), "{}: the agent that runs looks at it now", folder.display())?;
            }
            Ok(())
        }
        Reach::Here(agent) => {
            for folder in &arguments.folders {
                agent.add_folder(folder)?;
            }
            let report = look(&agent)?;
            writeln!(std::io::stdout(), "{}", in_words(&report))?;
            Ok(())
        }
    }
}

pub(super) fn remove(home: Home, arguments: &RemoveArgs) -> Result<()> {
    // A folder that is gone has no canonical form.
    let folder = arguments.folder.canonicalize().unwrap_or_else(|_| arguments.folder.clone());
    match Reach::of(home)? {
        Reach::Running(client) => drop(client.post::<Value>("folders", &json!({ "remove": folder }))?),
        Reach::Here(agent) => {
            if !agent.remove_folder(&folder)? {
                bail!("{} was not added", folder.display());
            }
            look(&agent)?;
        }
    }
    Ok(())
}

/// Looks at all files now, with a line that says how far it is. Ctrl-C keeps what is done.
fn look(agent: &Agent) -> Result<Report> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || asked.store(true, std::sync::atomic::Ordering::Relaxed))?;
    let extractor = extractor()?;
    let scanner = Scanner { extractor: &extractor, surroundings: &Asked, share: 1.0, stop: &stop };
    let is_terminal = std::io::stderr().is_terminal();
    let mut last = Instant::now();
    let mut tell = |progress: Progress<'_>| {
        if is_terminal && last.elapsed() > Duration::from_millis(200) {
            last = Instant::now();
            let name = progress.file.file_name().unwrap_or_default().to_string_lossy();
            let name: String = name.chars().filter(|it| !it.is_control()).take(50).collect();
            let _ = write!(std::io::stderr(), "\r\x1b[K{} of {} files  {name}", progress.n_done, progress.n_files);
        }
    };
    let report = scanner.scan(agent, &mut tell)?;
    if is_terminal {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    Ok(report)
}

pub(super) fn in_words(report: &Report) -> String {
    let Report { n_files, n_indexed, n_unchanged, n_moved, n_removed, n_skipped, problems, is_partial } = report;
    let mut text =
        format!("{n_files} files: {n_indexed} indexed, {} as before", n_unchanged.saturating_sub(*n_skipped));
    for (n, what) in [(n_moved, "moved"), (n_removed, "gone"), (n_skipped, "skipped (foltr-agent status says why)")] {
        if *n > 0 {
            text += &format!(", {n} {what}");
        }
    }
    for problem in problems {
        text += &format!("\n{problem}");
    }
    if *is_partial {
        text += "\nstopped before the end; the same command goes on";
    }
    text
}

/// Folders that are named when the agent is started.
pub(super) fn add_all(agent: &Agent, folders: &[PathBuf]) -> Result<()> {
    for folder in folders {
        agent.add_folder(folder)?;
    }
    Ok(())
}
