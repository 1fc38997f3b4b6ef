//! A result folder, read back from its files: all that tables, figures and reports look at.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result, bail};
use foltr_rank::metric::online_performance;
use rayon::prelude::*;

use crate::about::About;
use crate::folder::{FinishedRun, RunFacts, read_clients};
use crate::grid::Grid;
use crate::rows::{ClientValue, MetricName, Row};
use crate::spec::SpecError;

/// All finished runs of a grid.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was asked for.
    pub grid: Grid,
    /// In the order of settings, folds and seeds.
    pub runs: Vec<Run>,
    /// How the folder came about.
    pub about: About,
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

impl Results {
    /// Reads a result folder.
    ///
    /// # Errors
    /// If it is none, or a file in it is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("run.json");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} cannot be read; a result folder of `foltr run` is needed", path.display()))?;
        let about: About = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let grid = Self::grid_of(folder)?;
        let runs = read_runs(folder, &grid, &about.keys)?;
        Ok(Self { grid, runs, about })
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
        let metric = MetricName::OnlineNdcg(self.grid.settings[setting].experiment.metrics.cutoff);
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

/// Reads those of the runs that are finished.
fn read_runs(folder: &Path, grid: &Grid, keys: &[String]) -> Result<Vec<Run>> {
    let by_labels: HashMap<&[(String, String)], usize> =
        grid.settings.iter().enumerate().map(|(i, setting)| (setting.labels.as_slice(), i)).collect();
    let read = |key: &String| {
        let path = folder.join("runs").join(key);
        if !path.is_dir() {
            return Ok(None);
        }
        let FinishedRun { facts, rows } = FinishedRun::read(&path)?;
        let Some(&setting) = by_labels.get(facts.labels.as_slice()) else {
            bail!("{} is not a run of resolved.toml beside it; run the experiment again", path.display());
        };
        let clients = read_clients(&path)?;
        let RunFacts { fold, seed, n_interactions, training_seconds, .. } = facts;
        Ok(Some(Run { setting, fold, seed, key: key.clone(), rows, n_interactions, training_seconds, clients }))
    };
    let mut runs: Vec<Run> = keys.par_iter().map(read).filter_map(Result::transpose).collect::<Result<_>>()?;
    // Shards were merged in any order.
    let place = |run: &Run| {
        let seeds = &grid.settings[run.setting].experiment.seeds;
        (run.setting, run.fold, seeds.iter().position(|&seed| seed == run.seed))
    };
    runs.sort_by_cached_key(place);
    Ok(runs)
}
