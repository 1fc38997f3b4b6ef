//! `foltr run`: one experiment file.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};

use super::{End, STOP, catch_interrupts, make_folder, write_file};
use crate::data;
use crate::execute::{Job, execute, progress_bar};
use crate::rows::MetricName;
use crate::run::resolve_grades;
use crate::spec::{Experiment, Problem, SpecError, Split};
use crate::summary::Summary;
use crate::table::{grouped, table, with_interval};

/// Runs an experiment file and writes `rows.csv`, `summary.json` and `resolved.toml`.
///
/// # Errors
/// If the file is wrong, data cannot be read, a run fails or results cannot be written.
pub fn run(spec: &Path, out: &Path) -> Result<End> {
    let mut experiment = Experiment::read(spec)?;
    let folds = data::load(&experiment.data)?;
    resolve_grades(&mut experiment, folds.iter().map(|(_, fold)| fold));
    let no_validation = folds.iter().any(|(_, fold)| fold.validation.is_none());
    if no_validation && experiment.metrics.evaluate_on.contains(&Split::Validation) {
        let problem = Problem::new("metrics.evaluate_on", "the data has no validation queries to evaluate on");
        return Err(SpecError::Wrong { path: spec.into(), problems: vec![problem] }.into());
    }
    // Not before: only runs look at STOP, and loading must end at once.
    catch_interrupts()?;
    make_folder(out)?;
    write_file(&out.join("resolved.toml"), experiment.to_toml()?.as_bytes())?;
    let jobs: Vec<Job<'_>> = folds
        .iter()
        .flat_map(|(fold_number, fold)| {
            let job = |&seed| Job { experiment: &experiment, fold, fold_number: *fold_number, seed };
            experiment.seeds.iter().map(job)
        })
        .collect();
    let rows_path = out.join("rows.csv");
    let rows = File::create(&rows_path).with_context(|| format!("{} cannot be written", rows_path.display()))?;
    let bar = progress_bar(&format!("{} runs", jobs.len()));
    let records = execute(&jobs, rows, &bar, &STOP)?;
    bar.finish_and_clear();
    let summary = Summary::of(&experiment, &records);
    let summary_path = out.join("summary.json");
    write_file(&summary_path, &serde_json::to_vec_pretty(&summary)?)?;
    println!("{}", told(&summary));
    println!("rows:    {}\nsummary: {}", rows_path.display(), summary_path.display());
    if STOP.load(Ordering::Relaxed) {
        eprintln!("interrupted: {} of {} runs were complete", summary.n_runs, jobs.len());
        return Ok(End::Interrupted);
    }
    Ok(End::Done)
}

/// The summary as a table.
fn told(summary: &Summary<'_>) -> String {
    let mut rows: Vec<Vec<String>> = summary
        .final_values
        .iter()
        .map(|(metric, estimate)| vec![format!("{metric}, final"), with_interval(estimate), estimate.n.to_string()])
        .collect();
    if let Some(online) = &summary.online {
        let name = MetricName::OnlineNdcg(online.cutoff);
        let estimates = [("mean", &online.mean_ndcg), ("discounted sum", &online.discounted_sum)];
        rows.extend(
            estimates.map(|(what, estimate)| {
                vec![format!("{name}, {what}"), with_interval(estimate), estimate.n.to_string()]
            }),
        );
    }
    if let Some(rate) = summary.interactions_per_second {
        rows.push(vec!["interactions a second".into(), grouped(rate as u64), summary.n_runs.to_string()]);
    }
    table(&["metric", "mean ± 95 %", "runs"], 1, rows)
}
