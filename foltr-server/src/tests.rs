//! Tests of the service as a whole.

mod equality;
mod forgetting;
mod operating;
mod service;
pub mod world;
