//! A grid that is killed, interrupted or divided among machines ends with the same bytes as an undisturbed one.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use foltr_test::ExperimentFile;

use crate::binary::{self, stderr, temporary};

/// 200 small runs: 2 numbers of interactions x 2 kinds of users x 5 learning rates x 10 seeds.
fn write_grid(folder: &Path, n_rounds: usize) {
    let grid = ExperimentFile::fpdgd()
        .set("seeds", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]")
        .set("data.test_queries", "50")
        .set("clients.n_clients", "20")
        .set("clients.interactions", "[2, 4]")
        .set("users.preset", "[\"perfect\", \"informational\"]")
        .set("learner.learning_rate", "[0.01, 0.03, 0.1, 0.3, 1.0]")
        .set("federation.rounds", &n_rounds.to_string());
    grid.write(&folder.join("grid.toml"));
}

fn command(folder: &Path, out: &str, more: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("foltr"));
    command
        .current_dir(folder)
        .env("FOLTR_CACHE", "off")
        .args(["run", "grid.toml", "--out", out, "--threads", "2"])
        .args(more);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(folder: &Path, out: &str, more: &[&str]) {
    assert!(command(folder, out, more).status().expect("started").success(), "{out}");
}

fn n_finished(folder: &Path, out: &str) -> usize {
    let runs = std::fs::read_dir(folder.join(out).join("runs"));
    runs.map_or(0, |runs| runs.filter(|run| run.as_ref().is_ok_and(|run| run.path().extension().is_none())).count())
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited for a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(name).arg(child.id().to_string()).status().expect("kill");
    assert!(sent.success());
}

fn file(folder: &Path, out: &str, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(out).join(name)).unwrap_or_else(|error| panic!("{out}/{name}: {error}"))
}

#[test]
fn killed_five_times_or_in_three_shards_the_summary_has_the_same_bytes() {
    let temporary = temporary();
    let folder = temporary.path();
    write_grid(folder, 60);
    run(folder, "undisturbed", &[]);
    assert_eq!(n_finished(folder, "undisturbed"), 200);

    // Somewhere in each fifth of the runs, at a moment that nobody chose.
    let mut before = 0;
    for kill in 1..=5 {
        let mut child = command(folder, "killed", &[]).spawn().expect("started");
        let jitter = u64::from(Instant::now().elapsed().subsec_nanos()) % 20 + 3 * kill as u64;
        wait_until(|| n_finished(folder, "killed") >= 35 * kill);
        std::thread::sleep(Duration::from_millis(jitter));
        signal(&child, "-KILL");
        child.wait().expect("ended");
        let now = n_finished(folder, "killed");
        assert!(now > before && now < 200, "{now} runs after kill {kill}");
        before = now;
    }
    run(folder, "killed", &[]);

    let shards = ["1/3", "2/3", "3/3"];
    for (shard, out) in shards.iter().zip(["a", "b", "c"]) {
        run(folder, out, &["--shard", shard]);
    }
    assert_eq!(n_finished(folder, "a") + n_finished(folder, "b") + n_finished(folder, "c"), 200);
    binary::foltr().current_dir(folder).args(["merge", "c", "a", "b", "--out", "merged"]).assert().success();

    for name in ["summary.json", "rows.csv", "resolved.toml"] {
        let undisturbed = file(folder, "undisturbed", name);
        assert!(undisturbed.len() > 500, "{name}");
        assert!(file(folder, "killed", name) == undisturbed, "{name} differs after kills");
        assert!(file(folder, "merged", name) == undisturbed, "{name} differs after a merge");
    }
}

#[test]
fn an_interrupted_run_keeps_what_is_finished_and_ends_with_code_130() {
    let temporary = temporary();
    let folder = temporary.path();
    write_grid(folder, 2000);
    for name in ["-INT", "-TERM", "-HUP"] {
        let before = n_finished(folder, "out");
        let mut child = command(folder, "out", &[]).spawn().expect("started");
        wait_until(|| n_finished(folder, "out") >= before + 3);
        signal(&child, name);
        assert_eq!(child.wait().expect("ended").code(), Some(130), "{name}");
    }
    let n_stored = n_finished(folder, "out");
    let about: serde_json::Value = serde_json::from_slice(&file(folder, "out", "study.json")).expect("JSON");
    assert_eq!((about["n_runs"].as_u64(), about["n_finished"].as_u64()), (Some(200), Some(n_stored as u64)));
    let rows = String::from_utf8(file(folder, "out", "rows.csv")).expect("text");
    // Two online values a round, and one offline value a round and before the first.
    assert_eq!(rows.lines().count(), 1 + n_stored * (3 * 2000 + 1));
}

#[test]
fn folders_of_different_experiments_are_not_merged() {
    let temporary = temporary();
    let folder = temporary.path();
    write_grid(folder, 3);
    run(folder, "a", &["--set", "learner.learning_rate=0.1", "--set", "seeds=[1]"]);
    run(folder, "b", &["--set", "learner.learning_rate=0.2", "--set", "seeds=[1]"]);
    let merge = |folders: &[&str]| {
        binary::foltr().current_dir(folder).arg("merge").args(folders).args(["--out", "merged"]).assert().code(1)
    };
    merge(&["a", "b"]).stderr("error: a and b are of different experiments: see their resolved.toml\n");
    let text = stderr(&merge(&["a", "none"]));
    assert!(text.starts_with("error: none: no such folder; expected a result folder of `foltr run`"), "{text}");
}
