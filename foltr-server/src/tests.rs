//! Tests of the service as a whole.

mod documents;
mod equality;
mod forgetting;
mod hostile;
mod operating;
mod service;
pub mod world;
