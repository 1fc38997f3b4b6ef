//! What is drawn from each sampler, and the law that it should have.

use foltr_federation::Mechanism;
use foltr_federation::privacy::{DiscreteGaussian, LEVELS, NoiseShares, PrivUnit};
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;

use super::Draw;
use crate::law::Law;
use crate::mechanisms::{N_FEATURES, N_SHOWN, duchi, fpdgd};
use crate::sampling::Round;

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
/// The rank clicked on, and the probability of a true answer.
const TRUTH: (u16, f64) = (3, 0.5);

fn scale() -> f64 {
    let Mechanism::DistributedLaplace(mechanism) = fpdgd(1.0) else { unreachable!("it is Laplace noise") };
    mechanism.laplace_scale()
}

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
pub(super) fn total(round: Round) -> Draw {
    Box::new(move |stream, scratch| round.sum_with(&round.task.global, stream, scratch)[0])
}

pub(super) fn total_of(privacy: Mechanism, n_clients: u32) -> Draw {
    total(Round::new(privacy, n_clients, 1, 1))
}

fn of_message<S: Fn(&[f32]) -> f64 + Send + Sync + 'static>(
    privacy: Mechanism,
    n_clients: u32,
    update: Vec<f32>,
    statistic: S,
) -> Draw {
    let round = Round::new(privacy, n_clients, update.len(), 1);
    Box::new(move |stream, scratch| statistic(round.message(&update, stream, scratch)))
}

/// The noise of one message, of Laplace noise in shares.
pub(super) fn gamma_share(factor: f64) -> Draw {
    of_message(fpdgd(factor), N_SHARES, vec![0.0], |message| f64::from(message[0]))
}

/// The noise that a simulation adds to the mean, times the number of clients.
pub(super) fn noise_of_mean(factor: f64) -> Draw {
    total(Round { shares: NoiseShares::DrawnAtClosing, ..Round::new(fpdgd(factor), N_SHARES, 1, 1) })
}

/// One share of this deviation, in grid units.
pub(super) fn grid_share(deviation: f64) -> Draw {
    let multiplier = deviation / f64::from(LEVELS);
    let mechanism = DiscreteGaussian::new(1.0, multiplier, 1, 0).expect("at least two units wide");
    let draw = total_of(Mechanism::DiscreteGaussian(mechanism), 1);
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

pub(super) fn sign(epsilon: f64) -> Draw {
    let is_positive = |message: &[f32]| f64::from(u8::from(message.iter().sum::<f32>() > 0.0));
    of_message(duchi(epsilon, 1.0), 1, vec![DUCHI_VALUE; N_FEATURES], is_positive)
}

/// Minus, plus: 1/2 + x (e^eps - 1)/(2 (e^eps + 1)).
pub(super) fn sign_law() -> Law {
    let plus = 0.5 + f64::from(DUCHI_VALUE) * (EPSILON.exp() - 1.0) / (2.0 * (EPSILON.exp() + 1.0));
    Law::Classes(vec![1.0 - plus, plus])
}

pub(super) fn even_law() -> Law {
    Law::Classes(vec![1.0 / N_FEATURES as f64; N_FEATURES])
}

pub(super) fn coordinate() -> Draw {
    let of_bit = |message: &[f32]| message.iter().position(|&x| x != 0.0).unwrap_or(N_FEATURES) as f64;
    of_message(duchi(EPSILON, 1.0), 1, vec![DUCHI_VALUE; N_FEATURES], of_bit)
}

fn unit(epsilon: f64) -> PrivUnit {
    PrivUnit::new(epsilon, 1.0, N_FEATURES).expect("positive")
}

pub(super) fn inner_product(epsilon: f64) -> Draw {
    let (mechanism, mut update) = (unit(epsilon), vec![0.0; N_FEATURES]);
    update[0] = 3.0;
    let norm = mechanism.message_norm();
    of_message(Mechanism::PrivUnit(mechanism), 1, update, move |message| f64::from(message[0]) / norm)
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
pub(super) fn answer(privacy: Mechanism, n_interactions: u32) -> Draw {
    let outcomes = vec![TRUTH.0; n_interactions as usize];
    let round = Round::new(privacy, 1, 1, n_interactions);
    Box::new(move |stream, scratch| {
        // Rank r has the reward 1/r, no click has 0.
        let reward = round.reward(&outcomes, stream, scratch);
        if reward > 0.0 { f64::from((1.0 / reward).round()) } else { 0.0 }
    })
}

pub(super) fn answer_law() -> Law {
    let (rank, truth) = TRUTH;
    let probability = |answer: usize| if answer == usize::from(rank) { truth } else { (1.0 - truth) / N_SHOWN as f64 };
    Law::Classes((0..=N_SHOWN).map(probability).collect())
}
