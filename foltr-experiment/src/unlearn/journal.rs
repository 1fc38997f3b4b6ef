//! `requests.json`: every request to forget clients in a folder, and which runs still hold them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::execute::Plan;
use crate::history_files;
use crate::job::{Job, Origin, key_after, run_key, settings_of_run, training_of};
use crate::results::Results;
use crate::spec::{Experiment, UnlearningRequest};
use crate::store::{Lineage, RunRecord, RunStore, Tombstone, list, put_json, read_json, run_folder};

const JOURNAL_FILE: &str = "requests.json";

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Journal {
    requests: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Entry {
    /// From 1.
    pub number: u32,
    pub unlearning: UnlearningRequest,
    pub time: String,
    /// Folder of the study, below that of the runs.
    study: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    pub runs: Vec<RunEntry>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RunEntry {
    pub key: String,
    pub successor: String,
    pub setting: usize,
    pub holds_clients: bool,
}

impl Journal {
    /// Reads the journal of a store's folder; empty if there were no requests.
    pub fn read(root: &Path) -> Result<Self> {
        let path = root.join(JOURNAL_FILE);
        let mut journal: Self = if path.exists() { read_json(&path)? } else { Self::default() };
        // The program may have ended after a tombstone and before the journal was written.
        for run in journal.requests.iter_mut().flat_map(|entry| &mut entry.runs) {
            run.holds_clients &= Tombstone::read(root, &run.key).is_none();
        }
        Ok(journal)
    }

    pub fn open_request(&self) -> Option<&Entry> {
        self.requests.last().filter(|entry| entry.n_holding() > 0)
    }

    /// The number of a new request, or goes on with the last one if it was the same and is not met.
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
    pub fn withdraw(&mut self, store: &RunStore) -> Result<()> {
        let is_untouched = |entry: &mut Entry| entry.runs.iter().all(|run| run.holds_clients);
        if let Some(entry) = self.requests.pop_if(is_untouched) {
            self.write(store)?;
            entry.runs.iter().try_for_each(|run| store.remove(&run.successor))?;
        }
        Ok(())
    }

    /// Puts the new runs in place of the old ones, whose files go.
    pub fn settle(&mut self, store: &RunStore) -> Result<()> {
        let Some(entry) = self.requests.last_mut() else { return Ok(()) };
        for run in entry.runs.iter_mut().filter(|run| run.holds_clients) {
            let (successor, clients) = (run.successor.clone(), entry.unlearning.clients.clone());
            store.bury(&run.key, &Tombstone { successor, request: entry.number, clients })?;
            run.holds_clients = false;
        }
        self.write(store)
    }

    fn write(&self, store: &RunStore) -> Result<()> {
        put_json(&store.path().join(JOURNAL_FILE), self)
    }
}

impl Entry {
    pub fn n_holding(&self) -> usize {
        self.runs.iter().filter(|run| run.holds_clients).count()
    }

    pub fn plan(&self, results: &Results, store: &RunStore) -> Result<Plan> {
        let job = |run: &RunEntry| -> Result<Job> {
            let record = RunRecord::read(&store.run_folder(&run.key))?;
            let mut lineage = record.lineage;
            lineage.push(lineage_after(&run.key, self.number, &self.unlearning));
            Ok(Job {
                setting: run.setting,
                fold: record.fold,
                seed: record.seed,
                key: run.successor.clone(),
                data_hash: record.data_hash,
                origin: Origin::History { parent: run.key.clone(), request: self.unlearning.clone(), lineage },
            })
        };
        let jobs: Vec<Job> = self.runs.iter().filter(|run| run.holds_clients).map(job).collect::<Result<_>>()?;
        let (grid, n_runs) = (results.grid.clone(), jobs.len());
        Ok(Plan { grid, jobs, n_runs, shard: None, data_hashes: BTreeMap::new() })
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnlearningRequest { clients, method, .. } = &self.unlearning;
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
        let successor = key_after(&lineage_after(&key, number, unlearning))?;
        runs.push(RunEntry { successor, key, setting, holds_clients: true });
    }
    ensure!(!runs.is_empty(), "clients {:?} were forgotten in all runs before", unlearning.clients);
    Ok(runs)
}

fn lineage_after(key: &str, request: u32, unlearning: &UnlearningRequest) -> Lineage {
    Lineage { from: key.into(), request, unlearning: unlearning.clone() }
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
    let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let names = list(&root.join("runs"))?.into_iter().filter_map(name);
    Ok(names.filter(|name| !name.contains('.')).collect())
}
