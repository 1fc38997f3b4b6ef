//! `foltr run --dry-run`: what would be run, how long it would take, and how much memory it needs.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use indicatif::HumanDuration;

use super::End;
use crate::cli::RunArgs;
use crate::output::{note, say};
use foltr_experiment::execute::{DataCache, Plan};
use foltr_experiment::grid::Grid;
use foltr_experiment::probe::{Cost, probe};
use foltr_report::table::{grouped, table};

const MOST_SHOWN: usize = 60;

/// Reads the experiment and its data, tries every kind of setting for a moment, and prints what a run would be.
pub fn run(RunArgs { spec, overrides, shard, .. }: &RunArgs) -> Result<End> {
    let grid = Grid::read(spec, overrides)?;
    let data = DataCache::load(&grid)?;
    let plan = Plan::new(grid, &data, *shard)?;
    let costs = probe(&plan, &data)?;
    say(render(&plan, &costs));
    if plan.grid.settings.len() > MOST_SHOWN {
        say(format_args!("{MOST_SHOWN} of {} settings shown", plan.grid.settings.len()));
    }
    plan.warnings(&data).iter().for_each(|warning| note(format_args!("warning: {warning}")));
    let n_interactions: u64 = plan.jobs.iter().map(|job| plan.n_interactions(job)).sum();
    let threads = rayon::current_num_threads();
    // Methods of unlearning share their training.
    let mut trainings = HashSet::new();
    let trained = plan.jobs.iter().filter(|job| trainings.insert(job.parent().unwrap_or(&job.key)));
    let seconds: f64 = trained.map(|job| costs[job.setting].seconds).sum::<f64>() / threads as f64;
    let share = shard.map_or_else(String::new, |shard| format!(" (shard {shard} of {} runs)", plan.n_runs));
    say(format_args!(
        "{} settings, {} runs{share}, {} interactions",
        plan.grid.settings.len(),
        plan.jobs.len(),
        grouped(n_interactions)
    ));
    let of_runs = costs.iter().map(|cost| cost.bytes).max().unwrap_or(0) * threads;
    let megabytes = (data.n_bytes() + of_runs) as f64 / 1e6;
    say(format_args!(
        "about {} on {threads} threads, {megabytes:.0} MB of memory (measured on a few rounds)",
        HumanDuration(Duration::from_secs_f64(seconds))
    ));
    Ok(End::Done)
}

fn render(plan: &Plan, costs: &[Cost]) -> String {
    let axes = plan.grid.axes();
    let mut header: Vec<&str> = axes.iter().map(String::as_str).collect();
    header.extend(["learner", "rounds", "interactions a run", "runs", "seconds a run"]);
    let n_words = axes.len() + 1;
    let rows = plan.grid.settings.iter().enumerate().take(MOST_SHOWN).map(|(i, setting)| {
        let mut row: Vec<String> = axes.iter().map(|axis| setting.label(axis).unwrap_or_default().to_owned()).collect();
        let schedule = setting.experiment.schedule();
        row.push(setting.experiment.learner_name().into());
        row.push(schedule.map_or_else(String::new, |schedule| grouped(schedule.n_rounds as u64)));
        row.push(schedule.map_or_else(String::new, |schedule| grouped(schedule.n_interactions() as u64)));
        row.push(plan.jobs.iter().filter(|job| job.setting == i).count().to_string());
        row.push(format!("{:.1}", costs[i].seconds));
        row
    });
    table(&header, n_words, rows.collect())
}
