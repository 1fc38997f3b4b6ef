//! Tests of the service as a whole.

mod equality;
mod replicas;
mod service;
pub mod world;
