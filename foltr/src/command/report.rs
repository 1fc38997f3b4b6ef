//! `foltr report`: the results of folders on one page, and as files for a paper.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

use super::{End, make_folder};
use crate::cli::ReportArgs;
use crate::output::say;
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
        say(format_args!("{n_finished} of {n_planned} runs are finished; the report is about those"));
    }
    if let Some(out) = out {
        write_report(&page, arguments, out, started)?;
    }
    if let Some(paper) = &arguments.paper {
        let is_new = page.write_paper(paper, &arguments.format())?;
        let example = if is_new { "" } else { "; main.tex was there and is left as it is" };
        say(format_args!("paper:   {}{example}", paper.display()));
    }
    Ok(End::Done)
}

fn write_report(page: &Page, arguments: &ReportArgs, out: &Path, started: Instant) -> Result<()> {
    let [pictures, tables] = ["figures", "tables"].map(|name| out.join(name));
    make_folder(&pictures)?;
    make_folder(&tables)?;
    let path = out.join("report.html");
    std::fs::write(&path, &page.html).with_context(|| format!("{} cannot be written", path.display()))?;
    let n_tables = page.write_tables(&tables)?;
    let n_figures = page.write_figures(&pictures, &arguments.format())?;
    say(format_args!("report:  {} ({:.1} s)", path.display(), started.elapsed().as_secs_f64()));
    say(format_args!("tables:  {n_tables} in {}, as LaTeX, CSV and Markdown", tables.display()));
    say(format_args!("figures: {n_figures} in {}, as SVG, PNG and PDF", pictures.display()));
    Ok(())
}
