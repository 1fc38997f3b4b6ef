//! Peaks of memory by rounds and runs. A peak is one number of a process, so every measurement starts a process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, ensure};
use foltr_experiment::execute::Execution;
use foltr_experiment::grid::Grid;
use foltr_experiment::results::Results;
use foltr_experiment::store::RunStore;
use foltr_report::assemble::run_grid;

use super::Measured;

/// A name and two numbers, such as `rows 12 64000`, and the folder to work in.
struct Part {
    kind: String,
    n_runs: usize,
    n_rounds: usize,
    folder: PathBuf,
}

impl Part {
    fn parse(text: &str) -> Result<Self> {
        let mut words = text.splitn(4, ' ');
        let mut word = || words.next().context("expected KIND RUNS ROUNDS FOLDER");
        Ok(Self { kind: word()?.into(), n_runs: word()?.parse()?, n_rounds: word()?.parse()?, folder: word()?.into() })
    }

    fn spec(&self) -> String {
        let seeds: Vec<String> = (1..=self.n_runs).map(|seed| seed.to_string()).collect();
        let (shape, n_clients, more) = match self.kind.as_str() {
            "history" => ("mq2007", 10, "[history]\nupdates_every = 1\n"),
            _ => ("tiny", 2, ""),
        };
        format!(
            "seeds = [{}]\n[data]\nkind = \"synthetic\"\nshape = \"{shape}\"\nqueries = 100\nseed = 1\n\
             [clients]\nn_clients = {n_clients}\ninteractions = 1\n\
             [users]\nkind = \"cascade\"\npreset = \"navigational\"\n\
             [ranker]\nkind = \"linear\"\ninitialisation = {{ kind = \"zero\" }}\n\
             [learner]\nkind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"\n\
             [federation]\nrounds = {}\noptimiser = {{ kind = \"learning-rate\", rate = 1.0 }}\n\
             [metrics]\noffline = [\"ndcg@10\"]\nevaluate_on = [\"test\"]\nevaluate = \"first-and-last\"\n{more}",
            seeds.join(", "),
            self.n_rounds
        )
    }
}

/// Runs an experiment as `foltr run` does, or reads its results as a report does; the peak of memory in bytes.
pub fn part(text: &str) -> Result<u64> {
    let part = Part::parse(text)?;
    if part.kind == "read" {
        let results = Results::open(&part.folder)?;
        let n_values: usize = results.runs.iter().map(|run| run.rows.metrics().len()).sum();
        ensure!(n_values > 0, "{} has no rows", part.folder.display());
    } else {
        let grid = Grid::from_toml(&part.spec(), &[]).map_err(|problems| anyhow!("{problems:?}"))?;
        let (store, never) = (RunStore::open(&part.folder)?, AtomicBool::new(false));
        run_grid(grid, &store, None, &Execution::new(&|_| {}, &never), None)?;
    }
    peak().context("this system does not say how much memory a process had")
}

fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// Megabytes of a part in a process of its own.
fn megabytes(kind: &str, n_runs: usize, n_rounds: usize, folder: &Path) -> Result<f64> {
    let part = format!("{kind} {n_runs} {n_rounds} {}", folder.display());
    let child =
        Command::new(std::env::current_exe()?).args(["bench", "--threads", "1", "--growth-part", &part]).output()?;
    let text = String::from_utf8_lossy(&child.stdout).into_owned();
    let bytes: u64 =
        text.trim().parse().with_context(|| format!("{part}: {}", String::from_utf8_lossy(&child.stderr)))?;
    Ok(bytes as f64 / 1e6)
}

/// Does something in a new folder, which is removed afterwards.
fn in_folder<T>(work: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let root = std::env::temp_dir().join(format!("foltr-bench-{}", std::process::id()));
    let done = work(&root);
    let removed = std::fs::remove_dir_all(&root).with_context(|| format!("{} cannot be removed", root.display()));
    done.and_then(|done| removed.map(|()| done))
}

pub fn rows() -> Result<Vec<Measured>> {
    const N_ROUNDS: usize = 64_000;
    in_folder(|root| {
        let mut peaks = [Vec::new(), Vec::new(), Vec::new()];
        for n_runs in [3, 6, 12] {
            let folder = root.join(n_runs.to_string());
            for (peaks, kind) in peaks.iter_mut().zip(["rows", "rows", "read"]) {
                peaks.push((n_runs as f64, megabytes(kind, n_runs, N_ROUNDS, &folder)?));
            }
        }
        let [trained, again, read] = peaks;
        Ok(vec![
            Measured::series(
                "**Rows**, runs of 64,000 rounds: megabytes to train them and write their tables",
                &trained,
            ),
            Measured::series("The same when all runs are finished", &again),
            Measured::series("Their rows read for a report", &read),
        ])
    })
}

pub fn histories() -> Result<Vec<Measured>> {
    in_folder(|root| {
        let mut peaks = Vec::new();
        for n_rounds in [15_000, 30_000, 60_000] {
            let folder = root.join(n_rounds.to_string());
            let peak = megabytes("history", 1, n_rounds, &folder)?;
            peaks.push((megabytes_of_histories(&folder)?, peak));
        }
        let what = "**Histories**, megabytes on disk (ten clients, every update): megabytes to train and store them";
        Ok(vec![Measured::series(what, &peaks)])
    })
}

fn megabytes_of_histories(folder: &Path) -> Result<f64> {
    let mut bytes = 0;
    for run in std::fs::read_dir(folder.join("runs"))? {
        bytes += std::fs::metadata(run?.path().join("history.bin"))?.len();
    }
    Ok(bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_run_and_are_read_again() {
        let folder = std::env::temp_dir().join(format!("foltr growth {}", std::process::id()));
        for kind in ["rows", "rows", "read", "history"] {
            let peak = part(&format!("{kind} 2 5 {}", folder.display())).expect(kind);
            assert!(peak > 1 << 20, "{kind}: {peak} bytes");
        }
        assert!(megabytes_of_histories(&folder).is_err(), "runs of `rows` have none");
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(part("rows 2").is_err());
    }
}
