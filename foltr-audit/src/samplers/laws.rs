//! The laws that samplers should have.

use foltr_federation::Mechanism;
use foltr_federation::privacy::PrivUnit;
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;

use crate::law::Law;
use crate::mechanisms::{EPSILON, N_FEATURES, N_SHOWN, fpdgd};

/// Deviation of a discrete Gaussian that is looked at value by value, in grid units: the least that is allowed.
pub(super) const GRID_DEVIATION: f64 = 2.0;
/// Values further out are one class.
pub(super) const GRID_REACH: i32 = 8;
/// A coordinate of Duchi's, in units of its bound.
pub(super) const DUCHI_VALUE: f64 = 0.9;
/// The rank clicked on, and the probability of a true answer.
pub(super) const TRUTH: (u16, f64) = (3, 0.5);

pub(super) fn scale() -> f64 {
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

/// Proportional to e^(-k^2/(2 s^2)) on the integers, with both tails as one class each.
pub(super) fn grid_law() -> Law {
    let weight = |k: i32| (-f64::from(k * k) / (2.0 * GRID_DEVIATION * GRID_DEVIATION)).exp();
    let total: f64 = (-60..=60).map(weight).sum();
    let tail: f64 = (GRID_REACH..=60).map(weight).sum::<f64>() / total;
    let inner = (1 - GRID_REACH..GRID_REACH).map(|k| weight(k) / total);
    Law::Classes(std::iter::once(tail).chain(inner).chain([tail]).collect())
}

/// Minus, plus: 1/2 + x (e^eps - 1)/(2 (e^eps + 1)).
pub(super) fn sign_law() -> Law {
    let plus = 0.5 + DUCHI_VALUE * (EPSILON.exp() - 1.0) / (2.0 * (EPSILON.exp() + 1.0));
    Law::Classes(vec![1.0 - plus, plus])
}

pub(super) fn even_law() -> Law {
    Law::Classes(vec![1.0 / N_FEATURES as f64; N_FEATURES])
}

/// Within the cap with its probability, else outside; uniform on the sphere in both parts.
pub(super) fn cap_law() -> Law {
    let (probability, gamma) = PrivUnit::new(EPSILON, 1.0, N_FEATURES).expect("positive").cap();
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

pub(super) fn answer_law() -> Law {
    let (rank, truth) = TRUTH;
    let probability = |answer: usize| if answer == usize::from(rank) { truth } else { (1.0 - truth) / N_SHOWN as f64 };
    Law::Classes((0..=N_SHOWN).map(probability).collect())
}
