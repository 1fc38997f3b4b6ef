//! A random unit vector that leans towards the direction of the update: pure local privacy for directions.
//!
//! `BDFKR18` Bhowmick, Duchi, Freudiger, Kapoor, Rogers: *Protection Against Reconstruction and Its Applications in
//! Private Federated Learning*, 2018, Algorithm 1 (PrivUnit_2). With unit vector u: with probability p a uniform vector
//! of the cap <v, u> >= gamma, else one of the rest of the sphere, divided by m = E<v, u>, so that it is unbiased. With
//! q = P(<v, u> < gamma) for a uniform v, the densities differ by the factor p q/((1 - p)(1 - q)) at most:
//! epsilon = ln(p/(1 - p)) + ln(q/(1 - q)).
//!
//! The two parts of epsilon are divided so that m is largest, as `AFT22` Asi, Feldman, Talwar: *Optimal Algorithms for
//! Mean Estimation under Local Differential Privacy*, ICML 2022, section 4 recommends.
//!
//! Deviations: only the direction is sent. The length of every message is the same number, `norm` / m. Epsilon is at most
//! 20: beyond, both coins are so nearly certain that double precision knows neither 1 - p nor 1 - q to enough digits, and a
//! label could be below the truth.

use foltr_rank::Update;
use rand::RngExt;
use rand_distr::{Beta, Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use statrs::function::beta::{beta_reg, ln_beta};

use crate::accountant::PrivacyCost;
use crate::message::{Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::gaussian::{check_norm, forget_if_not_finite};
use crate::privacy::parameters::given_or_calibrated;
use crate::privacy::{
    Adjacency, Budget, Circumstances, Explanation, LocalPrivacy, MechanismContext, MechanismError, MechanismParameters,
    Mode, Noise, RoundCost,
};
use foltr_rank::parameter::require;

/// The incomplete beta function is exact enough up to here.
const MOST_PARAMS: usize = 100_000;

/// Between these, an epsilon is that of what is drawn, to [`UNSURE`].
const EPSILONS: std::ops::RangeInclusive<f64> = 1e-6..=20.0;

/// What the incomplete beta function may lack, as an absolute error of epsilon; a label is higher by it. With the most
/// parameters its logarithm is a difference of numbers of 10^6.
const UNSURE: f64 = 2e-8;

/// Ways to divide epsilon that are tried.
const N_SPLITS: u32 = 200;

/// What a random direction needs to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PrivUnitParameters {
    /// Of one message. Give this, or `whole_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Length of the step that a direction stands for.
    pub norm: f64,
    /// The guarantee over the whole run to which epsilon is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_run: Option<Budget>,
}

impl MechanismParameters for PrivUnitParameters {
    type Mechanism = PrivUnit;

    const DEPENDS_ON_MODEL: bool = true;

    fn mechanism(&self, context: &MechanismContext) -> Result<PrivUnit, MechanismError> {
        let calibrate = |budget: Budget| budget.per_message(context.n_rounds).min(*EPSILONS.end());
        let epsilon = given_or_calibrated("epsilon", self.epsilon, self.whole_run, calibrate)?;
        PrivUnit::new(epsilon, self.norm, context.circumstances.n_params)
    }

    fn whole_run(&self) -> Option<Budget> {
        self.whole_run
    }
}

/// A randomised direction a message. Its noise is [`Purpose::Noise`](foltr_rank::rng::Purpose::Noise).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivUnit {
    norm: f64,
    n_params: usize,
    cap: Cap,
}

/// A part of the sphere, and how likely it is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cap {
    probability: f64,
    /// Least inner product with the centre.
    gamma: f64,
    /// Share of the sphere within the cap, at most one half. Not that outside: of nearly 1, few digits of the rest are left.
    inside: f64,
    /// Expected inner product with the centre.
    mean: f64,
}

impl Cap {
    /// The cap with at least the given share of the sphere, chosen with the given probability, in n dimensions.
    fn new(probability: f64, inside: f64, n: usize) -> Self {
        let half = (n as f64 - 1.0) / 2.0;
        let x = quantile(inside, half);
        let rounded = 1.0 - 2.0 * x;
        let gamma = if (1.0 - rounded) / 2.0 < x { rounded.next_down() } else { rounded };
        // The density of <v, u> is (1 - t^2)^((n - 3)/2) / B(1/2, half); its first moment above gamma is elementary.
        let moment = (half * ((1.0 - gamma) * (1.0 + gamma)).ln() - ln_beta(0.5, half)).exp() / (2.0 * half);
        // What gamma truly leaves inside, so that the label is that of the cap in use.
        let inside = beta_reg(half, half, (1.0 - gamma) / 2.0);
        Self {
            probability,
            gamma,
            inside,
            mean: moment * (probability / inside - (1.0 - probability) / (1.0 - inside)),
        }
    }

    fn best(epsilon: f64, n: usize) -> Self {
        let epsilon = epsilon - 2.0 * UNSURE;
        let split = |i: u32| {
            let for_cap = epsilon * f64::from(i) / f64::from(N_SPLITS);
            Self::new(1.0 / (1.0 + (for_cap - epsilon).exp()), 1.0 / (1.0 + for_cap.exp()), n)
        };
        let larger = |a: Self, b: Self| if b.mean > a.mean { b } else { a };
        (1..=N_SPLITS).map(split).fold(split(0), larger)
    }

    /// p (1 - q)/((1 - p) q) for the share q inside; p is a multiple of what the uniform draw can tell apart.
    fn epsilon(&self) -> f64 {
        let odds = |part: f64| (part / (1.0 - part)).ln();
        odds(self.probability) - odds(self.inside) + UNSURE
    }

    /// The inner product of a vector of the chosen part with the centre.
    fn inner_product(&self, half: f64, noise: &mut dyn NoiseSource) -> f64 {
        let is_inside = noise.random::<f64>() < self.probability;
        if is_inside && self.inside < 0.1 {
            return self.tail(half, noise);
        }
        let Ok(law) = Beta::new(half, half) else { unreachable!("half is at least 1/2") };
        loop {
            let t = 2.0 * law.sample(noise) - 1.0;
            if (t >= self.gamma) == is_inside {
                return t;
            }
        }
    }

    /// The same within a small cap: with w = (1 - t^2)/(1 - gamma^2), w^(half - 1) dw is drawn by inversion, and the
    /// remaining factor 1/t of the density is at most 1/gamma.
    fn tail(&self, half: f64, noise: &mut dyn NoiseSource) -> f64 {
        loop {
            let w = noise.random::<f64>().powf(1.0 / half);
            let t = (1.0 - w * (1.0 - self.gamma * self.gamma)).max(0.0).sqrt();
            if noise.random::<f64>() * t <= self.gamma {
                return t;
            }
        }
    }
}

/// The x with I_x(a, a) = share, from above: bisection, for a share of at most one half.
fn quantile(share: f64, a: f64) -> f64 {
    let (mut too_low, mut high) = (0.0, 0.5);
    for _ in 0..100 {
        let middle = (too_low + high) / 2.0;
        *(if beta_reg(a, a, middle) >= share { &mut high } else { &mut too_low }) = middle;
    }
    high
}

impl PrivUnit {
    /// Directions of models of `n_params` parameters; a message costs `epsilon` and stands for a step of length `norm`.
    pub fn new(epsilon: f64, norm: f64, n_params: usize) -> Result<Self, MechanismError> {
        require("epsilon", epsilon, EPSILONS.contains(&epsilon), "a positive number from 1e-6 to 20")?;
        check_norm("norm", norm)?;
        if !(2..=MOST_PARAMS).contains(&n_params) {
            // A line has two directions only; of very many coordinates the share of a cap is not known exactly enough.
            let needed = format!("a direction needs a model of 2 to {MOST_PARAMS} parameters, not {n_params}");
            return Err(MechanismError::new("kind", needed + "; use kind = \"duchi\""));
        }
        Ok(Self { norm, n_params, cap: Cap::best(epsilon, n_params) })
    }

    /// Of one message, as it is drawn.
    pub fn epsilon(&self) -> f64 {
        self.cap.epsilon()
    }

    /// Probability of the cap, and the least inner product with the true direction within it.
    pub const fn cap(&self) -> (f64, f64) {
        (self.cap.probability, self.cap.gamma)
    }

    pub fn message_norm(&self) -> f64 {
        self.norm / self.cap.mean
    }
}

impl LocalPrivacy for PrivUnit {
    fn protect(&self, update: Update<'_>, task: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Step { delta, .. } = update else { panic!("a direction is defined for a step, not for outcomes") };
        assert_eq!(delta.len(), self.n_params, "the cap was chosen for another model");
        // The number of interactions is nobody's business: every message says the task's.
        let message = payload.as_step(task.n_interactions);
        // A normal vector without its part along the centre is uniform among the directions across.
        message.extend((0..delta.len()).map(|_| -> f32 { StandardNormal.sample(noise) }));
        let mut centre = delta.to_vec();
        forget_if_not_finite(&mut centre);
        if centre.iter().all(|&x| x == 0.0) {
            // An update of zero has no direction: it gets one by chance.
            centre.iter_mut().for_each(|x| *x = StandardNormal.sample(noise));
        }
        let (length, dot) = (norm(&centre), inner(&centre, message));
        let along = dot / (length * length);
        message.iter_mut().zip(&centre).for_each(|(x, &c)| *x -= (along * f64::from(c)) as f32);
        let t = self.cap.inner_product((delta.len() as f64 - 1.0) / 2.0, noise);
        // The floor is for a draw exactly along the centre, which has no direction across.
        let across = (1.0 - t * t).max(0.0).sqrt() / norm(message).max(f64::MIN_POSITIVE);
        let size = self.message_norm();
        for (x, &c) in message.iter_mut().zip(&centre) {
            *x = (size * (t * f64::from(c) / length + across * f64::from(*x))) as f32;
        }
    }

    fn cost(&self, _: &Circumstances) -> RoundCost {
        RoundCost::new(Adjacency::OtherClicks, PrivacyCost::Pure { epsilon: self.epsilon() })
    }

    fn noise(&self, n_params: usize) -> Noise {
        Noise::Message { deviation: self.message_norm() / (n_params as f64).sqrt() }
    }

    fn mode(&self) -> Mode {
        Mode::Local
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        Explanation::local("A random direction that leans towards that of the update")
    }
}

fn inner(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn norm(a: &[f32]) -> f64 {
    inner(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use crate::privacy::sent;
    use foltr_rank::rng::Purpose;

    fn messages(epsilon: f64, delta: &[f32], n: usize) -> Vec<Vec<f32>> {
        let mechanism = PrivUnit::new(epsilon, 1.0, delta.len()).expect("sound");
        let mut stream = seeded(4, Purpose::Noise, 0, 0);
        let mut draw = || {
            let payload = sent(&mechanism, Update::Step { delta, n_interactions: 1 }, 1, &mut stream);
            let Payload::Step { n_interactions: 4, delta } = payload else { panic!("a step that says 4") };
            delta
        };
        (0..n).map(|_| draw()).collect()
    }

    #[test]
    fn the_division_never_costs_more_than_epsilon() {
        for n in [2, 3, 46, 136, 10_000] {
            for epsilon in [0.1, 1.0, 4.5, 20.0] {
                let mechanism = PrivUnit::new(epsilon, 1.0, n).expect("sound");
                let spent = mechanism.epsilon();
                assert!(spent <= epsilon + 1e-9 && spent > 0.999 * epsilon, "{n} {epsilon}: {spent}");
                assert!(mechanism.cap.mean > 0.0 && mechanism.cap.mean <= 1.0);
            }
        }
    }

    /// ln of the integral of sin^(n - 2) from 0 to an angle, by Simpson's rule.
    fn ln_cap(n: usize, angle: f64) -> f64 {
        let n_steps = 400_000;
        let h = angle / f64::from(n_steps);
        let ln_value = |i: u32| {
            let weight = if i == 0 || i == n_steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            let power = if n == 2 { 0.0 } else { (n as f64 - 2.0) * (h * f64::from(i)).sin().ln() };
            f64::ln(weight) + power
        };
        let values: Vec<f64> = (0..=n_steps).map(ln_value).collect();
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        values.iter().map(|value| (value - largest).exp()).sum::<f64>().ln() + largest + (h / 3.0).ln()
    }

    /// From the share of the sphere *outside* of the cap, 1 - q has no digits left at epsilon 30, and labels were below the
    /// truth, by whole units near 36. The exact ratio of densities comes from both caps, each integrated by itself.
    #[test]
    fn the_label_is_never_below_the_exact_ratio_of_densities() {
        for n in [2, 3, 46, 1000, 100_000] {
            for epsilon in [1e-6, 0.01, 1.0, 8.0, 15.0, 20.0] {
                let mechanism = PrivUnit::new(epsilon, 1.0, n).expect("sound");
                let Cap { probability: p, gamma, .. } = mechanism.cap;
                // The angle between the centre and the rim, without the arc cosine of nearly 1.
                let angle = 2.0 * ((1.0 - gamma) / 2.0).sqrt().asin();
                let others = 2.0 * ((1.0 + gamma) / 2.0).sqrt().asin();
                let exact = (p / (1.0 - p)).ln() + ln_cap(n, others) - ln_cap(n, angle);
                let label = mechanism.epsilon();
                assert!(label >= exact && label <= exact + 1e-7, "{n}, {epsilon}: {label}, not {exact}");
                assert!(label <= epsilon, "{n}, {epsilon}: {label}");
            }
            for epsilon in [20.1, 30.0, 1000.0, 1e-7, 0.0, f64::NAN] {
                assert_eq!(PrivUnit::new(epsilon, 1.0, n).expect_err("refused").key, "epsilon");
            }
        }
    }

    #[test]
    fn messages_are_unbiased_and_of_one_length() {
        let n = 40_000;
        for epsilon in [1.0, 8.0] {
            let messages = messages(epsilon, &[3.0, 0.0, -4.0, 0.0, 0.0], n);
            let length = norm(&messages[0]);
            let mean = |i: usize| messages.iter().map(|message| f64::from(message[i])).sum::<f64>() / n as f64;
            for (i, want) in [0.6, 0.0, -0.8, 0.0, 0.0].into_iter().enumerate() {
                let got = mean(i);
                assert!((got - want).abs() < 5.0 * length / (n as f64).sqrt(), "{epsilon}, {i}: {got} is not {want}");
            }
            assert!(messages.iter().all(|message| (norm(message) / length - 1.0).abs() < 1e-5));
        }
    }

    #[test]
    fn the_cap_is_hit_with_its_probability_by_both_ways_to_draw() {
        let n = 200_000;
        // In two dimensions <v, u> is the cosine of a uniform angle; in 46 it is Beta.
        for (dimension, probability, share) in [(2, 0.7, 0.4), (46, 0.8, 0.5), (46, 0.8, 0.05), (2, 0.8, 0.01)] {
            let cap = Cap::new(probability, share, dimension);
            assert!((cap.inside - share).abs() < 1e-9);
            let mut stream = seeded(6, Purpose::Noise, 0, 0);
            let half = (dimension as f64 - 1.0) / 2.0;
            let draws: Vec<f64> = (0..n).map(|_| cap.inner_product(half, &mut stream)).collect();
            let inside = draws.iter().filter(|&&t| t >= cap.gamma).count() as f64;
            let limit = 5.0 * (n as f64 * probability * (1.0 - probability)).sqrt();
            assert!((inside - n as f64 * probability).abs() < limit, "{inside}");
            let mean = draws.iter().sum::<f64>() / n as f64;
            assert!((mean - cap.mean).abs() < 5.0 / (n as f64).sqrt(), "{mean} is not {}", cap.mean);
        }
    }

    #[test]
    fn a_zero_update_gives_no_direction_away() {
        for update in [[0.0; 3], [f32::NAN, 1.0, 0.0], [f32::INFINITY, 1.0, 0.0]] {
            let messages = messages(4.0, &update, 20_000);
            let length = norm(&messages[0]);
            let mean = messages.iter().map(|message| f64::from(message[0])).sum::<f64>() / 20_000.0;
            assert!(mean.abs() < 5.0 * length / 20_000_f64.sqrt(), "{mean}");
        }
    }
}
