//! FLTrust: contributions count by how well they agree with that of one trusted client.
//!
//! `CFLG21` Cao, Fang, Liu, Gong: *FLTrust: Byzantine-robust Federated Learning via Trust Bootstrapping*, NDSS 2021,
//! Algorithm 2: a contribution weighs the positive part of its cosine with the trusted one, and is made as long as
//! that.
//!
//! The step is never longer than the trusted update and never points away from it, whatever all others send. It is
//! worth what the trusted client is worth: its data must be like those of the others, and if it lies nothing holds.
//!
//! Deviation: the root of trust is the update of one client instead of a data set at the server. That client takes
//! part like any other. In a round without it nobody is trusted, and nothing changes.

use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::{add_scaled, length, product};
use crate::aggregate::{AggregationRule, Combined, Contributions};

/// Whom to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlTrust {
    /// The client whose update is the root of trust.
    pub trusted: u32,
}

impl AggregationRule for FlTrust {
    type Memory = ();

    fn combine(&self, (): &mut (), _: &[f32], contributions: &Contributions, combined: &mut Combined) {
        let Some(root) = contributions.clients().iter().position(|&client| client == self.trusted) else {
            combined.shares.resize(contributions.len(), 0.0);
            return;
        };
        let root = contributions.row(root);
        let root_length = length(root);
        let mut total = 0.0;
        for row in contributions.rows() {
            let length = length(row);
            // A vector of length 0 points nowhere.
            let cosine =
                if length > 0.0 && root_length > 0.0 { product(row, root) / (length * root_length) } else { 0.0 };
            let trust = cosine.max(0.0);
            combined.shares.push(trust);
            total += trust;
            if trust > 0.0 {
                add_scaled(&mut combined.step, row, trust * (root_length / length));
            }
        }
        if total > 0.0 {
            combined.step.iter_mut().chain(&mut combined.shares).for_each(|value| *value /= total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Aggregator;

    #[test]
    fn trust_is_the_positive_part_of_the_cosine() {
        let mut round = Contributions::new(2);
        // The root, one at 60 degrees and four times as long, one that points away, one that says nothing.
        for (client, row) in [(0, [1.0, 0.0]), (3, [2.0, 12.0_f32.sqrt()]), (5, [-9.0, 1.0]), (6, [0.0, 0.0])] {
            round.push(client, 1.0, &row);
        }
        let mut combined = Combined::default();
        FlTrust { trusted: 0 }.start().aggregate(&[], &round, &mut combined).expect("four");
        let want = [(1.0 + 0.5 * 0.5) / 1.5, 0.5 * 0.75_f64.sqrt() / 1.5];
        combined.step.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() < 1e-7, "{combined:?}"));
        combined.shares.iter().zip([2.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]).for_each(|(a, b)| assert!((a - b).abs() < 1e-7));
        // Nobody is trusted.
        FlTrust { trusted: 1 }.start().aggregate(&[], &round, &mut combined).expect("four");
        assert_eq!((combined.step, combined.shares), (vec![0.0; 2], vec![0.0; 4]));
    }
}
