//! Weighted mean of client steps: federated averaging.
//!
//! `MMRHA17` McMahan, Moore, Ramage, Hampson, Arcas: *Communication-Efficient Learning of Deep Networks from
//! Decentralized Data*, AISTATS 2017, Algorithm 1; spec section 8. The weight is the number of interactions.
//!
//! Deviation: steps are averaged instead of models. With a server learning rate of 1 that is the same average.

use serde::{Deserialize, Serialize};

use crate::aggregate::{Aggregator, CHUNK, Contribution, Partial, TooFewClients};

/// The mean needs no parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mean {}

impl Aggregator for Mean {
    /// Adds in the order of the chunked fold: the same bits as the coordinator, which never holds all contributions.
    fn aggregate(&mut self, contributions: &[Contribution]) -> Result<Vec<f64>, TooFewClients> {
        let Some(first) = contributions.first() else { return Err(TooFewClients { needed: 1, got: 0 }) };
        let mut total = Partial::new(first.delta.len());
        let mut partial = total.clone();
        for chunk in contributions.chunk_by(|a, b| chunk_of(a) == chunk_of(b)) {
            partial.clear();
            chunk.iter().for_each(|contribution| partial.add_step(&contribution.delta, contribution.weight));
            total.merge(&partial);
        }
        total.mean().ok_or(TooFewClients { needed: 1, got: 0 })
    }
}

fn chunk_of(contribution: &Contribution) -> usize {
    contribution.client as usize / CHUNK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contributions(models: &[([f32; 2], f64)]) -> Vec<Contribution> {
        let clients = models.iter().zip(0..);
        clients
            .map(|((delta, weight), client)| Contribution { client, weight: *weight, delta: delta.to_vec() })
            .collect()
    }

    #[test]
    fn three_clients_weigh_as_much_as_their_interactions() {
        // Spec section 8: (1 + 9) / 9 and (2 - 6 + 20) / 9.
        let round = contributions(&[([1.0, 2.0], 1.0), ([3.0, -2.0], 3.0), ([0.0, 4.0], 5.0)]);
        let step = Mean {}.aggregate(&round).expect("three clients are enough");
        assert_eq!(step, [10.0 / 9.0, 16.0 / 9.0]);
    }

    #[test]
    fn no_client_is_an_error_not_a_panic() {
        assert_eq!(Mean {}.aggregate(&[]), Err(TooFewClients { needed: 1, got: 0 }));
    }
}
