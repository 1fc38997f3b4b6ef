//! Search over one's own files that learns from what one opens.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use foltr_agent::command::Arguments;

fn main() -> ExitCode {
    match Arguments::parse().run() {
        Ok(code) => code,
        // Nobody reads any more.
        Err(error) if error.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "foltr-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}
