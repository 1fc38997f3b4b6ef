//! The kinds of federation that are simulated.

use foltr_federation::aggregate::Median;
use foltr_federation::asynchronous::Buffered;
use foltr_federation::protocol::Plan;
use foltr_federation::{Aggregation, Asynchrony, Defence, FederationPlan, Participation, Staleness};

use crate::tests::world::{averaging, plan_of};

pub const N_CLIENTS: usize = 6;
pub const QUORUM: u32 = 3;
pub const BUFFER: usize = 3;
pub const RATE_LIMIT: usize = 1;
pub const N_SHARDS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Everyone,
    Quorum,
    /// Drawn, and the median of those who were drawn.
    Lottery,
    /// Messages may be two releases old.
    Stale,
    Buffered,
    Shards,
}

impl Kind {
    pub const ALL: [Self; 6] = [Self::Everyone, Self::Quorum, Self::Lottery, Self::Stale, Self::Buffered, Self::Shards];

    /// A plan with so many rounds: another number is another plan.
    pub fn plan(self, n_rounds: usize) -> Plan {
        let plain = FederationPlan { n_rounds, ..averaging(N_CLIENTS) };
        let federation = match self {
            Self::Everyone => plain,
            Self::Quorum => FederationPlan { participation: Participation::Sample(QUORUM), ..plain },
            Self::Lottery => {
                let defence = Defence { stand_ins: 0, ..Defence::of_rule(Aggregation::Median(Median {})) };
                FederationPlan { participation: Participation::Sample(QUORUM), defence: Some(defence), ..plain }
            }
            Self::Stale => FederationPlan { staleness: Some(Staleness { most: 2, exponent: 0.0 }), ..plain },
            Self::Buffered => {
                let (buffer, rate_limit) = (BUFFER as u32, RATE_LIMIT as u32);
                let buffered = Buffered { buffer, staleness_exponent: 0.0, rate_limit, max_staleness: 2 };
                FederationPlan { asynchrony: Some(Asynchrony::Buffered(buffered)), ..plain }
            }
            Self::Shards => FederationPlan { shards: Some(N_SHARDS), ..plain },
        };
        plan_of(federation, false)
    }

    /// How many of the newest models contributions may start from.
    pub fn n_starts(self) -> usize {
        if matches!(self, Self::Stale | Self::Buffered) { 3 } else { 1 }
    }

    pub fn n_shards(self) -> u32 {
        if self == Self::Shards { N_SHARDS } else { 1 }
    }
}
