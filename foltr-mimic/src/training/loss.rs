//! What does it cost to order a pair in another way than the supervision does?
//!
//! The paper (`DKA17`, spec section 16.1) looks at the order of two scores alone: the hinge. With soft targets the
//! distance of the scores counts as well, so that two documents which the supervision can hardly tell apart need not be
//! a margin apart. The distance is a share of the range of the query's scores: see [`crate::supervision::Lesson`].
//!
//! * Cross entropy of the probabilities that two distances stand for: Burges et al., "Learning to Rank using Gradient
//!   Descent", ICML 2005 (`BSR05`), with the target of a teacher and a temperature for both as in Hinton, Vinyals and
//!   Dean, "Distilling the Knowledge in a Neural Network", 2015 (`HVD15`). Deviation: the loss is multiplied by the
//!   temperature, so that its slope is between -1 and 1 as that of the hinge.
//! * The squared difference of the two distances: Margin-MSE of Hofstätter, Althammer, Schröder, Sertkan and Hanbury,
//!   "Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge Distillation", 2020 (`HASSH20`).
//!   Deviation: there scores are not scaled.

use serde::{Deserialize, Serialize};

/// The loss of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Loss {
    /// max(0, 1 - (S1 - S2)): the order of the supervision's scores alone counts.
    #[default]
    Hinge,
    /// Of the probability that the first document is better, by the supervision's scores and by the network's.
    CrossEntropy {
        /// Distance of two scores, as a share of their range, at which the first is better with probability .73.
        #[serde(default = "default_temperature")]
        temperature: f32,
    },
    /// Between the distances of the supervision's scores and of the network's.
    SquaredMargin,
}

fn default_temperature() -> f32 {
    0.25
}

impl Loss {
    /// The loss of two scores with this difference that should differ by `margin`, and its derivative by the first score;
    /// that by the second is the negative.
    #[inline]
    pub(crate) fn of(self, difference: f32, margin: f32) -> (f32, f32) {
        match self {
            Self::Hinge => {
                let loss = 1.0 - difference;
                if loss > 0.0 { (loss, -1.0) } else { (0.0, 0.0) }
            }
            Self::CrossEntropy { temperature } => {
                let (ours, theirs) = (difference / temperature, margin / temperature);
                let probability = |x: f32| 1.0 / (1.0 + (-x).exp());
                // ln(1 + e^x), which does not overflow.
                let total = ours.max(0.0) + (-ours.abs()).exp().ln_1p();
                (temperature * (total - probability(theirs) * ours), probability(ours) - probability(theirs))
            }
            Self::SquaredMargin => {
                let error = difference - margin;
                (error * error, 2.0 * error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_by_hand() {
        let entropy = Loss::CrossEntropy { temperature: 0.5 };
        // e^(ln 3) to 1 is three in four.
        let (third, half) = (0.5 * 3_f32.ln(), 0.5 * 2_f32.ln());
        for (loss, difference, margin, expected) in [
            (Loss::Hinge, 0.25, 0.1, (0.75, -1.0)),
            (Loss::Hinge, 1.0, 0.1, (0.0, 0.0)),
            (Loss::SquaredMargin, 0.25, 0.75, (0.25, -1.0)),
            (entropy, 0.0, third, (half, -0.25)),
            (entropy, third, third, (0.5 * (4_f32.ln() - 0.75 * 3_f32.ln()), 0.0)),
            (entropy, 60.0, 0.0, (30.0, 0.5)),
            (entropy, -60.0, 60.0, (60.0, -1.0)),
        ] {
            let found = loss.of(difference, margin);
            let is_near = (found.0 - expected.0).abs() < 1e-6 && (found.1 - expected.1).abs() < 1e-6;
            assert!(is_near, "{loss:?} at {difference} for {margin}: {found:?}, not {expected:?}");
        }
    }
}
