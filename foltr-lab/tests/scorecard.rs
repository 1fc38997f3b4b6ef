//! `foltr scorecard` on a few rounds: what it writes, that it goes on where it was left, and what it refuses.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn scorecard(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::cargo_bin("foltr").expect("built");
    command.args(["scorecard", "--data", "synthetic-mslr", "--users", "perfect", "--share", "0.2", "--no-times"]);
    command.args(["--seeds", "1", "--rounds", "3", "--out"]).arg(out).args(more);
    command
}

fn lines(out: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(out.join("scorecard.json")).expect("a card");
    serde_json::from_str::<Value>(&text).expect("JSON").as_array().expect("a list").clone()
}

#[test]
fn a_card_has_every_number_and_goes_on_where_it_was_left() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path();
    let chosen = ["--defence", "krum,growing-mixing-trimmed", "--attack", "sign-flip,promotion"];
    scorecard(out, &chosen).assert().success();
    let first = lines(out);
    let names: Vec<&str> = first.iter().map(|line| line["defence"].as_str().expect("a name")).collect();
    assert_eq!(names, ["mean", "krum", "growing-mixing-trimmed"]);
    for line in &first {
        assert_eq!((line["data"].as_str(), line["users"].as_str()), (Some("synthetic-mslr"), Some("perfect")));
        assert_eq!(line["share"].as_f64(), Some(0.2));
        let number = |key: &str| line[key].as_f64().expect("a number");
        let attacks = line["attacks"].as_object().expect("by name");
        // Promotion does not aim at nDCG; averaging was not asked for, and is only compared with.
        let is_attacked = line["defence"] != "mean";
        assert_eq!(attacks.keys().collect::<Vec<_>>(), if is_attacked { vec!["sign-flip"] } else { vec![] });
        let worst = if is_attacked { attacks["sign-flip"].as_f64().expect("a number") } else { number("clean") };
        assert_eq!(number("worst"), worst);
        assert!((0.0..1.0).contains(&number("clean")) && number("clean_loss").abs() < 1.0);
        assert_eq!(line["recommended"].as_bool(), Some(line["defence"] == "growing-mixing-trimmed"));
    }
    assert_eq!(first[0]["clean_loss"].as_f64(), Some(0.0), "averaging is what all are compared with");
    let promotion = std::fs::read_to_string(out.join("promotion.json")).expect("ranks of what was promoted");
    assert!(promotion.contains("\"attacked\""));
    for file in ["synthetic-mslr-perfect-20.svg", "synthetic-mslr-perfect-20.png"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let runs = std::fs::read_to_string(out.join("runs.jsonl")).expect("runs");
    assert_eq!(runs.lines().count(), 7);
    // As if it had been stopped after five runs.
    let kept: String = runs.lines().take(5).map(|line| format!("{line}\n")).collect();
    std::fs::write(out.join("runs.jsonl"), &kept).expect("written");
    scorecard(out, &chosen).args(["--threads", "1"]).assert().success();
    let again = std::fs::read_to_string(out.join("runs.jsonl")).expect("runs");
    assert!(again.starts_with(&kept) && again.lines().count() == 7, "only what was missing is run");
    assert_eq!(lines(out), first);
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (flag, value, known) in [
        ("--defence", "krumm", "multi-krum"),
        ("--attack", "lies", "fang-krum"),
        ("--setting", "silo", "cross-device"),
        ("--data", "MQ2009", "MQ2008"),
        ("--share", "0.6", "below .5"),
    ] {
        let told = scorecard(folder.path(), &[flag, value]).assert().failure();
        let text = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert!(text.contains(flag) && text.contains(known), "{flag} {value}: {text}");
    }
}

#[test]
fn the_recommended_defence_is_that_of_the_library() {
    use foltr_federation::Defence;
    use foltr_lab::scorecard::{DEFENCES, RECOMMENDED};
    let named = DEFENCES.iter().find(|defence| defence.name == RECOMMENDED).expect("on the card");
    assert_eq!(named.defence(10, 4), Defence::recommended(4));
}
