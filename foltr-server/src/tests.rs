//! Tests of the service as a whole.

mod dependencies;
pub mod hostile;
mod service;
pub mod world;
