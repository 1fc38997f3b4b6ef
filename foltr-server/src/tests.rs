//! Tests of the service as a whole.

mod closed_bytes;
mod service;
mod strangers;
pub mod world;
