//! `foltr run --dry-run`: what would be run, how long it would take, and how much memory it needs.

use std::time::Duration;

use anyhow::Result;
use indicatif::HumanDuration;
use serde::Serialize;

use super::End;
use super::run::read;
use crate::cli::RunArgs;
use crate::output::{self, note, say};
use foltr_experiment::execute::{DataCache, Plan};
use foltr_experiment::probe::{Cost, probe, seconds};
use foltr_experiment::spec::SpecError;
use foltr_report::table::{grouped, table};

const MOST_SHOWN: usize = 60;

#[derive(Serialize)]
struct DryRun {
    settings: Vec<DrySetting>,
    n_runs: usize,
    /// Of all runs; steps of training in mimic learning.
    n_interactions: u64,
    seconds: f64,
    threads: usize,
    /// None for mimic learning.
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
    /// On one thread.
    seconds: f64,
}

/// Reads the experiment and its data, tries every kind of setting for a moment, and prints what a run would be.
pub fn run(arguments: &RunArgs) -> Result<End> {
    let (study, _) = SpecError::reading(&arguments.spec, |text| read(text, arguments))?;
    let data = DataCache::load(&study.grid)?;
    let plan = Plan::new(study.grid, &data, arguments.shard)?;
    let costs = probe(&plan, &data)?;
    let dry = DryRun::of(&plan, &costs, &data);
    say(dry.render(&plan.grid.axes()));
    let share = arguments.shard.map_or_else(String::new, |shard| format!(" (shard {shard} of {} runs)", plan.n_runs));
    let unit = if dry.megabytes.is_some() { "interactions" } else { "steps of training" };
    let (n_settings, n_runs, work) = (dry.settings.len(), dry.n_runs, grouped(dry.n_interactions));
    say(format_args!("{n_settings} settings, {n_runs} runs{share}, {work} {unit}"));
    let memory = dry.megabytes.map_or_else(String::new, |megabytes| format!(", {megabytes:.0} MB of memory"));
    let (time, threads) = (HumanDuration(Duration::from_secs_f64(dry.seconds)), dry.threads);
    say(format_args!("about {time} on {threads} threads{memory} (measured on a few rounds)"));
    dry.warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
    output::answer(&dry)?;
    Ok(End::Done)
}

impl DryRun {
    fn of(plan: &Plan, costs: &[Cost], data: &DataCache) -> Self {
        let threads = rayon::current_num_threads();
        let is_training = plan.grid.settings.iter().all(|setting| setting.experiment.training().is_some());
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
                seconds: costs[i].seconds,
            }
        };
        Self {
            settings: (0..plan.grid.settings.len()).map(setting).collect(),
            n_runs: plan.jobs.len(),
            n_interactions: plan.jobs.iter().map(|job| plan.n_interactions(job)).sum(),
            seconds: seconds(&plan.jobs, costs) / threads as f64,
            threads,
            megabytes: is_training.then_some(megabytes),
            warnings: plan.warnings(data),
        }
    }

    fn render(&self, axes: &[String]) -> String {
        let of_runs: &[&str] = match self.megabytes {
            Some(_) => &["learner", "rounds", "interactions a run", "runs", "seconds a run"],
            None => &["learner", "steps a run", "runs", "seconds a run"],
        };
        let header: Vec<&str> = axes.iter().map(String::as_str).chain(of_runs.iter().copied()).collect();
        let row = |setting: &DrySetting| {
            let label = |axis: &String| setting.labels.iter().find(|(name, _)| name == axis).map(|(_, it)| it.clone());
            let mut row: Vec<String> = axes.iter().map(|axis| label(axis).unwrap_or_default()).collect();
            row.push(setting.learner.clone());
            if self.megabytes.is_some() {
                row.push(setting.n_rounds.map_or_else(String::new, |n_rounds| grouped(n_rounds as u64)));
            }
            row.extend([grouped(setting.n_interactions), setting.n_runs.to_string()]);
            row.push(format!("{:.1}", setting.seconds));
            row
        };
        let mut text = table(&header, axes.len() + 1, self.settings.iter().take(MOST_SHOWN).map(row).collect());
        if self.settings.len() > MOST_SHOWN {
            text += &format!("\n{MOST_SHOWN} of {} settings shown", self.settings.len());
        }
        text
    }
}
