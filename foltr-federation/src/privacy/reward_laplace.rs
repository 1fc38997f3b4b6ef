//! Laplace noise on the mean reward of a message, for rewards of any number of values.
//!
//! `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019, section 3.3 names Laplace
//! noise for continuous metrics and leaves it as future work; `DMNS06` Dwork, McSherry, Nissim, Smith: *Calibrating Noise to
//! Sensitivity in Private Data Analysis*, TCC 2006. With rewards from 0 to R, whatever a client does moves the mean reward
//! of its message by at most R, however many interactions are behind it: noise of scale R/epsilon costs epsilon a message.
//!
//! With mirrored perturbations the server needs the difference of the two sides only. So one number is sent, half of the
//! difference: it moves by at most R, too, and stands with opposite signs on both sides of the message.
//!
//! The number is rounded to the grid of unit R / 2^16, and the noise is a discrete Laplace variate on that grid (`CKS20`
//! Canonne, Kamath, Steinke: *The Discrete Gaussian for Differential Privacy*, NeurIPS 2020, Algorithm 2, by the `prio`
//! crate): the last bits of floating-point noise give away what it hides.

use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::parameter::require;
use prio::dp::Rational;
use prio::dp::distributions::DiscreteLaplace;
use rand::distr::Distribution;
use serde::{Deserialize, Serialize};

use crate::accountant::PrivacyCost;
use crate::message::{Kind, Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::parameters::given_or_calibrated;
use crate::privacy::randomised_response::{check_shown, cost_of_answers, refuse_published};
use crate::privacy::{
    Budget, Circumstances, Explanation, LocalPrivacy, MechanismContext, MechanismError, MechanismParameters, Mode,
    Noise, RoundCost, outcome_values,
};

/// Grid units in the range of the reward.
const LEVELS: f64 = 65_536.0;

/// The fraction with which the sampler receives a scale; it is rounded up to the next one.
const FRACTION: f64 = 1024.0;

const LEAST_EPSILON: f64 = 1e-6;
const MOST_EPSILON: f64 = 1000.0;

/// What Laplace noise on rewards needs to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RewardLaplaceParameters {
    /// Of one message. Give this, or `whole_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The guarantee over the whole run to which epsilon is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_run: Option<Budget>,
}

impl MechanismParameters for RewardLaplaceParameters {
    type Mechanism = RewardLaplace;

    fn mechanism(&self, context: &MechanismContext) -> Result<RewardLaplace, MechanismError> {
        refuse_published(self.whole_run, context)?;
        let calibrate = |budget: Budget| budget.per_message(context.n_rounds).min(MOST_EPSILON);
        let epsilon = given_or_calibrated("epsilon", self.epsilon, self.whole_run, calibrate)?;
        RewardLaplace::new(epsilon, context.reward, context.list_length)
    }

    fn whole_run(&self) -> Option<Budget> {
        self.whole_run
    }
}

/// A noisy mean reward. Its stream is [`Purpose::RandomisedResponse`](foltr_rank::rng::Purpose::RandomisedResponse).
#[derive(Clone, Debug, PartialEq)]
pub struct RewardLaplace {
    epsilon: f64,
    /// By outcome, as shares of the largest.
    shares: Vec<f64>,
    /// R.
    largest: f64,
}

impl RewardLaplace {
    /// A message about lists of at most `n_shown` documents costs `epsilon`.
    pub fn new(epsilon: f64, reward: Reward, n_shown: usize) -> Result<Self, MechanismError> {
        check_shown("epsilon", n_shown)?;
        let holds = (LEAST_EPSILON..=MOST_EPSILON).contains(&epsilon);
        require("epsilon", epsilon, holds, "1e-6 to 1000")?;
        let values = outcome_values(reward, n_shown);
        let largest = values.iter().copied().fold(0.0, f64::max);
        Ok(Self { epsilon, shares: values.iter().map(|value| value / largest).collect(), largest })
    }

    pub const fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The mean of these outcomes as a share of the largest; 0 without any.
    fn mean_share(&self, outcomes: &[u16]) -> f64 {
        let sum: f64 = outcomes.iter().map(|&outcome| self.shares[usize::from(outcome)]).sum();
        sum / outcomes.len().max(1) as f64
    }

    /// What is sent about this share of the largest reward, which no two inputs have further apart than 1.
    fn noisy(&self, share: f64, noise: &mut dyn NoiseSource) -> f32 {
        let scale = (LEVELS / self.epsilon * FRACTION).ceil();
        let scale = Rational::from_unsigned(scale as u64, FRACTION as u64).expect("the fraction is not 0");
        let drawn = DiscreteLaplace::new(scale).expect("a positive scale").sample(noise);
        // A draw beyond 2^63 units does not happen: the scale is at most 2^37.
        let drawn = i64::try_from(drawn).unwrap_or(i64::MAX);
        let units = ((share * LEVELS).round() as i64).saturating_add(drawn);
        (units as f64 * self.largest / LEVELS) as f32
    }
}

impl LocalPrivacy for RewardLaplace {
    fn protect(&self, update: Update<'_>, _: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Evolution { seed, plus, minus } = update else {
            panic!("noise on rewards is defined for outcomes, not for a step")
        };
        let one = self.mean_share(plus);
        *payload = if minus.is_empty() {
            Payload::Evolution { seed, plus: self.noisy(one, noise), minus: None }
        } else {
            let half = self.noisy((one - self.mean_share(minus)) / 2.0, noise);
            Payload::Evolution { seed, plus: half, minus: Some(-half) }
        };
    }

    fn accepts(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Evolution | Kind::EvolutionAntithetic)
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        cost_of_answers(circumstances, PrivacyCost::Pure { epsilon: self.epsilon })
    }

    fn noise(&self, _: usize) -> Noise {
        Noise::Reward { deviation: 2.0_f64.sqrt() * self.largest / self.epsilon }
    }

    fn mode(&self) -> Mode {
        Mode::Local
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        Explanation::local("FOLtR-ES: exact Laplace noise on the mean reward of a message")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::{SeededNoise, seeded};
    use crate::privacy::sent;
    use foltr_rank::rng::Purpose;

    const N: usize = 40_000;

    fn stream() -> SeededNoise {
        seeded(4, Purpose::RandomisedResponse, 0, 0)
    }

    /// What is sent on both sides, so many times.
    fn messages(mechanism: &RewardLaplace, plus: &[u16], minus: &[u16], n: usize) -> Vec<(f64, Option<f32>)> {
        let mut stream = stream();
        let mut message = || match sent(mechanism, Update::Evolution { seed: 1, plus, minus }, 1, &mut stream) {
            Payload::Evolution { seed: 1, plus, minus } => (f64::from(plus), minus),
            other => panic!("{other:?}"),
        };
        (0..n).map(|_| message()).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64)
    }

    #[test]
    fn the_mean_reward_is_sent_without_bias_and_with_the_variance_of_the_label() {
        // Ten clicks are the most: R = 10, scale 10/4 = 2.5, variance 2 * 6.25; the kurtosis of Laplace noise is 6.
        let mechanism = RewardLaplace::new(4.0, Reward::Clicks, 10).expect("positive");
        let sums: Vec<f64> = messages(&mechanism, &[3, 0, 9], &[], N).iter().map(|(plus, _)| *plus).collect();
        let (mean, variance) = moments(&sums);
        let n = N as f64;
        assert!((mean - 4.0).abs() < 5.0 * (12.5 / n).sqrt(), "{mean}");
        assert!((variance / 12.5 - 1.0).abs() < 5.0 * (5.0 / n).sqrt(), "{variance}");
        // P(noise > scale) = e^-1 / 2: another law of the same variance would be seen.
        let tail = sums.iter().filter(|&&x| x - 4.0 > 2.5).count() as f64 / n;
        assert!((tail - 0.183_94).abs() < 5.0 * (0.15 / n).sqrt(), "{tail}");
    }

    #[test]
    fn both_sides_say_half_of_the_difference() {
        let mechanism = RewardLaplace::new(8.0, Reward::MaxRr, 10).expect("positive");
        // Means .75 and .25: half of the difference is .25, with noise of variance 2/64.
        let both = messages(&mechanism, &[1, 2], &[0, 2], N);
        assert!(both.iter().all(|(plus, minus)| minus.is_some_and(|minus| f64::from(-minus) == *plus)));
        let (mean, variance) = moments(&both.iter().map(|(plus, _)| *plus).collect::<Vec<_>>());
        assert!((mean - 0.25).abs() < 5.0 * (0.031_25 / N as f64).sqrt(), "{mean}");
        assert!((variance / 0.031_25 - 1.0).abs() < 5.0 * (5.0 / N as f64).sqrt(), "{variance}");
    }

    #[test]
    fn no_two_inputs_are_further_apart_than_the_levels_of_the_grid() {
        // With equal draws the difference of two messages is that of their inputs.
        for (reward, n_shown) in
            [(Reward::MaxRr, 10), (Reward::ClickDcg, 10), (Reward::Clicks, 3), (Reward::LastRr, 16)]
        {
            let mechanism = RewardLaplace::new(1000.0, reward, n_shown).expect("positive");
            let best = (0..reward.n_outcomes(n_shown) as u32).map(|outcome| outcome as u16);
            let best = best.max_by(|&a, &b| reward.value(a).total_cmp(&reward.value(b))).expect("outcomes");
            let message = |plus: &[u16], minus: &[u16]| messages(&mechanism, plus, minus, 1)[0].0;
            let (most, least) = ([best; 4], [0; 4]);
            for (one, other) in [
                (message(&most, &[]), message(&least, &[])),
                (message(&most, &least), message(&least, &most)),
                (message(&[best], &[]), message(&least, &[])),
            ] {
                let apart = (one - other) / mechanism.largest;
                assert!((apart - 1.0).abs() < 1e-6, "{reward:?}: {apart}");
            }
        }
    }

    #[test]
    fn messages_are_on_the_grid() {
        // R = 1: all numbers are multiples of 2^-16, which f32 has exactly up to 2^8.
        let mechanism = RewardLaplace::new(2.0, Reward::MaxRr, 10).expect("positive");
        let is_on_grid = |(plus, _): &(f64, Option<f32>)| (plus * LEVELS).fract() == 0.0;
        assert!(messages(&mechanism, &[3], &[], 1000).iter().all(is_on_grid));
    }
}
