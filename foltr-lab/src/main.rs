//! The `foltr` command.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use foltr_lab::cli::{Cli, Command};
use foltr_lab::command::{self, End};

fn main() -> ExitCode {
    command::exit_code(run(&Cli::parse()))
}

fn run(cli: &Cli) -> Result<End> {
    if let Some(threads) = cli.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().context("threads cannot be started")?;
    }
    command::catch_interrupts()?;
    match &cli.command {
        None => command::main_job::run(&cli.main_job.out, cli.main_job.seeds),
        Some(Command::Run { spec, out }) => command::run::run(spec, out),
        Some(Command::Data(data)) => command::data::run(data),
        Some(Command::List) => {
            print!("{}", command::list::told());
            Ok(End::Done)
        }
        Some(Command::Bench { json }) => foltr_lab::bench::run(*json).map(|()| End::Done),
    }
}
