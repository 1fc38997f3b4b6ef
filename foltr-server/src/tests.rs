//! Tests of the service as a whole.

mod closed_bytes;
mod closing;
mod crashes;
mod dependencies;
mod documents;
mod equality;
mod forgetting;
pub mod hostile;
mod operating;
mod replicas;
mod service;
mod simulation;
mod strangers;
pub mod world;
