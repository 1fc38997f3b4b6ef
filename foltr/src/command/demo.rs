//! `foltr demo`: how to start the demonstration, which has a server and is therefore a program of its own.

use anyhow::Result;
use serde_json::json;

use super::End;
use crate::output::{self, say};

const COMMAND: &str = "cargo run --release -p foltr-demo";

pub fn run() -> Result<End> {
    say("The demonstration is a program of its own: a server, devices with simulated users, and a page to watch them.");
    say(format_args!("In the folder of the source:\n\n  {COMMAND}"));
    output::answer(&json!({ "command": COMMAND }))?;
    Ok(End::Done)
}
