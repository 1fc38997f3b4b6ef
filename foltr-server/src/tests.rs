//! Tests of the service as a whole.

mod equality;
mod service;
pub mod world;
