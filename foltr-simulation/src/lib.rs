//! What a real device does not have: labelled data, simulated users, client rounds.

pub mod cache;
pub mod dataset;
pub mod letor;
mod mapping;
pub mod normalise;
