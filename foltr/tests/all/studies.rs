//! Experiment files that judge themselves: verdicts, exit codes, figures; and files of `specs/` with tiny budgets.

use std::path::Path;

use foltr_test::ExperimentFile;
use serde_json::Value;

use crate::binary::{foltr, stderr, stdout};

/// Learns in 60 rounds, and says so.
const STUDY: &str = r#"
[quick]
"federation.rounds" = 30

[[expect]]
says = "it learns"
metric = "test-ndcg@10"
for_each = { "users.preset" = "all" }
left = { at = "final" }
right = { at = 0 }
at_least = 0.05

[[expect]]
says = "it learns nothing"
metric = "test-ndcg@10"
left = { at = "final" }
right = { at = 0 }
at_most = 0.0

[[figure]]
kind = "curves"
metric = "test-ndcg@10"
lines = "users.preset"
"#;

/// Runs a study, which ends with this code; its verdicts.
fn judged(folder: &Path, study: &str, arguments: &[&str], code: i32) -> Vec<Value> {
    let experiment = ExperimentFile::fpdgd()
        .set("users.preset", "[\"perfect\", \"navigational\"]")
        .set("clients.n_clients", "50")
        .set("federation.rounds", "60");
    let path = folder.join("study.toml");
    std::fs::write(&path, experiment.to_string() + study).expect("written");
    let out = folder.join("out");
    foltr().arg("run").arg(&path).arg("--out").arg(&out).args(arguments).assert().code(code);
    verdicts(&out)
}

/// The verdicts of a study; some commands have a folder for each study.
fn verdicts(out: &Path) -> Vec<Value> {
    let inner = std::fs::read_dir(out).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut places = [out.to_path_buf()].into_iter().chain(inner).map(|folder| folder.join("verdict.json"));
    let path = places.find(|path| path.is_file()).expect("verdict.json");
    serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("a list")
}

#[test]
fn an_expectation_that_fails_ends_with_code_1_and_an_explained_one_does_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let found = judged(folder.path(), STUDY, &[], 1);
    let short: Vec<(&str, &str)> = found
        .iter()
        .map(|it| (it["says"].as_str().expect("a claim"), it["verdict"].as_str().expect("a verdict")))
        .collect();
    assert_eq!(short, [("it learns", "holds"), ("it learns", "holds"), ("it learns nothing", "fails")]);
    let labels: Vec<&str> = found[..2].iter().filter_map(|it| it["case"]["users.preset"].as_str()).collect();
    assert_eq!(labels, ["perfect", "navigational"]);
    assert!(found.iter().all(|it| it["value"].as_f64().is_some_and(|value| value > 0.05)), "{found:?}");
    let explained =
        STUDY.replace("at_most = 0.0", "at_most = 0.0\nbecause = { any = \"clicks say what is relevant\" }");
    let found = judged(folder.path(), &explained, &[], 0);
    assert_eq!(
        (&found[2]["verdict"], &found[2]["because"]),
        (&"explained".into(), &"clicks say what is relevant".into())
    );
    let found = judged(folder.path(), &explained, &["--quick"], 0);
    assert_eq!(found.len(), 3);
}

/// Files of `specs/`, and what makes them tiny. What comes out is not judged here: `foltr reproduce` does that.
const TINY: [(&str, &[&str]); 3] = [
    ("foltr-es/figure-1.toml", &["clients.n_clients=50", "federation.budget=4000"]),
    ("thesis/attacks/no-attack.toml", &["federation.rounds=20", "metrics.evaluate={ every = 4 }"]),
    ("unlearning/shards.toml", &["clients.n_clients=40", "clients.cohort=8", "federation.rounds=20"]),
];

const DATA: &str = "data={ kind = \"synthetic\", shape = \"tiny\", queries = 60, test_queries = 30, seed = 1 }";

#[test]
fn entries_of_the_papers_run_and_are_judged_with_tiny_budgets() {
    for (spec, overrides) in TINY {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = foltr();
        command.args(["run", &format!("specs/{spec}"), "--quick", "--set", DATA, "--set", "seeds=[1, 2]"]);
        command.args(overrides.iter().flat_map(|value| ["--set", value])).arg("--out").arg(folder.path());
        let done = command.assert();
        let code = done.get_output().status.code();
        assert!(code == Some(0) || code == Some(1), "{spec}: {code:?}\n{}", stderr(&done));
        let found = verdicts(folder.path());
        let n_judged = found.iter().filter(|it| it["verdict"] != "not judged" && it["value"].is_number()).count();
        assert!(n_judged > 0, "{spec}: {found:?}");
    }
}

/// A whole file.
const FILE: &str = r#"
seeds = [1, 2, 3]
[data]
kind = "synthetic"
shape = "tiny"
queries = 40
seed = 1
[clients]
n_clients = 5
interactions = 2
[users]
kind = "cascade"
preset = ["perfect", "informational"]
[ranker]
kind = "linear"
initialisation = { kind = "zero" }
[learner]
kind = "pdgd"
learning_rate = 0.1
updates = "immediate"
[federation]
rounds = 60
optimiser = { kind = "learning-rate", rate = 1.0 }
[quick]
"federation.rounds" = 20
[[expect]]
says = "clients learn"
metric = "online-ndcg@10"
for_each = { "users.preset" = "all" }
left = { at = "last-fifth" }
right = { at = [0.0, 0.2] }
at_least = 0.0
[[figure]]
kind = "curves"
title = "Learning"
metric = "online-ndcg@10"
lines = "users.preset"
smooth = 4
"#;

fn write_study(folder: &Path, text: &str) -> std::path::PathBuf {
    let path = folder.join("study.toml");
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn an_edited_expectation_is_judged_without_running_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let spec = write_study(folder.path(), FILE);
    foltr().arg("run").arg(&spec).arg("--out").arg(&out).assert().success();
    assert!(out.join("figure.png").is_file() && out.join("figure.svg").is_file() && out.join("verdict.txt").is_file());
    write_study(folder.path(), &FILE.replace("at_least = 0.0", "at_least = 0.9"));
    let failed = foltr().arg("run").arg(&spec).arg("--out").arg(&out).assert().code(1);
    assert!(stdout(&failed).contains("6 of 6 runs had been finished before"), "{}", stdout(&failed));
    assert!(verdicts(&out).iter().all(|it| it["verdict"] == "fails"));
}

#[test]
fn wrong_expectations_are_told_with_their_lines_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let wrong = FILE.replace("at_least = 0.0", "at_least = 0.0\nfalls = { along = \"users.prest\" }");
    let spec = write_study(folder.path(), &wrong.replace("smooth = 4", "smoth = 4"));
    let told = foltr().arg("run").arg(&spec).arg("--out").arg(&out).assert().code(2);
    let text = stderr(&told);
    let line = |message: &str| assert!(text.contains(message), "{message}\n{text}");
    line("study.toml:26: `expect[0]`: exactly one predicate is allowed, not at_least and falls");
    line("study.toml:33: `expect[0].falls.along` = \"users.prest\": no such axis; did you mean `users.preset`?");
    line("`figure[0].smoth` = 4: no such key; did you mean `smooth`?");
    assert!(!out.exists(), "nothing is run");
}

#[test]
fn a_choice_is_made_on_validation_queries_and_run_with_other_seeds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let text = FILE.replace("learning_rate = 0.1", "learning_rate = [0.1, 0.0001]").replace(
        "[quick]",
        "[metrics]\nevaluate_on = [\"validation\", \"test\"]\n[choose]\naxes = [\"learner.learning_rate\"]\nmetric = \
         \"validation-ndcg@10\"\nseeds = [101]\n[quick]",
    );
    let spec = write_study(folder.path(), &text);
    foltr().arg("run").arg(&spec).arg("--out").arg(&out).assert().success();
    let chosen = std::fs::read_to_string(out.join("chosen.csv")).expect("what was chosen");
    assert_eq!(chosen.lines().count(), 3, "one line a kind of users: {chosen}");
    assert!(chosen.starts_with("users.preset,learner.learning_rate,score\nperfect,"), "{chosen}");
    let rows = std::fs::read_to_string(out.join("rows.csv")).expect("rows");
    let header = rows.lines().next().expect("a header");
    assert!(header.contains("users.preset") && !header.contains("learning_rate"), "{header}");
    assert!(!rows.contains(",101,") && rows.contains(",3,"), "the seeds of the file");
}
