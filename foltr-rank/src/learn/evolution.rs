//! FOLtR-ES: evolution strategies on any metric of the clicks.
//!
//! [KO19] Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019, Algorithm 1; spec
//! section 4. The client perturbs the global model in a random direction, shows what the perturbed model ranks, and
//! reports the direction's seed with what the users did.
//!
//! Deviation: the seed that is transmitted generates the perturbation and nothing else. The published code also draws
//! queries and clicks from it, which biases the gradient; that stream is available in the simulation, by name.

use rand::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::normal::fill_standard_normal;
use crate::rng::Stream;

/// What an interaction is worth, as a function of its clicks alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reward {
    /// Reciprocal rank of the first click, 0 without a click: the highest reciprocal rank of all clicks.
    MaxRr,
    /// Sum over clicks of 1/log2(position + 2).
    ClickDcg,
    /// Click DCG with every term divided by the examination probability 1/(position + 1) of a position-based user.
    ClickDcgDebiased,
    /// Mean over the clicks of their reciprocal ranks, 0 without a click.
    ReciprocalRank,
}

impl Reward {
    /// Number of different outcomes of an interaction with `n_shown` documents, for randomised response.
    pub const fn n_outcomes(self, n_shown: usize) -> usize {
        match self {
            Self::MaxRr => n_shown + 1,
            Self::ClickDcg | Self::ClickDcgDebiased | Self::ReciprocalRank => 1 << n_shown,
        }
    }

    /// The outcome of an interaction: the first click (from 1; 0 is none) for [`Self::MaxRr`], else all clicks.
    #[inline]
    pub fn outcome(self, clicks: crate::Clicks) -> u16 {
        match self {
            Self::MaxRr => clicks.first().map_or(0, |position| position as u16 + 1),
            Self::ClickDcg | Self::ClickDcgDebiased | Self::ReciprocalRank => clicks.0 as u16,
        }
    }

    /// What an outcome is worth.
    #[inline]
    pub fn value(self, outcome: u16) -> f64 {
        let clicked = (0..16).filter(|position| outcome >> position & 1 == 1);
        let discount = |position: u32| 1.0 / f64::from(position + 2).log2();
        match self {
            Self::MaxRr if outcome == 0 => 0.0,
            Self::MaxRr => 1.0 / f64::from(outcome),
            Self::ClickDcg => clicked.map(discount).sum(),
            Self::ClickDcgDebiased => clicked.map(|position| discount(position) * f64::from(position + 1)).sum(),
            Self::ReciprocalRank if outcome == 0 => 0.0,
            Self::ReciprocalRank => {
                clicked.map(|position| 1.0 / f64::from(position + 1)).sum::<f64>() / f64::from(outcome.count_ones())
            }
        }
    }
}

/// The direction that a transmitted seed generates: standard normal, one number a parameter. Part of the protocol.
pub fn fill_direction(seed: u32, direction: &mut [f32]) {
    let mut stream = Stream::seed_from_u64(u64::from(seed));
    fill_standard_normal(&mut stream, direction);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clicks;

    #[test]
    fn rewards_of_two_clicks() {
        let clicks = Clicks::from_flags(&[false, true, false, true]);
        let value = |reward: Reward| reward.value(reward.outcome(clicks));
        assert_eq!(value(Reward::MaxRr), 0.5);
        assert_eq!(value(Reward::ReciprocalRank), 0.375);
        let (second, fourth) = (1.0 / 3_f64.log2(), 1.0 / 5_f64.log2());
        assert!((value(Reward::ClickDcg) - (second + fourth)).abs() < 1e-12);
        assert!((value(Reward::ClickDcgDebiased) - (2.0 * second + 4.0 * fourth)).abs() < 1e-12);
    }

    #[test]
    fn no_click_is_worth_nothing() {
        for reward in [Reward::MaxRr, Reward::ClickDcg, Reward::ClickDcgDebiased, Reward::ReciprocalRank] {
            assert_eq!(reward.value(reward.outcome(Clicks::default())), 0.0);
        }
    }

    #[test]
    fn eleven_outcomes_of_max_rr_sum_to_the_tenth_harmonic_number() {
        assert_eq!(Reward::MaxRr.n_outcomes(10), 11);
        let sum: f64 = (0..11).map(|outcome| Reward::MaxRr.value(outcome)).sum();
        assert!((sum - 2.928_968_253_968_254).abs() < 1e-12);
    }
}
