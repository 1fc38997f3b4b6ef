//! All integration tests of the crate in one binary: one is linked, not ten.

mod adoption;
mod baselines;
mod deployment;
mod experiment_files;
mod growth;
mod guarantees;
mod hostile_files;
mod long_lists;
mod lost_messages;
mod partitions;
mod personalisation;
mod private_training;
mod reference;
mod schema;
mod store;
mod wrong_files;

use std::sync::atomic::AtomicBool;

use foltr_experiment::data;
use foltr_experiment::rows::{Row, RunOutcome};
use foltr_experiment::run::{RunInput, run_job};
use foltr_experiment::spec::Experiment;
use foltr_simulation::cache::Cache;
use foltr_simulation::datasets::Fold;
use foltr_test::ExperimentFile;

fn experiment(file: &ExperimentFile) -> Experiment {
    Experiment::from_toml(&file.to_string()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn fold(experiment: &Experiment) -> Fold {
    data::load_with(&experiment.data, &Cache::Off).expect("data").remove(0).1
}

fn run(experiment: &Experiment) -> anyhow::Result<(Vec<Row>, RunOutcome)> {
    let (mut rows, fold, never) = (Vec::new(), fold(experiment), AtomicBool::new(false));
    let outcome = run_job(&RunInput::new(experiment, &fold, 1, &never), &|_| {}, &mut |row| rows.push(row))?;
    Ok((rows, outcome))
}
