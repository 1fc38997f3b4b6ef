//! Teachers from outside: what they are asked, and what becomes of their answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::binary::{assert_contains, foltr, stderr, stdout};
use crate::golden::write_texts;
use crate::mimic::{Workspace, text_spec};

/// An experiment whose teachers are these runs, below the folder of the experiment, and the queries that they are asked.
fn asked(collection: &Path, runs: &[&str]) -> Workspace {
    let workspace = Workspace::new("");
    let paths: Vec<String> = runs.iter().map(|run| format!("{:?}", workspace.path(run))).collect();
    let scores = format!("kind = \"scores\"\nruns = [{}]\n", paths.join(", "));
    let spec = text_spec(collection).replace("kind = \"weak\"\nn_queries = 60\ncandidates = 20\n", &scores);
    assert!(spec.contains(&scores), "{spec}");
    fs::write(workspace.path("spec.toml"), spec).expect("written");
    let mut queries = foltr();
    queries.args(["mimic", "queries"]).arg(workspace.path("spec.toml")).arg("--out").arg(workspace.path("asked"));
    let printed = stdout(&queries.assert().success());
    assert_contains(&printed, &["120 documents, 40 public queries, 20 judged queries", "candidates.run"]);
    workspace
}

/// The candidates as a run whose scores are those of BM25 times a factor, without the lines that are not wanted.
fn answer(workspace: &Workspace, run: &str, factor: f64, is_wanted: impl Fn(&str) -> bool) {
    let mut lines = String::new();
    for line in read(workspace, "candidates.run").lines().filter(|line| is_wanted(line)) {
        let columns: Vec<&str> = line.split(' ').collect();
        let score = factor * columns[4].parse::<f64>().expect("a score");
        let _ = writeln!(lines, "{} Q0 {} {} {score} outside", columns[0], columns[2], columns[3]);
    }
    fs::write(workspace.path(run), lines).expect("written");
}

fn read(workspace: &Workspace, name: &str) -> String {
    fs::read_to_string(workspace.path("asked").join(name)).expect(name)
}

/// Values of a ranker by query.
fn values(workspace: &Workspace, ranker: &str) -> BTreeMap<String, String> {
    let text = String::from_utf8(workspace.bytes("queries.csv")).expect("text");
    let rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    rows.filter(|row| row[0] == ranker).map(|row| (row[2].to_owned(), row[3..].join(","))).collect()
}

#[test]
fn the_scores_of_a_run_are_labels_and_its_ranker_is_the_teacher() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_texts(folder.path());
    let workspace = asked(folder.path(), &["teacher.run"]);
    assert_contains(&read(&workspace, "documents.tsv"), &["d0\twing lift "]);
    assert_contains(&read(&workspace, "queries.tsv"), &["q0\twing lift ", "public-"]);
    answer(&workspace, "teacher.run", 3.0, |_| true);
    let printed = stdout(&workspace.mimic("run").assert().success());
    assert_contains(&printed, &["teacher+bm25", "student-mimic+bm25", "No guarantee: there is no noise."]);
    assert!(!workspace.run().join("teacher-1.safetensors").exists(), "no teacher is trained");
    // Three times BM25 ranks as BM25 does.
    assert_eq!(values(&workspace, "teacher"), values(&workspace, "bm25"));
    assert_eq!(values(&workspace, "bm25").len(), 20);
    assert!(workspace.json("mimic/guarantee.json")["epsilon"].is_null());
    let answers = fs::read_to_string(workspace.path("teacher.run")).expect("the run");
    let texts: BTreeMap<String, String> = read(&workspace, "queries.tsv")
        .lines()
        .filter(|line| line.starts_with("public-"))
        .filter_map(|line| line.split_once('\t').map(|(name, text)| (text.to_owned(), name.to_owned())))
        .collect();
    let labels = String::from_utf8(workspace.bytes("mimic/labels.jsonl")).expect("text");
    for line in labels.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let name = &texts[line["name"].as_str().expect("a text")];
        let of_query = answers.lines().filter(|answer| answer.split(' ').next() == Some(name));
        let scores =
            of_query.map(|answer| answer.split(' ').nth(4).expect("a score").parse::<f32>().expect("a number"));
        let labelled =
            line["scores"].as_array().expect("scores").iter().map(|it| it.as_f64().expect("a number") as f32);
        assert_eq!(labelled.collect::<Vec<_>>(), scores.collect::<Vec<_>>(), "{name}");
    }
    assert_eq!(labels.lines().count(), 40);
}

#[test]
fn a_run_without_judged_queries_labels_and_one_without_public_queries_does_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_texts(folder.path());
    let workspace = asked(folder.path(), &["teacher.run"]);
    let missing = stderr(&workspace.mimic("run").assert().failure());
    assert_contains(&missing, &["teacher.run: no such file or folder"]);
    answer(&workspace, "teacher.run", 1.0, |line| line.starts_with('q'));
    let none = stderr(&workspace.mimic("run").assert().failure());
    let expected = ["teacher.run: no scores of 40 of 40 public queries, such as public-", "foltr mimic queries"];
    assert_contains(&none, &expected);
    answer(&workspace, "teacher.run", 1.0, |line| line.starts_with("public-"));
    fs::remove_dir_all(workspace.path("out")).expect("runs that failed");
    let done = workspace.mimic("run").assert().success();
    assert_contains(&stderr(&done), &["its ranker is not evaluated as a teacher"]);
    assert!(values(&workspace, "teacher").is_empty() && values(&workspace, "student-mimic").len() == 20);
}

/// Rankers of disjoint private queries may vote; whether they are disjoint only their owner knows.
#[test]
fn several_runs_vote_under_a_condition_and_noise_on_scores_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_texts(folder.path());
    let workspace = asked(folder.path(), &["a.run", "b.run"]);
    answer(&workspace, "a.run", 1.0, |_| true);
    answer(&workspace, "b.run", -1.0, |_| true);
    let spec = fs::read_to_string(workspace.path("spec.toml")).expect("a file");
    let with = |method: &str| {
        let lines = format!("aggregation = [{{ name = \"mimic\", method = {method} }}]\n{spec}");
        fs::write(workspace.path("spec.toml"), lines).expect("written");
    };
    with("{ kind = \"scores\", scale = 0.05 }");
    let refused = stderr(&workspace.mimic("run").assert().code(2));
    assert_contains(&refused, &["aggregation[0].method.scale", "no known range"]);
    with("{ kind = \"votes\", gamma = 0.05, pairs = 50 }");
    workspace.mimic("run").assert().success();
    let guarantee = workspace.json("mimic/guarantee.json");
    assert!(guarantee["epsilon"].as_f64().is_some_and(|epsilon| epsilon > 0.0));
    let condition = "the guarantee holds only if every private query had a part in one of them alone";
    assert_contains(&guarantee["sentences"].to_string(), &[condition]);
}
