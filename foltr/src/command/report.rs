//! `foltr report`: the results of folders on one page, and as files for a paper.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;

use super::{End, make_folder};
use crate::cli::ReportArgs;
use crate::output::{self, chat, note};
use foltr_experiment::store::RunStore;
use foltr_report::report::{ChoiceError, Page, read_all};

pub fn run(arguments: &ReportArgs) -> Result<End> {
    let started = Instant::now();
    let out = arguments.out.as_deref().or(match &arguments.folders[..] {
        [only] => Some(only.as_path()),
        _ => None,
    });
    if out.is_none() && arguments.paper.is_none() {
        return Err(ChoiceError::NoPlace.into());
    }
    let _locks = arguments.folders.iter().map(|folder| RunStore::of_study(folder)).collect::<Result<Vec<_>>>()?;
    let report = read_all(&arguments.folders, &arguments.labels)?;
    let page = Page::of(&report, &arguments.choices())?;
    let (n_finished, n_planned) = (report.results.runs.len(), report.results.about.n_runs);
    if n_finished < n_planned {
        note(format_args!("warning: {n_finished} of {n_planned} runs are finished; the report is about those"));
    }
    let written = out.map(|out| write_report(&page, arguments, out, started)).transpose()?.unwrap_or_default();
    if let Some(paper) = &arguments.paper {
        let is_new = page.write_paper(paper, &arguments.format())?;
        let example = if is_new { "" } else { "; main.tex was there and is left as it is" };
        chat(format_args!("paper:   {}{example}", paper.display()));
    }
    let Written { report, tables, figures } = written;
    output::answer(&json!({
        "report": report,
        "tables": tables,
        "figures": figures,
        "paper": arguments.paper,
        "n_finished": n_finished,
        "n_planned": n_planned,
    }))?;
    Ok(End::Done)
}

#[derive(Default)]
struct Written {
    report: Option<PathBuf>,
    tables: Vec<PathBuf>,
    figures: Vec<PathBuf>,
}

fn write_report(page: &Page, arguments: &ReportArgs, out: &Path, started: Instant) -> Result<Written> {
    let [pictures, tables] = ["figures", "tables"].map(|name| out.join(name));
    make_folder(&pictures)?;
    make_folder(&tables)?;
    let path = out.join("report.html");
    std::fs::write(&path, &page.html).with_context(|| format!("{} cannot be written", path.display()))?;
    let of_tables = page.write_tables(&tables)?;
    let of_figures = page.write_figures(&pictures, &arguments.format())?;
    chat(format_args!("report:  {} ({:.1} s)", path.display(), started.elapsed().as_secs_f64()));
    chat(format_args!("tables:  {} files in {}: LaTeX, CSV, Markdown", of_tables.len(), tables.display()));
    chat(format_args!("figures: {} files in {}: SVG, PNG, PDF", of_figures.len(), pictures.display()));
    Ok(Written { report: Some(path), tables: of_tables, figures: of_figures })
}
