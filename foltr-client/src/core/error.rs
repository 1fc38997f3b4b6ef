//! Why a device does not do something.

use foltr_federation::device::DeviceError;
use foltr_federation::ledger::LedgerError;
use foltr_federation::protocol::{BadSignature, EnrolmentError, PlanError, ReleaseDecodeError, ReleaseError};
use foltr_federation::{Fingerprint, ReceiptError};
use foltr_rank::ParameterError;
use foltr_rank::bytes::BytesError;
use foltr_rank::session::{ClickError, RankError, SessionError};
use thiserror::Error;

use super::event::Consent;
use crate::features::{FeatureError, SchemaError};

/// Why an event changes nothing, or a device does not get on with its federation. Ranking goes on in any case.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Refused {
    #[error(transparent)]
    Features(#[from] FeatureError),
    #[error(transparent)]
    Rank(#[from] RankError),
    #[error(transparent)]
    Click(#[from] ClickError),
    #[error("this device takes part in {address}; let it be forgotten there before it joins another federation")]
    OtherFederation { address: String },
    #[error("this device is waiting to be forgotten by {address}; call `sync` until the receipt has come")]
    BeingForgotten { address: String },
    #[error(transparent)]
    Federation(#[from] FederationError),
}

/// What is wrong with a federation, its server or the way to it.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FederationError {
    #[error("the server was not reached; the next attempt is in {seconds} seconds")]
    NotReached { seconds: u64 },
    #[error("the server answered {status} ({problem}); the next attempt is in {seconds} seconds")]
    Server { status: u16, problem: String, seconds: u64 },
    #[error("the server does not know this device: {problem}")]
    NotEnrolled { problem: String },
    #[error(
        "the server refused the invitation ({problem}): it may be used up, revoked or too old; ask for another one"
    )]
    Invitation { problem: String },
    #[error("an answer that was not asked for")]
    NotAsked,
    #[error("the enrolment is not to be trusted: {0}")]
    Enrolment(EnrolmentError),
    #[error("the {what} cannot be read: {why}")]
    Unreadable { what: &'static str, why: String },
    #[error("the {what} is not signed by this federation: forged, or altered on the way")]
    Forged { what: &'static str },
    #[error("the plan is not the one that was asked for: its hash is {got}, not {expected}")]
    OtherPlan { expected: Fingerprint, got: Fingerprint },
    #[error("the plan cannot be followed: {0}")]
    Plan(PlanError),
    #[error(
        "the plan of this federation needs the owner's consent to {}: {words}", consent_words(*.needed)
    )]
    NeedsConsent { needed: Consent, words: String },
    #[error("the federation has a new plan that this device does not follow by itself: {why}; join again to accept it")]
    NewPlan { why: String },
    #[error("the release is refused: {0}")]
    Release(ReleaseError),
    #[error("release {version} is damaged: {why}")]
    DamagedRelease { version: u32, why: ReleaseDecodeError },
    #[error("the server offers release {got}, older than {newest} which is here: a rollback must be a new version")]
    Rollback { newest: u32, got: u32 },
    #[error("the server shows another release {version} than the one that is here: a fork")]
    Fork { version: u32 },
    #[error("the receipt is not for the message that was sent")]
    OtherReceipt,
    #[error(
        "the server has another message of this device for round {round}: the folder was copied, or an old copy was restored. \
         Its ledger no longer knows what was spent, and nothing is sent there any more"
    )]
    OtherMessage { round: u32 },
    #[error("the deletion receipt is not valid: {0}")]
    DeletionReceipt(ReceiptError),
    #[error("the deletion receipt is for other clients than number {number}")]
    DeletionOfOthers { number: u32 },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Booking(#[from] foltr_federation::ledger::Refused),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("the server sends this device in circles")]
    Endless,
}

const fn consent_words(needed: Consent) -> &'static str {
    match needed {
        Consent::ProtectedMessages => "protected messages",
        Consent::TrustedServer => "a server that sees every message and is trusted to protect it",
        Consent::NoPromise => "no promise at all",
    }
}

impl From<BadSignature> for FederationError {
    fn from(_: BadSignature) -> Self {
        Self::Forged { what: "answer" }
    }
}

/// Why what is stored is of no use to a device with these options.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("an option is wrong: {0}")]
    Option(#[from] ParameterError),
    #[error("the options are of no use together: {0}")]
    Session(#[from] SessionError),
    #[error("the first model has {got} values; the ranker has {expected}")]
    Model { expected: usize, got: usize },
    #[error("`alone.personalisation` has clusters, which only a simulation knows")]
    Clusters,
    #[error("the folder was made for other features ({stored}, not {given}): use the same schema, or another folder")]
    OtherFeatures { stored: Fingerprint, given: Fingerprint },
    #[error("the folder was made for another ranker ({stored}, not {given}): use the same options, or another folder")]
    OtherRanker { stored: String, given: String },
    #[error("`alone.list_length` is shorter than lists that are open: use the former one until they have ended")]
    ShorterLists,
    #[error("the record with {item} is damaged: {why}")]
    Damaged { item: &'static str, why: String },
}

impl LoadError {
    pub(super) fn damaged(item: &'static str, why: impl ToString) -> Self {
        Self::Damaged { item, why: why.to_string() }
    }
}

impl From<BytesError> for LoadError {
    fn from(error: BytesError) -> Self {
        Self::damaged("a state", error)
    }
}
