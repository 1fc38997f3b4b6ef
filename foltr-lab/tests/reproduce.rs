//! `foltr reproduce`: the list is sound, verdicts have their form, exit codes tell what was found, one entry end to end.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assert_cmd::Command;
use foltr_lab::command::End;
use foltr_lab::command::reproduce::run_entries;
use foltr_lab::grid::Grid;
use foltr_lab::reproduce::{self, ENTRIES, Entry, Judgement, Study, Verdict};
use indicatif::ProgressBar;

fn foltr() -> Command {
    Command::cargo_bin("foltr").expect("built")
}

fn fabricated(id: &'static str, run: fn(&mut Study<'_>) -> anyhow::Result<()>) -> Entry {
    Entry { id, paper: "none", what: "fabricated", run }
}

/// Runs a fabricated entry in a temporary folder.
fn end_of(run: fn(&mut Study<'_>) -> anyhow::Result<()>) -> End {
    let folder = tempfile::tempdir().expect("a temporary folder");
    run_entries(&[&fabricated("fabricated", run)], true, folder.path())
}

#[test]
fn names_are_unique_and_say_where_they_come_from() {
    let ids: HashSet<&str> = ENTRIES.iter().map(|entry| entry.id).collect();
    assert_eq!(ids.len(), ENTRIES.len(), "a name is there twice");
    for entry in ENTRIES {
        assert!(!entry.paper.is_empty() && !entry.what.is_empty(), "{}", entry.id);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        assert!(entry.id.chars().all(is_plain), "{} is a folder name too", entry.id);
    }
    for wanted in [
        "foltr-es-figure-1",
        "foltr-es-table-2",
        "foltr-es-table-3",
        "thesis-figure-3.1",
        "draft-clients",
        "fpdgd-table-2",
    ] {
        assert!(reproduce::find(wanted).is_ok(), "{wanted}");
    }
}

/// Experiment files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn every_file_that_an_entry_runs_is_a_sound_grid() {
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs");
    for paper in ["foltr-es", "thesis", "draft", "fpdgd"] {
        let files = files_below(&specs.join(paper));
        assert!(files.len() >= 3, "{paper}");
        for file in files {
            let grid = Grid::read(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(grid.settings.len() > 1, "{} varies nothing", file.display());
        }
    }
}

#[test]
fn the_list_names_every_entry() {
    let told = foltr().args(["reproduce", "--list"]).assert().success();
    let text = String::from_utf8_lossy(&told.get_output().stdout).into_owned();
    for entry in ENTRIES {
        assert!(text.contains(entry.id), "{} is not in\n{text}", entry.id);
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let told = foltr().args(["reproduce", "foltr-es-tabel-3"]).assert().code(2);
    let text = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
    assert!(text.contains("`foltr-es-tabel-3`") && text.contains("`foltr-es-table-3`"), "{text}");
    assert!(text.contains("--list"), "{text}");
}

#[test]
fn something_must_be_asked_for() {
    foltr().arg("reproduce").assert().code(2);
    foltr().args(["reproduce", "--all", "--list"]).assert().code(2);
}

#[test]
fn epsilon_is_reproduced_end_to_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    foltr().args(["reproduce", "foltr-es-table-2", "--out"]).arg(folder.path()).assert().success();
    let text = std::fs::read_to_string(folder.path().join("foltr-es-table-2/verdict.json")).expect("verdicts");
    let raw: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a list");
    let cell = raw.iter().find(|it| it["cell"] == "informational, p = 0.9").expect("a cell");
    assert_eq!((cell["id"].as_str(), cell["paper"].as_f64()), (Some("foltr-es-table-2"), Some(2.56)));
    assert_eq!((cell["verdict"].as_str(), cell["tolerance"].as_f64()), (Some("agrees"), Some(0.005)));
    // Spec section 5.
    assert!((cell["ours"].as_f64().expect("a number") - 2.5629).abs() < 5e-5, "{cell}");
    let finding = raw.iter().find(|it| it["finding"] == 5).expect("a finding");
    assert!(finding["holds"].as_bool() == Some(true) && finding["evidence"].is_string(), "{finding}");
    let read: Vec<Judgement> = serde_json::from_str(&text).expect("the form of verdict.json");
    assert_eq!(read.len(), 4 * 6 + 1);
}

#[test]
fn only_what_can_be_compared_decides() {
    let sound: fn(&mut Study<'_>) -> anyhow::Result<()> = |study| {
        study.cell("within".into(), 0.5, 0.505, 0.01);
        study.not_comparable("elsewhere".into(), Some(0.5), 0.9, "other data");
        study.finding(1, true, "as printed".into());
        Ok(())
    };
    assert_eq!(end_of(sound), End::Done);
    assert_eq!(
        end_of(|study| {
            study.cell("outside".into(), 0.5, 0.52, 0.01);
            Ok(())
        }),
        End::Failed
    );
    assert_eq!(
        end_of(|study| {
            study.finding(1, false, "the other way round".into());
            Ok(())
        }),
        End::Failed
    );
    assert_eq!(end_of(|_| anyhow::bail!("no data")), End::Failed);
    assert_eq!(end_of(|_| Err(reproduce::Interrupted.into())), End::Interrupted);
}

/// A tiny grid, run, interrupted and resumed.
const TINY: &str = r#"
seeds = [1, 2]

[data]
kind = "synthetic"
shape = "tiny"
queries = 30
seed = 1

[clients]
n_clients = 4
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
rounds = 3
optimiser = { kind = "learning-rate", rate = 1.0 }
"#;

#[test]
fn a_study_runs_its_grid_and_goes_on_after_an_interruption() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let entry = fabricated("tiny", |study| {
        let results = study.grid("runs", TINY, &["federation.rounds=2".into()])?;
        let offline = "test-ndcg@10".parse().expect("a metric");
        assert_eq!(results.grid.settings.len(), 2);
        study.cell_of_runs("perfect".into(), 0.0, &results.final_values(0, offline), 1.0);
        Ok(())
    });
    let bar = ProgressBar::hidden();
    let stopped = AtomicBool::new(true);
    let outcome = reproduce::run(&entry, Study::new(&entry, folder.path(), false, &bar, &stopped));
    assert!(outcome.is_err_and(|error| error.is::<reproduce::Interrupted>()));
    let going = AtomicBool::new(false);
    let settled = reproduce::run(&entry, Study::new(&entry, folder.path(), false, &bar, &going)).expect("a study");
    let [Judgement::Cell(cell)] = &settled.judgements[..] else { panic!("{settled:?}") };
    assert_eq!((cell.n, cell.verdict, cell.id.as_str()), (Some(2), Verdict::Agrees, "tiny"));
    assert!(folder.path().join("tiny/runs/rows.csv").is_file());
    assert!(folder.path().join("tiny/verdict.txt").is_file());
}
