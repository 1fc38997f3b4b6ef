//! Which mechanisms are audited, under which label? One line each; the broken ones are controls.
//!
//! Labels are what [`LocalPrivacy::cost`] and the accountant say, unless a control puts another one on. Noise that
//! protects a sum only is audited on the sum of a cohort, in which one client's update is the one or the other and all
//! other updates are zero. Where a mechanism clips, updates are ten times as long as the clip.

use foltr_federation::accountant::Guarantee;
use foltr_federation::privacy::{
    CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, PrivUnit, RandomisedResponse,
    SampledResponse, Unprotected,
};
use foltr_federation::{LocalPrivacy, Mechanism, Payload, PayloadSemantics, RoundTask};
use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;

use super::Expected::{self, Broken, Sound};
use super::epsilon::{Case, Draw, Neighbour};

/// Documents shown, as in the papers: MaxRR then has eleven outcomes.
pub(super) const N_SHOWN: usize = 10;
/// Sensitivity and label of FPDGD's first setting.
const FPDGD: (f64, f64) = (3.0, 1.2);
/// Features of MQ2007 and MQ2008.
pub(super) const N_FEATURES: usize = 46;
/// Clients of a large cohort.
const N_MANY: u32 = 1000;
/// Shares in a sealed sum.
pub(super) const N_SURVIVORS: u32 = 2;
/// A delta at which events are frequent enough to be counted.
const DELTA: f64 = 0.02;
/// A delta as one would promise it.
const SMALL_DELTA: f64 = 1e-6;
/// Updates are this much longer than the clip.
const TOO_LONG: f64 = 10.0;

/// All cases, in the order of the table.
pub fn all() -> Vec<Case> {
    let fpdgd_label = Guarantee { epsilon: FPDGD.1, delta: 0.0 };
    vec![
        outcomes("randomised response, p = 0.25", response(0.25), 1, Sound),
        outcomes("randomised response, p = 0.5", response(0.5), 1, Sound),
        outcomes("randomised response, p = 0.9", response(0.9), 1, Sound),
        outcomes("randomised response, message of 2", response(0.5), 2, Sound),
        outcomes("sampled response, message of 8", sampled_response(0.5), 8, Sound),
        message("Duchi, d = 46", duchi(2.0), N_FEATURES, Sound),
        message("PrivUnit, d = 46", priv_unit(2.0), N_FEATURES, Sound),
        sum("Gaussian, one round", gaussian(1.0), 4, 2, Sound),
        rounds(10, sum("Gaussian, ten rounds", gaussian(3.0), 4, 2, Sound), &gaussian(3.0)),
        sum("discrete Gaussian, two shares", discrete_gaussian(1.0), 1, N_SURVIVORS, Sound),
        sum("distributed Laplace, d = 1", laplace(1.0), 1, 10, Sound),
        sum("distributed Laplace, d = 4", laplace(1.0), 4, 10, Sound),
        simulated_sum("distributed Laplace, d = 46", &laplace(1.0), N_FEATURES, Sound),
        // Controls.
        outcomes("randomised response, message of 8 labelled as one", response(0.5), 8, Broken)
            .labelled(response(0.5).cost(1, 1).after(1, 0.0)),
        outcomes("randomised response, a tenth of the lies left out", response(0.55), 1, Broken)
            .labelled(response(0.5).cost(1, 1).after(1, 0.0)),
        message("Duchi, 0.9 of its epsilon on the label", duchi(2.0), N_FEATURES, Broken)
            .labelled(duchi(1.8).cost(N_FEATURES, 1).after(1, 0.0)),
        message("PrivUnit, 0.9 of its epsilon on the label", priv_unit(2.0), N_FEATURES, Broken)
            .labelled(priv_unit(1.8).cost(N_FEATURES, 1).after(1, 0.0)),
        sum("Gaussian, half of the noise", gaussian(0.5), 4, 2, Broken).labelled(one_round(&gaussian(1.0))),
        sum("Gaussian, 0.9 of the noise", gaussian(0.9), 4, 2, Broken).labelled(one_round(&gaussian(1.0))),
        rounds(10, sum("Gaussian, ten rounds labelled as one", gaussian(1.0), 4, 2, Broken), &gaussian(1.0))
            .labelled(one_round(&gaussian(1.0))),
        sum("distributed Laplace, half of the noise", laplace(0.5), 1, 10, Broken).labelled(fpdgd_label),
        sum("distributed Laplace, 0.9 of the noise", laplace(0.9), 1, 10, Broken).labelled(fpdgd_label),
        rounds(10, sum("distributed Laplace, ten rounds labelled as one", laplace(1.0), 1, 10, Broken), &laplace(1.0))
            .labelled(fpdgd_label),
        simulated_sum("FPDGD's own label on the sum", &laplace(1.0), N_FEATURES, Broken).labelled(fpdgd_label),
        message("FPDGD's own label on one message of 1000", laplace(1.0), N_FEATURES, Broken).labelled(fpdgd_label),
        message("FPDGD's label on no noise at all", clear(), N_FEATURES, Broken).labelled(fpdgd_label),
    ]
}

pub(super) fn response(p: f64) -> Mechanism {
    Mechanism::RandomisedResponse(RandomisedResponse::new(p, Reward::MaxRr, N_SHOWN).expect("more than 1/11"))
}

pub(super) fn sampled_response(p: f64) -> Mechanism {
    Mechanism::SampledResponse(SampledResponse::new(p, Reward::MaxRr, N_SHOWN).expect("more than 1/11"))
}

/// FPDGD's noise, this many times as large as it should be.
pub(super) fn laplace(factor: f64) -> Mechanism {
    let mechanism = DistributedLaplace::new(FPDGD.0, FPDGD.1 / factor, ClipRadius::Paper);
    Mechanism::DistributedLaplace(mechanism.expect("positive"))
}

pub(super) fn duchi(epsilon: f64) -> Mechanism {
    Mechanism::Duchi(Duchi::new(epsilon, 1.0).expect("positive"))
}

pub(super) fn priv_unit(epsilon: f64) -> Mechanism {
    Mechanism::PrivUnit(PrivUnit::new(epsilon, 1.0, N_FEATURES).expect("positive"))
}

pub(super) fn gaussian(noise_multiplier: f64) -> Mechanism {
    let mechanism = Gaussian::new(Clip::Fixed(1.0), noise_multiplier, CentralMode::Sealed);
    Mechanism::Gaussian(mechanism.expect("positive"))
}

/// Shares for two survivors, none of whom passes its noise on.
pub(super) fn discrete_gaussian(noise_multiplier: f64) -> Mechanism {
    Mechanism::DiscreteGaussian(DiscreteGaussian::new(1.0, noise_multiplier, N_SURVIVORS, 0).expect("wide enough"))
}

fn clear() -> Mechanism {
    Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr })
}

/// What so many rounds guarantee: purely where they can, else at [`DELTA`].
fn after(privacy: &Mechanism, n_params: usize, n_rounds: u32) -> Guarantee {
    let cost = privacy.cost(n_params, 1);
    cost.after(n_rounds, if cost.epsilon().is_finite() { 0.0 } else { DELTA })
}

fn one_round(privacy: &Mechanism) -> Guarantee {
    after(privacy, 1, 1)
}

impl Case {
    /// The same under another label.
    #[must_use]
    pub fn labelled(self, Guarantee { epsilon, delta }: Guarantee) -> Self {
        Self { claimed: epsilon, delta, ..self }
    }
}

/// One message of `n_interactions` outcomes: a click at the first rank each time, or none ever. Statistic: the reward.
pub fn outcomes(name: &str, privacy: Mechanism, n_interactions: usize, expected: Expected) -> Case {
    let Guarantee { epsilon, delta } = privacy.cost(1, n_interactions as u32).after(1, 0.0);
    let inputs = [vec![1_u16; n_interactions], vec![0_u16; n_interactions]];
    let task = task(1, 1, n_interactions);
    let draw: Draw = Box::new(move |input, stream, scratch| {
        let plus = &inputs[input.index()];
        privacy.protect(Update::Evolution { seed: 0, plus, minus: &[] }, &task, stream, &mut scratch.payload);
        let Payload::Evolution { plus, .. } = scratch.payload else { unreachable!("outcomes stay outcomes") };
        f64::from(plus)
    });
    let what = "a click at the first rank or none; by the reward sent".into();
    Case { mechanism: name.into(), what, claimed: epsilon, delta, expected, n_samples: 1_000_000, draw }
}

/// One message about opposite updates. Statistic: the sum of its coordinates.
pub fn message(name: &str, privacy: Mechanism, d: usize, expected: Expected) -> Case {
    let Guarantee { epsilon, delta } = privacy.cost(d, 1).after(1, 0.0);
    let (inputs, task) = (opposite(longest(&privacy), d), task(N_MANY, d, 1));
    let draw: Draw = Box::new(move |input, stream, scratch| {
        let update = Update::Step { delta: &inputs[input.index()], n_interactions: 1 };
        privacy.protect(update, &task, stream, &mut scratch.payload);
        step_of(&scratch.payload).iter().map(|&x| f64::from(x)).sum()
    });
    let what = "one message about opposite updates; by the sum of its coordinates".into();
    Case { mechanism: name.into(), what, claimed: epsilon, delta, expected, n_samples: 400_000, draw }
}

/// The sum as a simulation draws it, with the noise of the mean. Statistic: the privacy loss.
pub fn simulated_sum(name: &str, privacy: &Mechanism, d: usize, expected: Expected) -> Case {
    let Mechanism::DistributedLaplace(mechanism) = *privacy else { unreachable!("it is Laplace noise") };
    let (inputs, scale) = (opposite(longest(privacy), d), mechanism.laplace_scale());
    let draw: Draw = Box::new(move |input, stream, _| {
        let mut step: Vec<f64> = inputs[input.index()].iter().map(|&x| f64::from(x) / f64::from(N_MANY)).collect();
        mechanism.laplace_of_mean(N_MANY, stream, &mut step);
        let shift = f64::from(inputs[0][0]);
        let sum = step.iter().map(|x| x * f64::from(N_MANY));
        sum.map(|x| ((x + shift).abs() - (x - shift).abs()) / scale).sum()
    });
    let what = format!("mean of {N_MANY} messages; by the privacy loss");
    let claimed = privacy.cost(d, 1).epsilon();
    Case { mechanism: name.into(), what, claimed, delta: 0.0, expected, n_samples: 1_500_000, draw }
}

/// The sum of a cohort's messages. Statistic: the privacy loss, which for Gaussian noise grows with the sum.
///
/// Laplace: one client's model is as long as allowed, in opposite directions that differ in all coordinates alike: no
/// pair has a larger L1 distance. Gaussian: the client's update is too long, or it takes no part.
pub fn sum(name: &str, privacy: Mechanism, d: usize, n_clients: u32, expected: Expected) -> Case {
    let Guarantee { epsilon, delta } = after(&privacy, d, 1);
    let mut inputs = opposite(longest(&privacy), d);
    let laplace = if let Mechanism::DistributedLaplace(mechanism) = privacy { Some(mechanism) } else { None };
    if laplace.is_none() {
        inputs[1].fill(0.0);
    }
    // Exact discrete noise takes its time.
    let n_samples = match privacy {
        Mechanism::DiscreteGaussian(_) => 40_000,
        Mechanism::Gaussian(_) => 1_000_000,
        _ => 400_000,
    };
    let (task, shift) = (task(n_clients, d, 1), f64::from(inputs[0][0]));
    let draw: Draw = Box::new(move |input, stream, scratch| {
        let others = (1..n_clients).map(|_| task.global.as_slice());
        let updates = std::iter::once(inputs[input.index()].as_slice()).chain(others);
        let sum = scratch.sum(&privacy, updates, &task, stream);
        match &laplace {
            Some(noise) => sum.iter().map(|x| ((x + shift).abs() - (x - shift).abs()) / noise.laplace_scale()).sum(),
            None => sum.iter().sum(),
        }
    });
    let what = format!("sum of {n_clients} messages; by the privacy loss");
    Case { mechanism: name.into(), what, claimed: epsilon, delta, expected, n_samples, draw }
}

/// A sealed sum that was opened with half of its shares: a loss of noise that events cannot show at a small delta.
pub fn half_of_the_shares() -> Case {
    let (privacy, task) = (discrete_gaussian(1.0), task(N_SURVIVORS / 2, 1, 1));
    let PayloadSemantics::Shares { unit, divisor, .. } = privacy.rule(PayloadSemantics::Averaging, 1.0) else {
        unreachable!("it is sealed")
    };
    let rule = PayloadSemantics::Shares { unit, divisor, min_survivors: N_SURVIVORS / 2 };
    let Guarantee { epsilon, delta } = privacy.cost(1, 1).after(1, SMALL_DELTA);
    let inputs = [[TOO_LONG as f32], [0.0]];
    let draw: Draw = Box::new(move |input, stream, scratch| {
        let others = (1..task.n_clients).map(|_| task.global.as_slice());
        let updates = std::iter::once(inputs[input.index()].as_slice()).chain(others);
        scratch.sum_by(&rule, &privacy, updates, &task, stream)[0]
    });
    Case {
        mechanism: "discrete Gaussian, half of the shares lost".into(),
        what: "sum of half of the messages; by the privacy loss".into(),
        claimed: epsilon,
        delta,
        expected: Broken,
        n_samples: 20_000,
        draw,
    }
}

/// The same mechanism several times on the same input, with the label that the accountant gives to all rounds.
pub fn rounds(n_rounds: u32, case: Case, privacy: &Mechanism) -> Case {
    let once = case.draw;
    let draw: Draw = Box::new(move |input, stream, scratch| (0..n_rounds).map(|_| once(input, stream, scratch)).sum());
    let what = format!("{n_rounds} rounds: {}", case.what);
    Case { draw, what, n_samples: case.n_samples / 4, ..case }.labelled(after(privacy, 1, n_rounds))
}

impl Neighbour {
    const fn index(self) -> usize {
        self as usize
    }
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

pub(super) fn task(n_clients: u32, d: usize, n_interactions: usize) -> RoundTask {
    let n_interactions = n_interactions as u32;
    RoundTask { round: 0, global: vec![0.0; d], n_clients, n_interactions, clip_norm: None }
}

pub(super) fn step_of(payload: &Payload) -> &[f32] {
    let Payload::Step { delta, .. } = payload else { unreachable!("a step stays a step") };
    delta
}
