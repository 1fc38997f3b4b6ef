//! A drift by attackers who know the defence: one direction from the first round to the last, in every round as far as the
//! real rule lets through.
//!
//! Our own, after `KHJ21` (see [`Drift`](super::Drift)) and the optimised attacks of `SH21` (see
//! [`MinMax`](super::MinMax)). Momentum takes away what changes from round to round, so the direction is fixed before the
//! first round. Attackers learn a ranker w among themselves and push against it, along -C^-p w: C is the covariance of
//! features within queries, and with p > 0 the push goes into combinations of features in which documents hardly differ,
//! where honest clients learn slowly. Or they learn what ranks the documents of a [`Promotion`] first, and push along
//! that.
//!
//! In every round they try several lengths on a copy of the server's rule, and send what moves the model furthest along
//! the direction. What they add it to is tried too: the mean of the honest updates, which makes all attackers alike, or
//! their own honest updates, which makes them as different as honest clients are.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{deviation_of, mean_of, median_distance, sign, to_f32};
use crate::adversary::min_max::{along, unit};
use crate::adversary::{Adversary, Own, Preparation, Promotion, Seen, require};
use crate::client_round::TrainingSet;

/// Where to, and how it is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveDrift {
    /// Rounds in which attackers learn a ranker among themselves, before the first round.
    pub rounds: u32,
    /// The power p of C^-p; 0 leaves the direction as it is.
    pub whitening: f64,
    /// Documents to push up; without it attackers push against the ranker that they learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Promotion>,
    /// How far the push goes in every coordinate.
    pub shape: Shape,
    /// What attackers add the push to.
    pub disguise: Disguise,
}

/// How far a push goes in every coordinate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// As the direction says.
    #[default]
    Direction,
    /// By the deviation of honest updates in the coordinate, with the sign of the direction: as far as a rule that looks
    /// at coordinates one by one can be pushed.
    Deviation,
}

/// What attackers add a push to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Disguise {
    /// The mean of the honest updates: all attackers send the same.
    HonestMean,
    /// Each to its own honest update.
    OwnUpdate,
    /// Whichever gets further in the round.
    #[default]
    Best,
}

impl Default for AdaptiveDrift {
    fn default() -> Self {
        Self { rounds: 1000, whitening: 0.0, promotion: None, shape: Shape::Direction, disguise: Disguise::Best }
    }
}

/// Lengths that are tried, in units of the median distance of honest updates from their mean. The last one is for rules
/// that follow anything.
const LENGTHS: [f64; 8] = [0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 1e5];

/// A length that hides among honest updates, where attackers cannot try the rule.
const UNTRIED: f64 = 1.0;

impl Adversary for AdaptiveDrift {
    fn remembers(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("rounds", self.rounds.into(), self.rounds > 0, "at least 1")?;
        require("whitening", self.whitening, (0.0..=1.0).contains(&self.whitening), "from 0 to 1")?;
        self.promotion.map_or(Ok(()), |promotion| promotion.check())
    }

    fn prepare(&self, preparation: &Preparation<'_>) -> Vec<f64> {
        let direction = match self.promotion {
            None => preparation.own_ranker(self.rounds).iter().map(|value| -value).collect(),
            Some(promotion) => {
                let relabel = |set: &TrainingSet| set.relabelled(&promotion.targets(set.data()));
                preparation.ranker_of_labels(self.rounds, relabel)
            }
        };
        unit(preparation.whiten(&direction, self.whitening))
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let direction = own.memory.clone();
        let push = Push::new(self.shape, seen, own, &direction);
        let bases: &[&[f32]] = match self.disguise {
            Disguise::HonestMean => &[&push.means],
            Disguise::OwnUpdate => &[&push.own],
            Disguise::Best => &[&push.means, &push.own],
        };
        let tried = bases.iter().flat_map(|base| LENGTHS.map(|length| push.messages(base, length)));
        let along_direction = |step: Vec<f64>| -> f64 { step.iter().zip(&direction).map(|(a, b)| a * b).sum() };
        let progress = |messages: &Vec<f32>| seen.rehearse(messages).map(along_direction);
        let best = tried.filter_map(|messages| Some((progress(&messages)?, messages)));
        let best = best.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let messages = best.map_or_else(|| push.messages(bases[0], UNTRIED), |(_, messages)| messages);
        own.send(&messages);
    }
}

/// What the messages of a round can be made of.
struct Push {
    /// The honest mean, once for every attacker.
    means: Vec<f32>,
    /// What attackers would send if they were honest.
    own: Vec<f32>,
    /// A step of length 1, in units of the spread.
    step: Vec<f64>,
}

impl Push {
    fn new(shape: Shape, seen: &Seen<'_>, own: &Own<'_>, direction: &[f64]) -> Self {
        let rows = seen.typical(own.rows());
        let mean = mean_of(rows);
        let spread = median_distance(rows, &mean);
        let step = match shape {
            Shape::Direction => direction.iter().map(|value| spread * value).collect(),
            Shape::Deviation => {
                let deviations = deviation_of(rows.iter(), &mean, rows.len());
                direction.iter().zip(deviations).map(|(&value, deviation)| sign(value) * deviation).collect()
            }
        };
        let own_rows = own.rows();
        let (means, own) = (to_f32(mean).repeat(own_rows.len()), own_rows.iter().flatten().copied().collect());
        Self { means, own, step }
    }

    fn messages(&self, base: &[f32], length: f64) -> Vec<f32> {
        let shifted =
            |row: &[f32]| along(&row.iter().map(|&value| value.into()).collect::<Vec<_>>(), length, &self.step);
        base.chunks_exact(self.step.len().max(1)).flat_map(shifted).collect()
    }
}
