//! The mean of every coordinate without its largest and smallest values.
//!
//! `YCRB18` Yin, Chen, Ramchandran, Bartlett: *Byzantine-Robust Distributed Learning: Towards Optimal Statistical
//! Rates*, ICML 2018, Definition 2; spec section 14.
//!
//! With at most m attackers every coordinate stays within the range of honest values, for any n > 2m. Within that range
//! they can push all coordinates at once, by an amount that grows with the scatter of honest contributions.

use serde::{Deserialize, Serialize};

use crate::aggregate::order::{Columns, inner_means};
use crate::aggregate::{Aggregator, Combined, Contributions, TooFewClients};

/// How much is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrimmedMean {
    /// Attackers to reckon with: so many values are dropped at either end.
    pub attackers: u32,
}

impl TrimmedMean {
    pub(super) const fn least_clients(&self) -> usize {
        (self.attackers as usize).saturating_mul(2).saturating_add(1)
    }

    pub(super) fn start(self) -> TrimmedMeanRule {
        TrimmedMeanRule { settings: self, scratch: Columns::default() }
    }
}

/// The rule with the memory that it keeps between rounds.
#[derive(Debug)]
pub(super) struct TrimmedMeanRule {
    settings: TrimmedMean,
    scratch: Columns,
}

impl Aggregator for TrimmedMeanRule {
    fn aggregate(
        &mut self,
        _global: &[f32],
        contributions: &Contributions,
        combined: &mut Combined,
    ) -> Result<(), TooFewClients> {
        let needed = self.settings.least_clients();
        if contributions.len() < needed {
            return Err(TooFewClients { needed, got: contributions.len() });
        }
        combined.begin(contributions.n_params());
        inner_means(contributions, self.settings.attackers as usize, &mut self.scratch, &mut combined.step);
        Ok(())
    }
}
