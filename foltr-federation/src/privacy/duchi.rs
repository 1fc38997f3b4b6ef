//! One bit about one coordinate of the update: pure local privacy that is easy to do right.
//!
//! `DJW18` Duchi, Jordan, Wainwright: *Minimax Optimal Procedures for Locally Private Estimation*, JASA 113, 2018,
//! section 4.2 in one dimension. With x in \[-1, 1\] the device sends the sign of
//! +-(e^eps + 1)/(e^eps - 1), where P(+) = 1/2 + x (e^eps - 1)/(2 (e^eps + 1)): unbiased.
//!
//! Which coordinate is sent is drawn without looking at the update (`NXYHSS16` Nguyên, Xiao, Yang, Hui, Shin, Shin:
//! *Collecting and Analyzing Data from Smart Device Users with Local Differential Privacy*, 2016, Algorithm 1) and the
//! value is multiplied by the number of coordinates, so the message is unbiased as a whole and costs epsilon once.

use foltr_rank::Update;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::accountant::PrivacyCost;
use crate::message::{Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::gaussian::check_norm;
use crate::privacy::parameters::given_or_calibrated;
use crate::privacy::{
    Adjacency, Budget, Circumstances, Explanation, LocalPrivacy, MechanismContext, MechanismError, MechanismParameters,
    Mode, Noise, RoundCost,
};
use foltr_rank::parameter::{ParameterError, require};

/// Beyond this epsilon, double precision would tell the truth with certainty; below the other, it would not tell it at all.
const MOST_EPSILON: f64 = 30.0;
const LEAST_EPSILON: f64 = 1e-12;

/// What rounding can add to twice the probability of a sign: the draw has 53 bits, and so has what it is compared with.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// What one bit needs to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DuchiParameters {
    /// Of one message. Give this, or `whole_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// A coordinate is clipped to this size.
    pub bound: f64,
    /// The guarantee over the whole run to which epsilon is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_run: Option<Budget>,
}

impl MechanismParameters for DuchiParameters {
    type Mechanism = Duchi;

    fn mechanism(&self, context: &MechanismContext) -> Result<Duchi, MechanismError> {
        let calibrate = |budget: Budget| budget.per_message(context.n_rounds).min(MOST_EPSILON);
        let epsilon = given_or_calibrated("epsilon", self.epsilon, self.whole_run, calibrate)?;
        Ok(Duchi::new(epsilon, self.bound)?)
    }

    fn whole_run(&self) -> Option<Budget> {
        self.whole_run
    }
}

/// One randomised bit a message. Its stream is [`Purpose::Noise`](foltr_rank::rng::Purpose::Noise).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duchi {
    epsilon: f64,
    bound: f64,
}

impl Duchi {
    /// Coordinates are clipped to \[-bound, bound\]; a message costs `epsilon`.
    pub fn new(epsilon: f64, bound: f64) -> Result<Self, ParameterError> {
        let holds = (LEAST_EPSILON..=MOST_EPSILON).contains(&epsilon);
        require("epsilon", epsilon, holds, "above 0, not below 1e-12, and at most 30")?;
        check_norm("bound", bound)?;
        Ok(Self { epsilon, bound })
    }

    pub const fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// What is sent in the chosen one of so many coordinates, but for its sign.
    fn size(&self, n_params: usize) -> f64 {
        self.bound * n_params as f64 / self.certainty()
    }

    /// (e^eps - 1)/(e^eps + 1), less what rounding may add when it is used.
    fn certainty(&self) -> f64 {
        (self.epsilon / 2.0).tanh() - ROUNDING
    }

    /// The probability of a positive sign for a coordinate of this share of the bound.
    fn positive(&self, value: f64) -> f64 {
        0.5 + value * self.certainty() / 2.0
    }
}

impl LocalPrivacy for Duchi {
    fn protect(&self, update: Update<'_>, task: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Step { delta, .. } = update else { panic!("one bit is defined for a step, not for outcomes") };
        let coordinate = noise.random_range(0..delta.len());
        // What is not a number counts as zero.
        let value = if delta[coordinate].is_nan() { 0.0 } else { f64::from(delta[coordinate]) / self.bound };
        let value = value.clamp(-1.0, 1.0);
        let is_positive = noise.random::<f64>() < self.positive(value);
        let size = self.size(delta.len());
        // The number of interactions is nobody's business: every message says the task's.
        let step = payload.as_step(task.n_interactions);
        step.resize(delta.len(), 0.0);
        step[coordinate] = if is_positive { size } else { -size } as f32;
    }

    fn cost(&self, _: &Circumstances) -> RoundCost {
        RoundCost::new(Adjacency::OtherClicks, PrivacyCost::Pure { epsilon: self.epsilon })
    }

    fn noise(&self, n_params: usize) -> Noise {
        Noise::Message { deviation: self.size(n_params) / (n_params as f64).sqrt() }
    }

    fn mode(&self) -> Mode {
        Mode::Local
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        Explanation::local("One randomised bit about one coordinate of the update")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use crate::privacy::sent;
    use foltr_rank::rng::Purpose;

    fn counts(epsilon: f64, delta: &[f32], n: usize) -> Vec<[usize; 2]> {
        let mechanism = Duchi::new(epsilon, 0.5).expect("positive");
        let mut stream = seeded(4, Purpose::Noise, 0, 0);
        let mut counts = vec![[0; 2]; delta.len()];
        for _ in 0..n {
            let payload = sent(&mechanism, Update::Step { delta, n_interactions: 1 }, 1, &mut stream);
            let Payload::Step { n_interactions: 4, delta } = payload else { panic!("a step that says 4") };
            let coordinates: Vec<usize> = (0..delta.len()).filter(|&i| delta[i] != 0.0).collect();
            assert_eq!(coordinates.len(), 1);
            counts[coordinates[0]][usize::from(delta[coordinates[0]] > 0.0)] += 1;
        }
        counts
    }

    /// At epsilon 30 the probability of the rarer sign is 1e-13, of which double precision near 1 keeps three digits: the
    /// true epsilon was up to .001 above the label. Counted in the 2^53 values of a draw, no ratio exceeds it now.
    #[test]
    fn no_ratio_of_probabilities_exceeds_the_label() {
        let last_epsilons = (0..400).map(|i| 26.0 + 0.01 * f64::from(i));
        for epsilon in last_epsilons.chain([1e-12, 1e-9, 1e-4, 0.3, 1.0, 4.5, 20.0]) {
            let mechanism = Duchi::new(epsilon, 0.5).expect("allowed");
            let n_draws = 2_f64.powi(53);
            // How many of the 2^53 values are below the probability.
            let n_below = |value: f64| (mechanism.positive(value) * n_draws).ceil();
            let (high, low) = (n_below(1.0), n_below(-1.0));
            for (more, fewer) in [(high, low), (n_draws - low, n_draws - high)] {
                let exact = ((more - fewer) / fewer).ln_1p();
                assert!(exact <= epsilon && exact > 0.99 * epsilon, "{epsilon}: {exact}");
            }
        }
        assert!(Duchi::new(1e-13, 0.5).is_err());
    }

    #[test]
    fn coordinates_are_uniform_and_signs_have_the_law_of_the_paper() {
        let n = 400_000;
        // 2 is clipped to the bound .5, so x = 1; .1 is x = .2; what is not a number is a fair coin, as 0 is.
        let counts = counts(1.5, &[2.0, -0.1, f32::NAN, 0.5], n);
        let certainty = (1.5_f64.exp() - 1.0) / (1.5_f64.exp() + 1.0);
        for (counts, x) in counts.iter().zip([1.0, -0.2, 0.0, 1.0]) {
            let (total, plus) = ((counts[0] + counts[1]) as f64, counts[1] as f64);
            // Five standard deviations of Binomial(n, 1/4) and of the signs.
            assert!((total - n as f64 / 4.0).abs() < 5.0 * (n as f64 * 0.1875).sqrt(), "{total}");
            let p = 0.5 + x * certainty / 2.0;
            assert!((plus - total * p).abs() < 5.0 * (total * p * (1.0 - p)).sqrt(), "{plus} of {total} at {p}");
        }
    }
}
