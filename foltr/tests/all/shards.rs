//! Shares of the runs of every command that trains, merged: the same bytes as from one machine.

use std::path::Path;
use std::process::Command;

use foltr_test::ExperimentFile;

use crate::binary::{assert_contains, foltr, read, stderr, stdout, temporary};
use crate::mimic::FEATURES;

/// Runs a command in two shares, into `a` and `b`, and merges them into `merged`.
fn in_two_shares(folder: &Path, command: &[&str]) {
    for (shard, out) in [("1/2", "a"), ("2/2", "b")] {
        foltr().current_dir(folder).args(command).args(["--out", out, "--shard", shard]).assert().success();
    }
    merge(folder, ["b", "a"], "merged");
}

fn merge(folder: &Path, parts: [&str; 2], out: &str) {
    let merged = foltr().current_dir(folder).arg("merge").args(parts).args(["--out", out]).assert().success();
    assert_contains(&stdout(&merged), &["Rerun the command without --shard"]);
}

fn assert_same(folder: &Path, names: &[&str]) {
    for name in names {
        let whole = read(&folder.join("whole"), name);
        assert!(whole.len() > 20 && read(&folder.join("merged"), name) == whole, "{name} differs");
    }
}

#[test]
fn mimic_learning_in_shares_makes_the_same_tables() {
    let folder = temporary();
    std::fs::write(folder.path().join("mimic.toml"), FEATURES.replace("seeds = [1]", "seeds = [1, 2]"))
        .expect("written");
    let command = ["mimic", "run", "mimic.toml"];
    foltr().current_dir(folder.path()).args(command).args(["--out", "whole"]).assert().success();
    in_two_shares(folder.path(), &command);
    assert_same(folder.path(), &["rows.csv", "summary.json", "queries.csv"]);
}

#[test]
fn an_entry_in_shares_is_judged_after_the_merge_as_on_one_machine() {
    let folder = temporary();
    let command = ["reproduce", "unlearning-shards", "foltr-es-table-2", "--quick"];
    let judge = |out: &str| foltr().current_dir(folder.path()).args(command).args(["--out", out]).assert();
    judge("whole");
    in_two_shares(folder.path(), &command);
    assert!(!folder.path().join("merged/unlearning-shards/verdict.json").exists(), "a share is not judged");
    judge("merged");
    assert_same(folder.path(), &["unlearning-shards/verdict.json", "unlearning-shards/rows.csv"]);
}

/// A share of the candidates is not enough to choose: what is chosen by half of them may be wrong.
#[test]
fn a_choice_in_shares_waits_for_all_candidates() {
    let temporary = temporary();
    let folder = temporary.path();
    ExperimentFile::fpdgd().set("learner.learning_rate", "[0.0001, 0.1, 0.3]").write(&folder.join("study.toml"));
    let command = ["tune", "study.toml"];
    foltr().current_dir(folder).args(command).args(["--out", "whole"]).assert().success();
    let first = foltr().current_dir(folder).args(command).args(["--out", "a", "--shard", "1/2"]).assert().success();
    assert_contains(&stderr(&first), &["a share of the candidates is finished", "foltr merge"]);
    assert!(!folder.join("a/chosen.csv").exists() && !folder.join("a/rows.csv").exists());
    foltr().current_dir(folder).args(command).args(["--out", "b", "--shard", "2/2"]).assert().success();
    merge(folder, ["a", "b"], "candidates");
    // The same two shares again, of what is chosen.
    for (shard, out) in [("1/2", "c"), ("2/2", "d")] {
        assert!(Command::new("cp").args(["-r", "candidates", out]).current_dir(folder).status().expect("cp").success());
        foltr().current_dir(folder).args(command).args(["--out", out, "--shard", shard]).assert().success();
    }
    merge(folder, ["c", "d"], "merged");
    foltr().current_dir(folder).args(command).args(["--out", "merged"]).assert().success();
    assert_same(folder, &["rows.csv", "summary.json", "resolved.toml", "chosen.csv", "choice/rows.csv"]);
}

#[test]
fn folders_without_results_are_not_merged() {
    let folder = temporary();
    std::fs::create_dir(folder.path().join("empty")).expect("made");
    let refused = foltr().current_dir(folder.path()).args(["merge", "empty", "--out", "merged"]).assert().failure();
    assert_contains(&stderr(&refused), &["empty has no results: expected a file resolved.toml"]);
    assert!(!folder.path().join("merged").exists());
}
