//! From finished runs to the tables of a result folder.

use anyhow::Result;

use crate::summary::Summary;
use crate::{mimic, rows};
use foltr_experiment::execute::{DataCache, Executed, Execution, Plan, Shard, run_jobs};
use foltr_experiment::grid::Grid;
use foltr_experiment::job::Job;
use foltr_experiment::manifest::{Invocation, Manifest};
use foltr_experiment::results::Results;
use foltr_experiment::store::{RunState, RunStore, StudyFolder};

#[derive(Clone, Debug)]
pub struct GridOutcome {
    pub results: Results,
    pub jobs: Vec<Job>,
    pub n_requested: usize,
    pub n_finished_before: usize,
    /// Damaged runs that were done again, and others that were left alone.
    pub notes: Vec<String>,
    /// What must be known to read the numbers, each warning once.
    pub warnings: Vec<String>,
    pub interrupted: bool,
}

pub struct StudyRun<'a> {
    pub plan: Plan,
    pub data: DataCache,
    study: StudyFolder<'a>,
    about: Manifest,
}

impl<'a> StudyRun<'a> {
    /// Loads data and writes what is asked for into the study's folder.
    pub fn prepare(grid: Grid, store: &'a RunStore, name: Option<&str>, shard: Option<Shard>) -> Result<Self> {
        let data = DataCache::load(&grid)?;
        let plan = Plan::new(grid, &data, shard)?;
        let study = store.study(name)?;
        let about = Manifest::begin(&study, &plan)?;
        Ok(Self { plan, data, study, about })
    }

    /// Writes the tables of everything that is finished.
    pub fn finish(self, executed: Executed, parquet: bool) -> Result<GridOutcome> {
        let Self { plan, data, study, mut about } = self;
        let Executed { ran, n_requested, n_finished_before, notes, interrupted, invocation } = executed;
        about.starts.push(Invocation { shard: plan.shard.map(|shard| shard.to_string()), ..invocation });
        let warnings = plan.warnings(&data);
        let mut results = Results::of(&study, plan.grid, &plan.jobs, about)?;
        write_tables(&study, &mut results, parquet)?;
        ran?;
        Ok(GridOutcome { results, jobs: plan.jobs, n_requested, n_finished_before, notes, warnings, interrupted })
    }
}

/// Runs what is not finished of a grid, or of one share of it, as the study of this name.
pub fn run_grid(
    grid: Grid,
    store: &RunStore,
    name: Option<&str>,
    how: &Execution<'_>,
    shard: Option<Shard>,
) -> Result<GridOutcome> {
    let prepared = StudyRun::prepare(grid, store, name, shard)?;
    let executed = run_jobs(&prepared.plan, &prepared.data, store, how)?;
    prepared.finish(executed, false)
}

/// Whether a store has every run of a grid.
pub fn is_finished(grid: &Grid, store: &RunStore) -> Result<bool> {
    let data = DataCache::load(grid)?;
    let plan = Plan::new(grid.clone(), &data, None)?;
    Ok(plan.jobs.iter().all(|job| matches!(store.state(&job.key), RunState::Finished(_))))
}

/// Writes `rows.csv`, `summary.json` and `study.json` of finished runs; `queries.csv` of mimic learning.
pub fn write_tables(study: &StudyFolder<'_>, results: &mut Results, parquet: bool) -> Result<()> {
    if parquet {
        crate::parquet::ensure_available()?;
    }
    results.about.n_finished = results.runs.len();
    results.about.n_interactions = results.runs.iter().map(|run| run.n_interactions).sum();
    results.about.training_seconds = results.runs.iter().map(|run| run.training_seconds).sum();
    study.write_with("rows.csv", |file| rows::write_csv(results, file))?;
    study.write("summary.json", &serde_json::to_vec_pretty(&Summary::of(results))?)?;
    results.about.write(study)?;
    if results.grid.settings.iter().any(|setting| setting.experiment.mimic().is_some()) {
        mimic::write(study, results)?;
    }
    #[cfg(feature = "parquet")]
    if parquet {
        study.write_with("rows.parquet", |file| crate::parquet::write(results, file))?;
    }
    results.check_unchanged()
}
