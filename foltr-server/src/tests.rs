//! Tests of the service as a whole.

mod service;
pub mod world;
