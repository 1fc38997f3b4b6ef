//! `foltr run`: one experiment file, with everything that it sweeps.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{End, STOP, catch_interrupts};
use crate::progress::{progress_bar, show, step_bar};
use crate::{catalogue, judge};
use foltr_experiment::execute::{Execution, Interrupted, Shard, run_jobs};
use foltr_experiment::job::Job;
use foltr_experiment::mimic::Step;
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::{SpecError, Split};
use foltr_experiment::store::RunStore;
use foltr_experiment::study::{Asked, StudyFile};
use foltr_report::assemble::{GridOutcome, StudyRun};
use foltr_report::mimic;
use foltr_report::summary::SettingSummary;
use foltr_report::table::{grouped, table, with_interval};

/// Settings that the table on the screen shows; all are in summary.json.
const MOST_SHOWN: usize = 60;

/// What is run where.
pub struct RunOptions<'a> {
    pub spec: &'a Path,
    pub overrides: &'a [String],
    pub out: &'a Path,
    pub shard: Option<Shard>,
    pub parquet: bool,
    pub is_quick: bool,
    pub retrain_forgotten: bool,
    /// Of mimic learning.
    pub steps: &'a [Step],
}

impl<'a> RunOptions<'a> {
    pub fn new(spec: &'a Path, overrides: &'a [String], out: &'a Path) -> Self {
        let steps = &Step::ALL;
        Self { spec, overrides, out, shard: None, parquet: false, is_quick: false, retrain_forgotten: false, steps }
    }
}

/// Runs an experiment file into a result folder; continues what an earlier start has left.
///
/// # Errors
/// If the file is wrong, data cannot be read, a run fails or results cannot be written.
pub fn run(options: &RunOptions<'_>) -> Result<End> {
    if options.parquet {
        foltr_report::parquet::ensure_available()?;
    }
    let asked = Asked { entry: None, is_quick: options.is_quick, overrides: options.overrides };
    let (study, criteria) =
        SpecError::reading(options.spec, |text| catalogue::checked(&StudyFile::from_toml(text)?, &asked))?;
    ensure!(
        study.choose.is_none() || options.shard.is_none(),
        "--shard is not supported with [choose]: requires all runs of the choice"
    );
    let store = RunStore::open(options.out)?;
    catch_interrupts()?;
    let is_mimic = study.grid.settings.iter().all(|setting| setting.experiment.mimic().is_some());
    let bar = if is_mimic { step_bar() } else { progress_bar() };
    let progress = |event| show(&bar, event);
    let how = Execution {
        retrain_forgotten: options.retrain_forgotten,
        steps: options.steps,
        ..Execution::new(&progress, &STOP)
    };
    let Some(grid) = judge::chosen_grid(&study, &store, None, &how)? else { return Ok(interrupted()) };
    let prepared = StudyRun::prepare(grid, &store, None, options.shard)?;
    prepared.data.stores().for_each(|data| println!("data: {}", data.describe()));
    let executed = run_jobs(&prepared.plan, &prepared.data, &store, &how)?;
    let outcome = prepared.finish(executed, options.parquet)?;
    outcome.notes.iter().for_each(|note| eprintln!("note: {note}"));
    if outcome.n_found > 0 {
        println!("{} of {} runs had been finished before", outcome.n_found, outcome.n_wanted);
    }
    tell_outcome(&outcome, &store, options)?;
    if outcome.interrupted {
        let (n_finished, n_wanted) = (outcome.results.runs.len(), outcome.n_wanted);
        eprintln!("interrupted: {n_finished} of {n_wanted} runs are finished; rerun the same command to resume");
        return Ok(End::Interrupted);
    }
    if criteria.is_empty() || options.shard.is_some() {
        return Ok(End::Done);
    }
    let judged = judge::judge(&study, &criteria, &outcome.results, options.out)?;
    judged.print(options.out);
    Ok(if judged.is_failure() { End::Failed } else { End::Done })
}

fn interrupted() -> End {
    eprintln!("{Interrupted}");
    End::Interrupted
}

fn tell_outcome(outcome: &GridOutcome, store: &RunStore, options: &RunOptions<'_>) -> Result<()> {
    if !outcome.interrupted {
        tell_networks(&outcome.results, &outcome.jobs, store, options.steps)?;
    }
    if options.steps.contains(&Step::Evaluate) {
        tell(&outcome.results, options.out)?;
    }
    outcome.cautions.iter().for_each(|caution| eprintln!("caution: {caution}"));
    Ok(())
}

/// Prints what a result folder says.
///
/// # Errors
/// If a run is damaged.
pub fn tell(results: &Results, out: &Path) -> Result<()> {
    let settings = results.grid.settings.iter().enumerate();
    let mimic: Vec<usize> = settings.filter(|(_, it)| it.experiment.mimic().is_some()).map(|(i, _)| i).collect();
    tell_mimic(results, &mimic)?;
    if mimic.len() < results.grid.settings.len() {
        println!("{}", told(results));
    }
    if results.grid.settings.len() > MOST_SHOWN {
        println!("{MOST_SHOWN} of {} settings; all are in summary.json", results.grid.settings.len());
    }
    let (seconds, n) = (results.about.training_seconds, results.about.n_interactions);
    if n > 0 && seconds > 0.0 {
        println!("{} interactions, {} a second and thread", grouped(n), grouped((n as f64 / seconds) as u64));
    }
    println!("rows:    {}\nsummary: {}", out.join("rows.csv").display(), out.join("summary.json").display());
    println!("a page:  foltr report {}", out.display());
    Ok(())
}

/// Where the networks of the first run of mimic learning are.
fn tell_networks(results: &Results, jobs: &[Job], store: &RunStore, steps: &[Step]) -> Result<()> {
    let first = jobs.iter().find_map(|job| Some((job, results.grid.settings[job.setting].experiment.mimic()?)));
    let Some((job, experiment)) = first else { return Ok(()) };
    let finished = store.run_folder(&job.key);
    let folder = if finished.exists() { finished } else { finished.with_extension("partial") };
    let names: Vec<&str> = experiment.aggregation.iter().map(|how| how.name.as_str()).collect();
    super::mimic::print_files(&folder, &names, steps)
}

fn tell_mimic(results: &Results, settings: &[usize]) -> Result<()> {
    for &i in settings.iter().take(MOST_SHOWN) {
        let evaluations = mimic::evaluations(results, i)?;
        if evaluations.is_empty() {
            println!("no query was judged: there is nothing to evaluate");
            continue;
        }
        let summary = mimic::Summary::of(&evaluations);
        let name = results.grid.settings[i].name();
        println!("{}{}{}", name, if name.is_empty() { "" } else { "\n" }, summary.render());
        if summary.line("bm25").is_some() {
            println!("p: paired t-test of nDCG@20 by query, means over seeds; weight: chosen on validation queries");
        }
    }
    Ok(())
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
