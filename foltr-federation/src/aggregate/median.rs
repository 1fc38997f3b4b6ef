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
use crate::aggregate::{AggregationRule, Aggregator, Combined, Contributions, TooFewClients};

/// The median needs no parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Median {}

impl AggregationRule for Median {
    fn example() -> Self {
        Self {}
    }

    fn begin(&self) -> Box<dyn Aggregator> {
        Box::new(self.start())
    }
}

impl Median {
    pub(super) fn start(self) -> MedianRule {
        MedianRule { scratch: Columns::default() }
    }
}

/// The rule with the memory that it keeps between rounds.
#[derive(Debug)]
pub(super) struct MedianRule {
    scratch: Columns,
}

impl Aggregator for MedianRule {
    fn aggregate(
        &mut self,
        _global: &[f32],
        contributions: &Contributions,
        combined: &mut Combined,
    ) -> Result<(), TooFewClients> {
        let got = contributions.len();
        let cut = got.checked_sub(1).ok_or(TooFewClients { needed: 1, got })? / 2;
        combined.begin(contributions.n_params());
        inner_means(contributions, cut, &mut self.scratch, &mut combined.step);
        Ok(())
    }
}
