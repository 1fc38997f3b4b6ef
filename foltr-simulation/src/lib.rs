#![doc = include_str!("../README.md")]

mod adoption;
pub mod adversary;
pub mod asynchronous_run;
pub mod cache;
pub mod centralised;
pub mod click;
pub mod client_data;
pub mod client_round;
pub mod client_states;
pub mod dataset;
pub mod datasets;
pub mod federation_run;
pub mod letor;
mod mapping;
pub mod normalise;
mod on_the_way;
pub mod pace;
pub mod partition;
mod per_message_round;
pub mod published_stream;
mod salts;
pub mod sharded_run;
pub mod simulated_noise;
pub mod unlearning;

pub use on_the_way::noise_purpose;
pub use simulated_noise::SimulatedNoise;
