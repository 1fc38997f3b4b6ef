//! Experiment files that judge themselves: verdicts, exit codes, figures; and files of `specs/` with tiny budgets.

use std::path::Path;

use foltr_test::ExperimentFile;
use serde_json::Value;

use crate::binary::{assert_contains, foltr, read, run, stderr, stdout, temporary};

fn experiment() -> ExperimentFile {
    ExperimentFile::fpdgd()
        .set("users.preset", "[\"perfect\", \"navigational\"]")
        .set("clients.n_clients", "50")
        .set("federation.rounds", "60")
        .and("[quick]\n\"federation.rounds\" = 30\n")
}

/// Learns in 60 rounds, and says so.
fn study() -> ExperimentFile {
    experiment().and(
        r#"
[[expect]]
says = "it learns"
metric = "test-ndcg@10"
for_each = { "users.preset" = "all" }
left = { at = "final" }
right = { at = 0 }
at_least = 0.05

[[figure]]
kind = "curves"
metric = "test-ndcg@10"
lines = "users.preset"
smooth = 4
"#,
    )
}

const LEARNS_NOTHING: &str = r#"
[[expect]]
says = "it learns nothing"
metric = "test-ndcg@10"
left = { at = "final" }
right = { at = 0 }
at_most = 0.0
"#;

fn verdicts(out: &Path) -> Vec<Value> {
    serde_json::from_str(&read(out, "verdict.json")).expect("a list")
}

#[test]
fn an_expectation_that_fails_ends_with_code_1_and_an_explained_one_does_not() {
    let folder = temporary();
    let out = folder.path().join("out");
    run(folder.path(), &study(), &[]).code(0);
    assert!(["figure.png", "figure.svg", "verdict.txt"].iter().all(|name| out.join(name).is_file()));
    let failed = run(folder.path(), &study().and(LEARNS_NOTHING), &[]).code(1);
    assert_contains(&stdout(&failed), &["4 of 4 runs had been finished before"]);
    let judged = verdicts(&out);
    let short: Vec<(&str, &str)> = judged
        .iter()
        .map(|it| (it["says"].as_str().expect("a claim"), it["verdict"].as_str().expect("a verdict")))
        .collect();
    assert_eq!(short, [("it learns", "holds"), ("it learns", "holds"), ("it learns nothing", "fails")]);
    let labels: Vec<&str> = judged[..2].iter().filter_map(|it| it["case"]["users.preset"].as_str()).collect();
    assert_eq!(labels, ["perfect", "navigational"]);
    assert!(judged.iter().all(|it| it["value"].as_f64().is_some_and(|value| value > 0.05)), "{judged:?}");
    let explained = study().and(LEARNS_NOTHING).and("because = { any = \"clicks say what is relevant\" }\n");
    run(folder.path(), &explained, &[]).code(0);
    let judged = verdicts(&out);
    assert_eq!(
        (&judged[2]["verdict"], &judged[2]["because"]),
        (&"explained".into(), &"clicks say what is relevant".into())
    );
    run(folder.path(), &explained, &["--quick"]).code(0);
    assert_eq!(verdicts(&out).len(), 3);
    run(folder.path(), &experiment(), &["--quick"]).code(0);
    assert!(!out.join("verdict.json").exists() && !out.join("verdict.txt").exists(), "nothing is expected any more");
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
        let folder = temporary();
        let mut command = foltr();
        command.args(["run", &format!("specs/{spec}"), "--quick", "--set", DATA, "--set", "seeds=[1, 2]"]);
        command.args(overrides.iter().flat_map(|value| ["--set", value])).arg("--out").arg(folder.path());
        let done = command.assert();
        let code = done.get_output().status.code();
        assert!(code == Some(0) || code == Some(1), "{spec}: {code:?}\n{}", stderr(&done));
        let judged = verdicts(folder.path());
        let n_judged = judged.iter().filter(|it| it["verdict"] != "not judged" && it["value"].is_number()).count();
        assert!(n_judged > 0, "{spec}: {judged:?}");
    }
}

#[test]
fn wrong_expectations_are_refused_with_their_lines_before_anything_runs() {
    let folder = temporary();
    let text = study().to_string();
    let line_of = |words: &str| text.lines().position(|line| line.contains(words)).expect("a line") + 1;
    let wrong = "\nfalls = { along = \"users.prest\" }";
    let more = "[[expect]]\nsays = \"it forgets\"\nmetric = \"test-ndcg@10\"\nat_least = 0.0";
    let figure = "\n[[figure]]\nname = \"other\"\nkind = \"curves\"\nmetric = \"test-ndcg@10\"\nlines = \"users.preset\"\nsmoth = 4\n";
    let refused = run(folder.path(), &study().and(&format!("{more}{wrong}{figure}")), &[]).code(2);
    let last = line_of("smooth = 4");
    assert_contains(
        &stderr(&refused),
        &[
            &format!("study.toml:{}: `expect[1]`: exactly one predicate is allowed, not at_least and falls", last + 1),
            &format!(
                "study.toml:{}: `expect[1].falls.along` = \"users.prest\": unknown axis; did you mean `users.preset`?",
                last + 5
            ),
            "`figure[1].smoth` = 4: unknown key; did you mean `smooth`?",
        ],
    );
    assert!(!folder.path().join("out").exists(), "nothing is run");
}

#[test]
fn a_choice_is_made_on_validation_queries_and_run_with_other_seeds() {
    let folder = temporary();
    let choose = "[choose]\naxes = [\"learner.learning_rate\"]\nmetric = \"validation-ndcg@10\"\nseeds = [101]\n";
    let file = study().set("learner.learning_rate", "[0.1, 0.0001]").and(choose);
    run(folder.path(), &file.set("metrics.evaluate_on", "[\"validation\", \"test\"]"), &[]).success();
    let out = folder.path().join("out");
    let chosen = read(&out, "chosen.csv");
    assert_eq!(chosen.lines().count(), 3, "one line a kind of users: {chosen}");
    assert!(chosen.starts_with("users.preset,learner.learning_rate,score\nperfect,"), "{chosen}");
    let rows = read(&out, "rows.csv");
    let header = rows.lines().next().expect("a header");
    assert!(header.contains("users.preset") && !header.contains("learning_rate"), "{header}");
    assert!(!rows.contains(",101,") && rows.contains(",2,"), "the seeds of the file");
}

fn tune(folder: &Path, file: &ExperimentFile, options: &[&str]) -> assert_cmd::assert::Assert {
    let path = folder.join("study.toml");
    file.write(&path);
    foltr().arg("tune").arg(path).arg("--out").arg(folder.join("out")).args(options).assert()
}

#[test]
fn tuning_sees_no_test_query_before_the_choice_and_reports_it_on_test_queries() {
    let folder = temporary();
    // Steps of 1e-6 learn nothing.
    let file = experiment().set("learner.learning_rate", "[1e-6, 0.1, 0.3]");
    let tuned = tune(folder.path(), &file, &["--metric", "ndcg@10", "--at", "last-fifth"]).success();
    assert_contains(
        &stdout(&tuned),
        &["nDCG@10 on validation queries, mean", "seeds 1001, 1002:", "nDCG@10 on test queries"],
    );
    let out = folder.path().join("out");
    let chosen = read(&out, "chosen.csv");
    assert!(chosen.starts_with("users.preset,learner.learning_rate,score\nperfect,0."), "{chosen}");
    assert_eq!(chosen.lines().count(), 3, "{chosen}");
    let candidates = read(&out.join("choice"), "rows.csv");
    assert!(candidates.contains(",validation-ndcg@10,") && !candidates.contains(",test-"), "no test query is seen");
    let rows = read(&out, "rows.csv");
    assert!(rows.contains(",test-ndcg@10,") && !rows.contains(",1001,"), "the file's own seeds and splits");
    let again = tune(folder.path(), &file, &["--metric", "ndcg@10", "--at", "last-fifth"]).success();
    assert_contains(&stdout(&again), &["4 of 4 runs had been finished before"]);
}

#[test]
fn what_cannot_be_tuned_is_refused_before_any_work() {
    let folder = temporary();
    let swept = experiment().set("learner.learning_rate", "[0.1, 0.3]");
    let cases: [(&ExperimentFile, &[&str], &str); 5] = [
        (&experiment(), &[], "nothing to choose from"),
        (&swept, &["--choose", "learner.learning_rat"], "did you mean `learner.learning_rate`?"),
        (&swept, &["--metric", "test-ndcg@10"], "values are chosen on validation queries"),
        (&swept, &["--at", "best"], "unknown value; expected one of \"final\""),
        (&swept, &["--choice-seeds", "2,3"], "must run with other seeds than the choice"),
    ];
    for (file, options, message) in cases {
        let refused = tune(folder.path(), file, options).code(2);
        assert_contains(&stderr(&refused), &[message]);
    }
    assert!(!folder.path().join("out").exists(), "nothing is run");
}
