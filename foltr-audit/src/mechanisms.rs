//! Which mechanisms are audited, under which label? One line each; the broken ones are controls.
//!
//! Labels are what `LocalPrivacy::cost` and the accountant say, unless a control puts another one on. Noise that
//! protects a sum only is audited on the sum of a cohort, in which one client's update is the one or the other and all
//! other updates are zero. Where a mechanism clips, updates are ten times as long as the clip.

use foltr_federation::Mechanism;
use foltr_federation::accountant::Guarantee;
use foltr_federation::privacy::{
    CentralMode, Circumstances, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, NoiseShares,
    PrivUnit, RandomisedResponse, SampledResponse, Unprotected,
};
use foltr_rank::learn::evolution::Reward;

use super::Expected::{self, Broken, Sound};
use super::epsilon::{Case, Draw};
use super::sampling::Round;

/// Documents shown, as in the papers: MaxRR then has eleven outcomes.
pub(super) const N_SHOWN: usize = 10;
/// Sensitivity and label of FPDGD's first setting.
const FPDGD: (f64, f64) = (3.0, 1.2);
/// Features of MQ2007 and MQ2008.
pub(super) const N_FEATURES: usize = 46;
const N_MANY: u32 = 1000;
/// Shares in a sealed sum.
pub(super) const N_SURVIVORS: u32 = 2;
/// A delta at which events are frequent enough to be counted.
const DELTA: f64 = 0.02;
/// A delta as one would promise it.
const SMALL_DELTA: f64 = 1e-6;
/// Updates are this much longer than the clip.
const TOO_LONG: f64 = 10.0;

pub(super) fn all() -> Vec<Case> {
    let fpdgd_label = Guarantee { epsilon: FPDGD.1, delta: 0.0 };
    vec![
        outcomes("randomised response, p = 0.25", response(0.25), 1, Sound),
        outcomes("randomised response, p = 0.5", response(0.5), 1, Sound),
        outcomes("randomised response, p = 0.9", response(0.9), 1, Sound),
        outcomes("randomised response, message of 2", response(0.5), 2, Sound),
        outcomes("sampled response, message of 8", sampled_response(0.5), 8, Sound),
        message("Duchi, d = 46", duchi(2.0, 1.0), N_FEATURES, Sound),
        message("PrivUnit, d = 46", priv_unit(2.0, 1.0, N_FEATURES), N_FEATURES, Sound),
        sum("Gaussian, one round", gaussian(1.0, 1.0), 4, 2, Sound),
        rounds(10, sum("Gaussian, ten rounds", gaussian(3.0, 1.0), 4, 2, Sound), &gaussian(3.0, 1.0)),
        sum("discrete Gaussian, two shares", discrete_gaussian(1.0, 1.0, N_SURVIVORS), 1, N_SURVIVORS, Sound),
        sum("distributed Laplace, d = 1", fpdgd(1.0), 1, 10, Sound),
        sum("distributed Laplace, d = 4", fpdgd(1.0), 4, 10, Sound),
        simulated_sum("distributed Laplace, d = 46", &fpdgd(1.0), N_FEATURES, Sound),
        // Controls.
        outcomes("randomised response, message of 8 labelled as one", response(0.5), 8, Broken)
            .labelled(response(0.5).cost(&Circumstances::complete(1, 1)).seen.after(1, 0.0)),
        outcomes("randomised response, a tenth of the lies left out", response(0.55), 1, Broken)
            .labelled(response(0.5).cost(&Circumstances::complete(1, 1)).seen.after(1, 0.0)),
        message("Duchi, 0.9 of its epsilon on the label", duchi(2.0, 1.0), N_FEATURES, Broken)
            .labelled(duchi(1.8, 1.0).cost(&Circumstances::complete(N_FEATURES, 1)).seen.after(1, 0.0)),
        message("PrivUnit, 0.9 of its epsilon on the label", priv_unit(2.0, 1.0, N_FEATURES), N_FEATURES, Broken)
            .labelled(priv_unit(1.8, 1.0, N_FEATURES).cost(&Circumstances::complete(N_FEATURES, 1)).seen.after(1, 0.0)),
        sum("Gaussian, half of the noise", gaussian(0.5, 1.0), 4, 2, Broken).labelled(after(&gaussian(1.0, 1.0), 1, 1)),
        sum("Gaussian, 0.9 of the noise", gaussian(0.9, 1.0), 4, 2, Broken).labelled(after(&gaussian(1.0, 1.0), 1, 1)),
        rounds(10, sum("Gaussian, ten rounds labelled as one", gaussian(1.0, 1.0), 4, 2, Broken), &gaussian(1.0, 1.0))
            .labelled(after(&gaussian(1.0, 1.0), 1, 1)),
        sum("distributed Laplace, half of the noise", fpdgd(0.5), 1, 10, Broken).labelled(fpdgd_label),
        sum("distributed Laplace, 0.9 of the noise", fpdgd(0.9), 1, 10, Broken).labelled(fpdgd_label),
        rounds(10, sum("distributed Laplace, ten rounds labelled as one", fpdgd(1.0), 1, 10, Broken), &fpdgd(1.0))
            .labelled(fpdgd_label),
        simulated_sum("FPDGD's own label on the sum", &fpdgd(1.0), N_FEATURES, Broken).labelled(fpdgd_label),
        message("FPDGD's own label on one message of 1000", fpdgd(1.0), N_FEATURES, Broken).labelled(fpdgd_label),
        message("FPDGD's label on no noise at all", clear(), N_FEATURES, Broken).labelled(fpdgd_label),
    ]
}

pub(super) fn response(p: f64) -> Mechanism {
    Mechanism::RandomisedResponse(RandomisedResponse::new(p, Reward::MaxRr, N_SHOWN).expect("more than 1/11"))
}

pub(super) fn sampled_response(p: f64) -> Mechanism {
    Mechanism::SampledResponse(SampledResponse::new(p, Reward::MaxRr, N_SHOWN).expect("more than 1/11"))
}

pub(super) fn laplace(sensitivity: f64, epsilon: f64) -> Mechanism {
    let mechanism = DistributedLaplace::new(sensitivity, epsilon, ClipRadius::Paper);
    Mechanism::DistributedLaplace(mechanism.expect("positive"))
}

/// FPDGD's noise, this many times as large as it should be.
pub(super) fn fpdgd(factor: f64) -> Mechanism {
    laplace(FPDGD.0, FPDGD.1 / factor)
}

pub(super) fn duchi(epsilon: f64, bound: f64) -> Mechanism {
    Mechanism::Duchi(Duchi::new(epsilon, bound).expect("positive"))
}

pub(super) fn priv_unit(epsilon: f64, norm: f64, d: usize) -> Mechanism {
    Mechanism::PrivUnit(PrivUnit::new(epsilon, norm, d).expect("many parameters"))
}

pub(super) fn gaussian(noise_multiplier: f64, clip: f64) -> Mechanism {
    let mechanism = Gaussian::new(Clip::Fixed(clip), noise_multiplier, CentralMode::Sealed);
    Mechanism::Gaussian(mechanism.expect("positive"))
}

/// None of the survivors passes its noise on.
pub(super) fn discrete_gaussian(noise_multiplier: f64, clip: f64, n_survivors: u32) -> Mechanism {
    let mechanism = DiscreteGaussian::new(clip, noise_multiplier, n_survivors, 0);
    Mechanism::DiscreteGaussian(mechanism.expect("wide enough"))
}

pub(super) fn clear() -> Mechanism {
    Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr })
}

/// What so many rounds guarantee: purely where they can, else at [`DELTA`].
fn after(privacy: &Mechanism, n_params: usize, n_rounds: u32) -> Guarantee {
    let cost = privacy.cost(&Circumstances::complete(n_params, 1)).seen;
    cost.after(n_rounds, if cost.epsilon().is_finite() { 0.0 } else { DELTA })
}

/// One message of `n_interactions` outcomes: a click at the first rank each time, or none ever. Statistic: the reward.
fn outcomes(name: &str, privacy: Mechanism, n_interactions: u32, expected: Expected) -> Case {
    let label = privacy.cost(&Circumstances::complete(1, n_interactions)).seen.after(1, 0.0);
    let inputs = [1, 0].map(|outcome| vec![outcome; n_interactions as usize]);
    let round = Round::new(privacy, 1, 1, n_interactions);
    let what = "a click at the first rank or none; by the reward sent";
    Case::new(name, what.into(), label, expected, 1_000_000, move |input, stream, scratch| {
        f64::from(round.reward(&inputs[input], stream, scratch))
    })
}

/// One message about opposite updates. Statistic: the sum of its coordinates.
fn message(name: &str, privacy: Mechanism, d: usize, expected: Expected) -> Case {
    let label = privacy.cost(&Circumstances::complete(d, 1)).seen.after(1, 0.0);
    let (inputs, round) = (opposite(longest(&privacy), d), Round::new(privacy, N_MANY, d, 1));
    let what = "one message about opposite updates; by the sum of its coordinates";
    Case::new(name, what.into(), label, expected, 400_000, move |input, stream, scratch| {
        round.message(&inputs[input], stream, scratch).iter().map(|&x| f64::from(x)).sum()
    })
}

/// The sum as a simulation draws it, with the noise of the mean. Statistic: the privacy loss.
fn simulated_sum(name: &str, privacy: &Mechanism, d: usize, expected: Expected) -> Case {
    let Mechanism::DistributedLaplace(mechanism) = *privacy else { unreachable!("it is Laplace noise") };
    let inputs = opposite(longest(privacy), d);
    let label = Guarantee { epsilon: privacy.cost(&Circumstances::complete(d, 1)).seen.epsilon(), delta: 0.0 };
    let what = format!("mean of {N_MANY} messages; by the privacy loss");
    let round = Round { shares: NoiseShares::DrawnAtClosing, ..Round::new(privacy.clone(), 2, d, 1) };
    Case::new(name, what, label, expected, 1_500_000, move |input, stream, scratch| {
        let sum = round.sum_with(&inputs[input], stream, scratch);
        laplace_loss(sum.into_iter(), f64::from(inputs[0][0]), mechanism.laplace_scale())
    })
}

/// The sum of a cohort's messages. Statistic: the privacy loss, which for Gaussian noise grows with the sum.
///
/// Laplace: one client's model is as long as allowed, in opposite directions that differ in all coordinates alike: no
/// pair has a larger L1 distance. Gaussian: the client's update is too long, or it takes no part.
pub fn sum(name: &str, privacy: Mechanism, d: usize, n_clients: u32, expected: Expected) -> Case {
    sum_of(name, Round::new(privacy, n_clients, d, 1), expected)
}

fn sum_of(name: &str, round: Round, expected: Expected) -> Case {
    let (n_clients, d) = (round.task.n_clients, round.task.global.len());
    let mut inputs = opposite(longest(&round.privacy), d);
    let scale = match round.privacy {
        Mechanism::DistributedLaplace(mechanism) => Some(mechanism.laplace_scale()),
        _ => None,
    };
    if scale.is_none() {
        inputs[1].fill(0.0);
    }
    // Exact discrete noise takes its time.
    let n_samples = match round.privacy {
        Mechanism::DiscreteGaussian(_) => 40_000,
        Mechanism::Gaussian(_) => 1_000_000,
        _ => 400_000,
    };
    let what = format!("sum of {n_clients} messages; by the privacy loss");
    let label = after(&round.privacy, d, 1);
    Case::new(name, what, label, expected, n_samples, move |input, stream, scratch| {
        let sum = round.sum_with(&inputs[input], stream, scratch).into_iter();
        scale.map_or_else(|| sum.clone().sum(), |scale| laplace_loss(sum.clone(), f64::from(inputs[0][0]), scale))
    })
}

/// The privacy loss of a sum that is `shift` or `-shift` in all coordinates.
fn laplace_loss(sum: impl Iterator<Item = f64>, shift: f64, scale: f64) -> f64 {
    sum.map(|x| ((x + shift).abs() - (x - shift).abs()) / scale).sum()
}

/// A sealed sum that was opened with half of its shares: a loss of noise that events cannot show at a small delta.
pub fn half_of_the_shares() -> Case {
    let label =
        discrete_gaussian(1.0, 1.0, N_SURVIVORS).cost(&Circumstances::complete(1, 1)).seen.after(1, SMALL_DELTA);
    let case = sum_of("discrete Gaussian, half of the shares lost", opened_with(N_SURVIVORS / 2), Broken);
    let what = "sum of half of the messages; by the privacy loss".into();
    Case { what, n_samples: 20_000, ..case }.labelled(label)
}

/// A round whose sealed sum is opened with so few shares.
pub(super) fn opened_with(n_survivors: u32) -> Round {
    let round = Round::new(discrete_gaussian(1.0, 1.0, N_SURVIVORS), n_survivors, 1, 1);
    Round { server: discrete_gaussian(1.0, 1.0, n_survivors), ..round }
}

/// The same mechanism several times on the same input, with the label that the accountant gives to all rounds.
fn rounds(n_rounds: u32, case: Case, privacy: &Mechanism) -> Case {
    let once = case.draw;
    let draw: Draw = Box::new(move |input, stream, scratch| (0..n_rounds).map(|_| once(input, stream, scratch)).sum());
    let what = format!("{n_rounds} rounds: {}", case.what);
    Case { draw, what, n_samples: case.n_samples / 4, ..case }.labelled(after(privacy, 1, n_rounds))
}

/// The longest update that matters: that of the learner's clip, or one that the mechanism must clip itself.
fn longest(privacy: &Mechanism) -> f64 {
    privacy.clip_radius().map_or(TOO_LONG, f64::from)
}

/// Vectors of this length in opposite directions, with equal coordinates.
fn opposite(length: f64, d: usize) -> [Vec<f32>; 2] {
    let value = (length / (d as f64).sqrt()) as f32;
    [vec![value; d], vec![-value; d]]
}
