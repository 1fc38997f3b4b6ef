//! `foltr cache`, and where parsed data goes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::{assert_contains, foltr, stdout, temporary};

const TEXT: &str = "1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25\n";

/// A folder `data` with a file, and a model for it.
fn setup(folder: &Path) {
    fs::create_dir(folder.join("data")).expect("a folder");
    fs::write(folder.join("data/test.txt"), TEXT).expect("a file");
    let shape = foltr_rank::Shape::Linear { n_features: 2 };
    let normalise = foltr_experiment::spec::Normalisation::None;
    let model = foltr_experiment::model::Model { shape, normalise, params: vec![1.0, 0.0] };
    model.write(&folder.join("model.safetensors"), None).expect("written");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs the command in a folder whose `home` is the user's, with these other variables.
fn said(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut command = foltr();
    command.current_dir(folder).env_remove("FOLTR_CACHE").env_remove("XDG_CACHE_HOME").env_remove("FOLTR_DATA");
    command.env("HOME", folder.join("home")).envs(variables.iter().copied());
    stdout(&command.args(arguments).assert().success())
}

const EVALUATE: [&str; 3] = ["evaluate", "model.safetensors", "data/test.txt"];

#[test]
fn parsed_data_goes_to_the_users_cache_and_nothing_beside_the_data() {
    let folder = temporary();
    let folder = folder.path();
    setup(folder);
    let elsewhere = folder.join("xdg");
    let xdg = ("XDG_CACHE_HOME", elsewhere.to_str().expect("UTF-8"));
    let first = said(folder, &[], &EVALUATE);
    let again = said(folder, &[], &EVALUATE);
    assert_eq!(first, again);
    assert_eq!(names(&folder.join("home/.cache/foltr")).len(), 2, "a stamp and a data file");
    assert_eq!(said(folder, &[xdg], &EVALUATE), first);
    assert_eq!(names(&folder.join("xdg/foltr")).len(), 2);
    assert_eq!(said(folder, &[xdg, ("FOLTR_CACHE", "named")], &EVALUATE), first);
    assert_eq!(names(&folder.join("named")).len(), 2);
    assert_eq!(said(folder, &[("FOLTR_CACHE", "off")], &EVALUATE), first);
    assert_eq!(names(&folder.join("data")), ["test.txt"], "nothing beside the data");
    // A folder that cannot be made: work goes on.
    assert_eq!(said(folder, &[("FOLTR_CACHE", "model.safetensors/cache")], &EVALUATE), first);
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let folder = temporary();
    let folder = folder.path();
    setup(folder);
    said(folder, &[], &EVALUATE);
    let text = said(folder, &[], &["cache", "info"]);
    assert_contains(&text, &["data/test.txt", "unchanged", "home/.cache/foltr: 1 files"]);
    fs::write(folder.join("data/test.txt"), TEXT.replace("0.25", "0.75")).expect("a file");
    let info: Value = serde_json::from_str(&said(folder, &[], &["cache", "info", "--json"])).expect("JSON");
    assert_eq!((&info["n_files"], &info["sources"][0]["state"]), (&1.into(), &"changed".into()));
    assert!(info["n_bytes"].as_u64().is_some_and(|bytes| bytes > 4096), "{info}");
    // An old cache beside the data is neither read nor removed.
    fs::create_dir(folder.join("data/.foltr-cache")).expect("a folder");
    let cleared: Value = serde_json::from_str(&said(folder, &[], &["cache", "clear", "--json"])).expect("JSON");
    assert_eq!(cleared["n_files"], 1);
    assert!(folder.join("data/.foltr-cache").is_dir() && !folder.join("home/.cache/foltr").exists());
    assert_contains(&said(folder, &[], &["cache", "clear"]), &["removed 0 files"]);
    assert_contains(&said(folder, &[("FOLTR_CACHE", "off")], &["cache", "info"]), &["nothing is kept"]);
}
