//! Tests of the service as a whole.

pub mod hostile;
mod service;
pub mod world;
