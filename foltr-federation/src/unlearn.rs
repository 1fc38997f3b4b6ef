//! How is a client forgotten, what does that guarantee, and what must have been stored for it?
//!
//! A method is its parameters. What needs no clients is here: choices, calibration, sensitivities, sums. Whoever drives
//! clients carries a method out: the simulation does in its `unlearning`, a server by [`forget_on_server`].

mod accounting;
mod certificate;
mod fed_eraser;
mod ledger_subtraction;
mod noisy_rollback;
mod on_server;
mod retrain;
mod shard_isolation;

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::history::bytes::Reader;
use crate::history::{History, HistoryError, HistoryPolicy, UnknownClient};
use crate::plan::PlanProblem;
use crate::privacy::Budget;
use crate::server_optimiser::ServerOptimiser;
use crate::writer::Writer;
use foltr_rank::parameter::ParameterError;

pub use accounting::{Accounting, MessageCost, Spent};
pub use certificate::Certificate;
pub use fed_eraser::{Asked, Erasing, FedEraser, Variant, calibrate};
pub use ledger_subtraction::LedgerSubtraction;
pub use noisy_rollback::{NoisyRollback, RollbackPlan, Sensitivity};
pub use on_server::{Forgotten, ServerRequest, forget_on_server};
pub use retrain::Retrain;
pub use shard_isolation::ShardIsolation;

pub trait UnlearningMethod {
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// What is known about a model that has forgotten in this way.
    fn guarantee(&self) -> Assurance;

    /// What is known after the federation went back so far. A method that does not go back gives what it always does.
    fn proven(&self, _: &Return) -> Assurance {
        self.guarantee()
    }

    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    /// Rounds for which those who stay may have to send messages again, after so many rounds.
    fn most_replayed_rounds(&self, n_rounds: u32) -> u32;

    /// The parameters in the order in which they are declared, for what a receipt signs.
    fn write_parameters(&self, _: &mut Writer) {}

    /// What [`Self::write_parameters`] wrote.
    fn read_parameters(_: &mut Reader<'_>) -> Result<Self, HistoryError>
    where
        Self: Sized;
}

/// How far a federation went back for a request, and what that must have reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Return {
    /// The first round to which a leaver contributed, of those that were not undone before.
    pub first: Option<u32>,
    /// The beginning of this round; none if it did not go back.
    pub to: Option<u32>,
    pub n_leavers: u32,
    pub optimiser: ServerOptimiser,
    /// Whether states rest on an earlier request that was met by a heuristic.
    pub is_after_heuristic: bool,
}

impl Return {
    /// Whether nothing of the leavers is left. What a heuristic left is nobody's round.
    pub fn is_clean(&self) -> bool {
        let is_reached = self.first.is_none_or(|first| self.to.is_some_and(|to| to <= first));
        is_reached && (!self.is_after_heuristic || self.to == Some(0))
    }

    /// What is known where only a clean return proves anything.
    fn exact_if_clean(&self) -> Assurance {
        if self.is_clean() {
            Assurance::Exact
        } else {
            Assurance::heuristic("something of the leavers' rounds is left")
        }
    }
}

/// Defines [`Unlearning`], its list and its delegation from one line a method: its name, an example, and what it does.
macro_rules! methods {
    ($($name:literal: $method:ident $example:tt, $about:literal;)*) => {
        /// A way to forget clients.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Unlearning {
            $(#[doc = $about] #[serde(rename = $name)] $method($method),)*
        }

        impl Unlearning {
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            pub fn examples() -> Vec<Self> {
                vec![$(Self::$method($method $example)),*]
            }

            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$method(_) => $name,)*
                }
            }

            /// The name and all parameters.
            pub(crate) fn write(&self, out: &mut Writer) {
                out.u8(self.name().len() as u8).bytes(self.name().as_bytes());
                self.write_parameters(out);
            }

            pub(crate) fn read(input: &mut Reader<'_>) -> Result<Self, HistoryError> {
                let length = input.u8()?;
                let method = match input.take(length.into())? {
                    $(name if name == $name.as_bytes() => Self::$method($method::read_parameters(input)?),)*
                    _ => return Err(input.wrong("an unknown way to forget")),
                };
                input.require(method.check().is_ok(), "parameters of forgetting that nobody may have")?;
                Ok(method)
            }
        }

        impl Deref for Unlearning {
            type Target = dyn UnlearningMethod;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$method(method) => method,)*
                }
            }
        }
    };
}

methods! {
    "retrain": Retrain {}, "From scratch without the leavers: exact, and as long as training";
    "fed-eraser": FedEraser { interval: 5, steps: 4, variant: Variant::Released },
        "FedEraser: stored lengths of updates, fresh directions; heuristic";
    "ledger-subtraction": LedgerSubtraction {}, "The leavers' own steps are taken back at once; heuristic";
    "shard-isolation": ShardIsolation { shards: 4 },
        "Several federations, of which one is rolled back and replayed: exact";
    "noisy-rollback": NoisyRollback {
            clip_norm: 0.5, epsilon: 2.0, delta: 1e-6, max_noise: 0.1, sensitivity: Sensitivity::Smooth { lipschitz: 1.0, clients: 10 }
        },
        "Back to where clipping bounds the leavers' influence, noise, and on: certified";
    "certificate": Certificate { epsilon: 2.0, delta: 1e-6 },
        "Nothing is done: user-level privacy of the run bounds the influence already";
}

/// What is known about a model that has forgotten.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Assurance {
    /// It has the distribution of a model that never had the leavers, and its noise is independent of all that was
    /// published before. Where there is no noise it is, bit by bit, such a model.
    Exact,
    /// No event is more than e^epsilon times as likely, plus delta, as with a model that never had them; nor less.
    Certified { epsilon: f64, delta: f64 },
    /// Nothing is proven.
    Heuristic { why: String },
}

/// Something that must have been stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Updates of rounds that are so far apart.
    Updates { every: u32 },
    /// Checkpoints that are so far apart; any distance will do if none is named.
    Checkpoints { every: Option<u32> },
    /// How far each client has moved the model.
    Ledger,
}

/// Why a request cannot be met. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum UnlearnError {
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Client(#[from] UnknownClient),
    #[error(transparent)]
    Plan(#[from] PlanProblem),
    #[error("the plan of this federation names no way to forget")]
    NoMethod,
    #[error("the history or the state is of another federation than the plan")]
    OtherFederation,
    #[error("a server cannot forget by {method} here: {why}")]
    OnServer { method: &'static str, why: &'static str },
    #[error("a request to forget must name at least one client")]
    Nobody,
    #[error("all clients would be gone: nobody is left to train")]
    Everybody,
    #[error("{method} needs {need} in the history; it was not stored")]
    Need { method: &'static str, need: Need },
    #[error("{method} needs what was stored of round {round}; it was dropped since")]
    Dropped { method: &'static str, round: u32 },
    #[error("a run of {n_rounds} rounds has no stored round at an interval of {interval}")]
    TooShort { n_rounds: u32, interval: u32 },
    #[error("{method} rests on {on}, which this federation does not have")]
    Premise { method: &'static str, on: &'static str },
    #[error(
        "the run bounds the influence of {n_clients} clients by epsilon {actual:.4} at this delta, not by {claimed}"
    )]
    NotCertified { n_clients: usize, claimed: f64, actual: f64 },
    #[error(
        "the budget of epsilon {}, delta {} affords {affordable} messages of a client: one that stays has sent \
         {n_messages} and would send up to {n_more} more, which makes epsilon {epsilon:.4}",
        budget.epsilon, budget.delta
    )]
    Budget { budget: Budget, affordable: usize, n_messages: u32, n_more: u32, epsilon: f64 },
}

impl Unlearning {
    /// Checks a request before any work: parameters, the history, who leaves, and what was stored.
    pub fn check_request(&self, history: &History, leavers: &[u32]) -> Result<(), UnlearnError> {
        self.check()?;
        history.verify()?;
        if leavers.is_empty() {
            return Err(UnlearnError::Nobody);
        }
        leavers.iter().try_for_each(|&client| history.knows(client))?;
        let n_gone = leavers.len() + history.erasures().map(|erasure| erasure.clients.len()).sum::<usize>();
        if n_gone >= history.header().n_clients as usize {
            return Err(UnlearnError::Everybody);
        }
        let missing = self.needs().into_iter().find(|need| !need.is_met(history.policy()));
        missing.map_or(Ok(()), |need| Err(UnlearnError::Need { method: self.name(), need }))
    }
}

impl Need {
    pub fn is_met(&self, policy: &HistoryPolicy) -> bool {
        let divides = |stored: Option<u32>, every: u32| stored.is_some_and(|stored| every.is_multiple_of(stored));
        match *self {
            Self::Updates { every } => divides(policy.updates_every, every),
            Self::Checkpoints { every: Some(every) } => divides(policy.checkpoints_every, every),
            Self::Checkpoints { every: None } => policy.checkpoints_every.is_some(),
            Self::Ledger => policy.ledger,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Updates { every: 1 } => write!(f, "the updates of every round"),
            Self::Updates { every } => write!(f, "the updates of rounds 1, {}, {}, ...", 1 + every, 1 + 2 * every),
            Self::Checkpoints { every: Some(every) } => {
                write!(f, "checkpoints before rounds 1, {}, {}, ...", 1 + every, 1 + 2 * every)
            }
            Self::Checkpoints { every: None } => write!(f, "checkpoints"),
            Self::Ledger => write!(f, "the ledger of all clients, of the whole run,"),
        }
    }
}

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => write!(
                f,
                "exact: the same distribution as without the clients, with noise independent of all that was published \
                 before"
            ),
            Self::Certified { epsilon, delta } => write!(f, "certified: epsilon {epsilon}, delta {delta}"),
            Self::Heuristic { why } => write!(f, "heuristic: {why}"),
        }
    }
}

impl Assurance {
    pub const fn is_proven(&self) -> bool {
        !matches!(self, Self::Heuristic { .. })
    }

    /// What two requests promise to each of their leavers: what both do.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact, other) => other,
            (one, Self::Exact) => one,
            (heuristic @ Self::Heuristic { .. }, _) | (_, heuristic @ Self::Heuristic { .. }) => heuristic,
            (Self::Certified { epsilon, delta }, Self::Certified { epsilon: other, delta: other_delta }) => {
                Self::Certified { epsilon: epsilon.max(other), delta: delta.max(other_delta) }
            }
        }
    }

    fn heuristic(why: &str) -> Self {
        Self::Heuristic { why: why.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_requests_promise_what_both_do() {
        let certified = |epsilon, delta| Assurance::Certified { epsilon, delta };
        let heuristic = Assurance::heuristic("no proof");
        assert_eq!(Assurance::Exact.weaker(Assurance::Exact), Assurance::Exact);
        assert_eq!(Assurance::Exact.weaker(certified(1.0, 1e-5)), certified(1.0, 1e-5));
        // Neither implies the other.
        assert_eq!(certified(1.0, 1e-3).weaker(certified(2.0, 1e-9)), certified(2.0, 1e-3));
        assert_eq!(certified(1.0, 1e-3).weaker(heuristic.clone()), heuristic);
        assert_eq!(heuristic.clone().weaker(Assurance::Exact), heuristic);
    }
}
