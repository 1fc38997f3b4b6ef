//! `foltr reproduce`: its list, names that it does not know, and one entry end to end.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::binary::{assert_contains, foltr, read, stderr, stdout, temporary};

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let refused = foltr().args(["reproduce", "foltr-es-tabel-3"]).assert().code(2);
    assert_contains(&stderr(&refused), &["`foltr-es-tabel-3`", "`foltr-es-table-3`", "--list"]);
}

#[test]
fn every_entry_of_a_file_is_listed_and_no_name_is_there_twice() {
    let list = stdout(&foltr().args(["reproduce", "--list"]).assert().success());
    let mut ids = BTreeSet::new();
    for path in foltr_test::spec_files() {
        let table: toml::Table = std::fs::read_to_string(&path).expect("text").parse().expect("TOML");
        for entry in table.get("entry").and_then(|it| it.as_array()).into_iter().flatten() {
            let id = entry["id"].as_str().expect("a name").to_owned();
            assert!(list.lines().any(|line| line.split_whitespace().next() == Some(&id)), "{id} is not in\n{list}");
            // It names a folder of results.
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
            assert!(id.chars().all(is_plain), "{id}");
            assert!(ids.insert(id.clone()), "{id} is there twice");
        }
    }
    assert!(!ids.is_empty());
}

#[test]
fn epsilon_is_reproduced_end_to_end() {
    let folder = temporary();
    let mut command = foltr();
    command.args(["reproduce", "foltr-es-table-2", "--out"]).arg(folder.path());
    command.arg("--write-summary").arg(folder.path().join("summary.md")).assert().success();
    let judgements: Vec<Value> =
        serde_json::from_str(&read(folder.path(), "foltr-es-table-2/verdict.json")).expect("a list");
    let is_meant = |it: &&Value| it["case"]["users"] == "informational" && it["case"]["p"] == "0.9";
    let cell = judgements.iter().find(is_meant).expect("a cell");
    assert_eq!((&cell["entry"], &cell["verdict"]), (&"foltr-es-table-2".into(), &"agrees".into()));
    // Spec section 5.
    assert!((cell["value"].as_f64().expect("a number") - 2.5629).abs() < 5e-5, "{cell}");
    let n_holding = judgements.iter().filter(|it| it["finding"] == 5 && it["verdict"] == "holds").count();
    assert_eq!((judgements.len(), n_holding), (4 * 6 + 3, 3));
    let line = "| foltr-es-table-2 | Table 2 | 24 |  | 3 |  |  |  | full |  |";
    assert_contains(&read(folder.path(), "summary.md"), &[line, "Not run: ", "\nNone.\n"]);
}

#[test]
fn what_is_left_of_a_client_is_measured_in_the_runs_of_the_store() {
    let folder = temporary();
    let done = foltr().args(["reproduce", "unlearning-shards", "--quick", "--out"]).arg(folder.path()).assert();
    let text = stderr(&done);
    assert!(!text.contains("error"), "{text}");
    let judgements: Vec<Value> =
        serde_json::from_str(&read(folder.path(), "unlearning-shards/verdict.json")).expect("a list");
    for (way, claim) in [
        ("nothing", "influence of the client that is left"),
        ("shard isolation", "influence of the client that is left"),
        ("shard isolation", "membership inference: area under the curve"),
        ("shard isolation", "largest share of the cost of retraining one federation"),
    ] {
        let is_meant = |it: &&Value| it["case"]["way"] == way && it["says"] == claim;
        let judged: Vec<&Value> = judgements.iter().filter(is_meant).collect();
        assert_eq!(judged.len(), 2, "one a collection: {judgements:#?}");
        assert!(judged.iter().all(|it| it["verdict"] == "holds" && it["value"].is_number()), "{judged:#?}");
    }
}
