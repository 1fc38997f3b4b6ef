//! A result folder on disk: where things are, how a finished run is kept, and who may write.
//!
//! ```text
//! resolved.toml     the experiment with overrides and defaults; can be run again
//! rows.csv          one number a line: setting columns, seed, fold, round, metric, value
//! summary.json      per setting: mean, standard deviation, n, confidence interval
//! run.json          version, data, machine, seconds
//! runs/<key>/       one finished run: rows.csv, run.json, model.safetensors
//! ```
//!
//! A run in flight is `runs/<key>.partial`. It gets its name by one rename after everything in it has reached the disk, so
//! a folder `runs/<key>` is always a whole run, whatever happened to the program or the machine.

use std::fs::{File, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::grid::Setting;
use crate::rows::{ClientValue, MetricName, Row};

/// Hash of the code that computes numbers.
pub const CODE_HASH: &str = env!("FOLTR_CODE_HASH");

/// How long a row may wait before it reaches the file.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// What a finished run says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Place of its setting on every axis.
    pub labels: Vec<(String, String)>,
    /// Fold of the data, from 1.
    pub fold: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Hash of the fold's queries.
    pub data_hash: String,
    /// Hash of the code that computed it.
    pub code_hash: String,
    /// Simulated interactions.
    pub n_interactions: u64,
    /// Training time, without evaluation.
    pub training_seconds: f64,
}

/// A run's name: the same settings, data and code have the same one.
pub fn run_key(setting: &Setting, fold: usize, seed: u64, data_hash: &str) -> Result<String> {
    let mut experiment = setting.experiment.clone();
    // Other runs of the same setting do not matter to this one.
    experiment.seeds = vec![seed];
    if let crate::spec::Data::Folder { folds, .. } = &mut experiment.data {
        *folds = Some(vec![fold]);
    }
    let settings = serde_json::to_string(&experiment)?;
    let text = format!("{settings}\n{fold}\n{data_hash}\n{CODE_HASH}");
    Ok(format!("{:032x}", xxh3_128(text.as_bytes())))
}

/// What the final rankers are worth to every client, in the folder of a run whose clients differ.
const CLIENTS_FILE: &str = "clients.csv";
const CLIENTS_HEADER: &str = "client,group,metric,value";

/// A result folder that this process may write to.
#[derive(Debug)]
pub struct ResultFolder {
    path: PathBuf,
    /// Held as long as the folder is written to.
    _lock: File,
}

impl ResultFolder {
    /// Opens a folder for writing; makes it if needed. Runs that another process left unfinished are removed.
    ///
    /// # Errors
    /// If it cannot be made, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self> {
        let runs = path.join("runs");
        std::fs::create_dir_all(&runs).with_context(|| format!("the folder {} cannot be made", runs.display()))?;
        let lock_path = path.join(".lock");
        let lock = File::create(&lock_path).with_context(|| format!("{} cannot be written", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another foltr is writing to {}; wait for it, or choose another --out", path.display())
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("{} cannot be locked", lock_path.display()));
            }
        }
        for entry in std::fs::read_dir(&runs).with_context(|| format!("{} cannot be read", runs.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "partial") {
                std::fs::remove_dir_all(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
            }
        }
        Ok(Self { path: path.into(), _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a run is finished.
    pub fn has(&self, key: &str) -> bool {
        self.path.join("runs").join(key).is_dir()
    }

    /// Starts to keep a run.
    ///
    /// # Errors
    /// If its files cannot be made.
    pub fn start(&self, key: &str) -> Result<RunWriter> {
        RunWriter::new(&self.path.join("runs"), key)
    }

    /// Replaces a file as a whole: readers see the old one or the new one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        self.write_with(name, |file| Ok(file.write_all(content)?))
    }

    /// Replaces a file by what `fill` writes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_with(&self, name: &str, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<PathBuf> {
        let (path, new) = (self.path.join(name), self.path.join(format!(".{name}.new")));
        let written = || -> Result<()> {
            let mut file = BufWriter::new(File::create(&new)?);
            fill(&mut file)?;
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
            Ok(std::fs::rename(&new, &path)?)
        };
        written().with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(path)
    }
}

/// One run on its way to the disk.
#[derive(Debug)]
pub struct RunWriter {
    partial: PathBuf,
    finished: PathBuf,
    rows: BufWriter<File>,
    flushed: Instant,
}

impl RunWriter {
    fn new(runs: &Path, key: &str) -> Result<Self> {
        let partial = runs.join(format!("{key}.partial"));
        let make = || -> std::io::Result<BufWriter<File>> {
            std::fs::create_dir_all(&partial)?;
            let mut rows = BufWriter::new(File::create(partial.join("rows.csv"))?);
            rows.write_all(b"round,metric,value\n")?;
            Ok(rows)
        };
        let rows = make().with_context(|| format!("{} cannot be written", partial.display()))?;
        Ok(Self { finished: runs.join(key), partial, rows, flushed: Instant::now() })
    }

    /// Writes a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn row(&mut self, row: &Row) -> std::io::Result<()> {
        // `{}` of a float is the shortest text that reads back as the same float.
        writeln!(self.rows, "{},{},{}", row.round, row.metric, row.value)?;
        if self.flushed.elapsed() > FLUSH_AFTER {
            self.flushed = Instant::now();
            self.rows.flush()?;
        }
        Ok(())
    }

    /// Writes what the final rankers are worth to every client, if that is known.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn clients(&self, clients: &[ClientValue]) -> Result<()> {
        if clients.is_empty() {
            return Ok(());
        }
        let path = self.partial.join(CLIENTS_FILE);
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(File::create(&path)?);
            writeln!(file, "{CLIENTS_HEADER}")?;
            for ClientValue { client, group, metric, value } in clients {
                writeln!(file, "{client},{group},{metric},{value}")?;
            }
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        };
        write().with_context(|| format!("{} cannot be written", path.display()))
    }

    /// The folder of the unfinished run, for more files.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// The run is over: after this it is known as finished, also after a loss of power.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn finish(self, facts: &RunFacts) -> Result<()> {
        let told = format!("{} cannot be written", self.partial.display());
        let end = || -> Result<()> {
            self.rows.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
            let path = self.partial.join("run.json");
            std::fs::write(&path, serde_json::to_vec_pretty(facts)?)?;
            File::open(&path)?.sync_all()?;
            File::open(&self.partial)?.sync_all()?;
            std::fs::rename(&self.partial, &self.finished)?;
            if let Some(runs) = self.finished.parent() {
                File::open(runs)?.sync_all()?;
            }
            Ok(())
        };
        end().context(told)
    }

    /// The run was interrupted: nothing of it is kept.
    pub fn discard(self) {
        let _ = std::fs::remove_dir_all(&self.partial);
    }
}

/// A finished run, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    /// What it says about itself.
    pub facts: RunFacts,
    /// In the order in which they were written.
    pub rows: Vec<Row>,
}

impl FinishedRun {
    /// Reads the folder of one run.
    ///
    /// # Errors
    /// If a file is missing, unreadable or not what a run writes; with its line.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("run.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let facts = serde_json::from_str(&text).with_context(|| format!("{} is not about a run", path.display()))?;
        let path = folder.join("rows.csv");
        let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let rows: Result<Vec<Row>> = text
            .lines()
            .enumerate()
            .skip(1)
            .map(|(i, line)| {
                read_row(line)
                    .with_context(|| format!("{}:{}: `{line}`: expected round,metric,value", path.display(), i + 1))
            })
            .collect();
        Ok(Self { facts, rows: rows? })
    }
}

/// What the final rankers of a finished run were worth to every client; empty if clients did not differ.
///
/// # Errors
/// If the file is unreadable or not what a run writes; with its line.
pub fn read_clients(folder: &Path) -> Result<Vec<ClientValue>> {
    let path = folder.join(CLIENTS_FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let read = |(i, line): (usize, &str)| {
        let mut parts = line.split(',');
        let mut client = || {
            Some(ClientValue {
                client: parts.next()?.parse().ok()?,
                group: parts.next()?.parse().ok()?,
                metric: parts.next()?.parse::<MetricName>().ok()?,
                value: parts.next()?.parse().ok()?,
            })
        };
        client().with_context(|| format!("{}:{}: `{line}`: expected {CLIENTS_HEADER}", path.display(), i + 1))
    };
    text.lines().enumerate().skip(1).map(read).collect()
}

fn read_row(line: &str) -> Option<Row> {
    let (round, rest) = line.split_once(',')?;
    let (metric, value) = rest.rsplit_once(',')?;
    Some(Row { round: round.parse().ok()?, metric: metric.parse::<MetricName>().ok()?, value: value.parse().ok()? })
}
