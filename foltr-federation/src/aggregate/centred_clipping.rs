//! The mean of contributions that were clipped to a ball around the last step.
//!
//! `KHJ21` Karimireddy, He, Jaggi: *Learning from History for Byzantine Robust Optimization*, ICML 2021, Algorithm 2:
//! v <- v + mean of clip(g_i - v, tau), several times, from the step of the round before.
//!
//! m attackers move every iteration by at most m/n times the radius. With momentum on the devices, whose steps hardly
//! change from round to round, the ball can be small. Without it, or with a ball that is too small, v lags behind.
//!
//! Deviation: the radius can be the middle distance from v, measured in every iteration.

use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::{add_scaled, squared_distance};
use crate::aggregate::radius::{Radius, clip_factor};
use crate::aggregate::{AggregationRule, Aggregator, Combined, Contributions, TooFewClients};
use foltr_rank::parameter::{ParameterError, require};

/// How far a contribution may be from the last step.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CentredClipping {
    /// Those further away are pulled to this distance.
    pub radius: Radius,
    /// How often the centre is moved in a round.
    pub iterations: u32,
}

impl AggregationRule for CentredClipping {
    const REMEMBERS: bool = true;

    fn example() -> Self {
        Self { radius: Radius::Median, iterations: 3 }
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("iterations", self.iterations.into(), self.iterations > 0, "at least 1")?;
        self.radius.check()
    }

    fn begin(&self) -> Box<dyn Aggregator> {
        Box::new(self.start())
    }
}

impl CentredClipping {
    pub(super) fn start(self) -> CentredClippingRule {
        let (last, lengths, sorted, next) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        CentredClippingRule { settings: self, last, lengths, sorted, next }
    }
}

/// The rule, the last step, and memory.
#[derive(Debug)]
pub(super) struct CentredClippingRule {
    settings: CentredClipping,
    /// Empty before the first round, which begins at 0.
    last: Vec<f64>,
    lengths: Vec<f64>,
    sorted: Vec<f64>,
    next: Vec<f64>,
}

impl Aggregator for CentredClippingRule {
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
        combined.begin(contributions.n_params());
        combined.shares.resize(n, 0.0);
        if !self.last.is_empty() {
            combined.step.copy_from_slice(&self.last);
        }
        for _ in 0..self.settings.iterations {
            self.iterate(contributions, combined);
        }
        self.last.clone_from(&combined.step);
        Ok(())
    }
}

impl CentredClippingRule {
    /// Moves the centre: v + mean c_i (g_i - v), which is (1 - mean c_i) v + mean c_i g_i.
    fn iterate(&mut self, contributions: &Contributions, combined: &mut Combined) {
        let n = contributions.len() as f64;
        let centre = &combined.step;
        self.lengths.clear();
        self.lengths.extend(contributions.rows().map(|row| squared_distance(row, centre).sqrt()));
        let radius = self.settings.radius.of(&self.lengths, &mut self.sorted);
        let shares = self.lengths.iter().map(|&length| clip_factor(length, radius) / n);
        let kept = 1.0 - shares.clone().sum::<f64>();
        self.next.clear();
        self.next.extend(centre.iter().map(|value| kept * value));
        for ((row, share), in_step) in contributions.rows().zip(shares).zip(&mut combined.shares) {
            *in_step = kept * *in_step + share;
            add_scaled(&mut self.next, row, share);
        }
        std::mem::swap(&mut self.next, &mut combined.step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_moves_from_round_to_round() {
        let mut round = Contributions::new(1);
        [4.0, 5.0, -100.0].iter().zip(0..).for_each(|(&value, client)| round.push(client, 1.0, &[value]));
        let mut rule = CentredClipping { radius: Radius::Fixed(3.0), iterations: 2 }.start();
        let mut combined = Combined::default();
        // From 0 by (3 + 3 - 3) / 3 to 1, then to 2; in the next round by (2 + 3 - 3) / 3 and (4/3 + 7/3 - 3) / 3.
        for want in [2.0, 2.0 + 2.0 / 3.0 + 2.0 / 9.0] {
            rule.aggregate(&[], &round, &mut combined).expect("three");
            assert!((combined.step[0] - want).abs() < 1e-12, "{} is not {want}", combined.step[0]);
        }
    }
}
