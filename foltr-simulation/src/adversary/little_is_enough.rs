//! A little is enough: as far from the mean as honest updates scatter, and no further.
//!
//! `BBG19` Baruch, Baruch, Goldberg: *A Little Is Enough: Circumventing Defenses For Distributed Learning*, NeurIPS
//! 2019, the attack that prevents convergence; spec section 13.1. All attackers send mean - z deviation, with the largest z for
//! which, if updates are normal, enough honest ones lie beyond to make a majority with the attackers.
//!
//! Two formulas for z circulate and both are here; the paper also sets z by hand. Mean and deviation are those of the
//! attackers' own honest updates, as in the paper and the thesis: the attack was made to need nothing else. With
//! `estimate_from = "seen"` they are those of all updates that attackers see, which is what full knowledge adds.
//! With one attacker the deviation is 0, and with ten clients and two attackers z is: there is no attack then.
//!
//! Deviation: where the formula asks for the quantile of 0 or 1 (two clients, or a majority of attackers) the share is
//! half a client away from it.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{deviation_of, mean_of_both, to_f32};
use crate::adversary::{Adversary, Own, Rows, Seen, require};

/// How far from which mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LittleIsEnough {
    /// Deviations from the mean; computed from the numbers of clients and attackers when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<f64>,
    /// How z is computed.
    pub formula: Formula,
    /// Which standard deviation.
    pub deviation: Deviation,
    /// Whose mean and deviation.
    pub estimate_from: EstimateFrom,
}

/// The share of which z is the normal quantile; s is the number of honest clients that attackers need for a majority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// (n - m - s) / (n - m): of the honest clients.
    #[default]
    OfHonest,
    /// (n - s) / n: of all clients.
    OfAll,
}

/// A standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Deviation {
    /// Divided by the number of updates, as the authors do.
    #[default]
    Population,
    /// Divided by one less.
    Sample,
}

/// Whose updates attackers take for typical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EstimateFrom {
    /// Their own, before the attack.
    #[default]
    Own,
    /// All that they see.
    Seen,
}

impl LittleIsEnough {
    /// Deviations from the mean for so many clients and attackers.
    pub fn z(&self, n_clients: usize, n_attackers: usize) -> f64 {
        if let Some(z) = self.z {
            return z;
        }
        let (n, m) = (n_clients as f64, n_attackers as f64);
        let supporters = (n / 2.0 + 1.0).floor() - m;
        let share = match self.formula {
            Formula::OfHonest => (n - m - supporters) / (n - m),
            Formula::OfAll => (n - supporters) / n,
        };
        let margin = 0.5 / n;
        normal_quantile(if share.is_nan() { 1.0 } else { share }.clamp(margin, 1.0 - margin))
    }
}

impl Adversary for LittleIsEnough {
    fn check(&self) -> Result<(), ParameterError> {
        self.z.map_or(Ok(()), |z| require("z", z, true, "finite"))
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let nobody = Rows::new(&[], seen.global.len());
        let others = match self.estimate_from {
            EstimateFrom::Own => nobody,
            EstimateFrom::Seen => seen.honest.unwrap_or(nobody),
        };
        let rows = own.rows();
        let mean = mean_of_both(rows, others);
        let n_rows = rows.len() + others.len();
        let divisor = match self.deviation {
            Deviation::Population => n_rows,
            Deviation::Sample => n_rows - 1,
        };
        let deviation = deviation_of(rows.iter().chain(others.iter()), &mean, divisor);
        let z = self.z(seen.n_clients, rows.len());
        own.send_all(&to_f32(mean.iter().zip(&deviation).map(|(mean, deviation)| mean - z * deviation)));
    }
}

/// The point below which this share of a standard normal law lies, by halving: exact to the last digits within 8
/// deviations, which is all that shares of clients ask for.
fn normal_quantile(share: f64) -> f64 {
    let (mut below, mut above) = (-8.0, 8.0);
    // 60 halvings of 16 are below the last digit of what is found.
    for _ in 0..60 {
        let middle = 0.5 * (below + above);
        if share_below(middle) < share { below = middle } else { above = middle }
    }
    0.5 * (below + above)
}

/// Phi(x) = 1/2 + density(x) (x + x^3/3 + x^5/(3 5) + ...).
fn share_below(x: f64) -> f64 {
    let mut term = x;
    // The terms grow until 2k + 1 > x^2 = 64 and have vanished long before the last.
    let series: f64 = x
        + (1..150_u32)
            .map(|k| {
                term *= x * x / f64::from(2 * k + 1);
                term
            })
            .sum::<f64>();
    0.5 + series * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}
