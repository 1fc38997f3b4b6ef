//! `foltr run`: one experiment file, with everything that it sweeps.

use std::path::Path;

use anyhow::Result;

use super::{End, STOP, catch_interrupts};
use crate::execute::{Completion, Execution, Shard, progress_bar, run_grid};
use crate::grid::Grid;
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::Split;
use crate::summary::SettingSummary;
use crate::table::{grouped, table, with_interval};

/// Settings that the table on the screen shows; all are in summary.json.
const MOST_SHOWN: usize = 60;

/// Runs an experiment file into a result folder; continues what an earlier start has left.
///
/// # Errors
/// If the file is wrong, data cannot be read, a run fails or results cannot be written.
pub fn run(spec: &Path, overrides: &[String], out: &Path, shard: Option<Shard>, parquet: bool) -> Result<End> {
    let grid = Grid::read(spec, overrides)?;
    catch_interrupts()?;
    let bar = progress_bar();
    let how = Execution { shard, bar: &bar, stop: &STOP, parquet };
    let Completion { results, n_wanted, n_found, cautions, interrupted } = run_grid(grid, out, &how)?;
    if n_found > 0 {
        println!("{n_found} of {n_wanted} runs had been finished before");
    }
    tell(&results, out);
    cautions.iter().for_each(|caution| eprintln!("caution: {caution}"));
    if interrupted {
        let n_finished = results.runs.len();
        eprintln!("interrupted: {n_finished} of {n_wanted} runs are finished; the same command goes on from there");
        return Ok(End::Interrupted);
    }
    Ok(End::Done)
}

/// Prints what a result folder says.
pub fn tell(results: &Results, out: &Path) {
    println!("{}", told(results));
    if results.grid.settings.len() > MOST_SHOWN {
        println!("{MOST_SHOWN} of {} settings; all are in summary.json", results.grid.settings.len());
    }
    let (seconds, n) = (results.about.training_seconds, results.about.n_interactions);
    if n > 0 && seconds > 0.0 {
        println!("{} interactions, {} a second and thread", grouped(n), grouped((n as f64 / seconds) as u64));
    }
    println!("rows:    {}\nsummary: {}", out.join("rows.csv").display(), out.join("summary.json").display());
    println!("a page:  foltr report {}", out.display());
}

/// One line a setting: labels, number of runs, final value of every offline metric on the best split, online value.
fn told(results: &Results) -> String {
    let axes = results.grid.axes();
    let shown: Vec<SettingSummary<'_>> =
        (0..results.grid.settings.len().min(MOST_SHOWN)).map(|i| SettingSummary::of(results, i)).collect();
    let metrics = shown_metrics(results);
    let mut header: Vec<String> = axes.clone();
    header.extend(metrics.iter().map(|metric| format!("{metric}, final")));
    let online = shown.iter().any(|setting| setting.online.is_some());
    if online {
        header.extend(["online nDCG, mean".into(), "discounted sum".into()]);
    }
    header.push("runs".into());
    let rows = shown.iter().map(|setting| {
        let mut row: Vec<String> =
            axes.iter().map(|axis| (*setting.labels.get(axis.as_str()).unwrap_or(&"")).to_owned()).collect();
        let value = |metric: &String| setting.final_values.get(metric).map(with_interval).unwrap_or_default();
        row.extend(metrics.iter().map(value));
        if online {
            let pair = setting.online.map(|online| [online.mean_ndcg, online.discounted_sum]);
            row.extend(pair.map_or_else(|| [const { String::new() }; 2], |pair| pair.map(|one| with_interval(&one))));
        }
        row.push(setting.n_runs.to_string());
        row
    });
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    table(&header, axes.len(), rows.collect())
}

/// All offline metrics, or those of test queries alone when there are too many for a screen.
fn shown_metrics(results: &Results) -> Vec<String> {
    let mut metrics: Vec<MetricName> = Vec::new();
    for metric in (0..results.grid.settings.len()).flat_map(|i| results.metrics(i)) {
        if metric.split().is_some() && !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    if metrics.len() > 4 {
        metrics.retain(|metric| metric.split() == Some(Split::Test));
    }
    metrics.iter().map(ToString::to_string).collect()
}
