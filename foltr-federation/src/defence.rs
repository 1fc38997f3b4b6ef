//! What a federation does against clients that lie: it refuses messages that are too long, lets the last message of a
//! client stand in for one that does not come, shortens messages, mixes them, and bounds by a rule what a few clients can do.
//! Devices send running means of their updates.

pub mod cohort;

use serde::{Deserialize, Serialize};

use crate::aggregate::{Aggregation, Aggregator, Bound, Mean, Mixing, Radius, SpectralFilter};
use crate::worker_momentum::WorkerMomentum;
use foltr_rank::parameter::{ParameterError, positive};

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
    /// The most rounds that a client's last message may be old to stand in for one that does not come; after that the
    /// zero vector does. The rule `mean` without mixing adds up what comes, and has no stand-ins.
    #[serde(default = "usual_stand_ins", skip_serializing_if = "are_usual_stand_ins")]
    pub stand_ins: u32,
    /// The Euclidean length beyond which a single message is refused, before anything else.
    #[serde(default = "usual_longest", skip_serializing_if = "is_usual_longest")]
    pub longest: f64,
}

const fn usual_stand_ins() -> u32 {
    Defence::STAND_INS
}

const fn usual_longest() -> f64 {
    Defence::LONGEST
}

// Serde asks by reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
const fn are_usual_stand_ins(rounds: &u32) -> bool {
    *rounds == Defence::STAND_INS
}

#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_usual_longest(length: &f64) -> bool {
    *length == Defence::LONGEST
}

impl Defence {
    /// Rounds after which a remembered message says little: the momentum of the recommended defence begins with a
    /// memory of a hundred rounds.
    pub const STAND_INS: u32 = 100;
    /// Far beyond what honest clients send (steps of PDGD have lengths below 10, directions of FOLtR-ES below 10,000),
    /// and far below what makes a sum of many clients overflow.
    pub const LONGEST: f64 = 1e6;

    /// Federated averaging: none. Only here are messages of any length taken.
    pub const NONE: Self = Self { longest: f64::INFINITY, ..Self::of_rule(Aggregation::Mean(Mean {})) };

    /// A rule alone, with the usual stand-ins and the usual bound on the length of messages.
    pub const fn of_rule(rule: Aggregation) -> Self {
        Self { rule, mixing: None, bound: None, momentum: None, stand_ins: Self::STAND_INS, longest: Self::LONGEST }
    }

    /// What to use when nothing else is known, with so many attackers to expect in a round: momentum over the last
    /// half of the past, messages no longer than the middle one, spectral filter. Argued from measurements in
    /// `docs/attacks.md`, which also says where it is not enough.
    pub const fn recommended(attackers: u32) -> Self {
        Self {
            bound: Some(Radius::Median),
            momentum: Some(WorkerMomentum::Growing { share: 0.5, least: 0.99, most: 0.999 }),
            ..Self::of_rule(Aggregation::SpectralFilter(SpectralFilter { attackers }))
        }
    }

    /// The least number of clients with which the server can decide.
    pub fn least_clients(&self) -> usize {
        self.mixing.map_or(0, cohort::clients_to_mix).max(self.rule.least_clients())
    }

    pub fn check(&self) -> Result<(), ParameterError> {
        self.rule.check()?;
        if self.bounds_length() {
            self.check_longest()?;
        }
        self.check_bound()?;
        self.momentum.map_or(Ok(()), |momentum| momentum.check())
    }

    /// Whether messages can be shortened to a stated length.
    pub fn check_bound(&self) -> Result<(), ParameterError> {
        self.bound.map_or(Ok(()), Radius::check)
    }

    /// Refuses a `longest` that is not a positive number: only [`Self::NONE`] takes messages of any length.
    pub fn check_longest(&self) -> Result<(), ParameterError> {
        positive("longest", self.longest)
    }

    /// Whether single messages are looked at before anything is made of them.
    pub fn bounds_length(&self) -> bool {
        self.longest != f64::INFINITY
    }

    /// What in this defence needs single updates, if anything does.
    pub const fn needs_single_updates(&self) -> Option<&'static str> {
        match (self.mixing, self.bound) {
            (Some(_), _) => Some("nearest-neighbour mixing, which compares the clients' updates,"),
            (None, Some(_)) => Some("defence.bound, which compares the lengths of the clients' updates,"),
            (None, None) => self.rule.needs_single_updates(),
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
