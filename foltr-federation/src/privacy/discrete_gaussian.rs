//! The sound central mechanism as devices can run it: integers, and a share of exact noise from every client.
//!
//! `KLS21` Kairouz, Liu, Steinke: *The Distributed Discrete Gaussian Mechanism for Federated Learning with Secure
//! Aggregation*, ICML 2021, Algorithm 1 without the random rotation. An update is clipped to norm C, cut to the grid of
//! unit C / 2^16, checked in integers, and given a discrete Gaussian share of variance sigma^2 / (t - f): with t
//! survivors of whom f pass their share to the server, what remains has variance sigma^2. Fewer than t survivors: the
//! sum is not opened. Secure aggregation adds the integers up; the server divides by a number fixed beforehand.
//!
//! What is hidden is what a client sends, not that it takes part: of two adjacent runs, one has zero in place of a client's
//! updates, with its shares of noise. Who survives is known to secure aggregation anyway.
//!
//! Samples are exact (`CKS20` Canonne, Kamath, Steinke: *The Discrete Gaussian for Differential Privacy*, NeurIPS 2020,
//! by the `prio` crate): floating-point noise betrays its summands by its last bits.
//!
//! Deviation: values are cut towards zero, which never lengthens an update, instead of being rounded at random.

use foltr_rank::Update;
use prio::dp::Rational;
use prio::dp::distributions::DiscreteGaussian as Sampler;
use rand::distr::Distribution;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::accountant::distributed;
use crate::aggregate::PayloadSemantics;
use crate::message::{Kind, Payload, RoundTask, Share};
use crate::noise::NoiseSource;
use crate::privacy::gaussian::{check_norm, noise_multiplier};
use crate::privacy::{
    Adjacency, Budget, Circumstances, ClosingSum, Explanation, LocalPrivacy, MechanismContext, MechanismError,
    MechanismParameters, Mode, Noise, NoiseShares, RoundCost,
};
use foltr_rank::parameter::{positive, require};

/// Grid units in the clip norm.
pub const LEVELS: u32 = 1 << 16;

/// The least deviation of a share in grid units: the sum of shares of this deviation is as good as one Gaussian.
pub const LEAST_DEVIATION: f64 = 2.0;

/// The fraction with which the sampler receives a deviation; it is rounded up to the next one.
const FRACTION: u64 = 1 << 10;

/// What discrete shares of noise need to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DiscreteGaussianParameters {
    /// Norm to which an update is clipped.
    pub clip: f64,
    /// Standard deviation of the noise over the clip norm. Give this, or `epsilon` and `delta`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// Of a client over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Of a client over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// With fewer messages in a round its sum is not opened.
    pub min_survivors: u32,
    /// Clients that may pass their share of the noise to the server; 0 when absent.
    #[serde(default)]
    pub colluders: u32,
}

impl MechanismParameters for DiscreteGaussianParameters {
    type Mechanism = DiscreteGaussian;

    const DEPENDS_ON_MODEL: bool = true;

    fn mechanism(&self, context: &MechanismContext) -> Result<DiscreteGaussian, MechanismError> {
        let n_honest = self.min_survivors.saturating_sub(self.colluders).max(1);
        // Of shares that are narrower than allowed nothing is asked: they are refused below.
        let deviation = |noise: f64| (noise * f64::from(LEVELS) / f64::from(n_honest).sqrt()).max(LEAST_DEVIATION);
        let slack = |noise: f64| distributed::slack(deviation(noise), n_honest, context.circumstances.n_params);
        let calibrate = |budget: Budget| Ok(budget.discrete_noise(context.n_rounds, LEVELS.into(), slack));
        let noise = noise_multiplier(self.noise_multiplier, self.epsilon, self.delta, calibrate)?;
        DiscreteGaussian::new(self.clip, noise, self.min_survivors, self.colluders)
    }

    fn whole_run(&self) -> Option<Budget> {
        Some(Budget { epsilon: self.epsilon?, delta: self.delta? })
    }
}

/// Shares of a sealed sum. Their stream is [`Purpose::Noise`](foltr_rank::rng::Purpose::Noise) in a simulation and the
/// operating system's generator on a device: see [`Self::share`].
#[derive(Clone, Debug)]
pub struct DiscreteGaussian {
    clip: f64,
    noise_multiplier: f64,
    min_survivors: u32,
    colluders: u32,
    sampler: Sampler,
}

impl PartialEq for DiscreteGaussian {
    fn eq(&self, other: &Self) -> bool {
        let parameters = |it: &Self| (it.clip, it.noise_multiplier, it.min_survivors, it.colluders);
        parameters(self) == parameters(other)
    }
}

/// An update longer than the clip norm, found by counting in integers: it is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the squared norm of the update is {squared_norm} grid units, at most {} are allowed", bound())]
pub struct TooLong {
    pub squared_norm: u128,
}

const fn bound() -> u128 {
    (LEVELS as u128) * (LEVELS as u128)
}

impl DiscreteGaussian {
    /// Noise of deviation `noise_multiplier * clip` remains when `min_survivors` shares are in the sum and `colluders`
    /// of them are known to the server.
    pub fn new(clip: f64, noise_multiplier: f64, min_survivors: u32, colluders: u32) -> Result<Self, MechanismError> {
        let refuse = |message: String| Err(MechanismError::new("min_survivors", message));
        check_norm("clip", clip)?;
        positive("noise_multiplier", noise_multiplier)?;
        if colluders >= min_survivors {
            return refuse(format!(
                "colluders = {colluders} must be below min_survivors = {min_survivors}: honest shares hide the others"
            ));
        }
        let n_honest = f64::from(min_survivors - colluders);
        let deviation = noise_multiplier * f64::from(LEVELS) / n_honest.sqrt();
        // Beyond 2^40 units a sum of shares could leave the integers.
        let holds = deviation <= 2_f64.powi(40);
        require("noise_multiplier", noise_multiplier, holds, "at most 2^24 times the root of the honest survivors")?;
        let Some(sampler) = sampler_of(deviation).filter(|_| deviation >= LEAST_DEVIATION) else {
            return refuse(format!(
                "each share would have a deviation of {deviation:.2} grid units, at least {LEAST_DEVIATION} are needed: \
                 raise the noise or lower min_survivors"
            ));
        };
        Ok(Self { clip, noise_multiplier, min_survivors, colluders, sampler })
    }

    pub const fn clip(&self) -> f64 {
        self.clip
    }

    /// Standard deviation of the noise that remains, in units of the clip norm.
    pub const fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    pub fn unit(&self) -> f64 {
        self.clip / f64::from(LEVELS)
    }

    /// Standard deviation of one share in grid units, as it is sampled.
    pub fn share_deviation(&self) -> f64 {
        let n_honest = f64::from(self.min_survivors - self.colluders);
        rounded_up(self.noise_multiplier * f64::from(LEVELS) / n_honest.sqrt())
    }

    /// An update on the grid, no longer than the clip norm.
    pub fn quantise(&self, delta: &[f32]) -> Result<Vec<i64>, TooLong> {
        let norm = delta.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        // An update that is not finite has no direction and counts as zero.
        let shortening = if norm.is_finite() { (self.clip / norm).min(1.0) } else { 0.0 };
        let scale = shortening / self.unit();
        let cut: Vec<i64> = delta.iter().map(|&x| (f64::from(x) * scale).trunc() as i64).collect();
        let squared_norm = cut.iter().map(|&x| u128::from(x.unsigned_abs()).pow(2)).sum();
        if squared_norm > bound() { Err(TooLong { squared_norm }) } else { Ok(cut) }
    }

    /// What a device adds to the sealed sum. On a device `noise` must be the operating system's generator.
    /// An error if the update is too long: nothing leaves the device.
    pub fn share(&self, delta: &[f32], noise: &mut dyn NoiseSource) -> Result<Share, TooLong> {
        let mut values = self.quantise(delta)?;
        for value in &mut values {
            let noise = self.sampler.sample(noise);
            // A share beyond 2^63 units does not happen: its deviation is below 2^40.
            *value = value.wrapping_add(i64::try_from(noise).unwrap_or(i64::MAX));
        }
        Ok(Share::new(values))
    }
}

/// A deviation as samplers have it.
pub(super) fn rounded_up(deviation: f64) -> f64 {
    (deviation * FRACTION as f64).ceil() / FRACTION as f64
}

/// A sampler of this deviation, rounded up; none for zero.
pub(super) fn sampler_of(deviation: f64) -> Option<Sampler> {
    let numerator = (deviation * FRACTION as f64).ceil() as u64;
    let deviation = Rational::from_unsigned(numerator, FRACTION).ok().filter(|_| numerator > 0)?;
    Sampler::new(deviation).ok()
}

impl LocalPrivacy for DiscreteGaussian {
    fn protect(&self, update: Update<'_>, _: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Step { delta, .. } = update else {
            panic!("Gaussian shares are defined for a step, not for outcomes")
        };
        *payload = Payload::Share(self.share(delta, noise).expect("a clipped update that is cut is within the norm"));
    }

    fn protect_without_share(&self, update: Update<'_>, _: &RoundTask, _: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Step { delta, .. } = update else {
            panic!("Gaussian shares are defined for a step, not for outcomes")
        };
        let cut = self.quantise(delta).expect("a clipped update that is cut is within the norm");
        *payload = Payload::Share(Share::new(cut));
    }

    /// One discrete Gaussian has the law of the sum of all shares up to what the accountant's `distributed::tau` bounds,
    /// at a price that does not depend on their number.
    fn finish(&self, sum: &ClosingSum, noise: &mut dyn NoiseSource, step: &mut [f64]) -> Option<f32> {
        if sum.shares == NoiseShares::DrawnAtClosing {
            let deviation = self.share_deviation() * f64::from(sum.n_contributions).sqrt();
            let sampler = sampler_of(deviation).expect("at least one share of at least two units");
            for value in step {
                // Sums of shares are far below 2^63 units.
                let drawn = i64::try_from(sampler.sample(noise)).unwrap_or(i64::MAX);
                *value += drawn as f64 * self.unit() / sum.divisor;
            }
        }
        sum.clip_norm
    }

    fn accepts(&self, kind: Kind) -> bool {
        kind == Kind::Share
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        let n_honest = self.min_survivors - self.colluders;
        let cost = distributed::cost(LEVELS.into(), self.share_deviation(), n_honest, circumstances.n_params);
        RoundCost::new(Adjacency::Zeroed, cost)
    }

    fn noise(&self, _: usize) -> Noise {
        let n_shares = f64::from(self.min_survivors);
        Noise::Sum { law: "discrete Gaussian", deviation: self.share_deviation() * self.unit() * n_shares.sqrt() }
    }

    fn mode(&self) -> Mode {
        Mode::Sealed
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        let (min_survivors, colluders) = (self.min_survivors, self.colluders);
        Explanation {
            summary: "Clipped integers, a share of exact noise from every client, under secure aggregation".into(),
            assumptions: vec![
                "Secure aggregation works: nobody, the server included, sees less than a whole noisy sum.".into(),
                format!(
                    "A sum of fewer than {min_survivors} messages is never opened; at most {colluders} clients pass \
                     their share of the noise on."
                ),
            ],
            remarks: Vec::new(),
        }
    }

    fn rule(&self, usual: PayloadSemantics, divisor: f64, _: Option<f32>) -> PayloadSemantics {
        let shares = PayloadSemantics::Shares { unit: self.unit(), divisor, min_survivors: self.min_survivors };
        if usual == PayloadSemantics::Averaging { shares } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use foltr_rank::rng::Purpose;
    use proptest::prelude::*;

    fn mechanism(noise_multiplier: f64) -> DiscreteGaussian {
        DiscreteGaussian::new(0.5, noise_multiplier, 10, 2).expect("sound")
    }

    proptest! {
        #[test]
        fn no_update_is_longer_than_the_norm_in_integers(delta in proptest::collection::vec(any::<f32>(), 1..50)) {
            let cut = mechanism(1.0).quantise(&delta);
            prop_assert!(cut.is_ok(), "{cut:?}");
        }
    }

    #[test]
    fn values_are_cut_to_the_grid_and_clipped() {
        let unit = 0.5 / 65_536.0;
        let cut = mechanism(1.0).quantise(&[(10.7 * unit) as f32, (-10.7 * unit) as f32]);
        assert_eq!(cut, Ok(vec![10, -10]));
        let cut = mechanism(1.0).quantise(&[3.0, -4.0]).expect("clipped");
        assert!((39_320..=39_321).contains(&cut[0]) && (-52_428..=-52_427).contains(&cut[1]), "{cut:?}");
    }

    #[test]
    fn noise_has_the_variance_of_the_label_in_shares_and_drawn_at_once() {
        // 8 honest survivors; deviation of the sum: 2 * 65536 units of .5 / 65536.
        let (mechanism, n) = (mechanism(2.0), 20_000);
        let stream = || seeded(3, Purpose::Noise, 0, 0);
        let (mut sums, mut step, mut noise) = (vec![0.0; n], vec![0.0; n], stream());
        for _ in 0..8 {
            let share = mechanism.share(&vec![0.0; n], &mut noise).expect("zero is short");
            sums.iter_mut().zip(share.values()).for_each(|(sum, &value)| *sum += value as f64);
        }
        let shares = NoiseShares::DrawnAtClosing;
        let sum = ClosingSum { n_contributions: 8, n_within: 0, clip_norm: None, divisor: 4.0, shares };
        mechanism.finish(&sum, &mut stream(), &mut step);
        for (values, deviation) in [(sums, 2.0 * 65_536.0_f64), (step.clone(), 2.0 * 0.5 / 4.0)] {
            let variance = values.iter().map(|x| x * x).sum::<f64>() / n as f64;
            let ratio = variance / deviation.powi(2);
            assert!((ratio - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "{ratio}");
        }
        // A second time would be too much: what devices have drawn is not drawn again.
        let (drawn, sum) = (step.clone(), ClosingSum { shares: NoiseShares::InMessages, ..sum });
        mechanism.finish(&sum, &mut stream(), &mut step);
        assert_eq!(step, drawn);
    }
}
