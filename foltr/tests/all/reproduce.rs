//! `foltr reproduce`: its list, names that it does not know, and one entry end to end.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::binary::{foltr, stderr, stdout};

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let refused = foltr().args(["reproduce", "foltr-es-tabel-3"]).assert().code(2);
    let text = stderr(&refused);
    assert!(text.contains("`foltr-es-tabel-3`") && text.contains("`foltr-es-table-3`"), "{text}");
    assert!(text.contains("--list"), "{text}");
}

#[test]
fn something_must_be_asked_for() {
    foltr().arg("reproduce").assert().code(2);
    foltr().args(["reproduce", "--all", "--list"]).assert().code(2);
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
    let folder = tempfile::tempdir().expect("a temporary folder");
    let summary = folder.path().join("summary.md");
    foltr()
        .args(["reproduce", "foltr-es-table-2", "--out"])
        .arg(folder.path())
        .arg("--write-summary")
        .arg(&summary)
        .assert()
        .success();
    let text = std::fs::read_to_string(folder.path().join("foltr-es-table-2/verdict.json")).expect("verdicts");
    let judgements: Vec<Value> = serde_json::from_str(&text).expect("a list");
    let is_wanted = |it: &&Value| it["case"]["users"] == "informational" && it["case"]["p"] == "0.9";
    let cell = judgements.iter().find(is_wanted).expect("a cell");
    assert_eq!((cell["entry"].as_str(), cell["verdict"].as_str()), (Some("foltr-es-table-2"), Some("agrees")));
    // Spec section 5.
    assert!((cell["value"].as_f64().expect("a number") - 2.5629).abs() < 5e-5, "{cell}");
    let n_holding = judgements.iter().filter(|it| it["finding"] == 5 && it["verdict"] == "holds").count();
    assert_eq!((judgements.len(), n_holding), (4 * 6 + 3, 3));
    let summary = std::fs::read_to_string(summary).expect("a summary");
    assert!(summary.contains("| foltr-es-table-2 | Table 2 | 24 |  | 3 |  |  |  | full |  |"), "{summary}");
}
