//! The same for all clients.

use foltr_rank::rng::Streams;
use serde::{Deserialize, Serialize};

use super::{PartitionError, PartitionMethod, PartitionedData};
use crate::datasets::Fold;

/// Every client draws from all queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Iid {}

impl PartitionMethod for Iid {
    const IS_IID: bool = true;

    fn divide(&self, fold: &Fold, _n_clients: usize, _streams: &Streams) -> Result<PartitionedData, PartitionError> {
        Ok(PartitionedData::same(fold.clone()))
    }
}
