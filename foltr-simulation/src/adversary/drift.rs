//! A slow drift: always the same way from the honest mean, and never further than honest updates are.
//!
//! Made against momentum. `KHJ21` Karimireddy, He, Jaggi: *Learning from History for Byzantine Robust Optimization*,
//! ICML 2021, show that small steps which are coupled over time break every rule that looks at one round
//! alone, and answer with momentum. What momentum takes away is what changes from round to round; a step that stays the
//! same is all that it leaves. Colluders send
//!
//! ```text
//! honest mean + reach x spread x direction
//! ```
//!
//! where the spread is the median (or least) distance of honest updates from their mean: with a reach of at most 1 they
//! are nearer to the mean than half of the honest clients (or all of them). Or every coordinate goes by its own
//! deviation, with the sign of the direction: as far as the root mean square of the honest distances, and hidden in every
//! coordinate too. The direction has length 1 and lasts:
//! against a long running mean of the honest updates; against the model, which undoes what was learnt; or a random one,
//! drawn once.
//!
//! Deviation: the attack of the paper is a sequence of steps of one fixed length; here it follows the spread.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{deviation_of, mean_of, sign, squared_distance};
use crate::adversary::min_max::{along, unit};
use crate::adversary::{Adversary, Own, Rows, Seen, require};

/// How far which way.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Drift {
    /// Distance from the mean of honest updates, in units of their spread.
    pub reach: f64,
    /// What the spread is.
    pub spread: Spread,
    /// Which way.
    pub direction: DriftDirection,
    /// Rounds over which honest updates are averaged, for `against-mean`.
    pub memory: f64,
}

/// How far honest updates are from their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Half of them are nearer.
    #[default]
    Median,
    /// None is nearer.
    Least,
    /// The deviation of every coordinate by itself.
    Deviation,
}

/// A direction that lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DriftDirection {
    /// Against a running mean of the honest updates.
    #[default]
    AgainstMean,
    /// From the global model to 0. A linear ranker that only shrinks ranks as before: this attack works by the noise
    /// that a small model has.
    AgainstModel,
    /// Drawn once.
    Fixed,
}

impl Default for Drift {
    fn default() -> Self {
        let (spread, direction) = (Spread::default(), DriftDirection::default());
        Self { reach: 1.0, spread, direction, memory: 100.0 }
    }
}

impl Drift {
    /// A step of reach 1 in this direction.
    fn step(&self, rows: Rows<'_>, mean: &[f64], direction: Vec<f64>) -> Vec<f64> {
        let nth_nearest = |nth: usize| {
            let mut squares: Vec<f64> = rows.iter().map(|row| squared_distance(row, mean)).collect();
            squares.sort_unstable_by(f64::total_cmp);
            squares.get(nth).map_or(0.0, |square| square.sqrt())
        };
        let length = match self.spread {
            Spread::Median => nth_nearest(rows.len().saturating_sub(1) / 2),
            Spread::Least => nth_nearest(0),
            Spread::Deviation => {
                let deviations = deviation_of(rows.iter(), mean, rows.len());
                return direction.iter().zip(deviations).map(|(&value, deviation)| sign(value) * deviation).collect();
            }
        };
        direction.iter().map(|value| length * value).collect()
    }

    /// `memory` is the running mean of honest updates, or what was drawn; empty before the first round.
    fn direction(&self, global: &[f32], mean: &[f64], memory: &mut Vec<f64>, stream: &mut Stream) -> Vec<f64> {
        match self.direction {
            DriftDirection::AgainstModel => unit(global.iter().map(|&value| -f64::from(value)).collect()),
            DriftDirection::AgainstMean => {
                memory.resize(mean.len(), 0.0);
                let newest = 1.0 / self.memory;
                memory.iter_mut().zip(mean).for_each(|(average, mean)| *average += newest * (mean - *average));
                unit(memory.iter().map(|value| -value).collect())
            }
            DriftDirection::Fixed => {
                if memory.is_empty() {
                    *memory = unit(mean.iter().map(|_| stream.sample(StandardNormal)).collect());
                }
                memory.clone()
            }
        }
    }
}

impl Adversary for Drift {
    fn remembers(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("reach", self.reach, self.reach >= 0.0, "at least 0 and finite")?;
        require("memory", self.memory, self.memory >= 1.0, "at least 1 round and finite")
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, stream: &mut Stream) {
        let mean = mean_of(seen.typical(own.rows()));
        let direction = self.direction(seen.global, &mean, own.memory, stream);
        let step = self.step(seen.typical(own.rows()), &mean, direction);
        own.send_all(&along(&mean, self.reach, &step));
    }
}
