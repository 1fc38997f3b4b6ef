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
use crate::aggregate::norm_clipping::{Radius, clip_factor};
use crate::aggregate::{AggregationRule, Combined, Contributions};
use foltr_rank::bytes::{BytesError, Reader, Writer};
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
    type Memory = Memory;

    const REMEMBERS: bool = true;

    fn save(&self, memory: &Memory, out: &mut Writer) {
        out.len(memory.last.len()).f64s(&memory.last);
    }

    fn restore(&self, input: &mut Reader<'_>, n_params: usize) -> Result<Memory, BytesError> {
        let n_values = input.len(8)?;
        input.require([0, n_params].contains(&n_values), "a last step that is not as long as the model")?;
        Ok(Memory { last: input.f64s(n_values)?, ..Memory::default() })
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("iterations", self.iterations.into(), self.iterations > 0, "at least 1")?;
        self.radius.check()
    }

    fn combine(&self, memory: &mut Memory, _: &[f32], round: &Contributions, combined: &mut Combined) {
        combined.shares.resize(round.len(), 0.0);
        if !memory.last.is_empty() {
            combined.step.copy_from_slice(&memory.last);
        }
        for _ in 0..self.iterations {
            memory.iterate(self.radius, round, combined);
        }
        memory.last.clone_from(&combined.step);
    }
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The last step; empty before the first round, which begins at 0.
    last: Vec<f64>,
    lengths: Vec<f64>,
    sorted: Vec<f64>,
    next: Vec<f64>,
}

impl Memory {
    /// Moves the centre: v + mean c_i (g_i - v), which is (1 - mean c_i) v + mean c_i g_i.
    fn iterate(&mut self, radius: Radius, contributions: &Contributions, combined: &mut Combined) {
        let n = contributions.len() as f64;
        let centre = &combined.step;
        self.lengths.clear();
        self.lengths.extend(contributions.rows().map(|row| squared_distance(row, centre).sqrt()));
        let radius = radius.of(&self.lengths, &mut self.sorted);
        let shares = self.lengths.iter().map(|&length| clip_factor(length, radius) / n);
        let remaining = 1.0 - shares.clone().sum::<f64>();
        self.next.clear();
        self.next.extend(centre.iter().map(|value| remaining * value));
        for ((row, share), in_step) in contributions.rows().zip(shares).zip(&mut combined.shares) {
            *in_step = remaining * *in_step + share;
            add_scaled(&mut self.next, row, share);
        }
        std::mem::swap(&mut self.next, &mut combined.step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Aggregator;

    #[test]
    fn the_centre_moves_from_round_to_round() {
        let round = Contributions::of_rows(&[[4.0], [5.0], [-100.0]]);
        let mut rule = CentredClipping { radius: Radius::Fixed(3.0), iterations: 2 }.start();
        let mut combined = Combined::default();
        // From 0 by (3 + 3 - 3) / 3 to 1, then to 2; in the next round by (2 + 3 - 3) / 3 and (4/3 + 7/3 - 3) / 3.
        for want in [2.0, 2.0 + 2.0 / 3.0 + 2.0 / 9.0] {
            rule.aggregate(&[], &round, &mut combined).expect("three");
            assert!((combined.step[0] - want).abs() < 1e-12, "{} is not {want}", combined.step[0]);
        }
    }
}
