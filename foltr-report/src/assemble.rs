//! From finished runs to the tables of a result folder, and from several folders to one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::summary::Summary;
use crate::{mimic, rows};
use foltr_experiment::execute::{DataCache, Executed, Execution, Plan, Shard, run_jobs};
use foltr_experiment::grid::Grid;
use foltr_experiment::job::Job;
use foltr_experiment::manifest::{Invocation, Manifest};
use foltr_experiment::results::{JobLine, Results, write_jobs};
use foltr_experiment::store::{RunStore, StudyFolder, root_of};

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

/// Runs what is not finished of a grid, as the study of this name.
pub fn run_grid(grid: Grid, store: &RunStore, name: Option<&str>, how: &Execution<'_>) -> Result<GridOutcome> {
    let prepared = StudyRun::prepare(grid, store, name, None)?;
    let executed = run_jobs(&prepared.plan, &prepared.data, store, how)?;
    prepared.finish(executed, false)
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

/// Joins result folders of the same experiment, such as shards, into one.
pub fn merge(folders: &[PathBuf], out: &Path, parquet: bool) -> Result<Results> {
    let parts = folders.iter().map(|folder| Results::open(folder)).collect::<Result<Vec<Results>>>()?;
    let (first, _) = parts.split_first().context("at least one result folder is needed")?;
    let mut about = Manifest { starts: Vec::new(), ..first.about.clone() };
    for (part, folder) in parts.iter().zip(folders) {
        let (one, other) = (folders[0].display(), folder.display());
        ensure!(part.grid == first.grid, "{one} and {other} are of different experiments: see their resolved.toml");
        ensure!(
            part.about.code_hash == first.about.code_hash,
            "{one} and {other} were made by different versions of foltr: see code_hash in their study.json"
        );
        for (name, hash) in &part.about.data {
            let known = about.data.entry(name.clone()).or_insert_with(|| hash.clone());
            ensure!(known == hash, "{one} and {other} were made from different data: {name}");
        }
        about.starts.extend(part.about.starts.iter().cloned());
    }
    let store = RunStore::open(out)?;
    let mut jobs = Vec::new();
    for (part, folder) in parts.iter().zip(folders) {
        let root = root_of(folder)?;
        for run in &part.runs {
            store.copy_from(&root, &run.key)?;
            jobs.push(JobLine { key: run.key.clone(), setting: run.setting, fold: run.fold, seed: run.seed });
        }
    }
    jobs.sort_by_key(|job| (job.setting, job.fold, job.seed, job.key.clone()));
    jobs.dedup();
    let study = store.study(None)?;
    study.write("resolved.toml", first.grid.to_toml()?.as_bytes())?;
    write_jobs(&study, &first.grid, jobs.into_iter())?;
    about.write(&study)?;
    let mut results = Results::open(study.path())?;
    write_tables(&study, &mut results, parquet)?;
    Ok(results)
}
