//! `foltr run --dry-run`: what would be run, how long it would take, and how much memory it needs.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use indicatif::HumanDuration;
use serde::Serialize;

use super::End;
use crate::cli::RunArgs;
use crate::output::{self, note, say};
use foltr_experiment::execute::{DataCache, Plan};
use foltr_experiment::grid::Grid;
use foltr_experiment::probe::{Cost, probe};
use foltr_report::table::{grouped, table};

const MOST_SHOWN: usize = 60;

#[derive(Serialize)]
struct DryRun {
    settings: Vec<DrySetting>,
    n_runs: usize,
    /// Of all runs; steps of training in mimic learning.
    n_interactions: u64,
    /// None for mimic learning, whose time and memory are not estimated.
    seconds: Option<f64>,
    threads: usize,
    megabytes: Option<f64>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct DrySetting {
    labels: Vec<(String, String)>,
    learner: String,
    n_rounds: Option<usize>,
    n_interactions: u64,
    n_runs: usize,
    seconds: Option<f64>,
}

/// Reads the experiment and its data, tries every kind of setting for a moment, and prints what a run would be.
pub fn run(RunArgs { spec, overrides, shard, .. }: &RunArgs) -> Result<End> {
    let grid = Grid::read(spec, overrides)?;
    let data = DataCache::load(&grid)?;
    let plan = Plan::new(grid, &data, *shard)?;
    let costs = probe(&plan, &data)?;
    let dry = DryRun::of(&plan, &costs, &data);
    say(dry.render(&plan.grid.axes()));
    let share = shard.map_or_else(String::new, |shard| format!(" (shard {shard} of {} runs)", plan.n_runs));
    let unit = if dry.seconds.is_some() { "interactions" } else { "steps of training" };
    let (n_settings, n_runs, work) = (dry.settings.len(), dry.n_runs, grouped(dry.n_interactions));
    say(format_args!("{n_settings} settings, {n_runs} runs{share}, {work} {unit}"));
    match (dry.seconds, dry.megabytes) {
        (Some(seconds), Some(megabytes)) => say(format_args!(
            "about {} on {} threads, {megabytes:.0} MB of memory (measured on a few rounds)",
            HumanDuration(Duration::from_secs_f64(seconds)),
            dry.threads
        )),
        _ => say("time and memory of mimic learning are not estimated"),
    }
    dry.warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
    output::answer(&dry)?;
    Ok(End::Done)
}

impl DryRun {
    fn of(plan: &Plan, costs: &[Cost], data: &DataCache) -> Self {
        let threads = rayon::current_num_threads();
        let is_estimated = plan.grid.settings.iter().all(|setting| setting.experiment.training().is_some());
        // Methods of unlearning share their training.
        let mut trainings = HashSet::new();
        let trained = plan.jobs.iter().filter(|job| trainings.insert(job.parent().unwrap_or(&job.key)));
        let seconds: f64 = trained.map(|job| costs[job.setting].seconds).sum::<f64>() / threads as f64;
        let of_runs = costs.iter().map(|cost| cost.bytes).max().unwrap_or(0) * threads;
        let megabytes = (data.n_bytes() + of_runs) as f64 / 1e6;
        let setting = |i: usize| {
            let setting = &plan.grid.settings[i];
            let mut jobs = plan.jobs.iter().filter(|job| job.setting == i);
            DrySetting {
                labels: setting.labels.clone(),
                learner: setting.experiment.learner_name().into(),
                n_rounds: setting.experiment.schedule().map(|schedule| schedule.n_rounds),
                n_interactions: jobs.clone().next().map_or(0, |job| plan.n_interactions(job)),
                n_runs: jobs.by_ref().count(),
                seconds: is_estimated.then(|| costs[i].seconds),
            }
        };
        Self {
            settings: (0..plan.grid.settings.len()).map(setting).collect(),
            n_runs: plan.jobs.len(),
            n_interactions: plan.jobs.iter().map(|job| plan.n_interactions(job)).sum(),
            seconds: is_estimated.then_some(seconds),
            threads,
            megabytes: is_estimated.then_some(megabytes),
            warnings: plan.warnings(data),
        }
    }

    fn render(&self, axes: &[String]) -> String {
        let of_runs: &[&str] = match self.seconds {
            Some(_) => &["learner", "rounds", "interactions a run", "runs", "seconds a run"],
            None => &["learner", "steps a run", "runs"],
        };
        let header: Vec<&str> = axes.iter().map(String::as_str).chain(of_runs.iter().copied()).collect();
        let row = |setting: &DrySetting| {
            let label = |axis: &String| setting.labels.iter().find(|(name, _)| name == axis).map(|(_, it)| it.clone());
            let mut row: Vec<String> = axes.iter().map(|axis| label(axis).unwrap_or_default()).collect();
            row.push(setting.learner.clone());
            if self.seconds.is_some() {
                row.push(setting.n_rounds.map_or_else(String::new, |n_rounds| grouped(n_rounds as u64)));
            }
            row.extend([grouped(setting.n_interactions), setting.n_runs.to_string()]);
            row.extend(setting.seconds.map(|seconds| format!("{seconds:.1}")));
            row
        };
        let mut text = table(&header, axes.len() + 1, self.settings.iter().take(MOST_SHOWN).map(row).collect());
        if self.settings.len() > MOST_SHOWN {
            text += &format!("\n{MOST_SHOWN} of {} settings shown", self.settings.len());
        }
        text
    }
}
