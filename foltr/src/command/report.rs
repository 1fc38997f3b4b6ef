//! `foltr report`: the results of a folder on one page.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;

use super::{End, make_folder};
use crate::output::{self, chat, note};
use foltr_experiment::store::RunStore;
use foltr_report::report::{Choices, Page, read};

pub fn run(folder: &Path, choices: &Choices) -> Result<End> {
    let started = Instant::now();
    let _lock = RunStore::of_study(folder)?;
    let report = read(folder)?;
    let page = Page::of(&report, choices)?;
    let path = folder.join("report.html");
    std::fs::write(&path, &page.html).with_context(|| format!("{} cannot be written", path.display()))?;
    let pictures = folder.join("figures");
    make_folder(&pictures)?;
    let written = page.write_figures(&pictures)?;
    let (n_finished, n_planned) = (report.results.runs.len(), report.results.about.n_runs);
    if n_finished < n_planned {
        note(format_args!("warning: {n_finished} of {n_planned} runs are finished; the report is about those"));
    }
    chat(format_args!("report:  {} ({:.1} s)", path.display(), started.elapsed().as_secs_f64()));
    chat(format_args!("figures: {} in {}", written.len(), pictures.display()));
    output::answer(&json!({ "report": path, "figures": written, "n_finished": n_finished, "n_planned": n_planned }))?;
    Ok(End::Done)
}
