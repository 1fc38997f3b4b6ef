#![doc = include_str!("../README.md")]

pub mod accountant;
pub mod aggregate;
pub mod asynchronous;
pub mod combination;
pub mod coordinator;
pub mod defence;
pub mod device;
pub mod fingerprint;
mod global_model;
pub mod guarantee;
pub mod history;
pub mod ledger;
pub mod message;
pub mod noise;
pub mod outgoing;
pub mod participation;
pub mod plan;
pub mod privacy;
pub mod protocol;
pub mod receipt;
mod rising_clients;
pub mod server_optimiser;
mod sharded;
pub mod staleness;
pub mod stand_ins;
pub mod tail_mean;
pub mod unlearn;
pub mod worker_momentum;
mod writer;

#[cfg(test)]
fn assert_close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).for_each(|(a, b)| assert!((a - b).abs() < tolerance, "{got:?} is not {want:?}"));
}

pub use accountant::{Guarantee, PrivacyCost};
pub use aggregate::{
    Aggregation, Aggregator, CHUNK, Combined, Contributions, EmptyRound, PartialSum, PayloadSemantics,
};
pub use asynchronous::{AsynchronousCoordinator, Asynchrony, Received, Refused};
pub use combination::{COMBINATIONS, Combination, Part};
pub use coordinator::{CloseError, Coordinator, OpenRound, Rejected, RoundReport, Setup, SetupError};
pub use defence::Defence;
pub use defence::cohort::{Cohorts, ROUND_RISK};
pub use device::{Device, DeviceError};
pub use fingerprint::Fingerprint;
pub use foltr_rank::{ParameterError, parameter};
pub use guarantee::{Observer, ObserverGuarantee, PlanGuarantee};
pub use history::{Checkpoint, Erasure, History, HistoryError, HistoryPolicy};
pub use ledger::Ledger;
pub use message::{Expected, Kind, Message, Payload, PayloadError, RoundTask, Share};
pub use noise::NoiseSource;
pub use outgoing::Outgoing;
pub use participation::Participation;
pub use plan::{FederationPlan, PlanProblem};
pub use privacy::{LocalPrivacy, Mechanism, Mode, Privacy};
pub use receipt::{Receipt, ReceiptError};
pub use server_optimiser::ServerOptimiser;
pub use sharded::ShardedCoordinator;
pub use staleness::Staleness;
pub use stand_ins::StandIns;
pub use tail_mean::TailMean;
pub use unlearn::{Assurance, UnlearnError, Unlearning};
pub use worker_momentum::WorkerMomentum;
