//! Tests of the service as a whole.

mod forgetting;
mod operating;
mod service;
pub mod world;
