//! What a coordinator begins with.

use std::sync::Arc;

use foltr_rank::learn::evolution::Reward;
use foltr_rank::parameter::{ParameterError, positive};
use thiserror::Error;

use crate::aggregate::PayloadSemantics;
use crate::defence::Defence;
use crate::message::Kind;
use crate::privacy::{LocalPrivacy, NeedsSingleUpdates, NoiseShares, Unprotected};
use crate::server_optimiser::ServerOptimiser;
use crate::staleness::Staleness;

/// What a federation begins with: its first model, and everything that is agreed about how it moves.
///
/// ```
/// use std::sync::Arc;
/// use foltr_federation::privacy::Duchi;
/// use foltr_federation::{Coordinator, Setup, ServerOptimiser};
///
/// let setup = Setup {
///     privacy: Arc::new(Duchi::new(1.0, 0.1)?),
///     optimiser: ServerOptimiser::Momentum { rate: 0.1, momentum: 0.9 },
///     ..Setup::averaging(vec![0.0; 46], 1000, 4)
/// };
/// let coordinator = Coordinator::new(setup)?;
/// assert_eq!(coordinator.expected().n_params, 46);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Setup {
    pub initial: foltr_rank::Params,
    /// Clients are numbered from 0 to below this.
    pub n_clients: u32,
    /// The most interactions that a client may report.
    pub n_interactions: u32,
    /// How the server reads messages that no mechanism has changed.
    pub rule: PayloadSemantics,
    /// What devices do to their updates, and the server to the sum of them.
    pub privacy: Arc<dyn LocalPrivacy>,
    pub noise_shares: NoiseShares,
    /// How many clients a round counts on; a mechanism that protects a sum divides by this number.
    pub divisor: f64,
    /// How it is combined. Momentum, if any, is the devices' part of it.
    pub defence: Defence,
    pub optimiser: ServerOptimiser,
    /// Which old releases messages may start from.
    pub staleness: Staleness,
    /// The round (from 1) from which models are averaged into the published one; none for the newest model.
    pub average_from: Option<u32>,
    /// First models of clusters, each with a sum of its own; none without clusters.
    pub clusters: Vec<foltr_rank::Params>,
    /// Whether rounds may be closed with noise that follows from a seed. Never where people are to be protected; a
    /// [plan](crate::protocol::Plan) says it.
    pub is_simulated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SetupError {
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(transparent)]
    Sealed(#[from] NeedsSingleUpdates),
    #[error("this privacy mechanism is for sums of all updates: no rule may choose among them")]
    OnlySums,
    #[error("initial parameter {index} is {value}; it must be finite")]
    Initial { index: usize, value: f32 },
    #[error("payloads of kind {kind:?} cannot be used here: {needed}")]
    Kind { kind: Kind, needed: &'static str },
    #[error("clusters are for plain steps: no privacy mechanism and no defence may be with them")]
    Clusters,
    #[error("stale messages of rounds, a mean of the last models and clusters need rounds")]
    NeedsRounds,
    #[error("this mechanism's noise is for one sum of all clients: it cannot be used in shards")]
    OneSum,
}

impl Setup {
    /// Federated averaging without a defence: the mean at a rate of 1, of updates that the server reads. For simulations; the
    /// setup of a federation of people comes from its [plan](crate::protocol::Plan).
    pub fn averaging(initial: foltr_rank::Params, n_clients: u32, n_interactions: u32) -> Self {
        Self {
            initial,
            n_clients,
            n_interactions,
            rule: PayloadSemantics::Averaging,
            privacy: Arc::new(Unprotected { reward: Reward::MaxRr }),
            noise_shares: NoiseShares::InMessages,
            divisor: f64::from(n_clients),
            defence: Defence::NONE,
            optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
            staleness: Staleness::NONE,
            average_from: None,
            clusters: Vec::new(),
            is_simulated: true,
        }
    }

    /// How the server reads what the mechanism makes of messages.
    pub(crate) fn semantics(&self) -> Result<PayloadSemantics, SetupError> {
        let refused = |kind, needed| Err(SetupError::Kind { kind, needed });
        match self.rule {
            PayloadSemantics::Averaging => {}
            PayloadSemantics::Evolution { sigma, .. } => positive("sigma", sigma)?,
            PayloadSemantics::Summing { .. } | PayloadSemantics::Integers { .. } | PayloadSemantics::Shares { .. } => {
                return refused(
                    self.rule.kind(),
                    "sums are for the privacy mechanism to ask for, which adds their noise",
                );
            }
        }
        positive("divisor", self.divisor)?;
        let rule = self.privacy.rule(self.rule, self.divisor, None);
        if self.privacy.accepts(rule.kind()) {
            Ok(rule)
        } else {
            refused(rule.kind(), "the privacy mechanism is not defined for them")
        }
    }
}
