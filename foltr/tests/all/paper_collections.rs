//! Entries on collections that nobody may pass on: samples in their own formats, below `FOLTR_DATA`, from file to verdict.

use std::path::Path;

use serde_json::Value;

use crate::binary::{assert_contains, foltr, read, stderr, stdout, temporary};
use crate::golden::{Random, letor, put, write_intents};

/// The folders as their publishers pack them.
fn write_collections(folder: &Path) {
    let mut random = Random(9);
    let mut write = |name: &str| put(folder, name, &letor(12, 5, &mut random));
    for fold in 1..=5 {
        ["train", "vali", "test"].iter().for_each(|split| write(&format!("MSLR-WEB10K/Fold{fold}/{split}.txt")));
    }
    ["train", "valid", "test"].iter().for_each(|split| write(&format!("Yahoo/set1.{split}.txt")));
    ["train", "vali", "test"].iter().for_each(|split| write(&format!("Istella-S/{split}.txt")));
    write_intents(&folder.join("intent-change"));
}

/// Runs an entry with a small budget, and says on which data it was judged.
fn data_of(entry: &str, data: &Path, overrides: &[&str]) -> Vec<String> {
    let out = temporary();
    let mut command = foltr();
    command.env("FOLTR_DATA", data).args(["reproduce", entry, "--quick", "--out"]).arg(out.path());
    for value in overrides {
        command.args(["--set", value]);
    }
    let done = command.assert();
    let text = stderr(&done);
    assert!(!text.contains("error"), "{entry}: {text}");
    let judgements: Vec<Value> =
        serde_json::from_str(&read(out.path(), &format!("{entry}/verdict.json"))).expect("a list");
    assert!(!judgements.is_empty(), "{entry}");
    let mut names: Vec<String> = judgements.iter().filter_map(|it| Some(it["data"].as_str()?.to_owned())).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn entries_use_the_papers_collections_where_they_are() {
    let data = temporary();
    write_collections(data.path());
    let small = ["seeds=[1]", "federation.rounds=20", "metrics.evaluate={ every = 10 }"];
    for (entry, name) in [
        ("thesis-figure-5.2", "MSLR-WEB10K"),
        ("thesis-figure-5.6", "Yahoo set 1"),
        ("thesis-figure-5.7", "Istella-S"),
        ("thesis-table-4.2", "intent-change"),
    ] {
        assert_eq!(data_of(entry, data.path(), &small), [name], "{entry}");
    }
}

#[test]
fn the_hours_that_are_left_are_those_of_runs_that_are_not_finished() {
    let data = temporary();
    write_collections(data.path());
    let out = temporary();
    let reproduce = |arguments: &[&str]| {
        let mut command = foltr();
        command.env("FOLTR_DATA", data.path()).args(["reproduce", "thesis-table-4.2", "--out"]).arg(out.path());
        command.args(["--set", "seeds=[1]", "--set", "grid.axis.ranker.neural.seeds=[1]"]);
        command.args(["--set", "federation.rounds=20", "--set", "metrics.evaluate={ every = 10 }"]);
        command.args(arguments).assert()
    };
    let estimate = |arguments: &[&str]| -> Value {
        let text = stdout(&reproduce(&[&["--dry-run", "--json"], arguments].concat()).success());
        serde_json::from_str::<Vec<Value>>(&text).expect("a list").remove(0)
    };
    let before = estimate(&[]);
    assert_eq!((&before["n_runs"], &before["n_finished"]), (&12.into(), &0.into()), "{before}");
    assert!(before["core_hours"].as_f64().expect("a number") > 0.0, "{before}");
    let summary = out.path().join("summary.md");
    reproduce(&["--write-summary", summary.to_str().expect("a path"), "--commit", "0a1b"]);
    assert_contains(&read(out.path(), "summary.md"), &["| 0a1b |", "thesis-table-4.2 0.0"]);
    let after = estimate(&[]);
    assert_eq!((&after["n_finished"], &after["core_hours"]), (&12.into(), &0.0.into()), "{after}");
}
