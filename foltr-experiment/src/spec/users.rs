//! `[users]`: who clicks (spec section 2).

use foltr_simulation::click::Preset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_words;

/// A simulated user, before the number of grades is known: that follows from the data.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Users {
    /// Reads from the top, clicks by grade, may stop after a click (spec section 2.1).
    Cascade {
        /// Click and stop probabilities.
        preset: Preset,
        /// How many grades the labels have: 2, 3 or 5. Found in the data when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grades: Option<u8>,
    },
    /// Examines position i with probability (1/i)^eta, independent of other positions (spec section 2.2).
    PositionBased {
        /// Severity of the position bias; 0 is none.
        eta: f64,
        /// Click probabilities; the papers use perfect ones. Stop probabilities are not used.
        #[serde(default = "perfect")]
        preset: Preset,
        /// How many grades the labels have: 2, 3 or 5. Found in the data when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grades: Option<u8>,
    },
    /// Users that differ (Type 3 of spec section 10).
    Several {
        /// The different ones.
        models: Vec<Self>,
        /// What each of them is for.
        each: AssignedPer,
    },
}

/// When users that differ take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AssignedPer {
    /// Client c has model c modulo their number.
    Client,
    /// Every interaction draws one of them: the IID counterpart.
    Interaction,
}

const fn perfect() -> Preset {
    Preset::Perfect
}

impl Users {
    /// Every model that clicks: the only one, or several.
    pub fn models(&self) -> &[Self] {
        if let Self::Several { models, .. } = self { models } else { std::slice::from_ref(self) }
    }

    /// How many grades the labels have, if that is known; of several models the first that knows.
    pub fn grades(&self) -> Option<u8> {
        match self {
            Self::Cascade { grades, .. } | Self::PositionBased { grades, .. } => *grades,
            Self::Several { models, .. } => models.iter().find_map(Self::grades),
        }
    }

    /// Takes the smallest number of grades that covers the labels, unless the number is known. Users exist for 2, 3 and
    /// 5 grades: data whose highest grade happens to be missing still has the grades of its kind.
    pub fn resolve_grades(&mut self, max_label: u8) {
        let (Self::Cascade { grades, .. } | Self::PositionBased { grades, .. }) = self else {
            let Self::Several { models, .. } = self else { return };
            return models.iter_mut().for_each(|users| users.resolve_grades(max_label));
        };
        grades.get_or_insert(match max_label {
            0 | 1 => 2,
            2 => 3,
            3 | 4 => 5,
            more => more.saturating_add(1),
        });
    }

    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        match self {
            Self::Cascade { preset, .. } => in_words(preset),
            Self::PositionBased { eta, preset: Preset::Perfect, .. } => format!("position-based-{eta}"),
            Self::PositionBased { eta, preset, .. } => format!("position-based-{eta}-{}", in_words(preset)),
            Self::Several { models, each } => {
                let names: Vec<String> = models.iter().map(Self::name).collect();
                format!("{}-by-{}", names.join("+"), in_words(each))
            }
        }
    }
}
