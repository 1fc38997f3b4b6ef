//! Mimic learning: a data owner trains teachers on private data, labels public queries with them, trains a student on
//! those labels and shares only the student (`DKA17`, spec section 16).

pub mod accountant;
pub mod aggregation;
pub mod feature_supervision;
pub mod guarantee;
pub mod inputs;
pub mod near_copies;
pub mod partitions;
pub mod supervision;

pub use inputs::{Bag, Inputs};
pub use supervision::{Candidates, Pair, Supervision};
