//! What do messages give away, over a whole run?
//!
//! A mechanism says what one message costs: [`PrivacyCost`]. Costs are added as Renyi divergences ([`renyi`]), of which
//! concentrated differential privacy ([`zcdp`]) and epsilon ([`pure`]) are special cases, and become one [`Guarantee`]
//! at the end. Gaussian noise ([`gaussian`]) has an exact answer. Against whom a guarantee holds, and under which
//! assumptions, is for those to say who know what the attacker sees.
//!
//! Every result is on the high side: never below the formula that it stands for, and at most a millionth above it.

pub mod distributed;
pub mod gaussian;
pub mod laplace;
pub mod pure;
pub mod renyi;
mod search;
pub mod subsampled;
pub mod zcdp;

use serde::{Deserialize, Serialize};

/// Times this, a result is above what rounding can have taken from it.
pub(crate) const ABOVE: f64 = 1.0 + 1e-9;

/// A guarantee without a delta is given up only for an epsilon that is smaller by this factor.
const WORTH_A_DELTA: f64 = 0.99;

/// Differential privacy: any event is at most e^epsilon times as likely, plus delta, on neighbouring data.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Guarantee {
    /// May be infinite: then there is none.
    pub epsilon: f64,
    /// 0 is pure differential privacy.
    pub delta: f64,
}

/// What one message costs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum PrivacyCost {
    /// Nothing is hidden.
    Unbounded,
    /// Pure epsilon of one message, against whoever reads it; and of an interaction, where each is randomised.
    Pure { per_interaction: Option<f64>, per_message: f64 },
    /// rho of zero-concentrated privacy of one round, against whoever sees the sum only: noise that is nearly Gaussian.
    /// Sensitivity squared over twice the variance, where it is a discrete Gaussian.
    Concentrated { rho: f64 },
    /// Gaussian noise on the sum, against whoever sees the sum only: mu is the l2-sensitivity over the deviation. Costs a
    /// little less than [`Self::Concentrated`].
    Gaussian { mu: f64 },
    /// Gaussian noise, a multiple of the l2-sensitivity, on the sum of those who take part by a coin that nobody sees.
    Subsampled { probability: f64, noise_multiplier: f64 },
    /// Laplace noise on every coordinate, against whoever sees the sum only, which a client can shift so far in l2.
    Laplace { scale: f64, shift: f64, n_params: usize },
}

impl PrivacyCost {
    /// The pure epsilon of one message; infinite where there is only one with a delta.
    pub fn epsilon(&self) -> f64 {
        match *self {
            Self::Pure { per_message, .. } => per_message,
            Self::Laplace { scale, shift, n_params } => laplace::epsilon(scale, shift, n_params),
            Self::Unbounded | Self::Concentrated { .. } | Self::Gaussian { .. } | Self::Subsampled { .. } => {
                f64::INFINITY
            }
        }
    }

    /// The pure epsilon of one interaction, where each is randomised by itself.
    pub const fn per_interaction(&self) -> Option<f64> {
        if let Self::Pure { per_interaction, .. } = self { *per_interaction } else { None }
    }

    /// Renyi divergence of order 1 + t of one message.
    pub fn divergence(&self, t: f64) -> f64 {
        match *self {
            Self::Unbounded => f64::INFINITY,
            // Interactions that are randomised one by one cost less together than one answer of their whole epsilon.
            Self::Pure { per_interaction: Some(each), per_message } if each > 0.0 && each.is_finite() => {
                per_message / each * pure::divergence(each, t)
            }
            Self::Pure { per_message, .. } => pure::divergence(per_message, t),
            Self::Concentrated { rho } => (1.0 + t) * rho,
            Self::Gaussian { mu } => (1.0 + t) * mu * mu / 2.0 * ABOVE,
            Self::Subsampled { probability, noise_multiplier } => {
                subsampled::divergence(probability, noise_multiplier, t)
            }
            Self::Laplace { scale, shift, n_params } => laplace::spread_divergence(scale, shift, n_params, t),
        }
    }

    /// What this many messages guarantee together: the best of [`bounds`].
    pub fn after(&self, messages: u32, delta: f64) -> Guarantee {
        total(&[(*self, messages)], delta)
    }
}

/// What messages of several kinds guarantee together, by every theorem that applies: epsilons add up, without a delta;
/// Renyi divergences add up; Gaussian noise of several rounds is Gaussian noise of one.
pub fn bounds(costs: &[(PrivacyCost, u32)], delta: f64) -> Vec<Guarantee> {
    let sum = |of: &dyn Fn(&PrivacyCost) -> f64| -> f64 {
        // No message costs nothing, even where one would cost infinitely much.
        costs.iter().filter(|(_, n)| *n > 0).map(|(cost, n)| f64::from(*n) * of(cost)).sum()
    };
    let squared_mu = sum(&|cost| if let PrivacyCost::Gaussian { mu } = cost { mu * mu } else { f64::INFINITY });
    let by_renyi = renyi::epsilon(|t| sum(&|cost| cost.divergence(t)), delta);
    let all = [
        Guarantee { epsilon: sum(&PrivacyCost::epsilon), delta: 0.0 },
        Guarantee { epsilon: by_renyi, delta },
        Guarantee { epsilon: gaussian::epsilon(squared_mu.sqrt() * ABOVE, delta), delta },
    ];
    all.into_iter().filter(|guarantee| guarantee.epsilon.is_finite()).collect()
}

/// The best of [`bounds`]; infinite where no theorem applies.
pub fn total(costs: &[(PrivacyCost, u32)], delta: f64) -> Guarantee {
    let none = Guarantee { epsilon: f64::INFINITY, delta };
    let better = |best: Guarantee, next: Guarantee| {
        let worth = if best.delta < next.delta { WORTH_A_DELTA } else { 1.0 };
        if next.epsilon < best.epsilon * worth { next } else { best }
    };
    bounds(costs, delta).into_iter().fold(none, better)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(ours: f64, known: f64) {
        assert!((ours / known - 1.0).abs() < 1e-6, "{ours}, not {known}");
    }

    #[test]
    fn nothing_hidden_is_not_bounded() {
        assert_eq!(PrivacyCost::Unbounded.after(1, 1e-5).epsilon, f64::INFINITY);
        assert_eq!(PrivacyCost::Unbounded.after(0, 1e-5).epsilon, 0.0);
        let infinite = PrivacyCost::Pure { per_interaction: None, per_message: f64::INFINITY };
        assert_eq!(infinite.after(1, 1e-5).epsilon, f64::INFINITY);
        assert!(bounds(&[(PrivacyCost::Unbounded, 1)], 1e-5).is_empty());
    }

    #[test]
    fn pure_messages_add_up_or_concentrate() {
        let large = PrivacyCost::Pure { per_interaction: Some(4.5), per_message: 18.0 };
        assert_eq!(large.after(1, 1e-5), Guarantee { epsilon: 18.0, delta: 0.0 });
        let small = PrivacyCost::Pure { per_interaction: None, per_message: 0.1 };
        let many = small.after(1000, 1e-5);
        assert_eq!((many.epsilon, many.delta), (pure::composed(0.1, 1000, 1e-5), 1e-5));
        assert!(many.epsilon < 40.0);
        assert_eq!(small.after(1000, 0.0), Guarantee { epsilon: 100.0, delta: 0.0 });
    }

    #[test]
    fn answers_that_are_randomised_one_by_one_add_up_one_by_one() {
        let message = PrivacyCost::Pure { per_interaction: Some(0.1), per_message: 0.8 };
        assert_near(message.after(50, 1e-5).epsilon, pure::composed(0.1, 400, 1e-5));
        let at_once = PrivacyCost::Pure { per_interaction: None, per_message: 0.8 };
        assert!(message.after(50, 1e-5).epsilon < 0.5 * at_once.after(50, 1e-5).epsilon);
    }

    #[test]
    fn gaussian_noise_has_two_bounds_and_the_exact_one_is_smaller() {
        let (exact, nearly) = (PrivacyCost::Gaussian { mu: 0.1 }, PrivacyCost::Concentrated { rho: 0.005 });
        assert_near(exact.after(200, 1e-5).epsilon, gaussian::epsilon(200.0_f64.sqrt() * 0.1, 1e-5));
        assert_near(nearly.after(200, 1e-5).epsilon, zcdp::epsilon(1.0, 1e-5));
        assert!(exact.after(200, 1e-5).epsilon < nearly.after(200, 1e-5).epsilon);
        assert_eq!(bounds(&[(exact, 200)], 1e-5).len(), 2);
    }

    #[test]
    fn fpdgd_has_the_known_numbers() {
        // MQ2007, "epsilon 4.5", Delta 5: 46 weights, clipped to Delta/2 (paper) or Delta (released code).
        for (radius, one_round, thousand) in [(2.5, 30.5, 8806.0), (5.0, 61.0, 28_267.0)] {
            let cost = PrivacyCost::Laplace { scale: 5.0 / 4.5, shift: 2.0 * radius, n_params: 46 };
            assert!((cost.epsilon() - one_round).abs() < 0.05);
            assert!((cost.after(1000, 1e-5).epsilon / thousand - 1.0).abs() < 0.001);
        }
    }

    #[test]
    fn different_messages_cost_less_together_than_one_by_one() {
        let costs = [
            (PrivacyCost::Concentrated { rho: 0.01 }, 10),
            (PrivacyCost::Gaussian { mu: 0.1 }, 10),
            (PrivacyCost::Pure { per_interaction: None, per_message: 0.05 }, 40),
        ];
        let together = total(&costs, 1e-5).epsilon;
        let apart: f64 = costs.iter().map(|(cost, n)| cost.after(*n, 1e-5 / 3.0).epsilon).sum();
        assert!(together < apart, "{together}, {apart}");
        // 10 times .01, 10 times .005 and at most 40 times .00125.
        assert!(together <= zcdp::epsilon(0.2, 1e-5) * (1.0 + 1e-6));
    }

    #[test]
    fn costs_survive_a_round_trip() {
        for text in [
            r#"{"kind":"unbounded"}"#,
            r#"{"kind":"pure","per_interaction":1.5,"per_message":6.0}"#,
            r#"{"kind":"concentrated","rho":0.5}"#,
            r#"{"kind":"gaussian","mu":0.25}"#,
            r#"{"kind":"subsampled","probability":0.1,"noise_multiplier":2.0}"#,
            r#"{"kind":"laplace","scale":1.25,"shift":5.0,"n_params":46}"#,
        ] {
            let cost: PrivacyCost = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&cost).expect(text), text);
        }
    }
}
