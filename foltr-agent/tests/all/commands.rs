//! The commands as their user calls them, with no agent running.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().expect("a folder") };
        world.write("boats.md", "# Boats\n\nSails and wind on the lake.");
        world.write("cars.txt", "Wheels, and a lake that somebody drove into.");
        world
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.files()).expect("made");
        fs::write(self.files().join(name), text).expect("written");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foltr-agent"));
        command.env("FOLTR_AGENT_HOME", self.folder.path().join("home")).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// What a command that succeeds prints.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// What a command that fails says, and its code.
    fn fails(&self, arguments: &[&str]) -> (String, i32) {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(!error.contains("panicked"), "{error}");
        (error, output.status.code().unwrap_or(-1))
    }

    fn add(&self) -> String {
        self.says(&["add", self.files().to_str().expect("UTF-8")])
    }
}

#[test]
fn add_search_open_explain() {
    let world = World::new();
    assert!(world.add().starts_with("2 files: 2 indexed, 0 as before"));
    assert!(world.add().starts_with("2 files: 0 indexed, 2 as before"));
    let found = world.says(&["search", "sai"]);
    assert!(
        found.contains("1. Boats") && found.contains("Sails and wind on the lake.") && !found.contains('\x1b'),
        "{found}"
    );
    let path = world.says(&["open", "1", "--print"]);
    assert!(path.trim_end().ends_with("boats.md"), "{path}");
    let why = world.says(&["explain", "1"]);
    assert!(why.contains("place 1 by score") && why.contains("nothing sets it apart"), "{why}");
    world.says(&["search", "wheels lake"]);
    let why = world.says(&["explain", "1"]);
    assert!(why.contains("how well"), "{why}");
    let json: serde_json::Value = serde_json::from_str(&world.says(&["search", "--json", "lake"])).expect("JSON");
    assert_eq!(json["hits"].as_array().map(Vec::len), Some(2));
    let status: serde_json::Value = serde_json::from_str(&world.says(&["status", "--json"])).expect("JSON");
    assert_eq!(status["agent"]["measured"]["n_with_opening"], 1, "the search before is over: {status}");
    assert_eq!(status["agent"]["learned"]["n_openings"], 1);
}

#[test]
fn filters_and_pages() {
    let world = World::new();
    (0..25).for_each(|number| world.write(&format!("note {number}.txt"), "a lake again"));
    world.add();
    let count = |text: &str| {
        text.lines().filter(|line| line.trim_start().starts_with(|it: char| it.is_ascii_digit())).count() - 1
    };
    assert_eq!(count(&world.says(&["search", "lake", "-n", "20"])), 20);
    assert_eq!(count(&world.says(&["search", "lake", "-n", "20", "--page", "2"])), 7);
    assert!(world.says(&["search", "lake", "--kind", "markdown"]).contains("1 of 1 documents"));
    assert!(world.says(&["search", "lake", "--kind", "pdf"]).contains("No document has these words."));
    let (error, code) = world.fails(&["search", "lake", "--kind", "films"]);
    assert!(error.contains("expected one of: text, markdown") && code == 2, "{error}");
}

#[test]
fn what_is_exported_forgotten_and_paused() {
    let world = World::new();
    world.add();
    world.says(&["search", "lake"]);
    world.says(&["open", "1", "--print"]);
    let file = world.folder.path().join("export.json");
    let file = file.to_str().expect("UTF-8");
    world.says(&["export", file]);
    let export: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).expect("written")).expect("JSON");
    assert_eq!(export["openings"][0]["query"], "lake");
    let (error, _) = world.fails(&["export", file]);
    assert!(error.contains("export.json"), "it is there already: {error}");
    world.says(&["pause"]);
    assert!(world.says(&["status"]).contains("paused"));
    world.says(&["resume"]);
    let (error, _) = world.fails(&["forget"]);
    assert!(error.contains("--yes"), "{error}");
    world.says(&["forget", "--yes"]);
    let export: serde_json::Value = serde_json::from_str(&world.says(&["export"])).expect("JSON");
    assert_eq!(export["openings"].as_array().map(Vec::len), Some(0));
    assert!(world.says(&["explain"]).contains("Sent: nothing"));
    let (error, _) = world.fails(&["open", "1"]);
    assert!(error.contains("there was no search yet"), "{error}");
}

#[test]
fn mistakes_are_named() {
    let world = World::new();
    let (error, _) = world.fails(&["add", "no such folder"]);
    assert!(error.contains("no such folder"), "{error}");
    assert!(world.says(&["search", "lake"]).contains("No folder was added yet"));
    world.add();
    let inside = world.files().join("inside");
    fs::create_dir_all(&inside).expect("made");
    let (error, _) = world.fails(&["add", inside.to_str().expect("UTF-8")]);
    assert!(error.contains("which was added already"), "{error}");
    world.says(&["search", "lake"]);
    let (error, _) = world.fails(&["open", "9", "--print"]);
    assert!(error.contains("has 2 results"), "{error}");
    let (error, _) = world.fails(&["join", "no invitation"]);
    assert!(!error.is_empty());
    let (_, code) = world.fails(&["search"]);
    assert_eq!(code, 2);
    let (error, _) = world.fails(&["page"]);
    assert!(error.contains("no agent runs"), "{error}");
}

#[test]
fn a_damaged_catalogue_is_an_error_that_says_what_to_do() {
    let world = World::new();
    world.add();
    let catalogue = world.folder.path().join("home/catalogue.db");
    for name in ["catalogue.db-wal", "catalogue.db-shm"] {
        let _ = fs::remove_file(Path::new(&catalogue).with_file_name(name));
    }
    fs::write(&catalogue, "this is no database, and longer than a header of one would be".repeat(4)).expect("written");
    let (error, _) = world.fails(&["search", "lake"]);
    assert!(error.contains("catalogue.db"), "{error}");
}

/// A closed pipe ends a command quietly.
#[test]
fn nobody_reads() {
    let world = World::new();
    world.add();
    let mut child = world.command(&["search", "lake"]).stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert!(child.wait().expect("it ends").success());
}
