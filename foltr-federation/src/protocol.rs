//! Protocol 2: what a federation's server and its devices send each other, and how each is signed.
//!
//! An [`Invitation`] lets a device in, which sends an [`EnrolmentRequest`] and gets an [`Enrolment`]. A [`Plan`] says what all agreed on. A [`Release`] is a model, chained to the one before it; a [`ReleaseChain`] is what
//! a device remembers of it. A [`Task`] asks for contributions to a round. A [`Contribution`] is what a device sends, and
//! a [`ContributionReceipt`] what it gets for it. A [`ForgetRequest`] takes it back. `docs/protocol.md` has the bytes of each, with test vectors.
//!
//! Decoders are total: any bytes are a value or a named error, nothing is allocated before the length is known to be
//! right, and what is accepted has exactly these bytes.

mod canonical;
mod chain;
mod contribution;
mod contribution_receipt;
mod deployable;
mod deployment;
mod enrolment;
mod features;
mod forget_request;
mod header_range;
mod invitation;
mod key;
mod payload;
mod plan;
mod release;
mod request;
mod signed;
mod task;

pub use canonical::CanonicalError;
pub use chain::{ReleaseChain, ReleaseError};
pub use contribution::{Contribution, ContributionError, HEADER_LEN, UnknownStart};
pub use contribution_receipt::ContributionReceipt;
pub use deployable::{DEPLOYABLE_MECHANISMS, LAB_ONLY_MECHANISMS};
pub use deployment::{Deployment, DeploymentError};
pub use enrolment::{Enrolment, EnrolmentError, EnrolmentRequest};
pub use features::{Feature, FeatureKind, FeatureSchema, Normalisation};
pub use forget_request::ForgetRequest;
pub use header_range::{MOST_HEADERS, decode_headers, encode_headers};
pub use invitation::{Invitation, InvitationError};
pub use key::{BadSignature, DeviceId, KeyError, PublicKey, SecretKey};
pub use plan::{Plan, PlanError};
pub use release::{Release, ReleaseDecodeError, ReleaseHeader, ReleaseId};
pub use request::{sign_request, verify_request};
pub use signed::{Document, SIGNATURE_LEN, Signed};
pub use task::{Lottery, Task};

/// Of everything in this module; another one is refused.
pub const VERSION: u8 = 2;
