//! The `foltr` command.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod catalogue;
mod choice;
mod cli;
mod command;
mod estimate;
mod explain;
mod judged_study;
mod output;
mod progress;
mod studies;
mod summary;
mod timestamp;

use std::path::Path;
use std::process::ExitCode;

use crate::cli::{Cli, Command, PrivacyCommand, ReceiptCommand};
use crate::command::End;
use crate::output::Style;
use anyhow::{Context, Result};

fn main() -> ExitCode {
    match Cli::read() {
        Ok(cli) => command::exit_code(run(&cli)),
        Err(error) => command::exit_code_of_usage(&error),
    }
}

fn run(cli: &Cli) -> Result<End> {
    output::set_style(Style { quiet: cli.quiet, json: cli.json });
    if let Some(threads) = cli.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().context("threads cannot be started")?;
    }
    match &cli.command {
        None => {
            let out = cli.main_job.out.as_deref().unwrap_or(Path::new("out"));
            command::main_job::run(out, cli.main_job.seeds.unwrap_or(5))
        }
        Some(Command::Models(arguments)) => command::models::run(&arguments.path),
        Some(Command::Evaluate(arguments)) => command::evaluate::run(arguments),
        Some(Command::Interleave(arguments)) => command::interleave::run(arguments),
        Some(Command::Rank(arguments)) => command::trec::rank(arguments),
        Some(Command::Qrels(arguments)) => command::trec::qrels(arguments),
        Some(Command::Run(arguments)) if arguments.dry_run => command::dry_run::run(arguments),
        Some(Command::Run(arguments)) => command::run::run(arguments),
        Some(Command::Tune(arguments)) => command::tune::run(arguments),
        Some(Command::Merge { folders, out, parquet }) => command::merge::run(folders, out, *parquet),
        Some(Command::Report(arguments)) => command::report::run(arguments),
        Some(Command::Privacy(PrivacyCommand::Explain { spec, overrides, delta })) => {
            command::privacy::explain(spec, overrides, *delta)
        }
        Some(Command::Demo) => command::demo::run(),
        Some(Command::Data(data)) => command::data::run(data),
        Some(Command::Cache(cache)) => command::cache::run(cache),
        Some(Command::List) => command::list::run(),
        Some(Command::Schema) => command::print(&format!("{:#}\n", foltr_experiment::schema::schema())),
        Some(Command::Completions { shell }) => command::shell::completions(*shell),
        Some(Command::Man { out }) => command::shell::manual(out.as_deref()),
        Some(Command::Reproduce { list: true, .. }) => command::reproduce::list(),
        Some(Command::Reproduce { ids, all, quick, overrides, dry_run, out, shard, write_summary, commit, .. }) => {
            let asked = command::reproduce::Asked { ids: (!all).then_some(ids), is_quick: *quick, overrides };
            if *dry_run {
                return command::reproduce::estimate(&asked, out);
            }
            let summary = write_summary.as_deref().map(|file| (file, commit.as_deref()));
            command::reproduce::run(&asked, out, *shard, summary)
        }
        Some(Command::Scorecard { setting, quick, overrides, out, shard }) => {
            command::reproduce::scorecard(setting.as_deref(), *quick, overrides, out, *shard)
        }
        Some(Command::Mimic(step)) => command::mimic::run(step),
        Some(Command::Index(arguments)) => command::search::index(arguments),
        Some(Command::Search(arguments)) => command::search::search(arguments),
        Some(Command::Unlearn(arguments)) => command::unlearn::run(arguments),
        Some(Command::Receipt(ReceiptCommand::Verify { receipt, key, history, model })) => {
            command::unlearn::verify(receipt, key, history.as_deref(), model.as_deref())
        }
        Some(Command::Audit { out, seed, only, power: false }) => {
            command::audit::run(out.as_deref(), *seed, only.as_deref())
        }
        Some(Command::Audit { out, seed, only, power: true }) => {
            command::audit::measure_power(out.as_deref(), *seed, only.as_deref())
        }
        Some(Command::Bench { growth_part: Some(part), .. }) => crate::bench::growth_part(part).map(|()| End::Done),
        Some(Command::Bench { growth: true, only, .. }) => crate::bench::growth(only.as_deref()).map(|()| End::Done),
        Some(Command::Bench { rules, only, .. }) => crate::bench::run(*rules, only.as_deref()).map(|()| End::Done),
    }
}
