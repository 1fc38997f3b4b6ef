//! `run.json`: what a finished run is, and the checksum of every file that it has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::files::{checksum_of, lines_of, list, put, put_json, read, read_json};
use super::{CLIENTS_FILE, CODE_HASH, QUERIES_FILE, ROWS_FILE, tombstone_path};
use crate::rows::{ClientValue, MetricNames, QueryValue, Row};
use crate::spec::UnlearningRequest;

const RECORD_FILE: &str = "run.json";
const NO_CHECKSUM: &str = "00000000000000000000000000000000";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Of this file, with 32 zeros in this place.
    #[serde(default)]
    checksum: String,
    /// The experiment of this one run with every default filled in.
    pub settings: serde_json::Value,
    pub fold: usize,
    pub seed: u64,
    pub data_hash: String,
    pub code_hash: String,
    pub n_interactions: u64,
    /// Without evaluation.
    pub training_seconds: f64,
    /// The run whose history this one started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Requests of `foltr unlearn` that led to this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<Lineage>,
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    pub from: String,
    /// Of the request in the folder's journal.
    pub request: u32,
    pub unlearning: UnlearningRequest,
}

/// What stays of a run in which clients were forgotten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tombstone {
    pub successor: String,
    pub request: u32,
    pub clients: Vec<u32>,
}

impl RunRecord {
    pub const FILE_NAME: &str = RECORD_FILE;

    pub fn new(settings: serde_json::Value, fold: usize, seed: u64, data_hash: &str) -> Self {
        let (data_hash, code_hash) = (data_hash.into(), CODE_HASH.into());
        Self { settings, fold, seed, data_hash, code_hash, ..Self::default() }
    }

    /// Reads a record and checks it, but no other file.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(RECORD_FILE);
        let damage = || format!("{} is damaged", path.display());
        let text = String::from_utf8(read(&path)?).with_context(damage)?;
        let record: Self = serde_json::from_str(&text).with_context(damage)?;
        let is_whole = text.contains(&record.checksum)
            && checksum(text.replacen(&record.checksum, NO_CHECKSUM, 1).as_bytes()) == record.checksum;
        ensure!(is_whole, "{} is damaged: its checksum differs", path.display());
        Ok(record)
    }

    /// Reads a record and compares every file with its checksum.
    pub fn verify(folder: &Path) -> Result<Self> {
        let record = Self::read(folder)?;
        record.files.keys().try_for_each(|name| record.file(folder, name)?.check())?;
        Ok(record)
    }

    fn file(&self, folder: &Path, name: &str) -> Result<CheckedFile> {
        let path = folder.join(name);
        let checksum = self.files.get(name).with_context(|| format!("{} is no file of the run", path.display()))?;
        Ok(CheckedFile { checksum: checksum.clone(), path })
    }

    /// One file, if it is as it was written.
    pub fn content(&self, folder: &Path, name: &str) -> Result<Vec<u8>> {
        let file = self.file(folder, name)?;
        let bytes = read(&file.path)?;
        file.compare(&checksum(&bytes))?;
        Ok(bytes)
    }

    pub(crate) fn rows(&self, folder: &Path) -> Result<RowFile> {
        self.file(folder, ROWS_FILE).map(RowFile)
    }

    /// What the final rankers are worth to every client; empty if clients do not differ.
    pub(crate) fn clients(&self, folder: &Path) -> Result<Vec<ClientValue>> {
        self.lines_if_any(folder, CLIENTS_FILE, ClientValue::parse)
    }

    /// What the final ranker is worth on every held-out query; empty if that was not asked for.
    pub(crate) fn queries(&self, folder: &Path) -> Result<Vec<QueryValue>> {
        self.lines_if_any(folder, QUERIES_FILE, QueryValue::parse)
    }

    fn lines_if_any<T>(&self, folder: &Path, name: &str, parse: fn(&str) -> Option<T>) -> Result<Vec<T>> {
        let mut lines = Vec::new();
        if self.files.contains_key(name) {
            self.file(folder, name)?.lines(parse, &mut |line| lines.push(line))?;
        }
        Ok(lines)
    }

    pub(super) fn write(mut self, folder: &Path) -> Result<()> {
        self.files = BTreeMap::new();
        checksums_below(folder, "", &mut self.files)?;
        self.checksum = NO_CHECKSUM.into();
        let text = serde_json::to_string_pretty(&self)? + "\n";
        let text = text.replacen(NO_CHECKSUM, &checksum(text.as_bytes()), 1);
        put(&folder.join(RECORD_FILE), text.as_bytes())
    }
}

/// A file of a finished run, and the checksum that it had when it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CheckedFile {
    path: PathBuf,
    checksum: String,
}

impl CheckedFile {
    fn check(&self) -> Result<()> {
        self.compare(&checksum_of(&self.path)?)
    }

    fn compare(&self, checksum: &str) -> Result<()> {
        ensure!(checksum == self.checksum, "{} is damaged: its checksum differs", self.path.display());
        Ok(())
    }

    /// Shows every line below the header. What is shown is to be believed only if no error is returned.
    fn lines<T>(&self, mut parse: impl FnMut(&str) -> Option<T>, show: &mut dyn FnMut(T)) -> Result<()> {
        let (mut header, mut wrong) = (String::new(), None);
        let checksum = lines_of(&self.path, |number, line| match (number, parse(line)) {
            (1, _) => line.clone_into(&mut header),
            (_, Some(parsed)) => show(parsed),
            (_, None) => _ = wrong.get_or_insert_with(|| (number, line.to_owned())),
        })?;
        self.compare(&checksum)?;
        match wrong {
            Some((number, line)) => bail!("{}:{number}: `{line}`: expected {header}", self.path.display()),
            None => Ok(()),
        }
    }
}

/// The rows of a finished run, which are read a line at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowFile(CheckedFile);

impl RowFile {
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.0.checksum == other.0.checksum
    }

    pub(crate) fn to_vec(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.read(|row| rows.push(row))?;
        Ok(rows)
    }

    /// Shows every row, in the order of the file. What is shown is to be believed only if no error is returned.
    pub(crate) fn read(&self, mut show: impl FnMut(Row)) -> Result<()> {
        let mut names = MetricNames::default();
        self.0.lines(|line| Row::parse(line, &mut names), &mut show)
    }
}

impl Tombstone {
    pub(crate) fn read(root: &Path, key: &str) -> Option<Self> {
        read_json(&tombstone_path(root, key)).ok()
    }

    pub(super) fn write(&self, root: &Path, key: &str) -> Result<()> {
        put_json(&tombstone_path(root, key), self)
    }
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// Files in folders are called `folder/file`; hidden ones are not part of the run.
fn checksums_below(folder: &Path, prefix: &str, sums: &mut BTreeMap<String, String>) -> Result<()> {
    for path in list(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || (prefix.is_empty() && name == RECORD_FILE) {
            continue;
        }
        if path.is_dir() {
            checksums_below(&path, &format!("{prefix}{name}/"), sums)?;
        } else {
            sums.insert(format!("{prefix}{name}"), checksum_of(&path)?);
        }
    }
    Ok(())
}
