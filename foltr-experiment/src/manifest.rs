//! `study.json`: which program made the results, of which data, on which machine, in how long.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::execute::Plan;
use crate::job::Job;
use crate::results::write_jobs;
use crate::store::{CODE_HASH, StudyFolder, read_json};

const MANIFEST_FILE: &str = "study.json";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: String,
    pub code_hash: String,
    /// Hash of every fold's queries by data set and fold.
    pub data: BTreeMap<String, String>,
    /// Runs of the whole grid, also those of other shards.
    pub n_runs: usize,
    pub n_finished: usize,
    pub n_interactions: u64,
    /// Training time of the finished runs, without evaluation.
    pub training_seconds: f64,
    /// One for each time that the command was started, or folder that was merged.
    pub starts: Vec<Invocation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// Which share of the runs was asked for, such as `1/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    pub n_finished: usize,
    pub seconds: f64,
    pub threads: usize,
    pub machine: Machine,
}

/// A machine, as far as it tells what results cost; nothing that identifies it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub n_processors: usize,
    pub system: String,
}

impl Machine {
    pub fn this() -> Self {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Self {
            processor: model.map_or_else(|| "unknown".into(), |(_, name)| name.trim().into()),
            n_processors: std::thread::available_parallelism().map_or(1, usize::from),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

impl Manifest {
    pub fn this_program() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), code_hash: CODE_HASH.into(), ..Self::default() }
    }

    /// Writes what is asked for into a study's folder, before the first run.
    pub fn begin(study: &StudyFolder<'_>, plan: &Plan) -> Result<Self> {
        let starts = Self::read(study.path()).map_or_else(|_| Vec::new(), |earlier| earlier.starts);
        let about = Self { data: plan.data_hashes.clone(), n_runs: plan.n_runs, starts, ..Self::this_program() };
        study.write("resolved.toml", plan.grid.to_toml()?.as_bytes())?;
        write_jobs(study, &plan.grid, plan.jobs.iter().map(Job::line))?;
        about.write(study)?;
        Ok(about)
    }

    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST_FILE);
        read_json(&path).with_context(|| format!("{}: expected a result folder of `foltr run`", folder.display()))
    }

    pub fn write(&self, study: &StudyFolder<'_>) -> Result<()> {
        study.write(MANIFEST_FILE, &serde_json::to_vec_pretty(self)?)
    }
}
