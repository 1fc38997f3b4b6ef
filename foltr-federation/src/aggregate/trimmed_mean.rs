//! The mean of every coordinate without its largest and smallest values; and its median, where all but the middle is cut
//! off.
//!
//! `YCRB18` Yin, Chen, Ramchandran, Bartlett: *Byzantine-Robust Distributed Learning: Towards Optimal Statistical
//! Rates*, ICML 2018, Definitions 1 and 2; spec section 14.
//!
//! With at most m attackers every coordinate stays within the range of honest values, for any n > 2m. Within that range
//! they can push all coordinates at once, by an amount that grows with the scatter of honest contributions.
//!
//! Where fewer than 2m + 1 came, all but the middle is cut off, which is weaker: attackers who wait until enough honest
//! messages are lost are then more than are cut off. A federation does not come to that, because
//! [stand-ins](crate::stand_ins) take the place of what is lost; whoever calls the rule alone must see to it.

use serde::{Deserialize, Serialize};

use crate::aggregate::order::{Columns, inner_means};
use crate::aggregate::{AggregationRule, Combined, Contributions};

/// How much is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrimmedMean {
    /// Attackers to expect: so many values are dropped at either end.
    pub attackers: u32,
}

impl AggregationRule for TrimmedMean {
    type Memory = Columns;

    fn least_clients(&self) -> usize {
        (self.attackers as usize).saturating_mul(2).saturating_add(1)
    }

    fn combine(&self, memory: &mut Columns, _: &[f32], round: &Contributions, combined: &mut Combined) {
        let n_cut = ((round.len() - 1) / 2).min(self.attackers as usize);
        inner_means(round, n_cut, memory, &mut combined.step);
    }
}

/// The median of every coordinate; of an even number of values the mean of the middle two. It stays within the range of
/// honest values as long as attackers are fewer than half, and nobody has to say how many they are. Its own cost is the
/// largest: where honest contributions are skewed its expectation is not that of the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Median {}

impl AggregationRule for Median {
    type Memory = Columns;

    fn combine(&self, memory: &mut Columns, _: &[f32], round: &Contributions, combined: &mut Combined) {
        inner_means(round, (round.len() - 1) / 2, memory, &mut combined.step);
    }
}
