//! What is drawn from each sampler, and the law that it should have.

use foltr_federation::privacy::{DiscreteGaussian, LEVELS, PrivUnit};
use foltr_federation::{LocalPrivacy, Mechanism, Payload, PayloadSemantics};
use foltr_rank::Update;
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;

use super::{Draw, Law};
use crate::mechanisms::{N_FEATURES, N_SHOWN, discrete_gaussian, duchi, laplace, step_of, task};

/// Clients whose gamma shares are added up.
pub(super) const N_SHARES: u32 = 10;
/// Of the local mechanisms.
pub(super) const EPSILON: f64 = 2.0;
/// Deviation of a discrete Gaussian that is looked at value by value, in grid units: the least that is allowed.
const GRID_DEVIATION: f64 = 2.0;
/// Values further out are one class.
const GRID_REACH: i32 = 8;
/// What Duchi's coordinates are, in units of their bound.
const DUCHI_VALUE: f32 = 0.5;
/// The rank clicked on, and how often the truth is told about it.
const TRUTH: (u16, f64) = (3, 0.5);

fn scale() -> f64 {
    let Mechanism::DistributedLaplace(mechanism) = laplace(1.0) else { unreachable!("it is Laplace noise") };
    mechanism.laplace_scale()
}

/// 2 b^2.
pub(super) fn laplace_variance() -> f64 {
    2.0 * scale() * scale()
}

pub(super) fn laplace_law() -> Law {
    let b = scale();
    let law = move |x: f64| if x < 0.0 { (x / b).exp() / 2.0 } else { 1.0 - (-x / b).exp() / 2.0 };
    Law::Continuous(Box::new(law))
}

pub(super) fn normal_law() -> Law {
    let normal = Normal::standard();
    Law::Continuous(Box::new(move |x| normal.cdf(x)))
}

/// The noise in a sum over clients whose updates are zero.
pub(super) fn total(privacy: Mechanism, n_clients: u32) -> Draw {
    let task = task(n_clients, 1, 1);
    Box::new(move |stream, scratch| {
        let updates = (0..n_clients).map(|_| task.global.as_slice());
        scratch.sum(&privacy, updates, &task, stream)[0]
    })
}

/// The noise of one message, of Laplace noise in shares.
pub(super) fn gamma_share(factor: f64) -> Draw {
    let (privacy, task) = (laplace(factor), task(N_SHARES, 1, 1));
    Box::new(move |stream, scratch| {
        let update = Update::Step { delta: &task.global, n_interactions: 1 };
        privacy.protect(update, &task, stream, &mut scratch.payload);
        f64::from(step_of(&scratch.payload)[0])
    })
}

/// The noise that a simulation adds to the mean, times the number of clients.
pub(super) fn noise_of_mean(factor: f64) -> Draw {
    let Mechanism::DistributedLaplace(mechanism) = laplace(factor) else { unreachable!("it is Laplace noise") };
    Box::new(move |stream, _| {
        let mut step = [0.0];
        mechanism.laplace_of_mean(N_SHARES, stream, &mut step);
        step[0] * f64::from(N_SHARES)
    })
}

/// The noise in a sealed sum of so many shares, opened even if there are too few.
pub(super) fn survivors(noise_multiplier: f64, n_survivors: u32) -> Draw {
    let (privacy, task) = (discrete_gaussian(noise_multiplier), task(n_survivors, 1, 1));
    let PayloadSemantics::Shares { unit, divisor, .. } = privacy.rule(PayloadSemantics::Averaging, 1.0) else {
        unreachable!("it is sealed")
    };
    let rule = PayloadSemantics::Shares { unit, divisor, min_survivors: n_survivors };
    Box::new(move |stream, scratch| {
        let updates = (0..n_survivors).map(|_| task.global.as_slice());
        scratch.sum_by(&rule, &privacy, updates, &task, stream)[0]
    })
}

/// One share of this deviation, in grid units.
pub(super) fn grid_share(deviation: f64) -> Draw {
    let multiplier = deviation / f64::from(LEVELS);
    let mechanism = DiscreteGaussian::new(1.0, multiplier, 1, 0).expect("at least two units wide");
    let draw = total(Mechanism::DiscreteGaussian(mechanism), 1);
    Box::new(move |stream, scratch| draw(stream, scratch) * f64::from(LEVELS))
}

/// One share of the least deviation, by its value.
pub(super) fn on_the_grid() -> Draw {
    let draw = grid_share(GRID_DEVIATION);
    Box::new(move |stream, scratch| {
        let value = draw(stream, scratch).round() as i32;
        f64::from(value.clamp(-GRID_REACH, GRID_REACH) + GRID_REACH)
    })
}

/// Proportional to e^(-k^2/(2 s^2)) on the integers, with both tails as one class each.
pub(super) fn grid_law() -> Law {
    let weight = |k: i32| (-f64::from(k * k) / (2.0 * GRID_DEVIATION * GRID_DEVIATION)).exp();
    let total: f64 = (-60..=60).map(weight).sum();
    let tail: f64 = (GRID_REACH..=60).map(weight).sum::<f64>() / total;
    let inner = (1 - GRID_REACH..GRID_REACH).map(|k| weight(k) / total);
    Law::Classes(std::iter::once(tail).chain(inner).chain([tail]).collect())
}

/// Whether Duchi's bit is positive.
pub(super) fn sign(epsilon: f64) -> Draw {
    let draw = bit(epsilon);
    Box::new(move |stream, scratch| {
        draw(stream, scratch);
        f64::from(u8::from(step_of(&scratch.payload).iter().sum::<f32>() > 0.0))
    })
}

/// Minus, plus: 1/2 + x (e^eps - 1)/(2 (e^eps + 1)).
pub(super) fn sign_law() -> Law {
    let plus = 0.5 + f64::from(DUCHI_VALUE) * (EPSILON.exp() - 1.0) / (2.0 * (EPSILON.exp() + 1.0));
    Law::Classes(vec![1.0 - plus, plus])
}

/// Which coordinate Duchi's bit is about.
pub(super) fn coordinate() -> Draw {
    bit(EPSILON)
}

pub(super) fn even_law() -> Law {
    Law::Classes(vec![1.0 / N_FEATURES as f64; N_FEATURES])
}

/// Sends a bit; returns its coordinate.
fn bit(epsilon: f64) -> Draw {
    let (privacy, task) = (duchi(epsilon), task(1, N_FEATURES, 1));
    let update = vec![DUCHI_VALUE; N_FEATURES];
    Box::new(move |stream, scratch| {
        privacy.protect(Update::Step { delta: &update, n_interactions: 1 }, &task, stream, &mut scratch.payload);
        step_of(&scratch.payload).iter().position(|&x| x != 0.0).unwrap_or(N_FEATURES) as f64
    })
}

fn unit(epsilon: f64) -> PrivUnit {
    PrivUnit::new(epsilon, 1.0, N_FEATURES).expect("positive")
}

/// The inner product of PrivUnit's direction with the true one.
pub(super) fn inner_product(epsilon: f64) -> Draw {
    let (mechanism, task) = (unit(epsilon), task(1, N_FEATURES, 1));
    let update: Vec<f32> = (0..N_FEATURES).map(|j| if j == 0 { 3.0 } else { 0.0 }).collect();
    Box::new(move |stream, scratch| {
        mechanism.protect(Update::Step { delta: &update, n_interactions: 1 }, &task, stream, &mut scratch.payload);
        f64::from(step_of(&scratch.payload)[0]) / mechanism.message_norm()
    })
}

/// Within the cap with its probability, else outside; uniform on the sphere in both parts.
pub(super) fn cap_law() -> Law {
    let (probability, gamma) = unit(EPSILON).cap();
    let half = (N_FEATURES as f64 - 1.0) / 2.0;
    let uniform = move |t: f64| beta_reg(half, half, ((1.0 + t) / 2.0).clamp(0.0, 1.0));
    let outside = uniform(gamma);
    let law = move |t: f64| {
        if t < gamma {
            (1.0 - probability) * uniform(t) / outside
        } else {
            1.0 - probability + probability * (uniform(t) - outside) / (1.0 - outside)
        }
    };
    Law::Continuous(Box::new(law))
}

/// What is answered about so many interactions of which each had the same click.
pub(super) fn answer(privacy: Mechanism, n_interactions: usize) -> Draw {
    let (plus, task) = (vec![TRUTH.0; n_interactions], task(1, 1, n_interactions));
    Box::new(move |stream, scratch| {
        let update = Update::Evolution { seed: 0, plus: &plus, minus: &[] };
        privacy.protect(update, &task, stream, &mut scratch.payload);
        // Rank r has the reward 1/r, no click has 0.
        match scratch.payload {
            Payload::Evolution { plus, .. } if plus > 0.0 => f64::from((1.0 / plus).round()),
            _ => 0.0,
        }
    })
}

pub(super) fn answer_law() -> Law {
    let (rank, truth) = TRUTH;
    let probability = |answer: usize| if answer == usize::from(rank) { truth } else { (1.0 - truth) / N_SHOWN as f64 };
    Law::Classes((0..=N_SHOWN).map(probability).collect())
}
