//! Mimic learning: a data owner trains teachers on private data, labels public queries with them, trains a student on
//! those labels and shares only the student (`DKA17`, spec section 16).

pub mod inputs;
pub mod model_file;
pub mod network;
pub mod supervision;
mod tensors;
pub mod training;

pub use inputs::{Bag, Inputs};
pub use network::{Composition, Network, Representation, Scorer, Shape, Start};
pub use supervision::{Candidates, Pair, PairSource, Supervision};
