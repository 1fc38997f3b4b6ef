//! All integration tests of the crate in one binary: one is linked, not ten.

mod breakdown;
mod cohorts;
mod combinations;
mod conformance;
mod deployment;
mod device;
mod device_fuzz;
mod evolution_gradient;
mod example;
mod fed_eraser;
mod forgetting;
mod golden;
mod history_fuzz;
mod noise;
mod plan_fuzz;
mod protocol_fuzz;
mod protocol_vectors;
mod saved_fuzz;
mod saved_rules;
mod vectors;
mod wire;
