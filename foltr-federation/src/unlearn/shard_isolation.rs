//! Several federations, each serving its own model, of which one forgets.
//!
//! `BCCJTZLP21` Bourtoule et al.: *Machine Unlearning*, IEEE S&P 2021 (SISA): data in shards that never see each other,
//! one model a shard, checkpoints; a request costs the replay of one shard from the last checkpoint without the leaver.
//!
//! Deviation: shards are federations and what leaves is a client, not a training point. The published model is the mean
//! of the shards' models, not a vote. A client's shard follows from its number and from nothing that another client
//! does.

use foltr_rank::Params;
use serde::{Deserialize, Serialize};

use crate::history::HistoryError;
use crate::history::bytes::Reader;
use crate::unlearn::{Assurance, Need, Return, UnlearningMethod};
use crate::writer::Writer;
use foltr_rank::parameter::{ParameterError, require};

/// How many shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShardIsolation {
    /// Federations that do not see each other.
    pub shards: u32,
}

impl UnlearningMethod for ShardIsolation {
    fn check(&self) -> Result<(), ParameterError> {
        require("shards", self.shards.into(), self.shards > 0, "at least 1")
    }

    fn guarantee(&self) -> Assurance {
        Assurance::Exact
    }

    fn proven(&self, back: &Return) -> Assurance {
        back.exact_if_clean()
    }

    fn most_replayed_rounds(&self, n_rounds: u32) -> u32 {
        n_rounds
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::Checkpoints { every: None }]
    }

    fn write_parameters(&self, out: &mut Writer) {
        out.u32(self.shards);
    }

    fn read_parameters(input: &mut Reader<'_>) -> Result<Self, HistoryError> {
        Ok(Self { shards: input.u32()? })
    }
}

impl ShardIsolation {
    pub const fn shard_of(&self, client: u32) -> u32 {
        client % self.shards
    }

    /// The model to publish: the mean of those of the shards.
    pub fn publish<'a>(&self, models: impl ExactSizeIterator<Item = &'a [f32]>) -> Params {
        let n_models = models.len().max(1) as f64;
        let mut sum: Vec<f64> = Vec::new();
        for model in models {
            sum.resize(model.len(), 0.0);
            sum.iter_mut().zip(model).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        sum.into_iter().map(|value| (value / n_models) as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_model_is_the_mean() {
        let isolation = ShardIsolation { shards: 2 };
        assert_eq!([0, 1, 2, 5].map(|client| isolation.shard_of(client)), [0, 1, 0, 1]);
        let models = [vec![1.0, 2.0], vec![3.0, -2.0]];
        assert_eq!(isolation.publish(models.iter().map(Vec::as_slice)), [2.0, 0.0]);
    }
}
