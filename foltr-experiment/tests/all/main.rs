//! All integration tests of the crate in one binary: one is linked, not ten.

mod baselines;
mod experiment_files;
mod partitions;
mod personalisation;
mod private_training;
mod schema;
mod store;
mod wrong_files;
