#![doc = include_str!("../README.md")]

pub mod core;
mod device;
#[cfg(doctest)]
mod doc_tests;
mod error;
mod features;
mod folder_lock;
pub mod item;
mod options;
mod randomness;
mod shell;
mod store;
mod transport;

#[cfg(test)]
mod tests;

pub use core::{
    BudgetStatus, Click, Consent, Core, FederationError, FederationStatus, LoadError, ModelInUse, Refused, Shown,
    Status, StoredThing, Synced,
};
pub use device::Device;
pub use error::{DeviceError, OpenError};
pub use features::{FeatureError, SchemaError};
pub use folder_lock::LockError;
pub use options::{LocalLearning, Network, Options, Retention};
pub use randomness::{OsNoise, OsRandomness, Randomness};
pub use store::StoreError;
pub use transport::{NetworkError, NotReached};

pub use foltr_federation::protocol::{Document, Feature, FeatureKind, FeatureSchema, Normalisation};
pub use foltr_federation::{Guarantee, accountant};
pub use foltr_rank::adoption::AdoptionRule;
pub use foltr_rank::learn::PdgdParameters;
pub use foltr_rank::learn::pdgd::Updates;
pub use foltr_rank::personal;
pub use foltr_rank::session::ClickError;
pub use foltr_rank::{Activation, ImpressionId, Initialisation, MAX_SHOWN, OwnRanker, RankerShape};
