//! What the operator sees and does: the same for commands, the API below `/v1/admin` and the dashboard.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What is done to a federation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// Lets so many devices in, for so many seconds.
    NewInvitation {
        uses: u32,
        seconds: u64,
        #[serde(default)]
        note: String,
    },
    RevokeInvitation {
        id: u64,
    },
    /// No task is given out any more, and a release in its stage does not go on.
    Hold,
    Resume,
    /// Closes the open round now, with what has come.
    CloseRound,
    /// Publishes the parameters of an earlier version as a new one, and begins a new round.
    RollBack {
        version: u32,
    },
    /// A device, by its id: it is not known any more.
    RevokeDevice {
        device: String,
    },
    /// Asks for a device to be forgotten, on behalf of its owner.
    Forget {
        device: String,
    },
    /// Publishes a release that names a new key, which signs from then on.
    RotateKey,
}

impl Action {
    /// As in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NewInvitation { .. } => "new-invitation",
            Self::RevokeInvitation { .. } => "revoke-invitation",
            Self::Hold => "hold",
            Self::Resume => "resume",
            Self::CloseRound => "close-round",
            Self::RollBack { .. } => "roll-back",
            Self::RevokeDevice { .. } => "revoke-device",
            Self::Forget { .. } => "forget",
            Self::RotateKey => "rotate-key",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "done", rename_all = "kebab-case")]
pub enum Done {
    Done,
    /// To be handed to devices. Nobody can read it again.
    Invitation {
        id: u64,
        invitation: String,
    },
    /// The release that was published.
    Release {
        version: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OperatorError {
    #[error("there is no federation {0:?}")]
    UnknownFederation(String),
    /// It cannot be done, and why.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unavailable(String),
}

/// A model for `foltr evaluate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedModel {
    /// Such as `wards-17.safetensors`.
    pub file_name: String,
    pub bytes: Vec<u8>,
}

pub trait Operator: Send + Sync {
    fn overview(&self) -> Result<Overview, OperatorError>;

    fn act(&self, federation: &str, action: &Action) -> Result<Done, OperatorError>;

    /// The published ranker, or that of an earlier version.
    fn export(&self, federation: &str, version: Option<u32>) -> Result<ExportedModel, OperatorError>;
}

/// Everything that the dashboard shows. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overview {
    pub now: u64,
    pub version: &'static str,
    pub federations: Vec<FederationOverview>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FederationOverview {
    pub name: String,
    pub address: String,
    pub plan: String,
    /// Such as "round 17 is open".
    pub state: String,
    /// Why no round closes, or what it waits for.
    pub waits_for: String,
    pub is_held: bool,
    pub round: u32,
    /// Of the plan, as far as its budget affords them.
    pub n_rounds: u32,
    pub opened_at: Option<u64>,
    pub deadline: Option<u64>,
    /// Until when the release is shown to a share of the devices only.
    pub staged_until: Option<u64>,
    pub n_contributions: u32,
    /// How many are asked in this round.
    pub n_wanted: u32,
    pub n_devices: u32,
    pub n_revoked: u32,
    pub n_forgotten: u32,
    /// Closed rounds, the newest last; at most 200.
    pub rounds: Vec<RoundLine>,
    /// Refused messages by name, since the server began.
    pub refusals: Vec<(String, u64)>,
    /// The label of `foltr privacy explain`, a line each.
    pub privacy: Vec<String>,
    pub forget_requests: Vec<ForgetLine>,
    /// The newest first; at most 50.
    pub releases: Vec<ReleaseLine>,
    pub invitations: Vec<InvitationLine>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RoundLine {
    pub round: u32,
    pub opened_at: u64,
    pub closed_at: u64,
    /// Nothing where the mechanism hides who takes part.
    pub n_contributions: Option<u32>,
    pub n_wanted: u32,
    /// Of the aggregated step, before the optimiser; nothing for a round without one.
    pub step_norm: Option<f64>,
    /// `closed`, or why there is no step.
    pub outcome: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ForgetLine {
    pub device: String,
    pub asked_at: u64,
    /// `queued`, `done`, or why it cannot be done.
    pub state: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReleaseLine {
    pub version: u32,
    pub shard: u32,
    pub created_at: u64,
    /// Such as "round 17", "rollback to 12", "new key", "new plan".
    pub cause: String,
    pub hash: String,
    /// Whether its parameters are still stored.
    pub has_parameters: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InvitationLine {
    pub id: u64,
    pub note: String,
    pub created_at: u64,
    pub expires_at: u64,
    pub uses_left: u32,
    pub is_revoked: bool,
}
