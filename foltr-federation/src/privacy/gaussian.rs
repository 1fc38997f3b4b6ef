//! The sound central mechanism: clip every update, add Gaussian noise to the sum, divide by a number fixed beforehand.
//!
//! `MRTZ18` McMahan, Ramage, Talwar, Zhang: *Learning Differentially Private Recurrent Language Models*, ICLR 2018,
//! Algorithm 1 with the fixed-denominator estimator. With clip norm C and noise multiplier z:
//! step = (sum_i u_i min(1, C/||u_i||) + N(0, (z C)^2 I)) / n. One client more or less moves the sum by at most C. Where
//! the server draws a cohort of fixed size another client takes the place of who is not there: by at most 2 C.
//!
//! Adaptive clip norm: `ATMR21` Andrew, Thakkar, McMahan, Ramaswamy: *Differentially Private Learning with Adaptive
//! Clipping*, NeurIPS 2021, Algorithm 1: C <- C exp(-rate (b - quantile)), where b is the noisy share of updates within C.
//!
//! Deviations: a client counts as 1 whatever its interactions, for a reported weight would make the sensitivity unbounded.
//! The noise is drawn once, in floating point, on behalf of a trusted server or a secure sum: for simulation.
//! [`CentralDiscreteGaussian`](super::CentralDiscreteGaussian) is the form that a server can run,
//! [`DiscreteGaussian`](super::DiscreteGaussian) the one for devices under secure aggregation.

use foltr_rank::Update;
use foltr_rank::params::clip_to_radius;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::accountant::{self, PrivacyCost};
use crate::aggregate::PayloadSemantics;
use crate::message::{Kind, Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::participation::Participation;
use crate::privacy::budget::ROUNDED_UP;
use crate::privacy::{
    Adjacency, Budget, CentralMode, Circumstances, ClosingSum, Explanation, LocalPrivacy, MechanismContext,
    MechanismError, MechanismParameters, Mode, Noise, RoundCost,
};
use foltr_rank::parameter::{ParameterError, positive, require};

/// What Gaussian noise on the sum needs to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GaussianParameters {
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
    /// `sealed`: the server sees the noisy sum only. `clear`: it sees every update and is trusted.
    pub mode: CentralMode,
}

impl MechanismParameters for GaussianParameters {
    type Mechanism = Gaussian;

    fn mechanism(&self, context: &MechanismContext) -> Result<Gaussian, MechanismError> {
        self.clip.check().map_err(|error| MechanismError::new("clip", error.to_string()))?;
        let noise = noise_multiplier(self.noise_multiplier, self.epsilon, self.delta, |budget| {
            match (context.circumstances.hidden_participation(), self.clip) {
                (Participation::PoissonSampling(_), Clip::Adaptive(_)) => {
                    let right = "an adaptive norm with clients.participation needs `noise_multiplier`";
                    Err(MechanismError::new("clip", right))
                }
                (Participation::PoissonSampling(probability), Clip::Fixed(_)) => {
                    Ok(budget.subsampled_noise(probability, context.n_rounds))
                }
                (participation, Clip::Fixed(_)) => {
                    Ok(clips_moved(participation) * budget.gaussian_noise(context.n_rounds))
                }
                (participation, Clip::Adaptive(adaptive)) => {
                    let mu = accountant::gaussian::mu_for(budget.epsilon, budget.delta) / clips_moved(participation);
                    let of_count = match (self.mode, participation) {
                        (CentralMode::Sealed, Participation::Everyone) => adaptive.rho_zeroed(),
                        _ => adaptive.rho(),
                    };
                    let left = mu.powi(2) / f64::from(context.n_rounds) - 2.0 * of_count;
                    let message = "the adaptive norm alone costs more than the budget: raise `count_noise`";
                    let error = MechanismError::new("clip.count_noise", message);
                    if left > 0.0 { Ok(left.sqrt().recip()) } else { Err(error) }
                }
            }
        })?;
        Ok(Gaussian::new(self.clip, noise, self.mode)?)
    }

    fn whole_run(&self) -> Option<Budget> {
        Some(Budget { epsilon: self.epsilon?, delta: self.delta? })
    }
}

/// How far neighbouring runs move a sum, in clip norms. The count of updates within the norm moves in proportion: by 1/2
/// for a client more or less, by 1 where another client takes the place.
pub(super) const fn clips_moved(participation: Participation) -> f64 {
    match participation {
        Participation::Everyone | Participation::PoissonSampling(_) => 1.0,
        Participation::Sample(_) => 2.0,
    }
}

/// The noise multiplier that a file gives, or the least that keeps the whole run within epsilon and delta, rounded up.
pub(super) fn noise_multiplier(
    given: Option<f64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    calibrate: impl FnOnce(Budget) -> Result<f64, MechanismError>,
) -> Result<f64, MechanismError> {
    match (given, epsilon, delta) {
        (Some(noise), None, None) => Ok(positive("noise_multiplier", noise).map(|()| noise)?),
        (None, Some(epsilon), Some(delta)) => {
            let budget = Budget { epsilon, delta };
            budget.check()?;
            Ok(calibrate(budget)? * ROUNDED_UP)
        }
        (None, ..) => Err(MechanismError::new("", "give `noise_multiplier`, or both `epsilon` and `delta`")),
        (Some(_), ..) => {
            Err(MechanismError::new("noise_multiplier", "give either this or `epsilon` and `delta`, not both"))
        }
    }
}

/// Clipping on the device, and Gaussian noise on the sum when the round is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    clip: Clip,
    noise_multiplier: f64,
    mode: CentralMode,
}

/// To which norm an update is clipped.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Clip {
    /// The same in all rounds.
    Fixed(f64),
    /// Follows a quantile of the updates' norms.
    Adaptive(AdaptiveClip),
}

/// A clip norm that follows a quantile of the updates' norms.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdaptiveClip {
    /// Norm of the first round.
    pub initial: f64,
    /// The share of updates that shall be within the norm.
    pub quantile: f64,
    /// How fast the norm follows.
    pub rate: f64,
    /// Standard deviation of the noise on the number of updates within the norm.
    pub count_noise: f64,
}

/// Updates are clipped to a little less than the norm that is accounted for: single precision rounds by 6e-8.
const INSIDE: f32 = 1.0 - 1e-6;

/// Norms that single precision can hold, with room for what they are multiplied by.
pub(crate) const NORMS: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// An update that is not finite has no direction and counts as zero: a NaN must not make it stand out.
pub(super) fn forget_if_not_finite(delta: &mut [f32]) {
    if delta.iter().any(|value| !value.is_finite()) {
        delta.fill(0.0);
    }
}

/// Refuses a norm that is not positive, or beyond single precision.
pub(super) fn check_norm(name: &'static str, norm: f64) -> Result<(), ParameterError> {
    positive(name, norm)?;
    require(name, norm, NORMS.contains(&norm), "between 1e-30 and 1e30")
}

impl Clip {
    /// The norm of the first round.
    pub const fn initial(&self) -> f64 {
        match self {
            Self::Fixed(norm) => *norm,
            Self::Adaptive(adaptive) => adaptive.initial,
        }
    }

    /// The norm of a round. What a server says of it counts only where the plan lets it move.
    pub(super) fn of_round(&self, clip_norm: Option<f32>) -> f64 {
        match (self, clip_norm) {
            (Self::Adaptive(_), Some(norm)) => f64::from(norm),
            _ => self.initial(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        check_norm("clip", self.initial())?;
        let Self::Adaptive(AdaptiveClip { quantile, rate, count_noise, .. }) = *self else { return Ok(()) };
        require("rate", rate, rate > 0.0 && rate <= 10.0, "above 0 and at most 10")?;
        positive("count_noise", count_noise)?;
        require("quantile", quantile, quantile > 0.0 && quantile < 1.0, "above 0 and below 1")
    }
}

impl AdaptiveClip {
    /// What is counted: each client adds 1/2 if its update is within the norm, else -1/2. One client more or less moves
    /// this by 1/2, where it would move the plain count by 1.
    fn balance(n_within: u32, n_clients: u32) -> f64 {
        f64::from(n_within) - f64::from(n_clients) / 2.0
    }

    /// The norm of the next round, from the number of updates of this one, and of those within its norm.
    fn next(&self, norm: f64, sum: &ClosingSum, noise: &mut dyn NoiseSource) -> f64 {
        let drawn: f64 = StandardNormal.sample(noise);
        let balance = Self::balance(sum.n_within, sum.n_contributions);
        let share = (balance + self.count_noise * drawn) / sum.divisor + 0.5;
        self.moved(norm, share)
    }

    /// The norm that follows when this share of the updates was within it.
    pub(super) fn moved(&self, norm: f64, share: f64) -> f64 {
        (norm * (-self.rate * (share - self.quantile)).exp()).clamp(*NORMS.start(), *NORMS.end())
    }

    /// zCDP of the count in one round: its sensitivity is 1/2.
    pub fn rho(&self) -> f64 {
        0.25 / (2.0 * self.count_noise * self.count_noise)
    }

    /// The same for a client that sends zero instead of a long update: zero is within the norm, so the count moves from
    /// -1/2 to 1/2.
    fn rho_zeroed(&self) -> f64 {
        4.0 * self.rho()
    }
}

impl Gaussian {
    /// Noise of standard deviation `noise_multiplier` times the clip norm, on each coordinate of the sum.
    pub fn new(clip: Clip, noise_multiplier: f64, mode: CentralMode) -> Result<Self, ParameterError> {
        clip.check()?;
        positive("noise_multiplier", noise_multiplier)?;
        Ok(Self { clip, noise_multiplier, mode })
    }

    pub const fn clip(&self) -> Clip {
        self.clip
    }

    pub const fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// zCDP of one round for a client more or less: C^2 / (2 sigma^2), and the price of the adaptive norm if there is one.
    pub fn rho(&self) -> f64 {
        self.rho_of(AdaptiveClip::rho)
    }

    fn rho_of(&self, of_count: fn(&AdaptiveClip) -> f64) -> f64 {
        let of_count = if let Clip::Adaptive(adaptive) = &self.clip { of_count(adaptive) } else { 0.0 };
        1.0 / (2.0 * self.noise_multiplier * self.noise_multiplier) + of_count
    }

    fn norm(&self, clip_norm: Option<f32>) -> f64 {
        self.clip.of_round(clip_norm)
    }
}

/// Adds Gaussian noise to every value.
pub(crate) fn add_normal(deviation: f64, noise: &mut dyn NoiseSource, values: &mut [f64]) {
    for value in values {
        let drawn: f64 = StandardNormal.sample(noise);
        *value += deviation * drawn;
    }
}

/// What a device sends of a step where noise is added to the sum: no longer than the norm.
pub(super) fn send_clipped(update: Update<'_>, norm: f32, payload: &mut Payload) {
    let Update::Step { delta, .. } = update else { panic!("Gaussian noise is defined for a step, not for outcomes") };
    let mut delta = delta.to_vec();
    forget_if_not_finite(&mut delta);
    *payload = Payload::Clipped { within: !clip_to_radius(&mut delta, norm * INSIDE), delta };
}

impl LocalPrivacy for Gaussian {
    fn protect(&self, update: Update<'_>, task: &RoundTask, _: &mut dyn NoiseSource, payload: &mut Payload) {
        send_clipped(update, self.norm(task.clip_norm) as f32, payload);
    }

    fn finish(&self, sum: &ClosingSum, noise: &mut dyn NoiseSource, step: &mut [f64]) -> Option<f32> {
        let norm = self.norm(sum.clip_norm);
        add_normal(self.noise_multiplier * norm / sum.divisor, noise, step);
        match self.clip {
            Clip::Fixed(_) => sum.clip_norm,
            Clip::Adaptive(adaptive) => Some(adaptive.next(norm, sum, noise) as f32),
        }
    }

    fn accepts(&self, kind: Kind) -> bool {
        kind == Kind::Clipped
    }

    fn has_moving_norm(&self) -> bool {
        matches!(self.clip, Clip::Adaptive(_))
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        let participation = circumstances.hidden_participation();
        let mu = clips_moved(participation) * (2.0 * self.rho()).sqrt();
        let unseen = match participation {
            Participation::Everyone => (Adjacency::Removed, PrivacyCost::Gaussian { mu }),
            Participation::Sample(_) => (Adjacency::Replaced, PrivacyCost::Gaussian { mu }),
            Participation::PoissonSampling(probability) => {
                (Adjacency::Removed, PrivacyCost::Subsampled { probability, noise_multiplier: mu.recip() })
            }
        };
        let mu = (2.0 * self.rho_of(AdaptiveClip::rho_zeroed)).sqrt();
        RoundCost { seen: (Adjacency::Zeroed, PrivacyCost::Gaussian { mu }), unseen, flaw: None }
    }

    fn noise(&self, _: usize) -> Noise {
        Noise::Sum { law: "Gaussian", deviation: self.noise_multiplier * self.clip.initial() }
    }

    fn mode(&self) -> Mode {
        self.mode.into()
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        let (summary, trust) = match self.mode {
            CentralMode::Clear => (
                "Clipped updates, Gaussian noise on their sum, added by the server",
                "The server is trusted: it reads every update, adds the noise and forgets the rest.",
            ),
            CentralMode::Sealed => (
                "Clipped updates, Gaussian noise on their sum, under secure aggregation",
                "Secure aggregation works: nobody, the server included, sees less than a whole noisy sum. It is \
                 simulated here.",
            ),
        };
        Explanation { summary: summary.into(), assumptions: vec![trust.into()], remarks: Vec::new() }
    }

    fn rule(&self, usual: PayloadSemantics, divisor: f64, _: Option<f32>) -> PayloadSemantics {
        if usual == PayloadSemantics::Averaging { PayloadSemantics::Summing { divisor } } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use crate::privacy::NoiseShares;
    use foltr_rank::rng::Purpose;

    fn gaussian(clip: Clip) -> Gaussian {
        Gaussian::new(clip, 2.0, CentralMode::Clear).expect("positive")
    }

    fn sum(n_within: u32, n_contributions: u32, divisor: f64) -> ClosingSum {
        ClosingSum { n_contributions, n_within, clip_norm: None, divisor, shares: NoiseShares::InMessages }
    }

    const ADAPTIVE: Clip = Clip::Adaptive(AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 5.0 });

    fn protect(clip: Clip, delta: &[f32], clip_norm: Option<f32>) -> Payload {
        let task = RoundTask { round: 0, global: vec![0.0; 2], n_clients: 1, n_interactions: 4, clip_norm };
        let (mut payload, mut stream) = (Payload::default(), seeded(1, Purpose::Noise, 0, 0));
        let update = Update::Step { delta, n_interactions: 4 };
        gaussian(clip).protect(update, &task, &mut stream, &mut payload);
        payload
    }

    #[test]
    fn long_updates_are_shortened_and_said_to_be() {
        let protect = |delta: &[f32], clip_norm| protect(Clip::Fixed(1.0), delta, clip_norm);
        let Payload::Clipped { within: false, delta } = protect(&[3.0, 4.0], None) else { panic!("it was clipped") };
        assert!((delta[0] - 0.6).abs() < 2e-6 && (delta[1] - 0.8).abs() < 2e-6, "{delta:?}");
        // Whatever single precision does, the norm that is accounted for is not exceeded.
        assert!(delta.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() <= 1.0);
        assert_eq!(protect(&[0.3, 0.4], None), Payload::Clipped { within: true, delta: vec![0.3, 0.4] });
        assert_eq!(protect(&[f32::NAN, 0.4], None), Payload::Clipped { within: true, delta: vec![0.0, 0.0] });
        assert_eq!(protect(&[f32::INFINITY, 0.4], None), Payload::Clipped { within: true, delta: vec![0.0, 0.0] });
        // A server cannot raise a norm that the plan fixes.
        assert_eq!(protect(&[3.0, 4.0], Some(10.0)), protect(&[3.0, 4.0], None));
    }

    #[test]
    fn the_norm_of_the_task_goes_before_that_of_the_first_round() {
        let long = Payload::Clipped { within: true, delta: vec![3.0, 4.0] };
        assert_eq!(protect(ADAPTIVE, &[3.0, 4.0], Some(10.0)), long);
        assert_ne!(protect(ADAPTIVE, &[3.0, 4.0], None), long);
    }

    #[test]
    fn zero_in_the_place_of_a_long_update_moves_the_count_by_one() {
        // Not within the norm, then within it: from -1/2 to 1/2.
        let RoundCost { seen, unseen, .. } = gaussian(ADAPTIVE).cost(&Circumstances::complete(2, 1));
        let mu = |cost: PrivacyCost| if let PrivacyCost::Gaussian { mu } = cost { mu } else { f64::NAN };
        assert!((mu(unseen.1) - 0.5_f64.hypot(0.5 / 5.0)).abs() < 1e-12);
        assert!((mu(seen.1) - 0.5_f64.hypot(1.0 / 5.0)).abs() < 1e-12);
    }

    #[test]
    fn the_noise_has_the_deviation_that_the_label_says() {
        let n = 1_000_000;
        let (mut step, mut stream) = (vec![0.0; n], seeded(5, Purpose::Noise, 0, 0));
        let sum = ClosingSum { clip_norm: Some(0.5), ..sum(0, 0, 100.0) };
        assert!(gaussian(ADAPTIVE).finish(&sum, &mut stream, &mut step).is_some());
        let variance = step.iter().map(|x| x * x).sum::<f64>() / n as f64;
        // Relative standard error of a variance: sqrt(2/n) = .0014; 1 % in sigma is 2 % in the variance, 14 of them.
        let ratio = variance / (2.0_f64 * 0.5 / 100.0).powi(2);
        assert!((ratio - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "{ratio}");
    }

    #[test]
    fn the_adaptive_norm_finds_the_median_of_the_norms() {
        let adaptive = AdaptiveClip { initial: 10.0, quantile: 0.5, rate: 0.2, count_noise: 5.0 };
        let mut stream = seeded(5, Purpose::Noise, 0, 0);
        // Norms are 1, 2, ..., 1000: the median is 500.
        let mut norm = adaptive.initial;
        for _ in 0..200 {
            norm = adaptive.next(norm, &sum(norm.clamp(0.0, 1000.0) as u32, 1000, 1000.0), &mut stream);
        }
        assert!((norm - 500.0).abs() < 25.0, "{norm}");
        assert!((gaussian(Clip::Adaptive(adaptive)).rho() - (0.125 + 0.005)).abs() < 1e-15);
    }

    #[test]
    fn one_client_moves_the_count_by_what_its_label_assumes() {
        let (with, without) = (AdaptiveClip::balance(7, 10), AdaptiveClip::balance(6, 9));
        assert_eq!((with - without).abs(), 0.5);
        assert_eq!((with - AdaptiveClip::balance(7, 9)).abs(), 0.5);
        // Half of the expected clients within the norm is a share of one half, however many came.
        let adaptive = AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 1.0, count_noise: 1e-12 };
        let mut stream = seeded(5, Purpose::Noise, 0, 0);
        assert!((adaptive.next(1.0, &sum(4, 8, 100.0), &mut stream) - 1.0).abs() < 1e-9);
    }
}
