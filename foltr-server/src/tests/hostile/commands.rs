//! Mistakes of the operator that would lose a federation.

use std::path::Path;

use clap::Parser as _;

use crate::command::{self, Arguments};

fn run(arguments: &[&str], folder: &Path) -> Result<(), String> {
    let folder = folder.to_str().expect("a path in UTF-8");
    let words = ["foltr-server"].iter().chain(arguments).map(|word| word.replace("DIR", folder));
    let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
    command::run(&arguments).map(drop).map_err(|error| format!("{error:#}"))
}

#[test]
fn a_federation_whose_database_is_gone_does_not_begin_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("server");
    run(&["init", "DIR"], &folder).expect("a new folder");
    run(&["invite", "new", "DIR"], &folder).expect("the federation begins");
    run(&["status", "DIR"], &folder).expect("it is there");
    for file in ["foltr.db", "foltr.db-wal", "foltr.db-shm"] {
        drop(std::fs::remove_file(folder.join(file)));
    }
    for command in [["status", "DIR"].as_slice(), &["invite", "new", "DIR"]] {
        let error = run(command, &folder).expect_err("its releases would fork");
        assert!(error.contains("has begun"), "{error}");
    }
}

#[test]
fn a_name_with_a_slash_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = run(&["init", "DIR", "--federation", "a/b"], folder.path()).expect_err("nobody would find it");
    assert!(error.contains("slash"), "{error}");
}
