//! `requests.json`: every request to forget clients in a folder, and which runs still hold them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::execute::Plan;
use crate::history_files;
use crate::job::{Job, Start, key_after, run_key, settings_of_run, training_of};
use crate::results::Results;
use crate::spec::{Experiment, UnlearningRequest};
use crate::store::{Lineage, RunRecord, RunStore, Tombstone, replace_json, run_folder};

const JOURNAL_FILE: &str = "requests.json";

/// All requests of a folder, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Journal {
    requests: Vec<Entry>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Entry {
    /// From 1.
    pub number: u32,
    pub unlearning: UnlearningRequest,
    pub time: String,
    /// Folder of the study, below that of the runs.
    study: PathBuf,
    /// Only runs whose key begins so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    pub runs: Vec<RunEntry>,
}

/// One run that a request is about.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RunEntry {
    pub key: String,
    pub successor: String,
    /// Index of the setting in the study.
    pub setting: usize,
    /// Whether the run still has what it had of the clients.
    pub holds_clients: bool,
}

impl Journal {
    /// Reads the journal of a store's folder; empty if there were no requests.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn read(root: &Path) -> Result<Self> {
        let path = path(root);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        let mut journal: Self =
            serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        // The program may have ended between the two files.
        for run in journal.requests.iter_mut().flat_map(|entry| &mut entry.runs) {
            run.holds_clients &= Tombstone::read(root, &run.key).is_none();
        }
        Ok(journal)
    }

    /// The request that is not met yet.
    pub fn open_request(&self) -> Option<&Entry> {
        self.requests.last().filter(|entry| entry.n_holding() > 0)
    }

    /// The number of a new request, or goes on with the last one if it was the same and is not met.
    ///
    /// # Errors
    /// If another request is not met yet, or no run holds these clients.
    pub fn begin(
        &mut self,
        store: &RunStore,
        (study, results): (&Path, &Results),
        unlearning: &UnlearningRequest,
        only: Option<&str>,
        time: &str,
    ) -> Result<Entry> {
        let below = study.canonicalize()?.strip_prefix(store.path().canonicalize()?)?.to_owned();
        if let Some(open) = self.open_request() {
            let is_same = (&open.unlearning, open.only.as_deref(), &open.study) == (unlearning, only, &below);
            ensure!(is_same, "{open}; repeat that request first");
            return Ok(open.clone());
        }
        let number = self.requests.len() as u32 + 1;
        let runs = runs_with(store.path(), results, unlearning, only, number)?;
        let (unlearning, only) = (unlearning.clone(), only.map(Into::into));
        let entry = Entry { number, unlearning, time: time.into(), study: below, only, runs };
        self.requests.push(entry.clone());
        self.write(store)?;
        Ok(entry)
    }

    /// The request cannot be met: nothing of it stays, unless runs have been replaced.
    ///
    /// # Errors
    /// If a file cannot be written or removed.
    pub fn withdraw(&mut self, store: &RunStore) -> Result<()> {
        let is_untouched = |entry: &mut Entry| entry.runs.iter().all(|run| run.holds_clients);
        if let Some(entry) = self.requests.pop_if(is_untouched) {
            self.write(store)?;
            entry.runs.iter().try_for_each(|run| store.remove(&run.successor))?;
        }
        Ok(())
    }

    /// Puts the new runs in place of the old ones, whose files go.
    ///
    /// # Errors
    /// If a file cannot be written or removed; the same request goes on from there.
    pub fn settle(&mut self, store: &RunStore) -> Result<()> {
        let Some(entry) = self.requests.last().cloned() else { return Ok(()) };
        for (i, run) in entry.runs.iter().enumerate().filter(|(_, run)| run.holds_clients) {
            let (successor, clients) = (run.successor.clone(), entry.unlearning.clients.clone());
            store.bury(&run.key, &Tombstone { successor, request: entry.number, clients })?;
            if let Some(last) = self.requests.last_mut() {
                last.runs[i].holds_clients = false;
            }
            self.write(store)?;
        }
        Ok(())
    }

    fn write(&self, store: &RunStore) -> Result<()> {
        replace_json(&path(store.path()), self).map(drop)
    }
}

impl Entry {
    pub fn n_holding(&self) -> usize {
        self.runs.iter().filter(|run| run.holds_clients).count()
    }

    /// The runs that meet the request, as jobs.
    ///
    /// # Errors
    /// If the record of a run is damaged.
    pub fn plan(&self, results: &Results, store: &RunStore) -> Result<Plan> {
        let job = |run: &RunEntry| -> Result<Job> {
            let record = RunRecord::read(&store.run_folder(&run.key))?;
            let mut lineage = record.lineage;
            lineage.push(self.lineage(&run.key));
            Ok(Job {
                setting: run.setting,
                fold: record.fold,
                seed: record.seed,
                key: run.successor.clone(),
                start: Start::History { parent: run.key.clone(), request: self.unlearning.clone(), lineage },
                interactions_per_round: 0,
                n_interactions: 0,
            })
        };
        let left = self.runs.iter().filter(|run| run.holds_clients);
        let jobs: Vec<Job> = left.map(job).collect::<Result<_>>()?;
        Ok(Plan { n_runs: jobs.len(), grid: results.grid.clone(), jobs, shard: None })
    }

    fn lineage(&self, key: &str) -> Lineage {
        Lineage { from: key.into(), request: self.number, unlearning: self.unlearning.clone() }
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnlearningRequest { clients, method } = &self.unlearning;
        let (number, name, n) = (self.number, method.name(), self.n_holding());
        write!(f, "request {number} to forget clients {clients:?} by {name} is not met: {n} runs still hold them")
    }
}

/// Runs of a study, and others of the same trainings, that have not forgotten all of these clients.
fn runs_with(
    root: &Path,
    results: &Results,
    unlearning: &UnlearningRequest,
    only: Option<&str>,
    number: u32,
) -> Result<Vec<RunEntry>> {
    let mut trainings: HashMap<String, usize> = HashMap::new();
    for run in &results.runs {
        trainings.entry(training_key(&run_folder(root, &run.key))?).or_insert(run.setting);
    }
    let mut keys: Vec<(usize, String)> = Vec::new();
    for key in all_keys(root)?.into_iter().filter(|key| only.is_none_or(|start| key.starts_with(start))) {
        let setting = trainings.get(&training_key(&run_folder(root, &key))?);
        keys.extend(setting.map(|&setting| (setting, key)));
    }
    keys.sort();
    ensure!(!keys.is_empty(), "{}: no finished run has such a name", root.display());
    let mut runs = Vec::new();
    for (setting, key) in keys {
        let histories = history_files::read(&run_folder(root, &key))?;
        let is_forgotten = |client: &u32| histories.iter().any(|history| history.is_forgotten(*client));
        if unlearning.clients.iter().all(is_forgotten) {
            continue;
        }
        let lineage = Lineage { from: key.clone(), request: number, unlearning: unlearning.clone() };
        runs.push(RunEntry { successor: key_after(&lineage)?, key, setting, holds_clients: true });
    }
    ensure!(!runs.is_empty(), "clients {:?} were forgotten in all runs before", unlearning.clients);
    Ok(runs)
}

/// The name of the training that a run is, or that it started from at first.
fn training_key(run: &Path) -> Result<String> {
    let record = RunRecord::read(run)?;
    let experiment = serde_json::from_value::<Experiment>(record.settings.clone());
    let settings = match experiment {
        Ok(experiment) => settings_of_run(&training_of(&experiment).into(), record.fold, record.seed)?,
        // Mimic learning has no clients.
        Err(_) => record.settings,
    };
    Ok(run_key(&settings, record.fold, record.seed, &record.data_hash))
}

fn all_keys(root: &Path) -> Result<Vec<String>> {
    let runs = root.join("runs");
    let entries = std::fs::read_dir(&runs).with_context(|| format!("{} cannot be read", runs.display()))?;
    let names: Vec<String> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<std::io::Result<_>>()?;
    Ok(names.into_iter().filter(|name| !name.contains('.')).collect())
}

fn path(root: &Path) -> PathBuf {
    root.join(JOURNAL_FILE)
}
