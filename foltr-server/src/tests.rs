//! Tests of the service as a whole.

mod service;
mod simulation;
pub mod world;
