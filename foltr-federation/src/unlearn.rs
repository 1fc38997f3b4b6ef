//! How is a client forgotten, what does that guarantee, and what must have been kept for it?
//!
//! A method is its parameters. What needs no clients is here: choices, calibration, sensitivities, sums. Whoever drives
//! clients carries a method out: the simulation does in its `unlearning`.

mod certificate;
mod fed_eraser;
mod ledger_subtraction;
mod noisy_rollback;
mod retrain;
mod shard_isolation;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::history::{History, HistoryError, HistoryPolicy, UnknownClient};
use crate::receipt::canonical;
use foltr_rank::parameter::ParameterError;

pub use certificate::Certificate;
pub use fed_eraser::{Asked, Erasing, FedEraser, Variant, calibrate};
pub use ledger_subtraction::LedgerSubtraction;
pub use noisy_rollback::{NoisyRollback, Plan, Sensitivity};
pub use retrain::Retrain;
pub use shard_isolation::ShardIsolation;

/// The parameters of one method.
pub trait UnlearningMethod: Copy {
    /// Parameters with which every conformance test runs.
    fn example() -> Self;

    /// Checks the parameters.
    ///
    /// # Errors
    /// With the first one that is out of range.
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// What is known about a model that has forgotten in this way.
    fn guarantee(&self) -> Assurance;

    /// What must have been stored for it.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    /// The parameters in the order in which they are declared, for what a receipt signs.
    fn write_parameters(&self, _: &mut Vec<u8>) {}
}

/// Defines [`Unlearning`], its list and its delegation from one line a method.
macro_rules! methods {
    ($($name:literal: $method:ident, $about:literal;)*) => {
        /// A way to forget clients.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Unlearning {
            $(#[doc = $about] #[serde(rename = $name)] $method($method),)*
        }

        impl Unlearning {
            /// Every method: its name in a file, and what it does.
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            /// One of each kind, for conformance tests.
            pub fn examples() -> Vec<Self> {
                vec![$(Self::$method(<$method as UnlearningMethod>::example())),*]
            }

            /// Its name in a file.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$method(_) => $name,)*
                }
            }

            /// Checks the parameters.
            ///
            /// # Errors
            /// With the first one that is out of range.
            pub fn check(&self) -> Result<(), ParameterError> {
                match self {
                    $(Self::$method(method) => UnlearningMethod::check(method),)*
                }
            }

            /// What is known about a model that has forgotten in this way.
            pub fn guarantee(&self) -> Assurance {
                match self {
                    $(Self::$method(method) => UnlearningMethod::guarantee(method),)*
                }
            }

            /// What must have been stored for it.
            pub fn needs(&self) -> Vec<Need> {
                match self {
                    $(Self::$method(method) => UnlearningMethod::needs(method),)*
                }
            }

            /// Its name, then its parameters in the order in which they are declared: what a receipt signs.
            pub(crate) fn write_canonical(&self, bytes: &mut Vec<u8>) {
                canonical::text(bytes, self.name());
                match self {
                    $(Self::$method(method) => method.write_parameters(bytes),)*
                }
            }
        }
    };
}

methods! {
    "retrain": Retrain, "From scratch without the leavers: exact, and as long as training";
    "fed-eraser": FedEraser, "FedEraser: stored lengths of updates, fresh directions; heuristic";
    "ledger-subtraction": LedgerSubtraction, "The leavers' own steps are taken back at once; heuristic";
    "shard-isolation": ShardIsolation, "Several federations, of which one is rolled back and replayed: exact";
    "noisy-rollback": NoisyRollback, "Back to where clipping bounds the leavers' influence, noise, and on: certified";
    "certificate": Certificate, "Nothing is done: user-level privacy of the run bounds the influence already";
}

/// What is known about a model that has forgotten.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Assurance {
    /// It is, bit by bit, a model that never had the leavers.
    Exact,
    /// No event is more than e^epsilon times as likely, plus delta, as with a model that never had them, and vice
    /// versa.
    Certified {
        /// How much more likely.
        epsilon: f64,
        /// And how much beyond that.
        delta: f64,
    },
    /// Nothing is proven.
    Heuristic {
        /// What is missing.
        why: String,
    },
}

/// Something that must have been kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Updates of rounds that are so far apart.
    Updates {
        /// Rounds from one to the next.
        every: u32,
    },
    /// Checkpoints that are so far apart.
    Checkpoints {
        /// Rounds from one to the next; none if any distance will do.
        every: Option<u32>,
    },
    /// How far each client has moved the model.
    Ledger,
}

/// Why a request cannot be met. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum UnlearnError {
    /// A parameter of the method.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A history that is not believed.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A client that cannot be forgotten.
    #[error(transparent)]
    Client(#[from] UnknownClient),
    /// An empty request.
    #[error("a request to forget must name at least one client")]
    Nobody,
    /// A request for all.
    #[error("all clients would be gone: nobody is left to train")]
    Everybody,
    /// Something was not kept.
    #[error("{method} needs {need} in the history; it was not kept")]
    Need {
        /// Which method.
        method: &'static str,
        /// What it needs.
        need: Need,
    },
    /// Something was kept, but not for long enough.
    #[error("{method} needs what was kept of round {round}; it was dropped since")]
    Dropped {
        /// Which method.
        method: &'static str,
        /// Counted from 0.
        round: u32,
    },
    /// The run was too short for the interval.
    #[error("a run of {n_rounds} rounds has no stored round at an interval of {interval}")]
    TooShort {
        /// Rounds of the run.
        n_rounds: u32,
        /// Rounds from one stored round to the next.
        interval: u32,
    },
    /// The run was of another kind.
    #[error("{method} rests on {on}, which this federation does not have")]
    Premise {
        /// Which method.
        method: &'static str,
        /// What it rests on.
        on: &'static str,
    },
    /// A certificate that the run does not give.
    #[error(
        "the run bounds the influence of {n_clients} clients by epsilon {actual:.4} at this delta, not by {claimed}"
    )]
    NotCertified {
        /// How many leave together.
        n_clients: usize,
        /// What was asked for.
        claimed: f64,
        /// What the accountant says.
        actual: f64,
    },
}

impl Unlearning {
    /// Checks a request before any work: parameters, the history, who leaves, and what was kept.
    ///
    /// # Errors
    /// With the first thing that is wrong.
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
        let missing = self.needs().into_iter().find(|need| !need.is_met(history.keeping()));
        missing.map_or(Ok(()), |need| Err(UnlearnError::Need { method: self.name(), need }))
    }
}

impl Need {
    /// Whether this is kept.
    pub fn is_met(&self, keeping: &HistoryPolicy) -> bool {
        let divides = |kept: Option<u32>, every: u32| kept.is_some_and(|kept| every.is_multiple_of(kept));
        match *self {
            Self::Updates { every } => divides(keeping.updates_every, every),
            Self::Checkpoints { every: Some(every) } => divides(keeping.checkpoints_every, every),
            Self::Checkpoints { every: None } => keeping.checkpoints_every.is_some(),
            Self::Ledger => keeping.ledger,
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
            Self::Exact => write!(f, "exact"),
            Self::Certified { epsilon, delta } => write!(f, "certified: epsilon {epsilon}, delta {delta}"),
            Self::Heuristic { why } => write!(f, "heuristic: {why}"),
        }
    }
}

impl Assurance {
    /// Whether something is proven.
    pub const fn is_proven(&self) -> bool {
        !matches!(self, Self::Heuristic { .. })
    }

    fn heuristic(why: &str) -> Self {
        Self::Heuristic { why: why.to_owned() }
    }
}
