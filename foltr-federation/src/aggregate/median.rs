//! The median of every coordinate; of an even number of values the mean of the middle two.
//!
//! `YCRB18` Yin, Chen, Ramchandran, Bartlett: *Byzantine-Robust Distributed Learning: Towards Optimal Statistical
//! Rates*, ICML 2018, Definition 1; spec section 14.
//!
//! Every coordinate stays within the range of honest values as long as attackers are fewer than half, and nobody has to
//! say how many they are. Its own cost is the largest: it keeps one or two values of n, and where honest contributions
//! are skewed its expectation is not that of the mean.

use serde::{Deserialize, Serialize};

use crate::aggregate::order::{Columns, inner_means};
use crate::aggregate::{AggregationRule, Combined, Contributions};

/// The median needs no parameter.
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
