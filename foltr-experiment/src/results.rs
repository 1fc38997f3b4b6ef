//! Finished runs by setting: all that tables, figures and reports look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use foltr_rank::metric::online_performance;
use rayon::prelude::*;

use crate::grid::Grid;
use crate::job::Job;
use crate::manifest::Manifest;
use crate::rows::{ClientValue, MetricName, Row};
use crate::spec::SpecError;
use crate::store::{FinishedRun, StudyFolder, current_key, root_of, run_folder};

/// All finished runs of a grid.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was asked for.
    pub grid: Grid,
    /// In the order of settings, folds and seeds.
    pub runs: Vec<Run>,
    /// How the folder came about.
    pub about: Manifest,
    /// The folder with all runs.
    pub root: PathBuf,
}

/// One finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Index of its setting.
    pub setting: usize,
    /// Fold of the data, from 1.
    pub fold: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Name of its folder below `runs`.
    pub key: String,
    /// All numbers, in the order in which they were measured.
    pub rows: Vec<Row>,
    /// Simulated interactions.
    pub n_interactions: u64,
    /// Training time, without evaluation.
    pub training_seconds: f64,
    /// What the final rankers are worth to every client; empty if clients do not differ.
    pub clients: Vec<ClientValue>,
}

/// The run that belongs to a setting, fold and seed: one line of `jobs.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    key: String,
    setting: usize,
    fold: usize,
    seed: u64,
}

impl Results {
    /// Reads the runs of a study that are finished.
    ///
    /// # Errors
    /// If a file is damaged.
    pub fn of(study: &StudyFolder<'_>, grid: Grid, jobs: &[Job], about: Manifest) -> Result<Self> {
        let line = |job: &Job| Line { key: job.key.clone(), setting: job.setting, fold: job.fold, seed: job.seed };
        Self::read(study.store.path(), grid, &jobs.iter().map(line).collect::<Vec<_>>(), about)
    }

    /// Reads a study's folder.
    ///
    /// # Errors
    /// If it is none, or a file in it is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let root = root_of(folder)?;
        let (about, grid) = (Manifest::read(folder)?, Self::grid_of(folder)?);
        let lines = read_jobs(folder, grid.settings.len())?;
        Self::read(&root, grid, &lines, about)
    }

    fn read(root: &Path, grid: Grid, lines: &[Line], about: Manifest) -> Result<Self> {
        let read = |line: &Line| read_run(root, line).transpose();
        let mut runs: Vec<Run> = lines.par_iter().filter_map(read).collect::<Result<_>>()?;
        // Shards were merged in any order.
        let place = |run: &Run| {
            let seeds = grid.settings[run.setting].experiment.seeds();
            (run.setting, run.fold, seeds.iter().position(|&seed| seed == run.seed))
        };
        runs.sort_by_cached_key(place);
        Ok(Self { grid, runs, about, root: root.into() })
    }

    pub fn run_folder(&self, run: &Run) -> PathBuf {
        run_folder(&self.root, &run.key)
    }

    /// The resolved experiment of a result folder.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn grid_of(folder: &Path) -> Result<Grid, SpecError> {
        Grid::read(&folder.join("resolved.toml"), &[])
    }

    /// All runs of one setting.
    pub fn runs_of(&self, setting: usize) -> impl Iterator<Item = &Run> {
        // Runs are sorted by setting.
        let start = self.runs.partition_point(|run| run.setting < setting);
        self.runs[start..].iter().take_while(move |run| run.setting == setting)
    }

    /// The last value of a metric in every run of a setting, by fold and seed.
    pub fn final_values(&self, setting: usize, metric: MetricName) -> Vec<f64> {
        let last = |run: &Run| run.rows.iter().rfind(|row| row.metric == metric).map(|row| row.value);
        self.runs_of(setting).filter_map(last).collect()
    }

    /// A metric over rounds: one value a run, by fold and seed.
    pub fn curve(&self, setting: usize, metric: MetricName) -> BTreeMap<usize, Vec<f64>> {
        let mut rounds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for row in self.runs_of(setting).flat_map(|run| &run.rows).filter(|row| row.metric == metric) {
            rounds.entry(row.round).or_default().push(row.value);
        }
        rounds
    }

    /// Online performance of every run of a setting, by fold and seed: the sum over rounds of .9995^round times the
    /// round's mean nDCG (spec section 3).
    pub fn online(&self, setting: usize) -> Vec<f64> {
        let Ok(experiment) = self.grid.settings[setting].training() else { return Vec::new() };
        let metric = MetricName::OnlineNdcg(experiment.metrics.cutoff);
        let shown = |run: &Run| {
            let values: Vec<f64> = run.rows.iter().filter(|row| row.metric == metric).map(|row| row.value).collect();
            (!values.is_empty()).then(|| online_performance(&values))
        };
        self.runs_of(setting).filter_map(shown).collect()
    }

    /// Every metric that a setting has rows of, sorted.
    pub fn metrics(&self, setting: usize) -> Vec<MetricName> {
        let mut metrics: Vec<MetricName> = Vec::new();
        for row in self.runs_of(setting).take(1).flat_map(|run| &run.rows) {
            if !metrics.contains(&row.metric) {
                metrics.push(row.metric);
            }
        }
        metrics.sort();
        metrics
    }
}

/// Writes `jobs.csv`: which run belongs to which setting, fold and seed.
///
/// # Errors
/// If it cannot be written.
pub fn write_jobs(
    study: &StudyFolder<'_>,
    grid: &Grid,
    jobs: impl Iterator<Item = (String, usize, usize, u64)>,
) -> Result<()> {
    let axes = grid.axes();
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(COLUMNS.into_iter().chain(axes.iter().map(String::as_str)))?;
    for (key, setting, fold, seed) in jobs {
        let labels = axes.iter().map(|axis| grid.settings[setting].label(axis).unwrap_or_default().to_owned());
        csv.write_record([key, setting.to_string(), fold.to_string(), seed.to_string()].into_iter().chain(labels))?;
    }
    study.write(JOBS_FILE, &csv.into_inner()?).map(drop)
}

/// Key, setting (from 0), fold and seed of every run that was asked for.
///
/// # Errors
/// If the file is missing or damaged.
fn read_jobs(folder: &Path, n_settings: usize) -> Result<Vec<Line>> {
    let path = folder.join(JOBS_FILE);
    let mut csv = csv::Reader::from_path(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut lines = Vec::new();
    for (number, record) in (2..).zip(csv.records()) {
        let record = record.with_context(|| format!("{}:{number}", path.display()))?;
        let line = || {
            let setting = record.get(1)?.parse().ok().filter(|setting| *setting < n_settings)?;
            let (fold, seed) = (record.get(2)?.parse().ok()?, record.get(3)?.parse().ok()?);
            Some(Line { key: record.get(0)?.to_owned(), setting, fold, seed })
        };
        lines.push(line().with_context(|| format!("{}:{number}: expected {}", path.display(), COLUMNS.join(",")))?);
    }
    Ok(lines)
}

const JOBS_FILE: &str = "jobs.csv";
const COLUMNS: [&str; 4] = ["key", "setting", "fold", "seed"];

/// A run if it is finished; if clients were forgotten in it, the run after that.
fn read_run(root: &Path, line: &Line) -> Result<Option<Run>> {
    let key = current_key(root, &line.key);
    let path = run_folder(root, &key);
    if !path.is_dir() {
        return Ok(None);
    }
    let FinishedRun { record, rows, clients } =
        FinishedRun::read(&path).context("rerun the experiment to repair it")?;
    if (record.fold, record.seed) != (line.fold, line.seed) {
        bail!("{} is of another fold or seed than jobs.csv says; rerun the experiment", path.display());
    }
    Ok(Some(Run {
        setting: line.setting,
        fold: record.fold,
        seed: record.seed,
        key,
        rows,
        n_interactions: record.n_interactions,
        training_seconds: record.training_seconds,
        clients,
    }))
}
