//! `foltr models` and `foltr evaluate DIR`: every ranker of a folder, measured as its run measured it.

use std::path::Path;

use foltr_test::ExperimentFile;
use serde_json::Value;

use crate::binary::{self, assert_contains, foltr, read, stderr, stdout, temporary};

fn said(folder: &Path, arguments: &[&str]) -> String {
    stdout(&foltr().current_dir(folder).args(arguments).assert().success())
}

fn json(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    serde_json::from_str(&said(folder, &[arguments, &["--json"]].concat())).expect("a list")
}

fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    stderr(&foltr().current_dir(folder).args(arguments).assert().code(code))
}

/// The last value of a metric in a run's rows, as text.
fn last_value(folder: &Path, run: &str, metric: &str) -> Option<String> {
    let rows = read(&folder.join("out/runs").join(run), "rows.csv");
    let of_metric = |line: &&str| line.split(',').nth(1) == Some(metric);
    rows.lines().rfind(of_metric).and_then(|line| line.split(',').nth(2)).map(str::to_owned)
}

/// Runs an experiment and compares what `foltr evaluate out` says with the last rows, digit by digit. `prefix` is what the
/// names of those rows begin with.
fn compare(folder: &Path, file: &ExperimentFile, prefix: &str) -> Vec<Value> {
    binary::run(folder, file, &[]).success();
    let all = json(folder, &["evaluate", "out"]);
    for ranker in &all {
        let run = ranker["run"].as_str().expect("a run");
        for part in ranker["evaluated"].as_array().expect("splits") {
            for mean in part["metrics"].as_array().expect("metrics") {
                let name = |text: &Value| text.as_str().expect("a name").to_owned();
                let metric = format!("{prefix}{}-{}", name(&part["split"]), name(&mean["metric"]));
                let value = mean["value"].as_f64().expect("a number").to_string();
                assert_eq!(last_value(folder, run, &metric), Some(value), "{metric} of {ranker}");
            }
        }
    }
    all
}

/// Two folds whose queries differ, with values that need scaling.
fn write_folds(folder: &Path) {
    for (fold, seed) in [("Fold1", "1"), ("Fold2", "2")] {
        let out = folder.join("set").join(fold);
        let out = out.to_str().expect("UTF-8");
        let generate = ["data", "generate", "--shape", "tiny", "--queries", "40", "--seed", seed, "--out", out];
        foltr().args(generate).assert().success();
    }
}

#[test]
fn a_result_folder_is_evaluated_fold_by_fold_as_its_runs_did() {
    let folder = temporary();
    let folder = folder.path();
    write_folds(folder);
    let file = ExperimentFile::fpdgd()
        .section("data", "kind = \"folder\"\npath = \"set\"\nnormalise = \"query\"")
        .set("users.preset", "[\"perfect\", \"informational\"]")
        .set("ranker.kind", "\"mlp\"")
        .set("ranker.hidden", "4")
        .set("ranker.activation", "\"relu\"")
        .set("ranker.initialisation", "{ kind = \"fan-in\" }")
        .set("metrics.offline", "[\"map\", \"ndcg@5\", \"expected-maxrr\"]")
        .set("metrics.evaluate_on", "[\"validation\", \"test\"]")
        .set("metrics.queries_without_relevant", "\"one\"");
    let all = compare(folder, &file, "");
    assert_eq!(all.len(), 8, "two settings, folds and seeds each");
    let listed = json(folder, &["models", "out"]);
    assert_eq!(listed.len(), 8);
    let first = &listed[0];
    assert_eq!(first["setting"], serde_json::json!({"users.preset": "perfect"}));
    let expected = serde_json::json!({"kind": "mlp", "features": 12, "hidden": 4, "activation": "relu"});
    assert_eq!((&first["ranker"], &first["normalise"]), (&expected, &serde_json::json!("query")));
    assert_eq!((&first["data"], &first["fold"], &first["seed"]), (&"set".into(), &1.into(), &1.into()));
    let conventions = &first["provenance"]["metrics"];
    assert_eq!(conventions["queries_without_relevant"], "one");
    assert_eq!(first["provenance"]["run"], first["run"]);
    let run = first["run"].as_str().expect("a run");
    assert_eq!(first["values"]["test-map"].to_string(), last_value(folder, run, "test-map").expect("a row"));
    // Of one run, and of one file, the same is said.
    let run_folder = format!("out/runs/{run}");
    assert_eq!(json(folder, &["models", &run_folder])[0]["setting"], first["setting"]);
    let file = format!("{run_folder}/model.safetensors");
    assert_eq!(json(folder, &["models", &file])[0]["provenance"], first["provenance"]);
    let table = said(folder, &["models", "out"]);
    assert_contains(&table, &[" users ", "mlp 4 relu", "informational", "MAP on test queries", &file]);
}

#[test]
fn options_replace_the_conventions_of_the_run() {
    let folder = temporary();
    let folder = folder.path();
    write_folds(folder);
    let data = "kind = \"folder\"\npath = \"set\"\nfolds = [2]";
    binary::run(folder, &ExperimentFile::fpdgd().section("data", data).set("seeds", "[1]"), &[]).success();
    let options = ["--metric", "p@3", "--metric", "map", "--split", "train", "--queries-without-relevant", "zero"];
    let run = json(folder, &["models", "out"])[0]["path"].as_str().expect("a file").to_owned();
    let ours = json(folder, &[&["evaluate", "out", "--per-query"], &options[..]].concat());
    let by_hand = json(folder, &[&["evaluate", &run, "set", "--fold", "2", "--per-query"], &options[..]].concat());
    for key in ["metrics", "queries", "n_queries", "split"] {
        assert_eq!(ours[0]["evaluated"][0][key], by_hand[0][key], "{key}");
    }
    let warned = |more: &[&str]| {
        let arguments = [&["evaluate", &run, "set"], more].concat();
        stderr(&foltr().current_dir(folder).args(arguments).assert().success())
    };
    assert_contains(&warned(&[]), &["trained on fold 2 of set; queries of fold 1 may be among its training queries"]);
    assert_eq!(warned(&["--fold", "2"]), "");
    assert_contains(&refused(folder, &["evaluate", "out", "--fold", "1"], 1), &["no run is of fold [1]"]);
    assert_contains(&refused(folder, &["evaluate", "out", "set"], 2), &["leave DATA out"]);
    assert_contains(&refused(folder, &["evaluate", &run], 2), &["a model file needs DATA"]);
    assert_contains(&refused(folder, &["models", "set"], 1), &["expected a result folder of `foltr run`"]);
    std::fs::write(folder.join("set/Fold2/test.txt"), "1 qid:1 1:1 10:1\n").expect("written");
    let text = refused(folder, &["evaluate", "out"], 1);
    assert_contains(&text, &["fold 2 of set is not the data of this run any more", "run the experiment again"]);
}

#[test]
fn clients_with_wishes_of_their_own_are_evaluated_as_in_the_run() {
    let folder = temporary();
    let file =
        ExperimentFile::fpdgd().set("data.intents", "3").section("partition", "kind = \"intents\"\nshuffled = false");
    let all = compare(folder.path(), &file.set("metrics.evaluate_on", "[\"train\", \"test\"]"), "");
    assert_eq!(all.len(), 2);
    let counted = all[0]["evaluated"][1]["metrics"][0]["n_queries"].as_u64();
    assert!(counted.is_some_and(|n_queries| n_queries > 0), "relevant to some group: {counted:?}");
}

#[test]
fn baselines_centralised_runs_and_forgotten_clients_are_evaluated_too() {
    let folder = temporary();
    let svm = ExperimentFile::fpdgd().section("learner", "kind = \"least-squares\"");
    let svm = svm.without("clients").without("federation").without("ranker").without("users");
    assert_eq!(compare(folder.path(), &svm, "").len(), 1);

    let folder = temporary();
    let unlearning = "clients = [3]\nmethod = { kind = \"retrain\" }";
    let file = ExperimentFile::fpdgd().section("unlearning", unlearning).set("seeds", "[1]");
    let all = compare(folder.path(), &file, "unlearning-");
    assert_eq!(all[0]["forgotten"], serde_json::json!([3]));
    assert_contains(&said(folder.path(), &["models", "out"]), &["forgotten clients"]);
}

#[test]
fn labels_above_four_are_learned_from_where_no_user_must_know_them() {
    let folder = temporary();
    let folder = folder.path();
    let text = "7 qid:1 1:1 2:3\n0 qid:1 1:2 2:1\n3 qid:2 1:1 2:2\n0 qid:2 1:1 2:1\n";
    std::fs::write(folder.join("high.txt"), text).expect("written");
    let data = "kind = \"files\"\ntrain = [\"high.txt\"]\ntest = [\"high.txt\"]\nmax_label = 7";
    let online = ExperimentFile::fpdgd().section("data", data);
    let offline = online.clone().section("learner", "kind = \"least-squares\"").without("clients");
    let offline = offline.without("federation").without("ranker").without("users");
    let all = compare(folder, &offline, "");
    assert_eq!(all[0]["evaluated"][0]["metrics"][0]["value"], 1.0);
    let text = refused(folder, &["evaluate", "out", "--metric", "err@10"], 1);
    assert_contains(&text, &["there is a label 7, but err@10 is defined up to 4"]);
    assert_contains(&refused(folder, &["evaluate", "out", "--max-label", "7"], 2), &["--max-label is for DATA"]);
    let run = |file: &ExperimentFile, code| {
        file.write(&folder.join("other.toml"));
        let command = ["run", "other.toml", "--out", "other"];
        stderr(&foltr().current_dir(folder).args(command).assert().code(code))
    };
    assert_contains(&run(&online, 1), &["no user is known for labels 0 to 7", "2, 3 or 5 grades"]);
    assert_contains(
        &run(&offline.clone().set("metrics.offline", "[\"err@10\"]"), 2),
        &["`metrics.offline`", "err@10 is defined for labels up to 4"],
    );
    assert_contains(&run(&offline.set("data.max_label", "32"), 2), &["`data.max_label` = 32", "must be 1 to 31"]);
}

#[test]
fn a_run_warns_of_cut_files_and_of_training_data_without_a_relevant_document() {
    let folder = temporary();
    let folder = folder.path();
    std::fs::write(folder.join("train.txt"), "0 qid:1 1:1 2:3\n0 qid:1 1:2 2:1\n").expect("written");
    std::fs::write(folder.join("test.txt"), "1 qid:2 1:1 2:3\n0 qid:2 1:2 2:0.1").expect("written");
    let data = "kind = \"files\"\ntrain = [\"train.txt\"]\ntest = [\"test.txt\"]";
    let ran = binary::run(folder, &ExperimentFile::fpdgd().section("data", data), &[]).success();
    let cut = "test.txt: the last line has no line end";
    assert_contains(&stderr(&ran), &[cut, "train, fold 1: no training document is relevant"]);
    let checked = foltr().current_dir(folder).args(["data", "check", "train.txt"]).assert().success();
    assert_contains(&stderr(&checked), &["warning: train.txt: no document is relevant"]);
    let checked = foltr().current_dir(folder).args(["data", "check", "test.txt"]).assert().success();
    assert_contains(&stderr(&checked), &[cut]);
}
