//! Bulyan: contributions that Krum picks one after the other, then the values of every coordinate that are closest to
//! its median.
//!
//! `EMGR18` El Mhamdi, Guerraoui, Rouault: *The Hidden Vulnerability of Distributed Learning in Byzantium*, ICML 2018,
//! section 4; `BBG19` Baruch, Baruch, Goldberg: *A Little Is Enough: Circumventing Defenses For Distributed Learning*,
//! NeurIPS 2019, whose code spec section 14 follows.
//!
//! With n >= 4m + 3 every coordinate stays within twice the range of honest values, and close to them in all directions
//! at once, which Krum does not promise in many dimensions. A fifth of attackers is already too many.
//!
//! Deviation from the paper, with that code: of r contributions that are left, a score adds up r - m distances instead
//! of r - m - 2, not squared; of the n - 2m picked values n - 4m - 1 are averaged instead of n - 4m.

mod picks;

use picks::Picks;
use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::Distances;
use crate::aggregate::{AggregationRule, Combined, Contributions};

/// How many clients may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bulyan {
    /// Attackers to expect; four times as many clients and three more are needed.
    pub attackers: u32,
}

impl AggregationRule for Bulyan {
    type Memory = Memory;

    fn least_clients(&self) -> usize {
        (self.attackers as usize).saturating_mul(4).saturating_add(3)
    }

    fn combine(&self, memory: &mut Memory, _: &[f32], round: &Contributions, combined: &mut Combined) {
        let n = round.len();
        // For callers without stand-ins: where fewer came than are needed, as many attackers as it can stand.
        let n_attackers = (self.attackers as usize).min(n.saturating_sub(3) / 4);
        memory.distances.measure(round);
        memory.distances.take_roots();
        memory.picks.pick(&memory.distances, n, n_attackers, n - 2 * n_attackers);
        let n_averaged = (n - 4 * n_attackers - 1).max(1);
        for (i, step) in combined.step.iter_mut().enumerate() {
            memory.column.clear();
            let picked = round.rows().enumerate().filter(|(row, _)| memory.picks.is_picked(*row));
            memory.column.extend(picked.map(|(_, row)| row[i]));
            memory.column.sort_unstable_by(f32::total_cmp);
            *step = mean_around_median(&memory.column, n_averaged);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    distances: Distances,
    picks: Picks,
    column: Vec<f32>,
}

/// The mean of the values closest to the median of a sorted list, the smaller one of two that are equally close.
fn mean_around_median(sorted: &[f32], n_averaged: usize) -> f64 {
    let at = |i: usize| f64::from(sorted[i]);
    let median = (at((sorted.len() - 1) / 2) + at(sorted.len() / 2)) / 2.0;
    let mut first = 0;
    while first + n_averaged < sorted.len() && at(first + n_averaged) - median < median - at(first) {
        first += 1;
    }
    (first..first + n_averaged).map(at).sum::<f64>() / n_averaged as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_closest_to_the_median() {
        assert_eq!(mean_around_median(&[0.0, 4.0, 5.0, 5.5, 50.0], 3), (4.0 + 5.0 + 5.5) / 3.0);
        // Equally close: the smaller one.
        assert_eq!(mean_around_median(&[0.0, 4.0, 5.0, 6.0, 50.0], 2), 4.5);
        assert_eq!(mean_around_median(&[1.0, 2.0, 3.0], 3), 2.0);
    }
}
