//! The binary, and what it says.

use assert_cmd::Command;
use assert_cmd::assert::Assert;

/// The command, in the folder of the workspace.
pub fn foltr() -> Command {
    let mut command = Command::cargo_bin("foltr").expect("built");
    command.current_dir(foltr_test::workspace());
    command
}

/// Standard output.
pub fn stdout(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
}

/// Standard error.
pub fn stderr(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}
