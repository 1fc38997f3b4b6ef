//! The trained rankers of a result folder, of one run, or of one model file: what they are, and where.

mod again;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use foltr_rank::{Activation, Shape};
use serde::Serialize;

use crate::grid::Setting;
use crate::model::{self, ModelFile, Provenance};
use crate::results::{JobLine, Results, read_jobs};
use crate::rows::{MetricName, Row};
use crate::spec::{Experiment, Normalisation, Split};
use crate::store::{RunRecord, current_key, is_marked, root_of, run_folder};

pub use again::{Evaluated, Overrides, evaluate_all};

/// One ranker and where it comes from. What its file does not tell is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainedRanker {
    /// Labels of the setting by axis, in the order of the grid; empty if only one was run.
    #[serde(serialize_with = "as_map")]
    pub setting: Vec<(String, String)>,
    pub learner: Option<String>,
    pub ranker: Ranker,
    pub normalise: Option<Normalisation>,
    pub data: Option<String>,
    /// The first fold is 1.
    pub fold: Option<usize>,
    pub seed: Option<u64>,
    /// Clients that were forgotten in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<u32>,
    /// What the run measured of this ranker, by name of the metric.
    #[serde(serialize_with = "as_map")]
    pub values: Vec<(MetricName, f64)>,
    /// The name of the run.
    pub run: Option<String>,
    /// Version of the program that wrote the file.
    pub foltr: Option<String>,
    /// What the file itself says; nothing in files of before.
    pub provenance: Option<Provenance>,
    pub path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Ranker {
    Linear {
        features: usize,
    },
    Mlp {
        features: usize,
        hidden: usize,
        activation: Activation,
    },
    /// A network of mimic learning.
    Network {
        /// As its rows call it, such as `student-clear`.
        name: String,
    },
}

impl From<Shape> for Ranker {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Linear { n_features } => Self::Linear { features: n_features },
            Shape::Mlp { n_features, n_hidden, activation } => {
                Self::Mlp { features: n_features, hidden: n_hidden, activation }
            }
        }
    }
}

fn as_map<K: ToString, V: Serialize, S: serde::Serializer>(pairs: &[(K, V)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (key.to_string(), value)))
}

impl TrainedRanker {
    /// The value that comes first: of the first metric on test queries, if those were measured.
    pub fn first_value(&self) -> Option<(MetricName, f64)> {
        let on_test = |(metric, _): &&(MetricName, f64)| metric.split() == Some(Split::Test);
        self.values.iter().find(on_test).or_else(|| self.values.first()).copied()
    }
}

/// A finished run, and what its setting is called.
struct FinishedRun {
    setting: Vec<(String, String)>,
    /// As the study calls its data, where there is one.
    data: Option<String>,
    key: String,
    folder: PathBuf,
    record: RunRecord,
}

/// The rankers at `path`: a result folder of `foltr run`, the folder of a run, or a model file.
pub fn trained_rankers(path: &Path) -> Result<Vec<TrainedRanker>> {
    if path.is_file() {
        return Ok(vec![of_file(path)?]);
    }
    Ok(finished_runs(path)?.iter().map(rankers_of).collect::<Result<Vec<_>>>()?.concat())
}

/// In the order of settings, folds and seeds.
fn finished_runs(path: &Path) -> Result<Vec<FinishedRun>> {
    if path.join(RunRecord::FILE_NAME).exists() {
        return Ok(vec![one_run(path)?]);
    }
    if !path.join("jobs.csv").exists() && is_marked(path) && path.join("runs").is_dir() {
        return all_runs(path);
    }
    ensure!(
        path.join("jobs.csv").exists(),
        "{}: no trained rankers here; expected a result folder of `foltr run`, the folder of one of its runs, or a file {}",
        path.display(),
        model::FILE_NAME
    );
    let root = root_of(path)?;
    let grid = Results::grid_of(path)?;
    let run = |line: JobLine| -> Result<Option<FinishedRun>> {
        let key = current_key(&root, &line.key);
        let folder = run_folder(&root, &key);
        if !folder.is_dir() {
            return Ok(None);
        }
        let record = RunRecord::read(&folder).context("rerun the experiment to repair it")?;
        let Setting { labels, experiment } = &grid.settings[line.setting];
        Ok(Some(FinishedRun { setting: labels.clone(), data: Some(experiment.data_name()), key, folder, record }))
    };
    let lines = read_jobs(path, grid.settings.len())?;
    let runs: Vec<FinishedRun> = lines.into_iter().filter_map(|line| run(line).transpose()).collect::<Result<_>>()?;
    ensure!(!runs.is_empty(), "{}: no run is finished yet; `foltr run` resumes them", path.display());
    Ok(runs)
}

fn one_run(folder: &Path) -> Result<FinishedRun> {
    let whole = folder.canonicalize().with_context(|| format!("{} cannot be read", folder.display()))?;
    let key = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The study beside it, if there is one, knows what the setting is called.
    let labels = || {
        let root = whole.parent()?.parent()?;
        let grid = Results::grid_of(root).ok()?;
        let lines = read_jobs(root, grid.settings.len()).ok()?;
        let line = lines.into_iter().find(|line| current_key(root, &line.key) == key)?;
        let Setting { labels, experiment } = &grid.settings[line.setting];
        Some((labels.clone(), experiment.data_name()))
    };
    let (setting, data) = labels().unzip();
    let record = RunRecord::read(folder)?;
    Ok(FinishedRun { setting: setting.unwrap_or_default(), data, key, folder: folder.into(), record })
}

/// Runs that several studies share.
fn all_runs(root: &Path) -> Result<Vec<FinishedRun>> {
    let runs = root.join("runs");
    let entries = std::fs::read_dir(&runs).with_context(|| format!("{} cannot be read", runs.display()))?;
    let mut folders: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    folders.retain(|folder| folder.join(RunRecord::FILE_NAME).exists());
    folders.sort();
    folders.iter().map(|folder| one_run(folder)).collect()
}

fn rankers_of(run: &FinishedRun) -> Result<Vec<TrainedRanker>> {
    let FinishedRun { record, folder, .. } = run;
    let rows = record.rows(folder)?.to_vec()?;
    if record.files.contains_key(model::FILE_NAME) {
        return Ok(vec![of_training(run, &rows)?]);
    }
    let networks = record.files.keys().filter(|name| name.ends_with(".safetensors"));
    networks.map(|file| Ok(of_mimic(run, &rows, file))).collect()
}

fn of_training(run: &FinishedRun, rows: &[Row]) -> Result<TrainedRanker> {
    let path = run.folder.join(model::FILE_NAME);
    let file = ModelFile::read(&path)?;
    let experiment = run.experiment()?;
    let forgotten = run.record.lineage.iter().map(|step| &step.unlearning).chain(&experiment.unlearning);
    Ok(TrainedRanker {
        setting: run.setting.clone(),
        learner: Some(experiment.learner.name().into()),
        ranker: file.model.shape.into(),
        normalise: Some(file.model.normalise),
        data: Some(experiment.data.name()),
        fold: Some(run.record.fold),
        seed: Some(run.record.seed),
        forgotten: forgotten.flat_map(|request| request.clients.clone()).collect(),
        values: final_values(rows),
        run: Some(run.key.clone()),
        foltr: Some(file.foltr),
        provenance: file.provenance,
        path,
    })
}

/// The newest value of every metric of the global ranker. After unlearning it is another ranker than before.
fn final_values(rows: &[Row]) -> Vec<(MetricName, f64)> {
    let is_after = rows.iter().any(|row| matches!(row.metric, MetricName::Unlearning(..)));
    let mut newest: Vec<(MetricName, f64)> = Vec::new();
    for row in rows {
        let name = match row.metric {
            MetricName::Unlearning(split, metric) => MetricName::Offline(split, metric),
            MetricName::Offline(..) if !is_after => row.metric,
            _ => continue,
        };
        match newest.iter_mut().find(|(known, _)| *known == name) {
            Some((_, value)) => *value = row.value,
            None => newest.push((name, row.value)),
        }
    }
    newest
}

fn of_mimic(run: &FinishedRun, rows: &[Row], file: &str) -> TrainedRanker {
    let name = match file.trim_end_matches(".safetensors").split_once('/') {
        Some((source, "student")) => format!("student-{source}"),
        // A single teacher is evaluated under the name of all.
        _ => file.trim_end_matches(".safetensors").to_owned(),
    };
    let is_own = |metric: &str| {
        let rest =
            metric.strip_prefix(&name).or_else(|| metric.strip_prefix("teacher").filter(|_| name == "teacher-1"));
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let values = rows.iter().filter(|row| is_own(&row.metric.to_string())).map(|row| (row.metric, row.value)).collect();
    TrainedRanker {
        setting: run.setting.clone(),
        learner: Some("mimic".into()),
        ranker: Ranker::Network { name },
        normalise: None,
        data: run.data.clone(),
        fold: Some(run.record.fold),
        seed: Some(run.record.seed),
        forgotten: Vec::new(),
        values,
        run: Some(run.key.clone()),
        foltr: None,
        provenance: None,
        path: run.folder.join(file),
    }
}

fn of_file(path: &Path) -> Result<TrainedRanker> {
    let ModelFile { model, foltr, provenance, about } = ModelFile::read(path)?;
    let from = provenance.as_ref();
    Ok(TrainedRanker {
        setting: Vec::new(),
        learner: from.map(|from| from.learner.clone()).or(about),
        ranker: model.shape.into(),
        normalise: Some(model.normalise),
        data: from.map(|from| from.data.clone()),
        fold: from.map(|from| from.fold),
        seed: from.map(|from| from.seed),
        forgotten: Vec::new(),
        values: Vec::new(),
        run: from.map(|from| from.run.clone()),
        foltr: Some(foltr),
        provenance,
        path: path.into(),
    })
}

impl FinishedRun {
    /// The settings of this one run, as its record has them.
    fn experiment(&self) -> Result<Experiment> {
        let damaged = || format!("{} has settings that this foltr cannot read", self.folder.display());
        serde_json::from_value(self.record.settings.clone()).with_context(damaged)
    }
}
