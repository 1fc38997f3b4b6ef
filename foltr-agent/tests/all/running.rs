//! An agent that runs, and the commands that reach it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

struct Running {
    folder: tempfile::TempDir,
    child: Child,
    url: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = folder.path().join("files");
        fs::create_dir_all(&files).expect("made");
        fs::write(files.join("boats.md"), "# Boats\n\nSails and wind.").expect("written");
        let mut child = command(&folder, &["run", files.to_str().expect("UTF-8")])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let url = lines.next().expect("a line").expect("UTF-8");
        Self { folder, child, url }
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        command(&self.folder, arguments).output().expect("it starts")
    }

    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Asks until it says this.
    fn until(&self, arguments: &[&str], expected: &str) {
        let begun = Instant::now();
        loop {
            let said = self.says(arguments);
            if said.contains(expected) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{arguments:?} says {said}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// As Ctrl-C does.
    fn interrupt(&mut self) -> std::process::ExitStatus {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().expect("kill runs").success());
        self.child.wait().expect("it ends")
    }
}

fn command(folder: &tempfile::TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foltr-agent"));
    command.env("FOLTR_AGENT_HOME", folder.path().join("home")).args(arguments);
    command
}

#[test]
fn commands_reach_the_agent_that_runs() {
    let mut running = Running::start();
    assert!(running.url.starts_with("http://127.0.0.1:"), "{}", running.url);
    running.until(&["search", "sails"], "1. Boats");
    assert!(running.says(&["open", "1", "--print"]).trim_end().ends_with("boats.md"));
    assert!(running.says(&["explain", "1"]).contains("place 1 by score"));
    fs::write(running.files().join("new.txt"), "a lighthouse").expect("written");
    running.until(&["search", "lighthouse"], "new.txt");
    fs::rename(running.files().join("new.txt"), running.files().join("old.txt")).expect("moved");
    running.until(&["search", "lighthouse"], "old.txt");
    let export = running.says(&["export"]);
    assert!(export.contains("\"query\": \"sails\""), "{export}");
    running.says(&["pause"]);
    assert!(running.says(&["status"]).contains("paused"));
    running.says(&["resume"]);
    running.says(&["forget", "--yes"]);
    assert!(!running.says(&["export"]).contains("sails"));

    let second = running.run(&["run"]);
    let error = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && error.contains("in use by another agent"), "{error}");

    assert!(running.interrupt().success());
    assert!(!running.folder.path().join("home/address.json").exists());
    assert!(running.says(&["search", "lighthouse"]).contains("old.txt"), "without an agent that runs");
}

/// The address of an agent that was killed leads nowhere, or to somebody else.
#[test]
fn an_agent_that_was_killed_is_not_asked() {
    let mut running = Running::start();
    running.until(&["search", "sails"], "1. Boats");
    running.child.kill().expect("killed");
    running.child.wait().expect("it ended");
    assert!(running.folder.path().join("home/address.json").exists());
    assert!(running.says(&["search", "sails"]).contains("1. Boats"));
    assert!(running.says(&["status"]).contains("no agent runs"));
}
