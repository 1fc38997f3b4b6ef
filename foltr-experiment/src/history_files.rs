//! What a run stores for clients that leave, as files of its folder: `history.bin`, or one such file for each shard.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use foltr_federation::History;

use crate::rows::Forgotten;
use crate::store::{self, put, put_json};

/// What `[unlearning]` or the newest request did.
pub const FORGOTTEN_FILE: &str = "unlearning.json";

/// The file of a history; shards are counted from 0.
fn file_name(shard: usize, n_shards: usize) -> String {
    if n_shards == 1 { "history.bin".into() } else { format!("history-{shard}.bin") }
}

pub(crate) fn write(folder: &Path, histories: &[History], forgotten: Option<&Forgotten>) -> Result<()> {
    for (shard, history) in histories.iter().enumerate() {
        put(&folder.join(file_name(shard, histories.len())), &history.encode())?;
    }
    forgotten.map_or(Ok(()), |forgotten| put_json(&folder.join(FORGOTTEN_FILE), forgotten))
}

/// Reads the histories of a run and checks their chains.
pub(crate) fn read(folder: &Path) -> Result<Vec<History>> {
    let single = folder.join(file_name(0, 1));
    let of_shards = (0..).map(|shard| folder.join(file_name(shard, 2))).take_while(|path| path.exists());
    let paths: Vec<_> = if single.exists() { vec![single.clone()] } else { of_shards.collect() };
    ensure!(
        !paths.is_empty(),
        "{}: there is no such file; only runs of experiments with [history] can forget",
        single.display()
    );
    paths.iter().map(|path| read_one(path)).collect()
}

pub(crate) fn read_one(path: &Path) -> Result<History> {
    let bytes = store::read(path)?;
    let verified = || -> Result<History> {
        let history = History::decode(&bytes)?;
        history.verify()?;
        Ok(history)
    };
    verified().with_context(|| format!("{} is not believed", path.display()))
}
