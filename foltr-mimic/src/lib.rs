//! Mimic learning: a data owner trains teachers on private data, labels public queries with them, trains a student on
//! those labels and shares only the student (`DKA17`, spec section 16).

pub mod inputs;
pub mod supervision;

pub use inputs::{Bag, Inputs};
pub use supervision::{Candidates, Pair, Supervision};
