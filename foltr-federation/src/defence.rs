//! What a federation does against clients that lie: momentum on every device, mixing, and a rule that bounds what a few
//! of them can do.

pub mod cohort;

use serde::{Deserialize, Serialize};

use crate::aggregate::{Aggregation, Aggregator, Bound, Mean, Mixing, Radius, TrimmedMean};
use crate::worker_momentum::WorkerMomentum;
use foltr_rank::parameter::ParameterError;

/// A defence.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Defence {
    /// What the server makes of the updates of a round.
    pub rule: Aggregation,
    /// Nearest-neighbour mixing before the rule: the number of attackers to expect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixing: Option<u32>,
    /// How long a contribution may be before mixing and the rule; longer ones are shortened to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Radius>,
    /// What a device sends instead of its newest update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub momentum: Option<WorkerMomentum>,
}

impl Defence {
    /// Federated averaging: none.
    pub const NONE: Self = Self { rule: Aggregation::Mean(Mean {}), mixing: None, bound: None, momentum: None };

    /// What to use when nothing else is known, with so many attackers to expect in a round: momentum over the last
    /// half of the past, mixing, trimmed mean. Argued from measurements in `docs/attacks.md`.
    pub const fn recommended(attackers: u32) -> Self {
        Self {
            rule: Aggregation::TrimmedMean(TrimmedMean { attackers }),
            mixing: Some(attackers),
            bound: None,
           
            momentum: Some(WorkerMomentum::Growing { share: 0.5, least: 0.99, most: 0.999 }),
        }
    }

    /// The least number of clients with which the server can decide.
    pub fn least_clients(&self) -> usize {
        self.mixing.map_or(0, cohort::clients_to_mix).max(self.rule.least_clients())
    }

    pub fn check(&self) -> Result<(), ParameterError> {
        self.rule.check()?;
        self.momentum.map_or(Ok(()), |momentum| momentum.check())
    }

    /// What in this defence needs single updates, if anything does.
    pub const fn needs_single_updates(&self) -> Option<&'static str> {
        match self.mixing {
            Some(_) => Some("nearest-neighbour mixing, which compares the clients' updates,"),
            None => self.rule.needs_single_updates(),
        }
    }

    /// Whether the server adds up updates and needs nothing but their sum.
    pub const fn only_sums(&self) -> bool {
        matches!(self.rule, Aggregation::Mean(_)) && self.mixing.is_none() && self.bound.is_none()
    }

    /// What the server does, at the beginning of a run.
    pub fn start(&self) -> Box<dyn Aggregator> {
        let mut rule = self.rule.start();
        if let Some(n_attackers) = self.mixing {
            rule = Box::new(Mixing::new(n_attackers as usize, rule));
        }
        match self.bound {
            Some(radius) => Box::new(Bound::new(radius, rule)),
            None => rule,
        }
    }
}
