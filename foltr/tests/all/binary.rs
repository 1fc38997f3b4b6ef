//! The binary, and what it prints.

use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use foltr_test::ExperimentFile;

/// The command, in the folder of the workspace. It leaves nothing in the cache of whoever runs the tests.
pub fn foltr() -> Command {
    let mut command = Command::cargo_bin("foltr").expect("built");
    command.current_dir(foltr_test::workspace()).env("FOLTR_CACHE", "off");
    command
}

/// Runs an experiment in a folder: `study.toml` into `out`.
pub fn run(folder: &Path, file: &ExperimentFile, arguments: &[&str]) -> Assert {
    file.write(&folder.join("study.toml"));
    foltr().current_dir(folder).args(["run", "study.toml", "--out", "out"]).args(arguments).assert()
}

pub fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn stdout(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
}

pub fn stderr(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

pub fn assert_contains(text: &str, words: &[&str]) {
    words.iter().for_each(|words| assert!(text.contains(words), "{words} is not in\n{text}"));
}
