//! Weighted mean of client steps: federated averaging.
//!
//! `MMRHA17` McMahan, Moore, Ramage, Hampson, Arcas: *Communication-Efficient Learning of Deep Networks from
//! Decentralized Data*, AISTATS 2017, Algorithm 1; spec section 8. The weight is the number of interactions.
//!
//! Deviation: steps are averaged instead of models. With a server learning rate of 1 that is the same average.

use serde::{Deserialize, Serialize};

use crate::aggregate::{AggregationRule, Aggregator, CHUNK, Combined, Contributions, PartialSum, TooFewClients};

/// The mean needs no parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mean {}

impl AggregationRule for Mean {
    fn example() -> Self {
        Self {}
    }

    fn begin(&self) -> Box<dyn Aggregator> {
        Box::new(*self)
    }
}

impl Aggregator for Mean {
    /// Adds in the order of the chunked fold: the same bits as the coordinator, which never holds all contributions.
    fn aggregate(
        &mut self,
        _global: &[f32],
        contributions: &Contributions,
        combined: &mut Combined,
    ) -> Result<(), TooFewClients> {
        let n_params = contributions.n_params();
        combined.begin(n_params);
        let (mut total, mut partial) = (PartialSum::new(n_params), PartialSum::new(n_params));
        let mut chunk_idx = 0;
        for ((&client, &weight), row) in
            contributions.clients().iter().zip(contributions.weights()).zip(contributions.rows())
        {
            if client as usize / CHUNK != chunk_idx {
                chunk_idx = client as usize / CHUNK;
                total.merge(&partial);
                partial.clear();
            }
            partial.add_step(row, weight);
        }
        total.merge(&partial);
        combined.step = total.mean().ok_or(TooFewClients { needed: 1, got: 0 })?;
        combined.shares.extend(contributions.weights().iter().map(|weight| weight / total.weight()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_clients_weigh_as_much_as_their_interactions() {
        // Spec section 8: (1 + 9) / 9 and (2 - 6 + 20) / 9.
        let mut round = Contributions::new(2);
        for (client, delta, weight) in [(0, [1.0, 2.0], 1.0), (1, [3.0, -2.0], 3.0), (2, [0.0, 4.0], 5.0)] {
            round.push(client, weight, &delta);
        }
        let mut combined = Combined::default();
        Mean {}.aggregate(&[0.0; 2], &round, &mut combined).expect("three clients are enough");
        assert_eq!(combined.step, [10.0 / 9.0, 16.0 / 9.0]);
        assert_eq!(combined.shares, [1.0 / 9.0, 3.0 / 9.0, 5.0 / 9.0]);
    }

    #[test]
    fn no_client_is_an_error_not_a_panic() {
        let nobody = Mean {}.aggregate(&[], &Contributions::new(0), &mut Combined::default());
        assert_eq!(nobody, Err(TooFewClients { needed: 1, got: 0 }));
    }
}
