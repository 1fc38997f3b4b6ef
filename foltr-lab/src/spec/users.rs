//! `[users]`: who clicks (spec section 2).

pub use foltr_simulation::click::Preset;
use serde::{Deserialize, Serialize};

/// A simulated user.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Users {
    /// Reads from the top, clicks by grade, may stop after a click (spec section 2.1).
    Cascade {
        /// Click and stop probabilities.
        preset: Preset,
    },
    /// Examines position i with probability (1/i)^eta, independent of other positions (spec section 2.2).
    PositionBased {
        /// Severity of the position bias; 0 is none.
        eta: f64,
        /// Click probabilities; the papers use perfect ones. Stop probabilities are not used.
        #[serde(default = "perfect")]
        preset: Preset,
    },
}

const fn perfect() -> Preset {
    Preset::Perfect
}

impl Users {
    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        match self {
            Self::Cascade { preset } => preset.name().into(),
            Self::PositionBased { eta, preset: Preset::Perfect } => format!("position-based-{eta}"),
            Self::PositionBased { eta, preset } => format!("position-based-{eta}-{}", preset.name()),
        }
    }
}
