//! The sound central mechanism as a server can run it: integers, and exact noise on their sum.
//!
//! A device clips its update to norm C and sends it. The coordinator cuts every value to the grid of unit C / 2^16, refuses
//! an update that is longer than 2^16 units, counted in integers, adds the integers up, and adds a discrete Gaussian of
//! deviation z 2^16 units to each coordinate of the sum. What leaves it is the noisy integer, times unit over the number of
//! clients that a round counts on: nothing else depends on the updates.
//!
//! `CKS20` Canonne, Kamath, Steinke: *The Discrete Gaussian for Differential Privacy*, NeurIPS 2020, with the samples of the
//! `prio` crate; `MRTZ18` for clipping and the fixed denominator, see [`Gaussian`](super::Gaussian). Floating-point noise
//! betrays its summands by its last bits; integers do not.
//!
//! Values are cut towards zero, which never lengthens an update: whoever clips to C passes the bound in integers.
//!
//! An adaptive norm (`ATMR21`) follows the number of updates within it, which gets discrete noise of its own. Counted in
//! halves it is an integer: each client adds 1 if it is within, else -1.

use foltr_rank::Update;
use foltr_rank::parameter::{ParameterError, positive, require};
use prio::dp::distributions::DiscreteGaussian as Sampler;
use rand::distr::Distribution;
use serde::{Deserialize, Serialize};

use super::discrete_gaussian::{LEAST_DEVIATION, LEVELS, rounded_up, sampler_of};
use super::gaussian::{clips_moved, noise_multiplier, send_clipped};
use crate::accountant::{PrivacyCost, distributed};
use crate::aggregate::PayloadSemantics;
use crate::message::{Kind, Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::participation::Participation;
use crate::privacy::{
    Adjacency, Budget, Circumstances, Clip, ClosingSum, Explanation, LocalPrivacy, MechanismContext, MechanismError,
    MechanismParameters, Noise, RoundCost,
};

/// What exact noise on the sum needs to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CentralDiscreteGaussianParameters {
    /// Norm to which an update is clipped: a number, or how it follows a quantile of the norms.
    pub clip: Clip,
    /// Standard deviation of the noise over the clip norm. Give this, or `epsilon` and `delta`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// Of a client over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Of a client over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
}

impl MechanismParameters for CentralDiscreteGaussianParameters {
    type Mechanism = CentralDiscreteGaussian;

    const DEPENDS_ON_MODEL: bool = true;

    fn mechanism(&self, context: &MechanismContext) -> Result<CentralDiscreteGaussian, MechanismError> {
        self.clip.check().map_err(|error| MechanismError::new("clip", error.to_string()))?;
        let Circumstances { participation, n_params, .. } = context.circumstances;
        let slack = |noise: f64| distributed::slack((noise * f64::from(LEVELS)).max(LEAST_DEVIATION), 1, n_params);
        let noise = noise_multiplier(self.noise_multiplier, self.epsilon, self.delta, |budget| match self.clip {
            Clip::Adaptive(_) => Err(MechanismError::new("clip", "an adaptive norm needs `noise_multiplier`")),
            Clip::Fixed(_) => {
                let moved = clips_moved(participation);
                Ok(budget.discrete_noise(context.n_rounds, moved * f64::from(LEVELS), slack) * moved)
            }
        })?;
        Ok(CentralDiscreteGaussian::new(self.clip, noise)?)
    }

    fn whole_run(&self) -> Option<Budget> {
        Some(Budget { epsilon: self.epsilon?, delta: self.delta? })
    }
}

/// Clipping on the device; a grid, a bound in integers and exact noise where the round is closed.
#[derive(Clone, Debug)]
pub struct CentralDiscreteGaussian {
    clip: Clip,
    noise_multiplier: f64,
    sampler: Sampler,
    /// Of the doubled count of updates within an adaptive norm.
    count_sampler: Option<Sampler>,
}

impl PartialEq for CentralDiscreteGaussian {
    fn eq(&self, other: &Self) -> bool {
        (self.clip, self.noise_multiplier) == (other.clip, other.noise_multiplier)
    }
}

impl CentralDiscreteGaussian {
    /// Noise of standard deviation `noise_multiplier` times the clip norm, on each coordinate of the sum.
    pub fn new(clip: Clip, noise_multiplier: f64) -> Result<Self, ParameterError> {
        clip.check()?;
        positive("noise_multiplier", noise_multiplier)?;
        let deviation = noise_multiplier * f64::from(LEVELS);
        let holds = (LEAST_DEVIATION..=2_f64.powi(40)).contains(&deviation);
        let right = "between 2^-15 and 2^24: two grid units to what sums of integers have room for";
        require("noise_multiplier", noise_multiplier, holds, right)?;
        let count_sampler = match clip {
            Clip::Fixed(_) => None,
            Clip::Adaptive(adaptive) => {
                let holds = (1.0..=2_f64.powi(40)).contains(&adaptive.count_noise);
                require("count_noise", adaptive.count_noise, holds, "between 1 and 2^40")?;
                sampler_of(2.0 * adaptive.count_noise)
            }
        };
        let sampler = sampler_of(deviation).expect("it is above zero");
        Ok(Self { clip, noise_multiplier, sampler, count_sampler })
    }

    pub const fn clip(&self) -> Clip {
        self.clip
    }

    pub const fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    fn norm(&self, clip_norm: Option<f32>) -> f64 {
        self.clip.of_round(clip_norm)
    }

    /// One round in which neighbouring runs move the sum by so many clip norms, and the doubled count by so much.
    fn cost_of(&self, moved: f64, count_moved: f64, n_params: usize) -> PrivacyCost {
        let deviation = rounded_up(self.noise_multiplier * f64::from(LEVELS));
        let of_sum = distributed::cost(moved * f64::from(LEVELS), deviation, 1, n_params);
        match self.clip {
            Clip::Fixed(_) => of_sum,
            Clip::Adaptive(adaptive) => {
                let of_count = distributed::cost(count_moved, rounded_up(2.0 * adaptive.count_noise), 1, 1);
                distributed::together(of_sum, of_count)
            }
        }
    }

    /// The norm of the next round.
    fn next_norm(&self, norm: f64, sum: &ClosingSum, noise: &mut dyn NoiseSource) -> Option<f32> {
        let (Clip::Adaptive(adaptive), Some(sampler)) = (self.clip, &self.count_sampler) else {
            return sum.clip_norm;
        };
        let balance = 2 * i64::from(sum.n_within) - i64::from(sum.n_contributions);
        let noisy = balance.saturating_add(drawn(sampler, noise));
        let share = noisy as f64 / (2.0 * sum.divisor) + 0.5;
        Some(adaptive.moved(norm, share) as f32)
    }
}

/// One sample; beyond 2^63 units it does not happen.
fn drawn(sampler: &Sampler, noise: &mut dyn NoiseSource) -> i64 {
    i64::try_from(sampler.sample(noise)).unwrap_or(i64::MAX)
}

impl LocalPrivacy for CentralDiscreteGaussian {
    fn protect(&self, update: Update<'_>, task: &RoundTask, _: &mut dyn NoiseSource, payload: &mut Payload) {
        send_clipped(update, self.norm(task.clip_norm) as f32, payload);
    }

    /// The step comes as the sum of integers.
    fn finish(&self, sum: &ClosingSum, noise: &mut dyn NoiseSource, step: &mut [f64]) -> Option<f32> {
        let norm = self.norm(sum.clip_norm);
        let unit = norm / f64::from(LEVELS);
        for value in step {
            // Both are integers far below 2^53: their sum is exact, and all that follows is a function of it.
            let noisy = *value + drawn(&self.sampler, noise) as f64;
            *value = noisy * (unit / sum.divisor);
        }
        self.next_norm(norm, sum, noise)
    }

    fn accepts(&self, kind: Kind) -> bool {
        kind == Kind::Clipped
    }

    fn has_moving_norm(&self) -> bool {
        matches!(self.clip, Clip::Adaptive(_))
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        let n_params = circumstances.n_params;
        let unseen = match circumstances.participation {
            // What coins hide is not proven for integers: as if they were not tossed.
            Participation::Everyone | Participation::PoissonSampling(_) => {
                (Adjacency::Removed, self.cost_of(1.0, 1.0, n_params))
            }
            Participation::Sample(_) => (Adjacency::Replaced, self.cost_of(2.0, 2.0, n_params)),
        };
        // Zero is within the norm: in the place of a long update it moves the count from -1 to 1.
        RoundCost { seen: (Adjacency::Zeroed, self.cost_of(1.0, 2.0, n_params)), unseen, flaw: None }
    }

    fn noise(&self, _: usize) -> Noise {
        let deviation = rounded_up(self.noise_multiplier * f64::from(LEVELS)) / f64::from(LEVELS);
        Noise::Sum { law: "discrete Gaussian", deviation: deviation * self.clip.initial() }
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        Explanation {
            summary: "Clipped updates in integers, exact noise on their sum, added by the server".into(),
            assumptions: vec![
                "The server is trusted: it reads every update, adds the noise and forgets the rest.".into(),
            ],
            remarks: Vec::new(),
        }
    }

    fn rule(&self, usual: PayloadSemantics, _divisor: f64, clip_norm: Option<f32>) -> PayloadSemantics {
        let unit = self.norm(clip_norm) / f64::from(LEVELS);
        if usual == PayloadSemantics::Averaging { PayloadSemantics::Integers { unit } } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use crate::privacy::{AdaptiveClip, NoiseShares, sent};
    use foltr_rank::rng::Purpose;
    use proptest::prelude::*;

    fn mechanism() -> CentralDiscreteGaussian {
        CentralDiscreteGaussian::new(Clip::Fixed(0.5), 2.0).expect("sound")
    }

    proptest! {
        #[test]
        fn what_an_honest_device_sends_passes_the_bound_in_integers(
            delta in proptest::collection::vec(any::<f32>(), 1..50), clip in 1e-20_f64..1e20,
        ) {
            let mechanism = CentralDiscreteGaussian::new(Clip::Fixed(clip), 1.0).expect("sound");
            let update = Update::Step { delta: &delta, n_interactions: 1 };
            let payload = sent(&mechanism, update, 1, &mut seeded(1, Purpose::Noise, 0, 0));
            let Payload::Clipped { delta, .. } = payload else { panic!("a clipped step") };
            let rule = mechanism.rule(PayloadSemantics::Averaging, 1.0, None);
            prop_assert_eq!(rule.check_bound(&delta), Ok(()));
        }
    }

    #[test]
    fn the_step_is_a_function_of_the_noisy_integers() {
        // Two sums that become the same integers with their noise must give the same bits: with noise added after scaling
        // their last bits would tell them apart.
        let (mechanism, n) = (mechanism(), 50_000);
        let sum = ClosingSum {
            n_contributions: 3,
            n_within: 3,
            clip_norm: None,
            divisor: 3.0,
            shares: NoiseShares::InMessages,
        };
        let mut step = vec![12_345.0; n];
        mechanism.finish(&sum, &mut seeded(3, Purpose::Noise, 0, 0), &mut step);
        let factor = 0.5 / f64::from(LEVELS) / 3.0;
        let mut variance = 0.0;
        for value in &step {
            let integer = (value / factor).round();
            assert_eq!(integer * factor, *value);
            variance += (integer - 12_345.0).powi(2) / n as f64;
        }
        let ratio = variance / (2.0 * f64::from(LEVELS)).powi(2);
        assert!((ratio - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "{ratio}");
    }

    #[test]
    fn it_costs_hardly_more_than_continuous_noise() {
        let circumstances = Circumstances::complete(46, 4);
        let epsilon = |cost: PrivacyCost| cost.after(50, 1e-5).epsilon;
        let discrete = epsilon(mechanism().cost(&circumstances).unseen.1);
        let continuous = epsilon(PrivacyCost::Gaussian { mu: 0.5 });
        assert!(discrete >= continuous && discrete < continuous * 1.001, "{discrete} and {continuous}");
        let adaptive = AdaptiveClip { initial: 0.5, quantile: 0.5, rate: 0.2, count_noise: 10.0 };
        let with_count = CentralDiscreteGaussian::new(Clip::Adaptive(adaptive), 2.0).expect("sound");
        let RoundCost { seen, unseen, .. } = with_count.cost(&circumstances);
        // Over 10: 1/2 for a client more or less, 1 for zero, which is within the norm, in the place of a long update.
        for (cost, moved) in [(unseen, 0.05), (seen, 0.1)] {
            let (with_count, continuous) =
                (epsilon(cost.1), epsilon(PrivacyCost::Gaussian { mu: 0.5_f64.hypot(moved) }));
            assert!(with_count >= continuous && with_count < continuous * 1.001, "{with_count} and {continuous}");
        }
    }

    #[test]
    fn the_adaptive_norm_follows_the_count() {
        let adaptive = AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 1.0, count_noise: 1.0 };
        let mechanism = CentralDiscreteGaussian::new(Clip::Adaptive(adaptive), 1.0).expect("sound");
        let shares = NoiseShares::InMessages;
        let sum =
            ClosingSum { n_contributions: 1_000_000, n_within: 750_000, clip_norm: Some(2.0), divisor: 1e6, shares };
        let norm = mechanism.finish(&sum, &mut seeded(3, Purpose::Noise, 0, 0), &mut [0.0]).expect("it moves");
        assert!((norm - 2.0 * (-0.25_f32).exp()).abs() < 1e-4, "{norm}");
        let narrow = AdaptiveClip { count_noise: 0.5, ..adaptive };
        assert!(CentralDiscreteGaussian::new(Clip::Adaptive(narrow), 1.0).is_err());
    }
}
