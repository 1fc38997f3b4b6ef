//! All integration tests of the crate in one binary: one is linked, not ten.

mod adoption;
mod adversaries;
mod asynchrony;
mod client_files_fuzz;
mod determinism;
mod equality;
mod example;
mod golden;
mod letor_fuzz;
mod memory;
mod real_data;
mod rehearsals;
mod replayed_noise;
mod resumed;
mod scene;
mod sequential_rollbacks;
mod shards;
mod stand_ins;
mod unlearning;
