//! The same rounds by Flower, with its own server and clients.

use std::path::Path;
use std::process::{Command, Stdio};

const PYTHON: &str = "target/flower/venv/bin/python";
pub const SCRIPT: &str = "docs/campaigns/flower/run.py";

/// The median, as its script prints it beside the rest; nothing if Flower is not installed.
pub fn seconds_per_round(n_rounds: u32, n_clients: usize) -> Option<f64> {
    if !Path::new(PYTHON).is_file() {
        return None;
    }
    let mut command = Command::new(PYTHON);
    command.args([SCRIPT, "--rounds", &n_rounds.to_string(), "--clients", &n_clients.to_string()]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().expect("Python can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    assert!(output.status.success(), "{SCRIPT} failed");
    let median = text.split("seconds per round: median ").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok());
    Some(median.expect("the script prints a median"))
}
