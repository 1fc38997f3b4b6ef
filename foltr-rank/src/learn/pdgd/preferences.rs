//! What the clicks on one list say, for any model to learn from: pairs of shown documents, the first preferred.
//!
//! PDGD (`OdR18`, Eqs. 6 and 8; spec section 6.3) weighs a pair by rho, which undoes the position bias of the list and so
//! belongs to the model that *ranked* it, times the slope of the pair's probability, which belongs to the model that
//! *learns*. When both are the same model this is PDGD; when a device ranks with one model and another learns from
//! the same clicks, each factor is taken where it belongs.

use crate::elementary::{exp, ln};
use crate::query::MAX_SHOWN;
use crate::simd::two_widths;

/// Pairs of positions of one list.
///
/// ```
/// use foltr_rank::learn::OnlineLearner;
/// use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Preferences, Updates};
/// use foltr_rank::rng::{Purpose, Streams};
/// use foltr_rank::{Candidates, Clicks, Impression, Ranking, Shape};
///
/// let settings = PdgdSettings {
///     learning_rate: 0.1,
///     updates: Updates::Immediate,
///     n_shown: 3,
///     clip_radius: None,
///     proximal: 0.0,
///     max_displacement: None,
/// };
/// let mut pdgd = Pdgd::new(Shape::Linear { n_features: 1 }, settings);
/// let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0);
/// pdgd.begin(&[1.0], &mut random);
/// let (query, mut ranking) = (Candidates::new(&[0.0, 1.0, 2.0], 1)?, Ranking::default());
/// pdgd.rank(query.view(), &mut random, &mut ranking);
/// // The second document was clicked, the first and the third were not.
/// let mut preferences = Preferences::default();
/// pdgd.preferences(&Impression::new(query.view(), &ranking, Clicks(0b010)), &mut preferences);
/// let weights = preferences.weights(&[0.0; 3], 1.0);
/// assert!(weights[1] > 0.0 && weights[0] < 0.0 && weights[2] < 0.0);
/// # Ok::<(), foltr_rank::QueryError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    pairs: Vec<Pair>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    clicked: u8,
    unclicked: u8,
    rho: f32,
}

impl Preferences {
    /// Forgets all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub(super) fn add(&mut self, clicked: usize, unclicked: usize, rho: f64) {
        self.pairs.push(Pair { clicked: clicked as u8, unclicked: unclicked as u8, rho: rho as f32 });
    }

    /// How strongly a model that gives the shown documents these scores is to move each of them: PDGD's weights, times
    /// `rate`.
    pub fn weights(&self, scores: &[f32], rate: f32) -> [f32; MAX_SHOWN] {
        pair_weights(&self.pairs, scores, rate)
    }

    /// Sum over pairs of rho ln P(clicked before unclicked), in a model that gives the shown documents these scores.
    pub fn log_likelihood(&self, scores: &[f32]) -> f32 {
        log_likelihood(&self.pairs, scores)
    }
}

two_widths! {
    fn pair_weights(pairs: &[Pair], scores: &[f32], rate: f32) -> [f32; MAX_SHOWN] {
        let mut weights = [0.0; MAX_SHOWN];
        for &Pair { clicked, unclicked, rho } in pairs {
            let (clicked, unclicked) = (clicked as usize, unclicked as usize);
            let gap = exp(-(scores[clicked] - scores[unclicked]).abs());
            let weight = rate * rho * gap / ((1.0 + gap) * (1.0 + gap));
            weights[clicked] += weight;
            weights[unclicked] -= weight;
        }
        weights
    }
}

two_widths! {
    fn log_likelihood(pairs: &[Pair], scores: &[f32]) -> f32 {
        let mut sum = 0.0;
        for &Pair { clicked, unclicked, rho } in pairs {
            let ahead = scores[clicked as usize] - scores[unclicked as usize];
            // ln(1 / (1 + e^-x)), from the side on which nothing overflows.
            sum += rho * (ahead.min(0.0) - ln(1.0 + exp(-ahead.abs())));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_likelihood_by_hand() {
        let mut preferences = Preferences::default();
        preferences.add(1, 0, 0.5);
        preferences.add(1, 2, 0.25);
        let scores = [0.0, 1.0, 3.0];
        let slope = |x: f64| x.exp() / (1.0 + x.exp()).powi(2);
        let weights = preferences.weights(&scores, 0.1);
        let expected = [-0.05 * slope(1.0), 0.05 * slope(1.0) + 0.025 * slope(2.0), -0.025 * slope(2.0)];
        for (ours, expected) in weights.iter().zip(expected) {
            assert!((f64::from(*ours) - expected).abs() < 1e-7, "{ours} instead of {expected}");
        }
        let log_sigmoid = |x: f64| -(-x).exp().ln_1p();
        let expected = 0.5 * log_sigmoid(1.0) + 0.25 * log_sigmoid(-2.0);
        assert!((f64::from(preferences.log_likelihood(&scores)) - expected).abs() < 1e-6);
        // Far ahead or far behind, nothing overflows.
        assert!((preferences.log_likelihood(&[0.0, 500.0, 1_000.0]) + 125.0).abs() < 1e-3);
        preferences.clear();
        assert!(preferences.is_empty());
        assert_eq!(
            (preferences.weights(&[1.0, 2.0], 1.0), preferences.log_likelihood(&[1.0, 2.0])),
            ([0.0; MAX_SHOWN], 0.0)
        );
    }
}
