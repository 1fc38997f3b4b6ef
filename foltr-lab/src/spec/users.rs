//! `[users]`: who clicks (spec section 2).

use foltr_simulation::click::{self, Cascade, PositionBased, Preset, UnknownGrades};
use serde::{Deserialize, Serialize};

use super::in_words;

/// A simulated user, before the number of grades is known: that follows from the data.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Users {
    /// Reads from the top, clicks by grade, may stop after a click (spec section 2.1).
    Cascade {
        /// Click and stop probabilities.
        preset: Preset,
    },
    /// Examines position i with probability (1/i)^eta and clicks as a perfect user would (spec section 2.2).
    PositionBased {
        /// Severity of the position bias; 0 is none.
        eta: f64,
    },
}

impl Users {
    /// These users for labels 0 to `max_label`.
    ///
    /// # Errors
    /// If no probabilities are known for so many grades.
    pub fn model(&self, max_label: u8) -> Result<click::Users, UnknownGrades> {
        Ok(match *self {
            Self::Cascade { preset } => click::Users::Cascade(Cascade::preset(preset, max_label)?),
            Self::PositionBased { eta } => click::Users::PositionBased(PositionBased::perfect(eta, max_label)?),
        })
    }

    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        match self {
            Self::Cascade { preset } => in_words(preset),
            Self::PositionBased { eta } => format!("position-based-{eta}"),
        }
    }
}
