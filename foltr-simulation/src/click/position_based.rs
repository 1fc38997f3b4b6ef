//! The position-based click model: position i (from 0) is examined with probability (1/(i+1))^eta, independently.
//!
//! `CZTR08` Craswell, Zoeter, Taylor, Ramsey: *An Experimental Comparison of Click Position-Bias Models*, WSDM 2008;
//! spec section 2.2, with the click probabilities of the perfect user.

use foltr_rank::rng::Stream;
use foltr_rank::{Clicks, MAX_SHOWN};
use rand::Rng;

use super::{Cascade, ClickModel, Preset, UnknownGrades, threshold};

/// A position-based user.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionBased {
    click: Vec<f64>,
    eta: f64,
    /// By position, then label.
    thresholds: Vec<u64>,
}

impl PositionBased {
    /// Clicks on what is examined as the perfect user does, for labels 0 to `max_label`.
    pub fn perfect(eta: f64, max_label: u8) -> Result<Self, UnknownGrades> {
        Ok(Self::new(eta, Cascade::preset(Preset::Perfect, max_label)?.click_probabilities()))
    }

    /// Any position-based user: P(click | label, examined), and how fast attention falls.
    ///
    /// # Panics
    /// If eta is negative or something is no probability.
    pub fn new(eta: f64, click: &[f64]) -> Self {
        assert!(eta >= 0.0 && click.iter().all(|p| (0.0..=1.0).contains(p)), "eta = {eta}, clicks {click:?}");
        let examined = |position: usize| ((position + 1) as f64).powf(-eta);
        let thresholds =
            (0..MAX_SHOWN).flat_map(|position| click.iter().map(move |c| threshold(c * examined(position)))).collect();
        Self { click: click.to_vec(), eta, thresholds }
    }
}

impl ClickModel for PositionBased {
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
