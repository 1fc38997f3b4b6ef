//! The law of the privacy loss of one round, and the same on a grid, never more favourable.
//!
//! Losses between two points a < b of the grid are divided between them: of probability p, the share
//! (1 - e^(a - x))/(1 - e^(a - b)) of a loss x goes to b. That keeps the probability under both hypotheses, p and
//! p e^-x. delta is the mean of a convex function of e^-x, so spreading e^-x never lowers it (`DGKKM22`).

use std::f64::consts::PI;

use super::super::gaussian::{POINTS, upper};
use super::super::response;

/// Above what quadrature and rounding can have taken from a probability.
const SURE: f64 = 1.0 + 1e-11;

/// Width of a piece of quadrature, in deviations of the noise. Four points leave an error of 1e-15 of the piece where the
/// density is that of a normal variate up to 8 deviations off; further out, or with large mu, pieces are narrower.
const PIECE: f64 = 0.02;

/// Which of two neighbours the outcome comes from: the run from which a client is removed, or to which it is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Removed,
    Added,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Loss {
    /// Losses with their probabilities, the same in both directions.
    Atoms(Vec<(f64, f64)>),
    /// Noise of deviation 1 on a sum that a client moves by mu if its coin of this probability says yes. At probability 1
    /// it is Gaussian noise.
    Sampled { probability: f64, mu: f64 },
}

/// A law on the multiples of a step: index and logarithm of the probability, and what lies beyond all of them.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub points: Vec<(i64, f64)>,
    pub beyond: f64,
}

impl Loss {
    /// The worst law of a pure mechanism: a coin (`pure`).
    pub fn of_pure(epsilon: f64) -> Self {
        let rare = 1.0 / (1.0 + epsilon.exp());
        Self::Atoms(vec![(epsilon, 1.0 / (1.0 + (-epsilon).exp())), (-epsilon, rare)])
    }

    /// One answer among n, the truth with probability p.
    pub fn of_response(probability: f64, n_outcomes: u32) -> Self {
        let other = response::other(probability, n_outcomes);
        let loss = (probability / other).ln();
        Self::Atoms(vec![(loss, probability), (0.0, (f64::from(n_outcomes) - 2.0) * other), (-loss, other)])
    }

    pub fn is_symmetric(&self) -> bool {
        matches!(self, Self::Atoms(_) | Self::Sampled { probability: 1.0, .. })
    }

    pub fn is_zero(&self) -> bool {
        match self {
            Self::Atoms(atoms) => atoms.iter().all(|(loss, _)| *loss == 0.0),
            Self::Sampled { probability, mu } => *probability == 0.0 || *mu == 0.0,
        }
    }

    pub fn is_finite(&self) -> bool {
        match self {
            Self::Atoms(atoms) => atoms.iter().all(|(loss, p)| loss.is_finite() && (0.0..=1.0).contains(p)),
            Self::Sampled { probability, mu } => (0.0..=1.0).contains(probability) && mu.is_finite() && *mu > 0.0,
        }
    }

    pub fn largest_atom(&self) -> Option<f64> {
        let Self::Atoms(atoms) = self else { return None };
        Some(atoms.iter().map(|(loss, _)| *loss).fold(0.0, f64::max))
    }

    /// The width of the losses of which at most `beyond` is left out.
    pub fn range(&self, direction: Direction, beyond: f64) -> f64 {
        match *self {
            Self::Atoms(_) => 0.0,
            Self::Sampled { probability, mu } => {
                let noise = Noise { probability, mu, direction };
                let (low, high) = noise.reach(beyond);
                noise.loss(high) - noise.loss(low)
            }
        }
    }

    /// On the multiples of `step`, with at most `beyond` left out.
    pub fn on_grid(&self, direction: Direction, step: f64, beyond: f64) -> Law {
        match self {
            Self::Atoms(atoms) => {
                let mut cells = Cells::new(step);
                atoms.iter().for_each(|(loss, p)| cells.add((loss / step).floor() as i64, *loss, *p));
                cells.finish(0.0)
            }
            Self::Sampled { probability, mu } => {
                Noise { probability: *probability, mu: *mu, direction }.on_grid(step, beyond)
            }
        }
    }
}

/// A normal variate, shifted or not, along which the loss grows.
#[derive(Clone, Copy)]
struct Noise {
    probability: f64,
    mu: f64,
    direction: Direction,
}

impl Noise {
    /// ln(1 - q + q e^y).
    fn ln_mixture(&self, y: f64) -> f64 {
        let q = self.probability;
        match y {
            _ if q == 1.0 => y,
            _ if y > 1.0 => y + (q + (1.0 - q) * (-y).exp()).ln(),
            _ if y > -1.0 => (q * y.exp_m1()).ln_1p(),
            _ => (1.0 - q + q * y.exp()).ln(),
        }
    }

    /// The y with this [`Self::ln_mixture`]; minus infinity for what is too low for any.
    fn inverse_mixture(&self, x: f64) -> f64 {
        let q = self.probability;
        match x {
            _ if q == 1.0 => x,
            _ if x > 600.0 => x - q.ln(),
            _ => (x.exp_m1() / q).max(-1.0).ln_1p(),
        }
    }

    fn loss(&self, z: f64) -> f64 {
        let Self { mu, direction, .. } = *self;
        match direction {
            Direction::Removed => self.ln_mixture(mu * z - mu * mu / 2.0),
            Direction::Added => -self.ln_mixture(-mu * z - mu * mu / 2.0),
        }
    }

    /// Where the loss is x.
    fn place(&self, x: f64) -> f64 {
        let Self { mu, direction, .. } = *self;
        match direction {
            Direction::Removed => self.inverse_mixture(x) / mu + mu / 2.0,
            Direction::Added => -(self.inverse_mixture(-x) / mu + mu / 2.0),
        }
    }

    fn density(&self, z: f64) -> f64 {
        let normal = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        match self.direction {
            Direction::Removed => (1.0 - self.probability) * normal(z) + self.probability * normal(z - self.mu),
            Direction::Added => normal(z),
        }
    }

    /// Between which places all but `beyond` lies on either side.
    fn reach(&self, beyond: f64) -> (f64, f64) {
        // The tail above r is below e^(-r^2/2)/2.
        let deviations = |share: f64| (2.0 * (share / beyond).ln().max(1.0)).sqrt();
        let shifted = if self.direction == Direction::Removed { self.mu } else { 0.0 };
        let high = (shifted + deviations(self.probability)).max(deviations(1.0));
        (-deviations(1.0), high)
    }

    /// Probability above z.
    fn tail(&self, z: f64) -> f64 {
        match self.direction {
            Direction::Removed => (1.0 - self.probability) * upper(z) + self.probability * upper(z - self.mu),
            Direction::Added => upper(z),
        }
    }

    fn on_grid(&self, step: f64, beyond: f64) -> Law {
        let (low, high) = self.reach(beyond);
        let piece = PIECE / self.mu.max(1.0).max(high / 8.0);
        let mut cells = Cells::new(step);
        let (first, last) = ((self.loss(low) / step).floor() as i64, (self.loss(high) / step).floor() as i64);
        // What is further down counts as a loss within reach, which is larger.
        cells.add(first, self.loss(low), upper(-low) * SURE);
        for cell in first..=last {
            let (from, to) = (self.place(cell as f64 * step).max(low), self.place((cell + 1) as f64 * step).min(high));
            let n_pieces = ((to - from) / piece).ceil().max(0.0);
            let half = (to - from) / n_pieces / 2.0;
            for i in 0..n_pieces as u64 {
                let middle = from + half * (2.0 * i as f64 + 1.0);
                for (point, weight) in POINTS {
                    let z = middle + half * point;
                    cells.add(cell, self.loss(z), half * weight * self.density(z));
                }
            }
        }
        cells.finish(self.tail(high) * SURE)
    }
}

/// Probabilities between neighbouring points of a grid, in order.
struct Cells {
    step: f64,
    /// Lower point, probability, and its share of the upper point.
    cells: Vec<(i64, f64, f64)>,
}

impl Cells {
    fn new(step: f64) -> Self {
        Self { step, cells: Vec::new() }
    }

    fn add(&mut self, cell: i64, loss: f64, probability: f64) {
        let above = loss - cell as f64 * self.step;
        let share = ((-above).exp_m1() / (-self.step).exp_m1()).clamp(0.0, 1.0);
        match self.cells.last_mut() {
            Some((last, all, raised)) if *last == cell => {
                *all += probability;
                *raised += share * probability;
            }
            _ => self.cells.push((cell, probability, share * probability)),
        }
    }

    fn finish(mut self, beyond: f64) -> Law {
        self.cells.sort_by_key(|(cell, ..)| *cell);
        let mut points: Vec<(i64, f64)> = Vec::with_capacity(self.cells.len() + 1);
        let mut put = |index: i64, probability: f64| match points.last_mut() {
            Some((last, known)) if *last == index => *known += probability,
            _ => points.push((index, probability)),
        };
        for (cell, all, raised) in self.cells {
            let all = all * SURE;
            let raised = (raised * SURE * SURE).min(all);
            put(cell, all - raised);
            put(cell + 1, raised);
        }
        let ln = |(index, probability): (i64, f64)| (index, probability.ln());
        Law { points: points.into_iter().filter(|(_, p)| *p > 0.0).map(ln).collect(), beyond }
    }
}
