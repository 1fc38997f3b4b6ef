//! Training as bytes, to go on another day.

use thiserror::Error;

/// placeholder
#[derive(Debug, Error)]
pub enum StateError {}
