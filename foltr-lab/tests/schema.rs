//! The schema takes every shipped example and refuses what the reader refuses, as the `jsonschema` package sees it.
//!
//! Needs `target/python` (made by `.ci/run` from `requirements.txt`) or `FOLTR_PYTHON`; skipped elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Reads {"schema": ..., "files": {name: ...}}; prints the names of the files that do not fit.
const SCRIPT: &str = "
import json, sys
from jsonschema import Draft202012Validator
given = json.load(sys.stdin)
Draft202012Validator.check_schema(given['schema'])
validator = Draft202012Validator(given['schema'])
print(json.dumps([name for name, file in given['files'].items() if not validator.is_valid(file)]))
";

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let made = Some(root.join("target/python/bin/python")).filter(|python| python.exists());
    let python = std::env::var_os("FOLTR_PYTHON").map(PathBuf::from).or(made)?;
    let has_package =
        Command::new(&python).args(["-c", "import jsonschema"]).output().is_ok_and(|it| it.status.success());
    has_package.then_some(python)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    // Mimic learning has files of another kind.
    let entries = entries.filter(|path| !path.ends_with("mimic"));
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Names of the files that are TOML but do not fit the schema.
fn unfit(folder: &str) -> Option<Vec<String>> {
    let Some(python) = python() else {
        println!("skipped: no Python with the package jsonschema in target/python or FOLTR_PYTHON");
        return None;
    };
    let read = |path: PathBuf| {
        let table: toml::Table = toml::from_str(&std::fs::read_to_string(&path).ok()?).ok()?;
        Some((path.file_stem()?.to_string_lossy().into_owned(), serde_json::to_value(table).ok()?))
    };
    let toml = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    let files: serde_json::Map<String, serde_json::Value> = toml.into_iter().filter_map(read).collect();
    let given = serde_json::json!({ "schema": foltr_lab::schema::schema(), "files": files });
    let done = assert_cmd::Command::new(python).args(["-c", SCRIPT]).write_stdin(given.to_string()).assert().success();
    Some(serde_json::from_slice(&done.get_output().stdout).expect("a list of names"))
}

#[test]
fn every_example_fits_the_schema() {
    assert_eq!(unfit("../specs").unwrap_or_default(), [""; 0]);
}

#[test]
fn what_is_misspelled_or_of_the_wrong_kind_does_not_fit() {
    let Some(unfit) = unfit("tests/wrong") else { return };
    for name in ["misspelled-keys", "wrong-kinds", "unknown-choice-in-a-sweep", "empty-list"] {
        assert!(unfit.iter().any(|file| file == name), "{name} is not among {unfit:?}");
    }
}
