//! How long entries would take with the budgets of the papers, and how much of that is left.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::choice::{self, Stage};
use foltr_experiment::execute::{DataCache, Execution, Plan};
use foltr_experiment::grid::Grid;
use foltr_experiment::job::Job;
use foltr_experiment::probe::{probe, seconds};
use foltr_experiment::store::{RunState, RunStore};
use foltr_experiment::study::Study;
use foltr_report::assemble::is_finished;

const FILE: &str = "estimates.json";

/// What an entry has left in a folder of results. Entries that share runs each count them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub id: String,
    pub n_runs: usize,
    pub n_finished: usize,
    /// Of one core, for the runs that are not finished.
    pub core_hours: f64,
}

impl Estimate {
    pub fn of(id: &str, study: Option<&Study>, store: &RunStore) -> Result<Self> {
        let mut estimate = Self { id: id.into(), n_runs: 0, n_finished: 0, core_hours: 0.0 };
        for grid in study.map_or_else(|| Ok(Vec::new()), |study| stages(study, store))? {
            estimate.add(grid, store)?;
        }
        Ok(estimate)
    }

    fn add(&mut self, grid: Grid, store: &RunStore) -> Result<()> {
        let data = DataCache::load(&grid)?;
        let plan = Plan::new(grid, &data, None)?;
        let is_left = |job: &&Job| !matches!(store.state(&job.key), RunState::Finished(_));
        let left: Vec<&Job> = plan.jobs.iter().filter(is_left).collect();
        self.n_runs += plan.jobs.len();
        self.n_finished += plan.jobs.len() - left.len();
        if !left.is_empty() {
            let costs = probe(&plan, &data)?;
            self.core_hours += seconds(left, &costs) / 3600.0;
        }
        Ok(())
    }
}

/// The runs of the choice and those after it. Before the choice is made, the first candidates stand for what will be chosen.
fn stages(study: &Study, store: &RunStore) -> Result<Vec<Grid>> {
    let Some(choose) = &study.choose else { return Ok(vec![study.grid.clone()]) };
    let candidates = choose.candidates(&study.grid);
    let (first, _) = choose.chosen(&study.grid, |_| Some(0.0));
    let name = study.entry.as_ref().map(|entry| entry.id.as_str());
    if candidates.settings.is_empty() || !is_finished(&candidates, store)? {
        return Ok(vec![candidates, first]);
    }
    // All candidates are finished: nothing is run.
    let (silent, never) = (|_| {}, AtomicBool::new(false));
    match choice::choose(study, store, name, &Execution::new(&silent, &never), None)? {
        Stage::Chosen(choice) => Ok(vec![candidates, choice.grid]),
        Stage::Interrupted | Stage::Incomplete => Ok(vec![candidates, first]),
    }
}

pub fn write(estimates: &[Estimate], out: &Path) -> Result<()> {
    let path = out.join(FILE);
    let text = serde_json::to_string_pretty(estimates)? + "\n";
    fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Those that an earlier `--dry-run` has written; none without one.
pub fn read(out: &Path) -> Result<Vec<Estimate>> {
    let path = out.join(FILE);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(Vec::new()) };
    serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))
}
