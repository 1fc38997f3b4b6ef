//! What the C programs of this crate do.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::compile::{Linking, on_path, program, run};

const QUICK_START: &str = "examples/quick_start.c";

/// Calls every function, well and badly.
const EVERYTHING: &str = "tests/c/everything.c";

fn check_everything(mut command: Command, folder: &Path) {
    // Nobody listens once the listener is gone.
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let output = run(command.args(["device", "other"].map(|name| folder.join(name))).arg(address.port().to_string()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
}

#[test]
fn every_function_says_what_is_wrong() {
    for linking in [Linking::Dynamic, Linking::Static] {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(program) = program(EVERYTHING, linking, folder.path()) else { return };
        check_everything(Command::new(program), folder.path());
    }
}

/// Where valgrind is on the path.
#[test]
fn no_memory_is_lost_or_read_behind_its_end() {
    let Some(valgrind) = on_path("valgrind") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = program(EVERYTHING, Linking::Static, folder.path()) else { return };
    let mut command = Command::new(valgrind);
    command.args(["--quiet", "--error-exitcode=99", "--leak-check=full"]);
    // The standard library of Rust has the name of a thread behind a pointer into its middle, which is "possibly lost".
    command.arg("--errors-for-leak-kinds=definite").arg(program);
    check_everything(command, folder.path());
}

#[test]
fn the_quick_start_is_short_and_learns() {
    let source = include_str!("../../examples/quick_start.c");
    let n_lines = source.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(n_lines <= 30, "{n_lines} lines");
    for linking in [Linking::Dynamic, Linking::Static] {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(program) = program(QUICK_START, linking, folder.path()) else { return };
        let output = run(Command::new(program).arg(folder.path().join("device")));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let n_first = text.strip_prefix("The newest document came first in ").and_then(|it| it.split(' ').next());
        let n_first: u32 = n_first.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{text}"));
        // By chance it would be 33.
        assert!(n_first >= 60, "{text}");
    }
}
