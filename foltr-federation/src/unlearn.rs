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

use crate::history::{BadHistory, History, Keeping, UnknownClient};
use crate::parameter::BadParameter;

pub use certificate::Certificate;
pub use fed_eraser::{Asked, Erasing, FedEraser, Variant, calibrate};
pub use ledger_subtraction::LedgerSubtraction;
pub use noisy_rollback::{NoisyRollback, Plan, Sensitivity};
pub use retrain::Retrain;
pub use shard_isolation::ShardIsolation;

/// A way to forget clients.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Unlearning {
    /// From scratch, without the leavers.
    Retrain(Retrain),
    /// Fresh directions, stored lengths.
    FedEraser(FedEraser),
    /// The leavers' own steps are taken back.
    LedgerSubtraction(LedgerSubtraction),
    /// One shard is rolled back and replayed.
    ShardIsolation(ShardIsolation),
    /// Back to where the leavers' influence is small, noise, and on.
    NoisyRollback(NoisyRollback),
    /// The run's own privacy.
    Certificate(Certificate),
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
pub enum CannotUnlearn {
    /// A parameter of the method.
    #[error(transparent)]
    Parameter(#[from] BadParameter),
    /// A history that is not believed.
    #[error(transparent)]
    History(#[from] BadHistory),
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
    /// Every method: its name in a file, and what it does.
    pub const LIST: &[(&str, &str)] = &[
        ("retrain", "From scratch without the leavers: exact, and as long as training"),
        ("fed-eraser", "FedEraser: stored lengths of updates, fresh directions; heuristic"),
        ("ledger-subtraction", "The leavers' own steps are taken back at once; heuristic"),
        ("shard-isolation", "Several federations, of which one is rolled back and replayed: exact"),
        ("noisy-rollback", "Back to where clipping bounds the leavers' influence, noise, and on: certified"),
        ("certificate", "Nothing is done: user-level privacy of the run bounds the influence already"),
    ];

    /// Its name in a file.
    pub const fn name(&self) -> &'static str {
        let place = match self {
            Self::Retrain(_) => 0,
            Self::FedEraser(_) => 1,
            Self::LedgerSubtraction(_) => 2,
            Self::ShardIsolation(_) => 3,
            Self::NoisyRollback(_) => 4,
            Self::Certificate(_) => 5,
        };
        Self::LIST[place].0
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// With the first one that is out of range.
    pub fn check(&self) -> Result<(), BadParameter> {
        match self {
            Self::Retrain(_) | Self::LedgerSubtraction(_) => Ok(()),
            Self::FedEraser(method) => method.check(),
            Self::ShardIsolation(method) => method.check(),
            Self::NoisyRollback(method) => method.check(),
            Self::Certificate(method) => method.check(),
        }
    }

    /// What is known about a model that has forgotten in this way.
    pub fn guarantee(&self) -> Assurance {
        match self {
            Self::Retrain(_) | Self::ShardIsolation(_) => Assurance::Exact,
            Self::FedEraser(method) => method.guarantee(),
            Self::LedgerSubtraction(method) => method.guarantee(),
            Self::NoisyRollback(method) => method.guarantee(),
            Self::Certificate(method) => method.guarantee(),
        }
    }

    /// What must have been kept for it.
    pub fn needs(&self) -> Vec<Need> {
        match self {
            Self::Retrain(_) | Self::Certificate(_) => Vec::new(),
            Self::FedEraser(method) => method.needs(),
            Self::LedgerSubtraction(_) => vec![Need::Ledger],
            Self::ShardIsolation(_) | Self::NoisyRollback(_) => vec![Need::Checkpoints { every: None }],
        }
    }

    /// Checks a request before any work: parameters, the history, who leaves, and what was kept.
    ///
    /// # Errors
    /// With the first thing that is wrong.
    pub fn check_request(&self, history: &History, leavers: &[u32]) -> Result<(), CannotUnlearn> {
        self.check()?;
        history.verify()?;
        if leavers.is_empty() {
            return Err(CannotUnlearn::Nobody);
        }
        leavers.iter().try_for_each(|&client| history.knows(client))?;
        let n_gone = leavers.len() + history.erasures().map(|erasure| erasure.clients.len()).sum::<usize>();
        if n_gone >= history.header().n_clients as usize {
            return Err(CannotUnlearn::Everybody);
        }
        let missing = self.needs().into_iter().find(|need| !need.is_met(history.keeping()));
        missing.map_or(Ok(()), |need| Err(CannotUnlearn::Need { method: self.name(), need }))
    }
}

impl Need {
    /// Whether this is kept.
    pub fn is_met(&self, keeping: &Keeping) -> bool {
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
