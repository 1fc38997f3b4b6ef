//! Weighted mean of client steps: federated averaging.
//!
//! `MMRHA17` McMahan, Moore, Ramage, Hampson, Arcas: *Communication-Efficient Learning of Deep Networks from
//! Decentralized Data*, AISTATS 2017, Algorithm 1; spec section 8. The weight is the number of interactions.
//!
//! Deviation: steps are averaged instead of models. With a server learning rate of 1 that is the same average.

use serde::{Deserialize, Serialize};

use crate::aggregate::{AggregationRule, CHUNK, Combined, Contributions, PartialSum};

/// The mean needs no parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mean {}

impl AggregationRule for Mean {
    type Memory = ();

    /// Adds in the order of the chunked fold: the same bits as the coordinator, which never has all contributions.
    fn combine(&self, (): &mut (), _: &[f32], round: &Contributions, combined: &mut Combined) {
        let (mut total, mut partial) = (PartialSum::new(round.n_params()), PartialSum::new(round.n_params()));
        let mut chunk_idx = 0;
        for (client, weight, row) in round.iter() {
            if client as usize / CHUNK != chunk_idx {
                chunk_idx = client as usize / CHUNK;
                total.merge(&partial);
                partial.clear();
            }
            partial.add_step(row, weight);
        }
        total.merge(&partial);
        combined.step = total.mean().unwrap_or_default();
        combined.shares.extend(round.weights().iter().map(|weight| weight / total.weight()));
    }
}
