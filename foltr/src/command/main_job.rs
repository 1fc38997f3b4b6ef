//! `foltr` without a command: the main job.

use std::path::Path;

use anyhow::Result;

use super::{End, STOP, catch_interrupts};
use crate::demo;
use crate::progress::{progress_bar, show};
use foltr_experiment::execute::Execution;
use foltr_experiment::results::Results;
use foltr_experiment::spec::SpecError;
use foltr_experiment::store::RunStore;
use foltr_report::assemble::run_grid;
use foltr_report::plot;
use foltr_report::summary::SettingSummary;
use foltr_report::table::{grouped, table, with_interval};

/// Trains all methods under all users; prints the table and the path of the figure.
///
/// # Errors
/// If a run fails or results cannot be written.
pub fn run(out: &Path, n_seeds: u64) -> Result<End> {
    let wrong = |problems| SpecError::Wrong { path: "main-job.toml".into(), problems };
    let grid = demo::grid(n_seeds).map_err(wrong)?;
    let n_interactions = grid.settings[0].experiment.schedule().map_or(0, |schedule| schedule.n_interactions());
    let n_methods = demo::labels(&grid, "method").len();
    println!(
        "{} runs: {n_methods} methods x {} kinds of users x {n_seeds} seeds, {} interactions each",
        grid.settings.len() as u64 * n_seeds,
        grid.settings.len() / n_methods,
        grouped(n_interactions as u64)
    );
    let store = RunStore::open(out)?;
    catch_interrupts()?;
    let bar = progress_bar();
    let progress = |event| show(&bar, event);
    let how = Execution::new(&progress, &STOP);
    let outcome = run_grid(grid, &store, None, &how)?;
    outcome.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let results = outcome.results;
    if outcome.interrupted {
        let (n_finished, n_wanted) = (results.runs.len(), outcome.n_wanted);
        eprintln!("interrupted: {n_finished} of {n_wanted} runs are finished; rerun the same command to resume");
        return Ok(End::Interrupted);
    }
    println!("{}", told(&results));
    let (svg, png) = plot::write(&demo::figure(&results).svg(), &out.join("learning-curves"))?;
    println!("figure: {}\n        {}", svg.display(), png.display());
    Ok(End::Done)
}

fn told(results: &Results) -> String {
    let mut rows = Vec::new();
    for users in demo::labels(&results.grid, "users.preset") {
        let mut name = users.as_str();
        for (i, setting) in results.grid.settings.iter().enumerate() {
            if setting.label("users.preset") != Some(&users) {
                continue;
            }
            let summary = SettingSummary::of(results, i);
            let seconds: f64 = results.runs_of(i).map(|run| run.training_seconds).sum();
            let n_interactions: u64 = results.runs_of(i).map(|run| run.n_interactions).sum();
            rows.push(vec![
                // The name of the users once, on the first line of their block.
                std::mem::take(&mut name).to_owned(),
                setting.label("method").unwrap_or_default().to_owned(),
                summary.final_values.get(&demo::METRIC.to_string()).map(with_interval).unwrap_or_default(),
                summary.online.map(|online| with_interval(&online.mean_ndcg)).unwrap_or_default(),
                grouped((n_interactions as f64 / seconds) as u64),
            ]);
        }
    }
    table(&["users", "method", "offline nDCG@10", "online nDCG@10", "interactions/s"], 2, rows)
}
