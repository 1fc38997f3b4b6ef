//! Tests of the service as a whole.

mod documents;
mod equality;
mod forgetting;
pub mod hostile;
mod operating;
mod replicas;
mod service;
mod simulation;
pub mod world;
