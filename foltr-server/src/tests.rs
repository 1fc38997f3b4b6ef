//! Tests of the service as a whole.

mod service;
mod strangers;
pub mod world;
