//! The commands as a user meets them: files, output, exit codes.

use std::path::Path;

use foltr_test::ExperimentFile;

use crate::binary::{foltr, stderr, stdout};

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

fn run(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let (spec, out) = (folder.join("small.toml"), folder.join(name));
    small().write(&spec);
    foltr().arg("run").arg(spec).arg("--out").arg(&out).args(arguments).assert().success();
    std::fs::read_to_string(out.join("rows.csv")).expect("rows")
}

#[test]
fn a_run_writes_tidy_rows_a_summary_and_the_resolved_experiment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rows = run(folder.path(), "out", &[]);
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines[0], "data,users,learner,seed,fold,round,metric,value");
    // Four rounds with two online values, and three offline ones (rounds 0, 2 and 4), for each of three seeds.
    assert_eq!(lines.len(), 1 + 3 * (4 * 2 + 3));
    assert!(
        lines.iter().any(|line| line.starts_with("synthetic-tiny,navigational,pdgd,1,1,0,test-ndcg@10,")),
        "{rows}"
    );

    let out = folder.path().join("out");
    let summary = std::fs::read(out.join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
    let summary = &summary["settings"][0];
    assert_eq!((summary["n_runs"].as_u64(), summary["n_rounds"].as_u64()), (Some(3), Some(4)));
    assert_eq!(summary["experiment"]["metrics"]["list_length"], 10);
    let mean = summary["final"]["test-ndcg@10"]["mean"].as_f64().expect("a mean");
    let last: Vec<f64> = lines
        .iter()
        .filter(|line| line.contains(",4,test-ndcg@10,"))
        .map(|line| line.rsplit(',').next().expect("a value").parse().expect("a number"))
        .collect();
    assert!((mean - last.iter().sum::<f64>() / 3.0).abs() < 1e-12, "{mean} of {last:?}");

    let about = std::fs::read(out.join("study.json")).expect("facts");
    let about: serde_json::Value = serde_json::from_slice(&about).expect("JSON");
    assert_eq!((about["n_runs"].as_u64(), about["n_finished"].as_u64()), (Some(3), Some(3)));
    assert_eq!(about["n_interactions"], 3 * 4 * 20);
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));

    let resolved = std::fs::read_to_string(out.join("resolved.toml")).expect("a resolved experiment");
    assert!(resolved.contains("queries_without_relevant = \"skip\"") && resolved.contains("validation_queries = 100"));
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let single = run(folder.path(), "one", &["--threads", "1"]);
    assert_eq!(single, run(folder.path(), "four", &["--threads", "4"]));
}

#[test]
fn the_main_job_ends_with_a_table_and_a_figure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let done = foltr().arg("--seeds").arg("1").arg("--out").arg(folder.path()).assert().success();
    let text = stdout(&done);
    for word in ["offline nDCG@10", "online nDCG@10", "interactions/s", "FOLtR-ES", "learning-curves.svg"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let svg = std::fs::read_to_string(folder.path().join("learning-curves.svg")).expect("a figure");
    assert!(svg.contains(">informational users</text>") && svg.contains("sans-serif"));
    let png = std::fs::read(folder.path().join("learning-curves.png")).expect("a picture");
    assert!(png.len() > 20_000, "{} bytes", png.len());
}

#[test]
fn a_dry_run_says_what_would_be_run_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = folder.path().join("small.toml");
    small().write(&spec);
    let set = ["--set", "users.preset=[\"perfect\", \"informational\"]", "--shard", "1/2"];
    let dry = foltr().current_dir(folder.path()).arg("run").arg(&spec).args(set).arg("--dry-run").assert().success();
    let text = stdout(&dry);
    for words in ["informational", "2 settings, 3 runs (shard 1/2 of 6 runs), 240 interactions", " of memory"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn generated_data_is_sound_and_described() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("data");
    let generate = ["data", "generate", "--shape", "tiny", "--queries", "30", "--seed", "3", "--out"];
    foltr().args(generate).arg(&out).assert().success();
    let checked = foltr().args(["data", "check"]).arg(&out).assert().success();
    let text = stdout(&checked);
    assert_eq!(text.matches(": sound").count(), 3, "{text}");
    let described = foltr().args(["data", "info"]).arg(&out).assert().success();
    let text = stdout(&described);
    assert!(text.contains("train.txt") && text.contains(" 30 "), "{text}");
}

#[test]
fn broken_data_is_told_with_its_line_and_ends_with_code_1() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("broken.txt");
    std::fs::write(&file, "1 qid:1 1:0.5\n2 qid:1 1:half\n").expect("a file");
    let failed = foltr().args(["data", "check"]).arg(&file).assert().code(1);
    let text = stderr(&failed);
    assert!(text.contains("broken.txt:2") && text.contains("half"), "{text}");
    assert!(text.ends_with("error: 1 of 1 files cannot be used\n"), "{text}");
}

#[test]
fn data_that_is_not_there_says_where_to_put_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = folder.path().join("small.toml");
    small()
        .section(
            "data",
            "kind = \"folder\"
path = \"no-such-data\"",
        )
        .write(&spec);
    let run =
        foltr().env_remove("FOLTR_DATA").arg("run").arg(&spec).arg("--out").arg(folder.path().join("out")).assert();
    run.code(1)
        .stderr("error: no-such-data: no such file or folder; set FOLTR_DATA to the folder with your data sets\n");
}

#[test]
fn help_teaches_and_wrong_usage_ends_with_code_2() {
    let help = foltr().arg("--help").assert().success();
    let text = stdout(&help);
    for word in ["Examples:", "Exit codes:", "130", "foltr run specs/", "--threads"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    foltr().arg("train").assert().code(2);
    foltr().args(["--seeds", "0"]).assert().code(2);
    foltr().args(["--seeds", "2", "list"]).assert().code(2);
    foltr().args(["--threads", "2", "list"]).assert().success();
    foltr().args(["data", "generate", "--shape", "huge", "--out", "x"]).assert().code(2);
}

#[test]
fn the_lists_are_printed() {
    let list = foltr().arg("list").assert().success();
    let text = stdout(&list);
    for name in ["pdgd", "evolution", "cascade", "mlp", "ndcg@K", "distributed-laplace", "yogi", "mq2007", "max-rr"] {
        assert!(text.contains(name), "{name} is not in\n{text}");
    }
}

#[test]
fn a_wrong_file_ends_with_code_2_and_runs_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (spec, out) = (folder.path().join("wrong.toml"), folder.path().join("out"));
    ExperimentFile::fpdgd().set("federation.rounds", "0").write(&spec);
    let expected = format!("{}:27: `federation.rounds` = 0: at least one round is needed\n", spec.display());
    foltr().arg("run").arg(&spec).arg("--out").arg(&out).assert().code(2).stdout("").stderr(expected);
    assert!(!out.exists());
}

#[test]
fn a_missing_file_ends_with_code_2() {
    let run = foltr().args(["run", "no-such.toml", "--out", "out"]).assert().code(2);
    let text = stderr(&run);
    assert!(text.starts_with("no-such.toml: "), "{text}");
}
