//! Data, Python, a browser, a C compiler and others: a test that lacks one is skipped aloud, or fails where
//! `FOLTR_REQUIRE` names it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `FOLTR_REQUIRE` may name, in a list with commas.
const KINDS: [&str; 7] = ["data", "python", "browser", "slurm", "latex", "cc", "postgresql"];

/// What a test needs, if this machine has it.
pub fn require<T>(kind: &str, needed: Option<T>, missing: &str) -> Option<T> {
    assert!(KINDS.contains(&kind), "{kind} is none of {KINDS:?}");
    let required = std::env::var("FOLTR_REQUIRE").unwrap_or_default();
    let required: Vec<&str> = required.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    for name in &required {
        assert!(KINDS.contains(name), "FOLTR_REQUIRE names {name}; expected {}", KINDS.join(", "));
    }
    if needed.is_none() {
        assert!(!required.contains(&kind), "FOLTR_REQUIRE names {kind}, but {missing}");
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        // Not by `eprintln!`, whose text is not shown for a test that passes.
        writeln!(std::io::stderr(), "skipped: {test}: {missing}").expect("standard error");
    }
    needed
}

/// A file or folder below `FOLTR_DATA`.
pub fn data(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("FOLTR_DATA").map(|folder| PathBuf::from(folder).join(name));
    require("data", path.filter(|path| path.exists()), &format!("there is no {name} below FOLTR_DATA"))
}

/// A Python that can import a module: `FOLTR_PYTHON`, or `target/python`, which `.ci/run` makes.
pub fn python(module: &str) -> Option<PathBuf> {
    let named = std::env::var_os("FOLTR_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| workspace().join("target/python/bin/python"));
    let import = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    let has_module = import.is_ok_and(|import| import.status.success());
    let missing = format!("{} cannot import {module} (see foltr-test/requirements.txt)", python.display());
    require("python", has_module.then_some(python), &missing)
}

/// Programs that set a LaTeX document and draw a PDF, both on the path.
pub fn latex() -> Option<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let programs = ["pdflatex", "pdftoppm"];
    let missing: Vec<&str> = programs.into_iter().filter(|name| !is_there(name)).collect();
    require("latex", missing.is_empty().then_some(()), &format!("there is no {} on the path", missing.join(", ")))
}

pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace")
}

pub fn spec_files() -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![workspace().join("specs")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "toml") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 20, "{} files", files.len());
    files
}
