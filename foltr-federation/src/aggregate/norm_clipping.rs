//! The mean of contributions that were made no longer than a radius.
//!
//! `SKSM19` Sun, Kairouz, Suresh, McMahan: *Can You Really Backdoor Federated Learning?*, arXiv:1911.07963, 2019,
//! section 3.
//!
//! m attackers move the mean by at most m/n times the radius, whatever they send, and an honest round is hardly
//! changed. But they do so in every round in a direction of their choice: damage is slowed down, not stopped.
//!
//! Deviation: the radius can be the middle length of the round, which needs no knowledge of lengths; no noise is
//! added.

use foltr_rank::parameter::ParameterError;
use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::{add_scaled, length};
use crate::aggregate::radius::{Radius, clip_factor};
use crate::aggregate::{AggregationRule, Aggregator, Combined, Contributions, TooFewClients};

/// How long a contribution may be.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NormClipping {
    /// Longer ones are shortened to it.
    pub radius: Radius,
}

impl AggregationRule for NormClipping {
    fn example() -> Self {
        Self { radius: Radius::Fixed(3.0) }
    }

    fn check(&self) -> Result<(), ParameterError> {
        self.radius.check()
    }

    fn begin(&self) -> Box<dyn Aggregator> {
        Box::new(self.start())
    }
}

impl NormClipping {
    pub(super) const fn start(self) -> NormClippingRule {
        NormClippingRule { radius: self.radius, lengths: Vec::new(), sorted: Vec::new() }
    }
}

/// The rule with the memory that it keeps between rounds.
#[derive(Debug)]
pub(super) struct NormClippingRule {
    radius: Radius,
    lengths: Vec<f64>,
    sorted: Vec<f64>,
}

impl Aggregator for NormClippingRule {
    fn aggregate(
        &mut self,
        _global: &[f32],
        contributions: &Contributions,
        combined: &mut Combined,
    ) -> Result<(), TooFewClients> {
        let n = contributions.len();
        if n == 0 {
            return Err(TooFewClients { needed: 1, got: 0 });
        }
        self.lengths.clear();
        self.lengths.extend(contributions.rows().map(length));
        let radius = self.radius.of(&self.lengths, &mut self.sorted);
        combined.begin(contributions.n_params());
        for (row, &length) in contributions.rows().zip(&self.lengths) {
            let share = clip_factor(length, radius) / n as f64;
            combined.shares.push(share);
            add_scaled(&mut combined.step, row, share);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_contributions_are_shortened() {
        let mut round = Contributions::new(2);
        for (client, row) in [(0, [3.0, 4.0]), (1, [0.0, -1.0]), (2, [0.0, 10.0])] {
            round.push(client, 1.0, &row);
        }
        for (radius, want) in [(Radius::Fixed(2.0), [0.4, 0.866_666_666]), (Radius::Median, [1.0, 8.0 / 3.0])] {
            let mut combined = Combined::default();
            NormClipping { radius }.start().aggregate(&[], &round, &mut combined).expect("three");
            combined.step.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() < 1e-8, "{combined:?}"));
        }
    }
}
