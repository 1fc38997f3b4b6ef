//! Finished runs by setting: all that tables, figures and reports look at.

mod columns;
mod run_rows;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use foltr_rank::metric::online_performance;
use rayon::prelude::*;
use serde::Deserialize;

use crate::grid::{Grid, Setting};
use crate::job::Job;
use crate::manifest::Manifest;
use crate::rows::{ClientValue, MetricName, QueryValue};
use crate::spec::SpecError;
use crate::store::{RunRecord, StudyFolder, current_key, root_of, run_folder};

use run_rows::RowCache;
pub use run_rows::RunRows;

#[derive(Clone, Debug)]
pub struct Results {
    pub grid: Grid,
    /// In the order of settings, folds and seeds.
    pub runs: Vec<Run>,
    pub about: Manifest,
    pub root: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub setting: usize,
    /// From 1.
    pub fold: usize,
    pub seed: u64,
    pub key: String,
    pub rows: RunRows,
    pub n_interactions: u64,
    /// Without evaluation.
    pub training_seconds: f64,
    /// What the final rankers are worth to every client; empty if clients do not differ.
    pub clients: Vec<ClientValue>,
}

/// A line of `jobs.csv`: which run belongs to a setting, fold and seed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JobLine {
    pub key: String,
    pub setting: usize,
    pub fold: usize,
    pub seed: u64,
}

impl Results {
    pub fn of(study: &StudyFolder<'_>, grid: Grid, jobs: &[Job], about: Manifest) -> Result<Self> {
        Self::read(study.store.path(), grid, &jobs.iter().map(Job::line).collect::<Vec<_>>(), about)
    }

    pub fn open(folder: &Path) -> Result<Self> {
        let root = root_of(folder)?;
        let (about, grid) = (Manifest::read(folder)?, Self::grid_of(folder)?);
        let lines = read_jobs(folder, grid.settings.len())?;
        Self::read(&root, grid, &lines, about)
    }

    fn read(root: &Path, grid: Grid, lines: &[JobLine], about: Manifest) -> Result<Self> {
        let cache = Arc::<RowCache>::default();
        let read = |line: &JobLine| read_run(root, line, &cache).transpose();
        let mut runs: Vec<Run> = lines.par_iter().filter_map(read).collect::<Result<_>>()?;
        // Shards were merged in any order.
        let places = |setting: &Setting| -> HashMap<u64, usize> {
            setting.experiment.seeds().iter().copied().zip(0..).collect()
        };
        let places: Vec<HashMap<u64, usize>> = grid.settings.iter().map(places).collect();
        runs.sort_by_cached_key(|run| (run.setting, run.fold, places[run.setting].get(&run.seed)));
        Ok(Self { grid, runs, about, root: root.into() })
    }

    pub fn run_folder(&self, run: &Run) -> PathBuf {
        run_folder(&self.root, &run.key)
    }

    /// What the final ranker of a run is worth on every held-out query; empty where `metrics.by_query` is off.
    pub fn queries(&self, run: &Run) -> Result<Vec<QueryValue>> {
        let folder = self.run_folder(run);
        RunRecord::read(&folder)?.queries(&folder)
    }

    pub fn grid_of(folder: &Path) -> Result<Grid, SpecError> {
        Grid::read(&folder.join("resolved.toml"), &[])
    }

    pub fn runs_of(&self, setting: usize) -> impl Iterator<Item = &Run> {
        // Runs are sorted by setting.
        let start = self.runs.partition_point(|run| run.setting < setting);
        self.runs[start..].iter().take_while(move |run| run.setting == setting)
    }

    /// The last value of a metric in every run of a setting, by fold and seed.
    pub fn final_values(&self, setting: usize, metric: MetricName) -> Vec<f64> {
        self.runs_of(setting).filter_map(|run| run.rows.last(metric)).collect()
    }

    /// A metric over rounds: one value a run, by fold and seed.
    pub fn curve(&self, setting: usize, metric: MetricName) -> BTreeMap<usize, Vec<f64>> {
        let mut rounds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (round, value) in self.runs_of(setting).flat_map(|run| run.rows.course(metric)) {
            rounds.entry(round).or_default().push(value);
        }
        rounds
    }

    /// Online performance of every run of a setting, by fold and seed: the sum over rounds of .9995^round times the
    /// round's mean nDCG (spec section 3). None where rows are means over several rounds.
    pub fn online(&self, setting: usize) -> Vec<f64> {
        let Ok(experiment) = self.grid.settings[setting].training() else { return Vec::new() };
        if experiment.metrics.online.rounds_a_row() > 1 {
            return Vec::new();
        }
        let metric = MetricName::OnlineNdcg(experiment.metrics.cutoff);
        let shown = |run: &Run| {
            let values: Vec<f64> = run.rows.course(metric).into_iter().map(|(_, value)| value).collect();
            (!values.is_empty()).then(|| online_performance(&values))
        };
        self.runs_of(setting).filter_map(shown).collect()
    }

    pub fn metrics(&self, setting: usize) -> Vec<MetricName> {
        self.runs_of(setting).next().map(|run| run.rows.metrics()).unwrap_or_default()
    }

    /// Fails if a run changed since it was opened. To be asked before anything that was made of rows is shown.
    pub fn check_unchanged(&self) -> Result<()> {
        self.runs.iter().try_for_each(|run| run.rows.check_unchanged())
    }
}

/// Writes `jobs.csv`, with the labels of every setting.
pub fn write_jobs(study: &StudyFolder<'_>, grid: &Grid, lines: impl Iterator<Item = JobLine>) -> Result<()> {
    let axes = grid.axes();
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["key", "setting", "fold", "seed"].into_iter().chain(axes.iter().map(String::as_str)))?;
    for JobLine { key, setting, fold, seed } in lines {
        let labels = axes.iter().map(|axis| grid.settings[setting].label(axis).unwrap_or_default().to_owned());
        csv.write_record([key, setting.to_string(), fold.to_string(), seed.to_string()].into_iter().chain(labels))?;
    }
    study.write(JOBS_FILE, &csv.into_inner()?)
}

pub(crate) fn read_jobs(folder: &Path, n_settings: usize) -> Result<Vec<JobLine>> {
    let path = folder.join(JOBS_FILE);
    let mut csv = csv::Reader::from_path(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let lines: Vec<JobLine> =
        csv.deserialize().collect::<Result<_, _>>().with_context(|| format!("{} is damaged", path.display()))?;
    let unknown = lines.iter().find(|line| line.setting >= n_settings);
    ensure!(unknown.is_none(), "{} is damaged: resolved.toml has no such setting: {unknown:?}", path.display());
    Ok(lines)
}

const JOBS_FILE: &str = "jobs.csv";

/// A run if it is finished; if clients were forgotten in it, the run after that.
fn read_run(root: &Path, line: &JobLine, cache: &Arc<RowCache>) -> Result<Option<Run>> {
    let key = current_key(root, &line.key);
    let path = run_folder(root, &key);
    if !path.is_dir() {
        return Ok(None);
    }
    let read = || -> Result<_> {
        let record = RunRecord::read(&path)?;
        Ok((RunRows::open(record.rows(&path)?, cache)?, record.clients(&path)?, record))
    };
    let (rows, clients, record) = read().context("rerun the experiment to repair it")?;
    ensure!(
        (record.fold, record.seed) == (line.fold, line.seed),
        "{} is of another fold or seed than jobs.csv says; rerun the experiment",
        path.display()
    );
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
