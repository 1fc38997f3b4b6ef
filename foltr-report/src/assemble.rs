//! From finished runs to the tables of a result folder, and from several folders to one.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::mimic;
use crate::summary::Summary;
use foltr_experiment::execute::{DataCache, Executed, Execution, Plan, Shard, run_jobs};
use foltr_experiment::grid::Grid;
use foltr_experiment::job::Job;
use foltr_experiment::manifest::{Invocation, Manifest};
use foltr_experiment::results::{JobLine, Results, Run, write_jobs};
use foltr_experiment::spec::Users;
use foltr_experiment::store::{RunStore, StudyFolder, root_of};

/// What came of running a grid.
#[derive(Clone, Debug)]
pub struct GridOutcome {
    /// Everything that is finished in the folder.
    pub results: Results,
    pub jobs: Vec<Job>,
    /// Runs that were asked for.
    pub n_wanted: usize,
    /// Runs that had been finished before.
    pub n_found: usize,
    /// Damaged runs that were done again, and others that were left alone.
    pub notes: Vec<String>,
    /// What must be known to read the numbers, each warning once.
    pub cautions: Vec<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}

/// A grid that is about to be run as a study.
pub struct StudyRun<'a> {
    pub plan: Plan,
    pub data: DataCache,
    study: StudyFolder<'a>,
    about: Manifest,
}

impl<'a> StudyRun<'a> {
    /// Loads data and writes what is asked for into the study's folder.
    ///
    /// # Errors
    /// If data cannot be read, the grid does not fit it, or something cannot be written.
    pub fn prepare(grid: Grid, store: &'a RunStore, name: Option<&str>, shard: Option<Shard>) -> Result<Self> {
        let data = DataCache::load(&grid)?;
        let plan = Plan::new(grid, &data, shard)?;
        let study = store.study(name)?;
        let about = Manifest::begin(&study, &plan)?;
        Ok(Self { plan, data, study, about })
    }

    /// Writes the tables of everything that is finished.
    ///
    /// # Errors
    /// If a run failed, or something cannot be read or written.
    pub fn finish(self, executed: Executed, parquet: bool) -> Result<GridOutcome> {
        let Self { plan, data, study, mut about } = self;
        let Executed { ran, n_wanted, n_found, notes, interrupted, invocation } = executed;
        about.starts.push(Invocation { shard: plan.shard.map(|shard| shard.to_string()), ..invocation });
        let cautions = plan.privacy_warnings(&data);
        let mut results = Results::of(&study, plan.grid, &plan.jobs, about)?;
        write_tables(&study, &mut results, parquet)?;
        ran?;
        Ok(GridOutcome { results, jobs: plan.jobs, n_wanted, n_found, notes, cautions, interrupted })
    }
}

/// Runs what is not finished of a grid, as the study of this name.
///
/// # Errors
/// If data cannot be read, the grid does not fit it, a run fails or something cannot be written. Finished runs stay.
pub fn run_grid(grid: Grid, store: &RunStore, name: Option<&str>, how: &Execution<'_>) -> Result<GridOutcome> {
    let prepared = StudyRun::prepare(grid, store, name, None)?;
    let executed = run_jobs(&prepared.plan, &prepared.data, store, how)?;
    prepared.finish(executed, false)
}

/// Writes `rows.csv`, `summary.json` and `study.json` of finished runs; `queries.csv` of mimic learning.
///
/// # Errors
/// If something cannot be written.
pub fn write_tables(study: &StudyFolder<'_>, results: &mut Results, parquet: bool) -> Result<()> {
    if parquet {
        crate::parquet::ensure_available()?;
    }
    results.about.n_finished = results.runs.len();
    results.about.n_interactions = results.runs.iter().map(|run| run.n_interactions).sum();
    results.about.training_seconds = results.runs.iter().map(|run| run.training_seconds).sum();
    study.write_with("rows.csv", |file| write_rows(results, file))?;
    study.write("summary.json", &serde_json::to_vec_pretty(&Summary::of(results))?)?;
    results.about.write(study)?;
    if results.grid.settings.iter().any(|setting| setting.experiment.mimic().is_some()) {
        mimic::write(study, results)?;
    }
    #[cfg(feature = "parquet")]
    if parquet {
        let (rows, new) = (study.path().join("rows.csv"), study.path().join(".rows.parquet.new"));
        crate::parquet::write_parquet(&rows, &new)?;
        std::fs::rename(&new, study.path().join("rows.parquet"))?;
    }
    Ok(())
}

/// All rows of all runs, tidy: setting columns, seed, fold, round, metric, value.
fn write_rows(results: &Results, out: &mut impl Write) -> Result<()> {
    let axes = results.grid.axes();
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(["data", "users", "learner"].into_iter().chain(axes.iter().map(String::as_str)).chain(COLUMNS))?;
    out.write_all(&csv.into_inner()?)?;
    for run in &results.runs {
        let start = line_start(results, run, &axes)?;
        for row in &run.rows {
            writeln!(out, "{start},{},{},{}", row.round, row.metric, row.value)?;
        }
    }
    Ok(())
}

/// The columns that are not about the setting.
const COLUMNS: [&str; 5] = ["seed", "fold", "round", "metric", "value"];

/// What all rows of a run begin with.
fn line_start(results: &Results, run: &Run, axes: &[String]) -> Result<String> {
    let setting = &results.grid.settings[run.setting];
    let experiment = &setting.experiment;
    let mut fields = vec![
        experiment.data_name(),
        experiment.training().and_then(|it| it.users.as_ref()).map(Users::name).unwrap_or_default(),
        experiment.learner_name().to_owned(),
    ];
    fields.extend(axes.iter().map(|axis| setting.label(axis).unwrap_or_default().to_owned()));
    fields.extend([run.seed.to_string(), run.fold.to_string()]);
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(&fields)?;
    Ok(String::from_utf8(csv.into_inner()?)?.trim_end().to_owned())
}

/// Joins result folders of the same experiment, such as shards, into one.
///
/// # Errors
/// If they are not of the same experiment, data and code, or something cannot be read or written.
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
