//! A federation on this machine in one command.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser as _;
use foltr_demo::arguments::Arguments;

/// As a shell says it for SIGINT.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // Who asks twice does not want to wait.
    let heard = ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    });
    let ended = heard.map_err(anyhow::Error::from).and_then(|()| foltr_demo::run(&arguments, &stop));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads any more.
        Err(error) if error.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "foltr-demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}
