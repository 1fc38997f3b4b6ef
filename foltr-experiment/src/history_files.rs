//! What a run stores for clients that leave, as files of its folder: `history.bin`, or one such file for each shard.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use foltr_federation::History;

use crate::rows::Forgotten;
use crate::store::{put_json, replace};

/// What `[unlearning]` or the newest request did.
pub const FORGOTTEN_FILE: &str = "unlearning.json";

/// The file of a history; shards are counted from 0.
fn file_name(shard: usize, n_shards: usize) -> String {
    if n_shards == 1 { "history.bin".into() } else { format!("history-{shard}.bin") }
}

pub(crate) fn write(folder: &Path, histories: &[History], forgotten: Option<&Forgotten>) -> Result<()> {
    for (shard, history) in histories.iter().enumerate() {
        replace(&folder.join(file_name(shard, histories.len())), |file| {
            Ok(history.encode_to(|piece| file.write_all(piece)).map(drop)?)
        })?;
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

/// Reads a history as a stream: its bytes and what they say are never in memory together.
pub(crate) fn read_one(path: &Path) -> Result<History> {
    let cannot = || format!("{} cannot be read", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    let len = usize::try_from(file.metadata().with_context(cannot)?.len())?;
    let mut failure = None;
    let decoded = History::decode_from(len, |block| match file.read_exact(block) {
        Ok(()) => true,
        Err(error) => {
            failure = Some(error);
            false
        }
    });
    failure.map_or(Ok(()), Err).with_context(cannot)?;
    let verified = decoded.and_then(|history| history.verify().map(|()| history));
    verified.with_context(|| format!("{} is not believed", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_federation::history::Header;
    use foltr_federation::{Contributions, Fingerprint, HistoryPolicy, ServerOptimiser};
    use foltr_test::{in_own_process, peak_memory};
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    const N_CLIENTS: u32 = 100;
    const N_PARAMS: usize = 46;

    /// Every update of so many rounds.
    fn history(n_rounds: u32) -> History {
        let policy = HistoryPolicy { updates_every: Some(1), ..HistoryPolicy::default() };
        let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
        let (settings, initial) = (Fingerprint::of(b"settings"), vec![0.0; N_PARAMS]);
        let mut history = History::new(Header { policy, n_clients: N_CLIENTS, optimiser, settings, initial });
        let (clients, mut updates): (Vec<u32>, _) = ((0..N_CLIENTS).collect(), Contributions::new(N_PARAMS));
        for &client in &clients {
            updates.push(client, 5.0, &[client as f32; N_PARAMS]);
        }
        let mut salts = ChaCha8Rng::seed_from_u64(1);
        for round in 0..n_rounds {
            history.close(round, &[0.5; N_PARAMS], &clients, &updates, &mut salts);
        }
        history
    }

    #[test]
    fn a_history_is_in_memory_once_while_it_is_written_and_read() {
        in_own_process(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let (written, head) = (history(2_000), history(1).head());
            let Some(before) = peak_memory() else { return };
            write(folder.path(), std::slice::from_ref(&written), None).expect("written");
            drop(written);
            let read = read(folder.path()).expect("read");
            assert_eq!(read[0].n_rounds(), 2_000);
            assert_eq!(read[0].heads().nth(1), Some(head));
            let on_disk = std::fs::metadata(folder.path().join("history.bin")).expect("a file").len();
            let grown = peak_memory().expect("known") - before;
            assert!(on_disk > 40_000_000 && grown < on_disk / 4, "{grown} bytes more for a file of {on_disk}");
        });
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), &[history(3)], None).expect("written");
        let path = folder.path().join("history.bin");
        let whole = std::fs::read(&path).expect("bytes");
        for length in [0, 9, 31, 1000, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).expect("cut");
            let message = format!("{:#}", read_one(&path).expect_err("cut"));
            assert!(message.contains("history.bin is not believed"), "{message}");
        }
    }
}
