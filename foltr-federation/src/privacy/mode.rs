//! Who can see what a single device sends: the three modes, and what cannot be had in each.
//!
//! | mode | a curious server learns | rules and methods that look at single updates |
//! |---|---|---|
//! | clear | every update; a guarantee on the sum holds only if the server is trusted | yes |
//! | local | every update, already randomised on the device | yes, on noisy data |
//! | sealed | the sum of all updates of a round, and nothing of a single one | no |
//!
//! No mode gives everything: what needs single updates is refused under [`Mode::Sealed`], with the reason.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Who can see what a single device sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The server reads every message.
    Clear,
    /// The server reads every message, but the device has randomised it so that no trust is needed.
    Local,
    /// Secure aggregation: the server learns the sum of a round's messages only.
    Sealed,
}

/// Something needs single updates where there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("secure aggregation hides single updates, and {needed_by} needs them; use mode = \"clear\" or \"local\"")]
pub struct NeedsSingleUpdates {
    pub needed_by: &'static str,
}

impl Mode {
    /// Refuses what needs single updates where the server never has one.
    pub const fn admit(self, needed_by: Option<&'static str>) -> Result<(), NeedsSingleUpdates> {
        match (self, needed_by) {
            (Self::Sealed, Some(needed_by)) => Err(NeedsSingleUpdates { needed_by }),
            _ => Ok(()),
        }
    }
}

/// The modes of a mechanism whose noise is on the sum: trust in the server, or secure aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CentralMode {
    /// The server reads every message and is trusted to add the noise.
    Clear,
    /// The server learns the noisy sum only.
    Sealed,
}

impl From<CentralMode> for Mode {
    fn from(mode: CentralMode) -> Self {
        match mode {
            CentralMode::Clear => Self::Clear,
            CentralMode::Sealed => Self::Sealed,
        }
    }
}
