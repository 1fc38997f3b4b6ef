//! `run.json`: which program made the results, of which data, on which machine, in how long.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::folder::CODE_HASH;

/// What is known about how a result folder came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Version of foltr.
    pub version: String,
    /// Hash of the code that computes numbers.
    pub code_hash: String,
    /// Hash of every fold's queries by data set and fold.
    pub data: BTreeMap<String, String>,
    /// Names of the runs that were asked for; those below `runs` are finished.
    pub keys: Vec<String>,
    /// Runs of the whole grid, also those of other shards.
    pub n_runs: usize,
    /// Runs that are finished in this folder.
    pub n_finished: usize,
    /// Interactions of the finished runs.
    pub n_interactions: u64,
    /// Training time of the finished runs, without evaluation.
    pub training_seconds: f64,
    /// One for each time that the command was started, or folder that was merged.
    pub starts: Vec<Start>,
}

/// One start of the command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Which share of the runs was asked for, such as `1/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Runs that it finished.
    pub n_finished: usize,
    /// From start to end.
    pub seconds: f64,
    /// Threads used.
    pub threads: usize,
    /// Where.
    pub machine: Machine,
}

/// A machine, as far as it tells what results cost; nothing that identifies it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub processor: String,
    /// Logical processors.
    pub n_processors: usize,
    /// Operating system and architecture.
    pub system: String,
}

impl Machine {
    /// This machine.
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

impl About {
    /// By this program.
    pub fn this_program() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), code_hash: CODE_HASH.into(), ..Self::default() }
    }
}
