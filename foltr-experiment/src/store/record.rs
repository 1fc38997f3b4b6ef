//! `run.json`: what a finished run is, and the checksum of every file that it has.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::files::{put, replace_json};
use super::run_folder;
use crate::spec::UnlearningRequest;

pub(super) const RECORD_FILE: &str = "run.json";
const NO_CHECKSUM: &str = "00000000000000000000000000000000";

/// What a finished run says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Of this file, with 32 zeros in this place.
    #[serde(default)]
    checksum: String,
    /// The experiment of this one run with every default filled in.
    pub settings: serde_json::Value,
    pub fold: usize,
    pub seed: u64,
    /// Hash of the fold's queries.
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
    /// Checksum of every other file of the run.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// One request to forget clients that a run went through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// The run before.
    pub from: String,
    /// Of the request in the folder's journal.
    pub request: u32,
    pub unlearning: UnlearningRequest,
}

/// What stays of a run in which clients were forgotten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The run after the request.
    pub successor: String,
    pub request: u32,
    pub clients: Vec<u32>,
}

impl RunRecord {
    /// A record that has no files yet.
    pub fn new(settings: serde_json::Value, fold: usize, seed: u64, data_hash: &str) -> Self {
        Self {
            checksum: String::new(),
            settings,
            fold,
            seed,
            data_hash: data_hash.into(),
            code_hash: super::CODE_HASH.into(),
            n_interactions: 0,
            training_seconds: 0.0,
            parent: None,
            lineage: Vec::new(),
            files: BTreeMap::new(),
        }
    }

    /// Reads a record and checks it, but no other file.
    ///
    /// # Errors
    /// If it is missing or was altered.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(RECORD_FILE);
        let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let record: Self = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let is_whole = text.contains(&record.checksum)
            && checksum(text.replacen(&record.checksum, NO_CHECKSUM, 1).as_bytes()) == record.checksum;
        ensure!(is_whole, "{} is damaged: its checksum differs", path.display());
        Ok(record)
    }

    /// Reads a record and compares every file with its checksum.
    ///
    /// # Errors
    /// With the first file that is missing or differs.
    pub fn verify(folder: &Path) -> Result<Self> {
        let record = Self::read(folder)?;
        for name in record.files.keys() {
            record.content(folder, name)?;
        }
        Ok(record)
    }

    /// One file, if it is as it was written.
    ///
    /// # Errors
    /// If it is missing or differs.
    pub fn content(&self, folder: &Path, name: &str) -> Result<Vec<u8>> {
        let path = folder.join(name);
        let expected = self.files.get(name).with_context(|| format!("{} is no file of the run", path.display()))?;
        let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        ensure!(checksum(&bytes) == *expected, "{} is damaged: its checksum differs", path.display());
        Ok(bytes)
    }

    /// Takes the checksums of all files and writes the record.
    pub(super) fn write(mut self, folder: &Path) -> Result<()> {
        self.files = BTreeMap::new();
        checksums_below(folder, "", &mut self.files)?;
        self.checksum = NO_CHECKSUM.into();
        let text = serde_json::to_string_pretty(&self)? + "\n";
        let text = text.replacen(NO_CHECKSUM, &checksum(text.as_bytes()), 1);
        put(&folder.join(RECORD_FILE), text.as_bytes())
    }
}

impl Tombstone {
    pub fn read(root: &Path, key: &str) -> Option<Self> {
        let text = std::fs::read_to_string(run_folder(root, key).with_extension("forgotten")).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(super) fn write(&self, root: &Path, key: &str) -> Result<()> {
        replace_json(&run_folder(root, key).with_extension("forgotten"), self).map(drop)
    }
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// Files in folders are called `folder/file`; hidden ones are not part of the run.
fn checksums_below(folder: &Path, prefix: &str, sums: &mut BTreeMap<String, String>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || (prefix.is_empty() && name == RECORD_FILE) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            checksums_below(&path, &format!("{prefix}{name}/"), sums)?;
        } else {
            let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            sums.insert(format!("{prefix}{name}"), checksum(&bytes));
        }
    }
    Ok(())
}
