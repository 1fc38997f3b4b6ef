//! What an observer computes from all that a run shows: one number, as close to the likelihood ratio as we can get.

use foltr_federation::Payload;
use foltr_federation::privacy::AdaptiveClip;

use crate::federation::Seen;

/// A number about what was seen in all rounds of a run.
pub(super) enum Statistic {
    /// The sums along the difference of the inputs: the likelihood ratio of Gaussian noise.
    Projection { along: Vec<f64> },
    /// The first sum less the second, along the difference of the inputs: two releases that differ in one client.
    Difference { along: Vec<f64> },
    /// Sums and published clip norms: the likelihood ratio of both.
    Adaptive(AdaptiveNorm),
    /// The privacy loss of Laplace noise of this scale between two sums, over all rounds.
    LaplaceLoss { sums: [Vec<f64>; 2], scale: f64 },
    /// The message along the difference of the inputs.
    Message { along: Vec<f64> },
    /// Which coordinate a message is about, and its sign.
    Bit,
    /// The rewards that a message has.
    Rewards,
    /// The reward of a message on its first side.
    Reward,
}

pub(super) struct AdaptiveNorm {
    pub(super) along: Vec<f64>,
    pub(super) noise_multiplier: f64,
    pub(super) clip: AdaptiveClip,
    /// By what the inputs move the sum, in clip norms, and the balance of the count.
    pub(super) moves: (f64, f64),
    pub(super) divisor: f64,
}

impl Statistic {
    /// Whether values are names without an order.
    pub(super) const fn is_discrete(&self) -> bool {
        matches!(self, Self::Bit | Self::Rewards)
    }

    /// How it looks at a run, in words.
    pub(super) const fn words(&self) -> &'static str {
        match self {
            Self::Projection { .. } => "the sum, along the difference of the inputs",
            Self::Difference { .. } => "the difference of two releases, along that of the inputs",
            Self::Adaptive(_) => "sums and clip norms, by their likelihood ratio",
            Self::LaplaceLoss { .. } => "the sum, by its privacy loss",
            Self::Message { .. } => "one message, along the difference of the inputs",
            Self::Bit => "one message: the coordinate and the sign of its bit",
            Self::Rewards => "one message: its rewards",
            Self::Reward => "one message: its noisy reward",
        }
    }

    pub(super) fn value(&self, rounds: &[Seen]) -> f64 {
        match self {
            Self::Projection { along } => rounds.iter().map(|seen| inner(&seen.sum, along)).sum(),
            Self::Difference { along } => inner(&rounds[0].sum, along) - inner(&rounds[1].sum, along),
            Self::Adaptive(adaptive) => rounds.iter().map(|seen| adaptive.value(seen)).sum(),
            Self::LaplaceLoss { sums: [one, other], scale } => {
                let loss = |seen: &Seen| -> f64 {
                    let terms = seen.sum.iter().zip(one.iter().zip(other));
                    terms.map(|(x, (one, other))| ((x - other).abs() - (x - one).abs()) / scale).sum()
                };
                rounds.iter().map(loss).sum()
            }
            Self::Message { along } => rounds.iter().map(|seen| of_step(seen, |step| along_step(step, along))).sum(),
            Self::Bit => rounds.iter().fold(0.0, |name, seen| 1000.0 * name + of_step(seen, bit)),
            Self::Reward => rounds.iter().map(reward).sum(),
            Self::Rewards => rounds.iter().fold(0.0, |name, seen| 1000.0 * name + rewards(seen)),
        }
    }
}

impl AdaptiveNorm {
    fn value(&self, seen: &Seen) -> f64 {
        let AdaptiveClip { initial, quantile, rate, count_noise } = self.clip;
        let [before, after] = seen.clip_norms.map(|norm| norm.map_or(initial, f64::from));
        let of_sum = self.moves.0 * inner(&seen.sum, &self.along) / (before * self.noise_multiplier.powi(2));
        // The published norm is C exp(-rate (share - quantile)), so that it gives the noisy count away.
        let balance = (quantile - (after / before).ln() / rate - 0.5) * self.divisor;
        of_sum + self.moves.1 * balance / (count_noise * count_noise)
    }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn along_step(step: &[f32], along: &[f64]) -> f64 {
    step.iter().zip(along).map(|(&x, along)| f64::from(x) * along).sum()
}

fn of_step(seen: &Seen, value: impl Fn(&[f32]) -> f64) -> f64 {
    match &seen.message {
        Some(Payload::Step { delta, .. }) => value(delta),
        _ => 0.0,
    }
}

/// The coordinate from 1, with the sign of the bit.
fn bit(step: &[f32]) -> f64 {
    step.iter().position(|&x| x != 0.0).map_or(0.0, |j| (j + 1) as f64 * f64::from(step[j].signum()))
}

fn reward(seen: &Seen) -> f64 {
    match seen.message {
        Some(Payload::Evolution { plus, .. }) => f64::from(plus),
        _ => 0.0,
    }
}

/// A name for the rewards of a message.
fn rewards(seen: &Seen) -> f64 {
    match seen.message {
        Some(Payload::Evolution { plus, minus, .. }) => 2.0 + f64::from(plus) + 37.0 * f64::from(minus.unwrap_or(0.0)),
        _ => 0.0,
    }
}
