//! The command `foltr-server`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use foltr_server::command::{self, Arguments};

fn main() -> ExitCode {
    match command::run(&Arguments::parse()) {
        Ok(code) => code,
        // Whoever reads has read enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to hear of a closed standard error.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
