//! Tests of the service as a whole.

mod crashes;
mod service;
mod simulation;
pub mod world;
