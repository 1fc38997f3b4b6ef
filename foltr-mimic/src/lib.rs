//! Mimic learning: a data owner trains teachers on private data, labels public queries with them, trains a student on
//! those labels and shares only the student (`DKA17`, spec section 16).

pub mod accountant;
pub mod aggregation;
pub mod agreement;
pub mod analyser;
pub mod collection;
pub mod embeddings;
mod error;
pub mod guarantee;
pub mod index;
pub mod made_queries;
pub mod model_file;
pub mod near_copies;
pub mod network;
pub mod partitions;
pub mod retrieval;
pub mod run_file;
pub mod settings;
pub mod supervision;
mod tensors;
pub mod training;
pub mod vocabulary;

pub use error::{FileError, InvalidInput};
pub use network::{Bag, Composition, InitialTerms, Inputs, Network, Representation, Scorer, Shape};
pub use settings::{InvalidSetting, NetworkSettings, Structure};
pub use supervision::{Candidates, Lesson, Pair, PairSource, Supervision};
pub use training::loss::Loss;
