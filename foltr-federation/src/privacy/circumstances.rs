//! What a guarantee depends on beside the mechanism: who takes part in a round, and whose message is missing.

use serde::Serialize;

use crate::accountant::PrivacyCost;
use crate::participation::Participation;

/// How rounds take place, as far as a guarantee depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circumstances {
    /// Parameters of the model.
    pub n_params: usize,
    /// Interactions behind one message: the most of any client.
    pub n_interactions: u32,
    pub participation: Participation,
    /// Probability that a message is lost.
    pub dropout: f64,
    /// Whether messages may join a later round than the one they started in. Who is in a round then follows from who
    /// started before: coins that were tossed for this round hide nothing.
    pub takes_stale: bool,
    /// Whether some clients that others count on never send anything.
    pub has_absent: bool,
    /// Whether clients send rewards (FOLtR-ES) instead of steps.
    pub sends_rewards: bool,
    /// Whether transmitted seeds, clicks and answers come from one generator, as in the published code of FOLtR-ES.
    pub published_stream: bool,
}

impl Circumstances {
    /// Everyone takes part in every round with a step, and every message arrives.
    pub const fn complete(n_params: usize, n_interactions: u32) -> Self {
        Self {
            n_params,
            n_interactions,
            participation: Participation::Everyone,
            dropout: 0.0,
            takes_stale: false,
            has_absent: false,
            sends_rewards: false,
            published_stream: false,
        }
    }

    /// Who takes part, as far as chance hides it: coins do not where messages join later rounds.
    pub const fn hidden_participation(&self) -> Participation {
        match self.participation {
            Participation::PoissonSampling(_) if self.takes_stale => Participation::Everyone,
            participation => participation,
        }
    }

    /// Whether every message arrives that the clients of a round count on.
    pub const fn is_complete(&self) -> bool {
        let by_coins = matches!(self.participation, Participation::PoissonSampling(_));
        self.dropout == 0.0 && !self.takes_stale && !self.has_absent && !by_coins
    }
}

/// Which runs a guarantee compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One client is there or is not, in all its rounds.
    Removed,
    /// Another client is in the place of one, in all its rounds.
    Replaced,
    /// Zero is in the place of one client's updates, in all its rounds.
    Zeroed,
    /// One client sends what it would send for any other clicks, in all its rounds.
    OtherClicks,
}

impl Adjacency {
    pub const ALL: [Self; 4] = [Self::Removed, Self::Replaced, Self::Zeroed, Self::OtherClicks];

    pub const fn words(self) -> &'static str {
        match self {
            Self::Removed => "one client added or removed, all its rounds",
            Self::Replaced => {
                "another client in the place of one, in all its rounds: a cohort of fixed size fills the place of who is \
                 not there"
            }
            Self::Zeroed => {
                "zero in place of one client's updates, in all its rounds; that it takes part is not hidden"
            }
            Self::OtherClicks => {
                "one client has other queries and clicks, in all its rounds; that it takes part is not hidden"
            }
        }
    }
}

/// What one round costs a client that may be in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundCost {
    /// Against those who see who takes part: its presence cannot be hidden from them.
    pub seen: (Adjacency, PrivacyCost),
    /// Against those who do not.
    pub unseen: (Adjacency, PrivacyCost),
    /// Why nothing is proven, where the mechanism alone would promise something.
    pub flaw: Option<&'static str>,
}

impl RoundCost {
    /// The same for all observers.
    pub const fn new(adjacency: Adjacency, cost: PrivacyCost) -> Self {
        Self { seen: (adjacency, cost), unseen: (adjacency, cost), flaw: None }
    }

    pub const fn nothing(adjacency: Adjacency, flaw: Option<&'static str>) -> Self {
        Self { flaw, ..Self::new(adjacency, PrivacyCost::Unbounded) }
    }
}
