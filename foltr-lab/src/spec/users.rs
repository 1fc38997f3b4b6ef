//! `[users]`: who clicks (spec section 2).

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

/// Click and stop probabilities by grade. The number of grades (2, 3 or 5) follows from the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Clicks what is relevant, reads everything.
    Perfect,
    /// Looks for one good document and leaves.
    Navigational,
    /// Clicks a lot, also on what is not relevant.
    Informational,
    /// Clicks what is not relevant: an attacker.
    Poison,
}

const fn perfect() -> Preset {
    Preset::Perfect
}

impl Preset {
    /// All presets, for lists.
    pub const ALL: [Self; 4] = [Self::Perfect, Self::Navigational, Self::Informational, Self::Poison];

    /// The name in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Perfect => "perfect",
            Self::Navigational => "navigational",
            Self::Informational => "informational",
            Self::Poison => "poison",
        }
    }
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
