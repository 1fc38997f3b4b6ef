//! The commands as a user meets them: files, output, exit codes.

use std::path::Path;

use foltr_test::ExperimentFile;
use serde_json::Value;

use crate::binary::{self, assert_contains, foltr, read, stderr, stdout, temporary};

/// Three seeds, four rounds, every second of which is evaluated.
fn small() -> ExperimentFile {
    ExperimentFile::fpdgd()
        .set("seeds", "[1, 2, 3]")
        .set("data.queries", "50")
        .set("data.test_queries", "20")
        .set("users.preset", "\"navigational\"")
        .set("federation.rounds", "4")
        .set("federation.optimiser", "{ kind = \"momentum\", rate = 10.0, momentum = 0.9 }")
        .set("metrics.evaluate", "{ every = 2 }")
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&read(folder, name)).expect("JSON")
}

#[test]
fn a_run_writes_tidy_rows_a_summary_and_the_resolved_experiment() {
    let folder = temporary();
    binary::run(folder.path(), &small(), &["--threads", "1"]).success();
    let out = folder.path().join("out");
    let rows = read(&out, "rows.csv");
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines[0], "data,users,learner,seed,fold,round,metric,value");
    // Four rounds with two online values, and three offline ones (rounds 0, 2 and 4), for each of three seeds.
    assert_eq!(lines.len(), 1 + 3 * (4 * 2 + 3));
    assert_contains(&rows, &["\nsynthetic-tiny,navigational,pdgd,1,1,0,test-ndcg@10,"]);

    let summary = &json(&out, "summary.json")["settings"][0];
    assert_eq!((summary["n_runs"].as_u64(), summary["n_rounds"].as_u64()), (Some(3), Some(4)));
    assert_eq!(summary["experiment"]["metrics"]["list_length"], 10);
    let mean = summary["final"]["test-ndcg@10"]["mean"].as_f64().expect("a mean");
    let last = lines.iter().filter(|line| line.contains(",4,test-ndcg@10,"));
    let last: Vec<f64> =
        last.map(|line| line.rsplit(',').next().expect("a value").parse().expect("a number")).collect();
    assert!((mean - last.iter().sum::<f64>() / 3.0).abs() < 1e-12, "{mean} of {last:?}");

    let about = json(&out, "study.json");
    assert_eq!((about["n_runs"].as_u64(), about["n_finished"].as_u64()), (Some(3), Some(3)));
    assert_eq!(about["n_interactions"], 3 * 4 * 20);
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
    let resolved = read(&out, "resolved.toml");
    assert_contains(&resolved, &["queries_without_relevant = \"skip\"", "validation_queries = 100"]);

    let again = temporary();
    binary::run(again.path(), &small(), &["--threads", "4"]).success();
    assert_eq!(rows, read(again.path(), "out/rows.csv"), "rows do not depend on the number of threads");
}

#[test]
fn the_main_job_ends_with_a_table_and_a_figure() {
    let folder = temporary();
    let done = foltr().arg("--seeds").arg("1").arg("--out").arg(folder.path()).assert().success();
    let words = ["nDCG@10 on test queries", "online nDCG, mean", "interactions", "FOLtR-ES", "learning-curves.png"];
    assert_contains(&stdout(&done), &words);
    assert_contains(&read(folder.path(), "learning-curves.svg"), &[">informational users</text>", "sans-serif"]);
    let png = std::fs::read(folder.path().join("learning-curves.png")).expect("a picture");
    assert!(png.len() > 20_000, "{} bytes", png.len());
}

#[test]
fn a_dry_run_says_what_would_be_run_and_writes_nothing() {
    let folder = temporary();
    small().write(&folder.path().join("small.toml"));
    let set = ["--set", "users.preset=[\"perfect\", \"informational\"]", "--shard", "1/2", "--dry-run"];
    let dry = foltr().current_dir(folder.path()).args(["run", "small.toml"]).args(set).assert().success();
    let words = ["informational", "2 settings, 3 runs (shard 1/2 of 6 runs), 240 interactions", "second", " of memory"];
    assert_contains(&stdout(&dry), &words);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn generated_data_is_sound_and_described() {
    let folder = temporary();
    let generate = ["data", "generate", "--shape", "tiny", "--queries", "30", "--seed", "3", "--out"];
    foltr().args(generate).arg(folder.path()).assert().success();
    let text = stdout(&foltr().args(["data", "check"]).arg(folder.path()).assert().success());
    assert_eq!(text.matches(": sound").count(), 3, "{text}");
    let described = foltr().args(["data", "info"]).arg(folder.path()).assert().success();
    assert_contains(&stdout(&described), &["train.txt", " 30 "]);
}

#[test]
fn broken_data_is_refused_with_its_line_and_ends_with_code_1() {
    let folder = temporary();
    let file = folder.path().join("broken.txt");
    std::fs::write(&file, "1 qid:1 1:0.5\n2 qid:1 1:half\n").expect("a file");
    let failed = foltr().args(["data", "check"]).arg(&file).assert().code(1);
    assert_contains(&stderr(&failed), &["broken.txt:2", "half", "error: 1 of 1 files cannot be used\n"]);
}

#[test]
fn data_that_is_not_there_says_where_to_put_it() {
    let folder = temporary();
    small().section("data", "kind = \"folder\"\npath = \"no-such-data\"").write(&folder.path().join("small.toml"));
    let mut command = foltr();
    command.current_dir(folder.path()).env_remove("FOLTR_DATA").args(["run", "small.toml", "--out", "out"]);
    let expected = "error: no-such-data: no such file or folder; set FOLTR_DATA to the folder with your data sets\n";
    command.assert().code(1).stderr(expected);
}

#[test]
fn help_teaches_and_wrong_usage_ends_with_code_2() {
    let help = foltr().arg("--help").assert().success();
    assert_contains(&stdout(&help), &["Examples:", "Exit codes:", "130", "foltr run specs/", "--threads"]);
    for wrong in [
        "train",
        "--seeds 0",
        "--seeds 2 list",
        "data generate --shape huge --out x",
        "scorecard --setting none",
        "scorecard --set federation.rounds",
        "scorecard --quick --setting cross-device --set federation.round=3",
        "audit --only nonsense",
        "privacy explain specs/main-job.toml --delta 0",
        "receipt verify README.md --key nonsense",
        "search README.md word -n 0",
        "man --json",
        "mimic run specs/main-job.toml --out out",
        "qrels README.md --json",
        "run specs/main-job.toml --out out --shard 3/2",
        "reproduce",
        "reproduce --all --list",
        "run no-such.toml --out out",
    ] {
        foltr().args(wrong.split(' ')).assert().code(2);
    }
    foltr().args(["--threads", "2", "list"]).assert().success();
}

#[test]
fn the_lists_are_printed() {
    let names = ["pdgd", "evolution", "cascade", "mlp", "ndcg@K", "distributed-laplace", "yogi", "mq2007", "max-rr"];
    assert_contains(&stdout(&foltr().arg("list").assert().success()), &names);
}

#[test]
fn a_wrong_file_ends_with_code_2_and_runs_nothing() {
    let folder = temporary();
    let refused = binary::run(folder.path(), &ExperimentFile::fpdgd().set("federation.rounds", "0"), &[]);
    refused.code(2).stdout("").stderr("study.toml:27: `federation.rounds` = 0: at least one round is needed\n");
    assert!(!folder.path().join("out").exists());
}
