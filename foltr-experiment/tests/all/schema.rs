//! The schema takes every shipped example and refuses what the reader refuses, as the `jsonschema` package sees it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Reads {"schema": ..., "files": {name: ...}}; prints the names of the files that do not fit.
const SCRIPT: &str = "
import json, sys
from jsonschema import Draft202012Validator
given = json.load(sys.stdin)
Draft202012Validator.check_schema(given['schema'])
validator = Draft202012Validator(given['schema'])
print(json.dumps([name for name, file in given['files'].items() if not validator.is_valid(file)]))
";

/// Files by their path from a folder; without those that are no TOML.
fn read(files: Vec<PathBuf>, folder: &Path) -> BTreeMap<String, Value> {
    let one = |path: PathBuf| {
        let file = toml::from_str(&std::fs::read_to_string(&path).expect("text")).ok()?;
        Some((path.strip_prefix(folder).expect("below the folder").to_string_lossy().into_owned(), file))
    };
    files.into_iter().filter_map(one).collect()
}

/// Names of the files that do not fit the schema.
fn unfit(files: &BTreeMap<String, Value>) -> Option<Vec<String>> {
    let python = foltr_test::python("jsonschema")?;
    let given = serde_json::json!({ "schema": foltr_experiment::schema::schema(), "files": files });
    let mut child = Command::new(python).args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let child = child.as_mut().expect("Python starts");
    child.stdin.take().expect("piped").write_all(given.to_string().as_bytes()).expect("Python reads");
    let names = serde_json::from_reader(child.stdout.take().expect("piped")).expect("a list of names");
    assert!(child.wait().expect("Python ends").success());
    Some(names)
}

#[test]
fn every_example_fits_the_schema() {
    let all = foltr_test::spec_files();
    let n_files = all.len();
    let files = read(all, &foltr_test::workspace().join("specs"));
    // Files in different folders may have the same name.
    assert_eq!(files.len(), n_files);
    assert_eq!(unfit(&files).unwrap_or_default(), [""; 0]);
}

#[test]
fn what_is_misspelled_or_of_the_wrong_kind_does_not_fit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let files = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    let Some(unfit) = unfit(&read(files, &folder)) else { return };
    for name in ["misspelled-keys", "wrong-kinds", "unknown-choice-in-a-sweep", "empty-list"] {
        assert!(unfit.contains(&format!("{name}.toml")), "{name} is not among {unfit:?}");
    }
}

#[test]
fn sections_of_studies_are_checked_too() {
    let sound = "seeds = [1]\n[[expect]]\nsays = \"it learns\"\nmetric = \"test-ndcg@10\"\nat_least = 0.5\n";
    let mimic = "seeds = [1]\n[supervision]\nkind = \"full\"\n[teacher]\nsteps = 5\n";
    let of = |text: String| toml::from_str::<Value>(&text).expect("TOML");
    let files = [
        ("sound", of(sound.into())),
        ("another key", of(sound.replace("at_least", "atleast"))),
        ("no text", of(sound.replace("says = \"it learns\"", ""))),
        ("unknown figure", of(format!("{sound}[[figure]]\nkind = \"pie\"\nmetric = \"test-ndcg@10\""))),
        ("mimic", of(mimic.into())),
        ("mimic with clients", of(format!("{mimic}[clients]\nn_clients = 3"))),
    ];
    let Some(unfit) = unfit(&files.map(|(name, file)| (name.to_owned(), file)).into()) else { return };
    assert_eq!(unfit, ["another key", "mimic with clients", "no text", "unknown figure"]);
}
