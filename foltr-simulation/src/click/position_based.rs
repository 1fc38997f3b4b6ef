//! The position-based click model: position i (from 0) is examined with probability (1/(i+1))^eta, independently.
//!
//! `CZTR08` Craswell, Zoeter, Taylor, Ramsey: *An Experimental Comparison of Click Position-Bias Models*, WSDM 2008;
//! spec section 2.2, with the click probabilities of the perfect user.

use foltr_rank::parameter::{ParameterError, problems, require};
use foltr_rank::rng::Stream;
use foltr_rank::{Clicks, MAX_SHOWN};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::cascade::check_grades;
use super::{Cascade, ClickParameters, Preset, SimulatedUser, UsersError, threshold};

/// A position-based user as files name it (spec section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PositionBasedParameters {
    /// Severity of the position bias; 0 is none.
    pub eta: f64,
    /// Click probabilities; the papers use perfect ones. Stop probabilities are not used.
    #[serde(default)]
    pub preset: Preset,
    /// How many grades the labels have: 2, 3 or 5. Found in the data when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grades: Option<u8>,
}

impl ClickParameters for PositionBasedParameters {
    type User = PositionBased;

    fn examples() -> Vec<Self> {
        [0.0, 1.0, 2.0].map(|eta| Self { eta, preset: Preset::Perfect, grades: None }).to_vec()
    }

    fn check(&self) -> Vec<ParameterError> {
        let eta = require("eta", self.eta, self.eta >= 0.0, "0 (no position bias) or a positive number");
        problems([eta, check_grades(self.grades)])
    }

    fn grades(&mut self) -> &mut Option<u8> {
        &mut self.grades
    }

    fn name(&self) -> String {
        let by_preset = if self.preset == Preset::Perfect { String::new() } else { format!("-{}", self.preset.name()) };
        format!("position-based-{}{by_preset}", self.eta)
    }

    fn user(&self, max_label: u8) -> Result<PositionBased, UsersError> {
        let clicks = Cascade::preset(self.preset, max_label)?;
        Ok(PositionBased::new(self.eta, clicks.click_probabilities()))
    }
}

/// A position-based user, ready to click.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionBased {
    click: Vec<f64>,
    eta: f64,
    /// By position, then label.
    thresholds: Vec<u64>,
}

impl PositionBased {
    /// Any position-based user: P(click | label, examined), and how fast attention falls.
    pub fn new(eta: f64, click: &[f64]) -> Self {
        assert!(eta >= 0.0 && click.iter().all(|p| (0.0..=1.0).contains(p)), "eta = {eta}, clicks {click:?}");
        let examined = |position: usize| ((position + 1) as f64).powf(-eta);
        let thresholds =
            (0..MAX_SHOWN).flat_map(|position| click.iter().map(move |c| threshold(c * examined(position)))).collect();
        Self { click: click.to_vec(), eta, thresholds }
    }
}

impl SimulatedUser for PositionBased {
    #[inline]
    fn click(&self, shown: &[u8], stream: &mut Stream) -> Clicks {
        let mut clicks = Clicks::default();
        for ((position, &label), thresholds) in shown.iter().enumerate().zip(self.thresholds.chunks(self.click.len())) {
            if u64::from(stream.next_u32()) < thresholds[label as usize] {
                clicks.click(position);
            }
        }
        clicks
    }

    fn marginals(&self, shown: &[u8]) -> Vec<f64> {
        shown.iter().enumerate().map(|(position, &label)| self.click_probability(position, label)).collect()
    }

    fn click_probability(&self, position: usize, label: u8) -> f64 {
        self.click[label as usize] * ((position + 1) as f64).powf(-self.eta)
    }
}
