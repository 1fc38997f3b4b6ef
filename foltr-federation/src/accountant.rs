//! What do messages give away, over a whole run?
//!
//! A mechanism says what one message costs: [`PrivacyCost`]. Costs are added as Renyi divergences ([`renyi`]), of which
//! concentrated differential privacy ([`zcdp`]) and epsilon ([`pure`]) are special cases, and as laws of the privacy loss
//! (`loss_distribution`), where these are known; they become one [`Guarantee`] at the end. Gaussian noise
//! ([`gaussian`]) has an exact answer, and discrete shares of it ([`distributed`]) nearly the same. Against whom a
//! guarantee holds, and under which assumptions, is for those to say who know what the attacker sees.
//!
//! Every result is on the high side: never below the formula that it stands for. It is at most a millionth above it, or a
//! thousandth where laws of losses are put on a grid.

pub mod distributed;
pub mod gaussian;
pub mod laplace;
mod loss_distribution;
pub mod pure;
pub mod renyi;
pub mod response;
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
    /// Pure epsilon of one message, against whoever reads it.
    Pure { epsilon: f64 },
    /// Answers that are randomised one by one, against whoever reads the message: each is the truth with this probability,
    /// else any other of the outcomes.
    Response { probability: f64, n_outcomes: u32, n_answers: u32 },
    /// Discrete Gaussian shares of noise, against whoever sees the sum only, by both of two theorems: rho of
    /// zero-concentrated privacy; and what is published is within a factor of e^slack or e^-slack as likely as under
    /// continuous Gaussian noise with this mu ([`distributed`]).
    DiscreteGaussian { rho: f64, mu: f64, slack: f64 },
    /// Gaussian noise on the sum, against whoever sees the sum only: mu is the l2-sensitivity over the deviation.
    Gaussian { mu: f64 },
    /// Gaussian noise, a multiple of the l2-sensitivity, on the sum of those who take part by a coin that nobody sees.
    /// This is the price of the coin: it is paid in every round, also in those in which the coin says no.
    Subsampled { probability: f64, noise_multiplier: f64 },
    /// Laplace noise on every coordinate, against whoever sees the sum only, which a client can shift so far in l2.
    Laplace { scale: f64, shift: f64, n_params: usize },
}

impl PrivacyCost {
    /// The pure epsilon of one message; infinite where there is only one with a delta.
    pub fn epsilon(&self) -> f64 {
        match *self {
            Self::Pure { epsilon } => epsilon,
            Self::Response { n_answers: 0, .. } => 0.0,
            Self::Response { probability, n_outcomes, n_answers } => {
                f64::from(n_answers) * response::epsilon(probability, n_outcomes)
            }
            Self::Laplace { scale, shift, n_params } => laplace::epsilon(scale, shift, n_params),
            Self::Unbounded | Self::DiscreteGaussian { .. } | Self::Gaussian { .. } | Self::Subsampled { .. } => {
                f64::INFINITY
            }
        }
    }

    /// The cost as four numbers: what a ledger's checksum covers and a receipt signs. No two costs have the same.
    pub(crate) fn words(&self) -> [u64; 4] {
        match *self {
            Self::Unbounded => [0; 4],
            Self::Pure { epsilon } => [1, epsilon.to_bits(), 0, 0],
            Self::DiscreteGaussian { rho, mu, slack } => [2, rho.to_bits(), mu.to_bits(), slack.to_bits()],
            Self::Gaussian { mu } => [3, mu.to_bits(), 0, 0],
            Self::Laplace { scale, shift, n_params } => [4, scale.to_bits(), shift.to_bits(), n_params as u64],
            Self::Subsampled { probability, noise_multiplier } => {
                [5, probability.to_bits(), noise_multiplier.to_bits(), 0]
            }
            Self::Response { probability, n_outcomes, n_answers } => {
                [6, probability.to_bits(), n_outcomes.into(), n_answers.into()]
            }
        }
    }

    /// What a round costs in which some of the clients that others count on send nothing: noise that is made of
    /// everybody's share is not Laplace without one of them, and nothing is known of it.
    #[must_use]
    pub const fn without_some_shares(self) -> Self {
        match self {
            Self::Laplace { .. } => Self::Unbounded,
            cost => cost,
        }
    }

    /// The pure epsilon of one interaction, where each of a message is randomised by itself.
    pub fn per_interaction(&self) -> Option<f64> {
        match *self {
            Self::Response { probability, n_outcomes, .. } => Some(response::epsilon(probability, n_outcomes)),
            _ => None,
        }
    }

    /// Renyi divergence of order 1 + t of one message.
    pub fn divergence(&self, t: f64) -> f64 {
        match *self {
            Self::Unbounded => f64::INFINITY,
            Self::Pure { epsilon } => pure::divergence(epsilon, t),
            Self::Response { n_answers: 0, .. } => 0.0,
            Self::Response { probability, n_outcomes, n_answers } => {
                f64::from(n_answers) * response::divergence(probability, n_outcomes, t)
            }
            Self::DiscreteGaussian { rho, .. } => (1.0 + t) * rho,
            Self::Gaussian { mu } => (1.0 + t) * mu * mu / 2.0 * ABOVE,
            Self::Subsampled { probability, noise_multiplier } => {
                subsampled::divergence(probability, noise_multiplier, t)
            }
            Self::Laplace { scale, shift, n_params } => laplace::spread_divergence(scale, shift, n_params, t),
        }
    }

    /// mu of Gaussian noise that hides no more than this, and the slack between the two; infinite where there is none.
    /// A coin that decides about taking part never adds to what the noise alone gives away.
    fn as_gaussian(&self) -> (f64, f64) {
        match *self {
            Self::Gaussian { mu } => (mu, 0.0),
            Self::DiscreteGaussian { mu, slack, .. } => (mu, slack),
            Self::Subsampled { probability: 0.0, .. } => (0.0, 0.0),
            Self::Subsampled { noise_multiplier, .. } => (noise_multiplier.recip(), 0.0),
            _ => (f64::INFINITY, 0.0),
        }
    }

    /// What this many messages guarantee together: the best of [`bounds`].
    pub fn after(&self, messages: u32, delta: f64) -> Guarantee {
        total(&[(*self, messages)], delta)
    }
}

/// What messages of several kinds guarantee together, by every theorem that applies: epsilons add up, without a delta;
/// Renyi divergences add up; Gaussian noise of several rounds is Gaussian noise of one; laws of losses are convolved.
pub fn bounds(costs: &[(PrivacyCost, u32)], delta: f64) -> Vec<Guarantee> {
    let (mut all, known) = quick_bounds(costs, delta);
    let by_losses = loss_distribution::epsilon(costs, delta, known);
    all.push(Guarantee { epsilon: by_losses, delta });
    all.retain(|guarantee| guarantee.epsilon.is_finite());
    all
}

/// Those that take no time, and what is known from them.
fn quick_bounds(costs: &[(PrivacyCost, u32)], delta: f64) -> (Vec<Guarantee>, loss_distribution::Known) {
    // No message costs nothing, even where one would cost infinitely much; and the sum of nothing is 0, not -0.
    let sum = |of: &dyn Fn(&PrivacyCost) -> f64| -> f64 {
        costs.iter().filter(|(_, n)| *n > 0).fold(0.0, |sum, (cost, n)| sum + f64::from(*n) * of(cost))
    };
    let mu = sum(&|cost| cost.as_gaussian().0.powi(2)).sqrt() * ABOVE;
    // What is within a factor of e^s of (epsilon, delta) is (epsilon + 2 s, delta e^s).
    let slack = sum(&|cost| cost.as_gaussian().1) * ABOVE;
    let (order, by_renyi) = renyi::best(|t| sum(&|cost| cost.divergence(t)), delta);
    let all = vec![
        Guarantee { epsilon: sum(&PrivacyCost::epsilon), delta: 0.0 },
        Guarantee { epsilon: by_renyi, delta },
        Guarantee { epsilon: gaussian::epsilon(mu, delta * (-slack).exp()) + 2.0 * slack, delta },
    ];
    (all, loss_distribution::Known { epsilon: by_renyi, order })
}

/// The best of [`bounds`]; infinite where no theorem applies.
pub fn total(costs: &[(PrivacyCost, u32)], delta: f64) -> Guarantee {
    best(bounds(costs, delta), delta)
}

/// Whether messages stay within a budget, by the bounds that take no time if these are enough.
pub fn is_within(costs: &[(PrivacyCost, u32)], budget: Guarantee) -> bool {
    // Not `>`: what is not a number is not within a budget.
    let fits = |guarantee: Guarantee| guarantee.epsilon <= budget.epsilon;
    fits(best(quick_bounds(costs, budget.delta).0, budget.delta)) || fits(total(costs, budget.delta))
}

fn best(bounds: Vec<Guarantee>, delta: f64) -> Guarantee {
    let none = Guarantee { epsilon: f64::INFINITY, delta };
    let better = |best: Guarantee, next: Guarantee| {
        let worth = if best.delta < next.delta { WORTH_A_DELTA } else { 1.0 };
        if next.epsilon < best.epsilon * worth { next } else { best }
    };
    bounds.into_iter().fold(none, better)
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
        let infinite = PrivacyCost::Pure { epsilon: f64::INFINITY };
        assert_eq!(infinite.after(1, 1e-5).epsilon, f64::INFINITY);
        assert!(bounds(&[(PrivacyCost::Unbounded, 1)], 1e-5).is_empty());
    }

    #[test]
    fn pure_messages_add_up_or_concentrate() {
        let large = PrivacyCost::Pure { epsilon: 18.0 };
        assert_eq!(large.after(1, 1e-5), Guarantee { epsilon: 18.0, delta: 0.0 });
        let small = PrivacyCost::Pure { epsilon: 0.1 };
        let many = small.after(1000, 1e-5);
        assert!(many.delta == 1e-5 && many.epsilon < pure::composed(0.1, 1000, 1e-5), "{many:?}");
        assert_eq!(small.after(1000, 0.0), Guarantee { epsilon: 100.0, delta: 0.0 });
    }

    #[test]
    fn answers_of_a_message_add_up_one_by_one() {
        let message = |n_answers| PrivacyCost::Response { probability: 0.25, n_outcomes: 11, n_answers };
        assert_near(message(8).after(50, 1e-5).epsilon, message(1).after(400, 1e-5).epsilon);
        assert_near(message(8).epsilon(), 8.0 * (10.0_f64 / 3.0).ln());
        assert_near(message(8).per_interaction().expect("one by one"), (10.0_f64 / 3.0).ln());
        assert_eq!(message(0).after(50, 1e-5), Guarantee { epsilon: 0.0, delta: 0.0 });
    }

    /// The sum of no numbers is -0 in floating point, which was printed as an epsilon of -0.0.
    #[test]
    fn no_message_costs_zero_without_a_sign() {
        let costs = [
            PrivacyCost::Unbounded,
            PrivacyCost::Pure { epsilon: 1.0 },
            PrivacyCost::Response { probability: 0.5, n_outcomes: 11, n_answers: 2 },
            distributed::cost(10.0, 4.0, 1, 1),
            PrivacyCost::Gaussian { mu: 1.0 },
            PrivacyCost::Subsampled { probability: 0.1, noise_multiplier: 1.0 },
            PrivacyCost::Laplace { scale: 1.0, shift: 1.0, n_params: 3 },
        ];
        let none = costs.map(|cost| cost.after(0, 1e-5));
        for guarantee in none.into_iter().chain([total(&[], 1e-5)]).chain(bounds(&[], 1e-5)) {
            assert_eq!(guarantee.epsilon.to_bits(), 0.0_f64.to_bits(), "{guarantee:?}");
        }
        let PrivacyCost::DiscreteGaussian { rho, slack, .. } = costs[3] else { panic!("a discrete Gaussian") };
        assert!(rho > 0.0 && slack.is_sign_positive() && distributed::tau(1, 4.0).is_sign_positive());
    }

    #[test]
    fn gaussian_noise_has_an_exact_bound_and_discrete_shares_nearly_the_same() {
        let exact = PrivacyCost::Gaussian { mu: 0.1 };
        let nearly = PrivacyCost::DiscreteGaussian { rho: 0.005, mu: 0.1, slack: 1e-9 };
        let by_zcdp = PrivacyCost::DiscreteGaussian { rho: 0.005, mu: 0.1, slack: 1.0 };
        let exactly = gaussian::epsilon(200.0_f64.sqrt() * 0.1, 1e-5);
        assert_near(exact.after(200, 1e-5).epsilon, exactly);
        let nearly = nearly.after(200, 1e-5).epsilon;
        // 2 * 200 slacks, and delta e^-(200 slacks).
        assert!(nearly >= exactly + 4e-7 && nearly < exactly + 6e-7, "{nearly}, {exactly}");
        assert_near(by_zcdp.after(200, 1e-5).epsilon, zcdp::epsilon(1.0, 1e-5));
        assert_eq!(bounds(&[(exact, 200)], 1e-5).len(), 2);
    }

    #[test]
    fn a_coin_never_adds_to_what_the_noise_alone_gives_away() {
        let sampled = |probability| PrivacyCost::Subsampled { probability, noise_multiplier: 10.0 };
        let exact = gaussian::epsilon(200.0_f64.sqrt() / 10.0, 1e-5);
        assert_near(sampled(1.0).after(200, 1e-5).epsilon, exact);
        let nearly_always = sampled(0.999).after(200, 1e-5).epsilon;
        assert!(nearly_always <= exact * (1.0 + 1e-8) && nearly_always > 0.99 * exact, "{nearly_always}, {exact}");
        assert_eq!(sampled(0.0).after(200, 1e-5).epsilon, 0.0);
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
            (PrivacyCost::DiscreteGaussian { rho: 0.01, mu: 0.02_f64.sqrt(), slack: 0.0 }, 10),
            (PrivacyCost::Gaussian { mu: 0.1 }, 10),
            (PrivacyCost::Pure { epsilon: 0.05 }, 40),
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
            r#"{"kind":"pure","epsilon":6.0}"#,
            r#"{"kind":"response","probability":0.25,"n_outcomes":11,"n_answers":4}"#,
            r#"{"kind":"discrete-gaussian","rho":0.5,"mu":1.0,"slack":1e-9}"#,
            r#"{"kind":"gaussian","mu":0.25}"#,
            r#"{"kind":"subsampled","probability":0.1,"noise_multiplier":2.0}"#,
            r#"{"kind":"laplace","scale":1.25,"shift":5.0,"n_params":46}"#,
        ] {
            let cost: PrivacyCost = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&cost).expect(text), text);
        }
    }
}
