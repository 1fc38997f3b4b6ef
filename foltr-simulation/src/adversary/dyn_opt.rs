//! DYN-OPT: against the mean of the updates that attackers know, in every round as far as the server's rule can be moved.
//!
//! `SH21` Shejwalkar, Houmansadr: *Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for
//! Federated Learning*, NDSS 2021, its attacks that are tailored to a rule, with the search of its Algorithm 1. `SHKR22`
//! Shejwalkar, Houmansadr, Kairouz, Ramage: *Back to the Drawing Board: A Critical Evaluation of Poisoning Attacks on
//! Production Federated Learning*, IEEE S&P 2022, call them DYN-OPT, and give them to attackers who know the rule and the
//! updates of nobody but themselves. All attackers send mean + gamma p, with a perturbation p as in [`MinMax`](super::MinMax).
//!
//! With full knowledge, gamma is tried on the round itself. With partial knowledge it is tried on a round that attackers
//! make up: the other clients send what attackers have learnt honestly, in this round and the newest ones before.
//!
//! Deviations: the papers write an objective for every rule; here it is the same for all: how far along p the step goes.
//! Gamma is in units of the median distance of known updates from their mean. Attackers who were not drawn for the round
//! do no work in it; updates of earlier rounds are remembered in their place. A rule that follows anything is found by one
//! try of a great length.

use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{mean_of, median_distance, to_f32};
use crate::adversary::min_max::along;
use crate::adversary::{Adversary, Own, Perturbation, Rows, Seen};

/// Which way from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DynOpt {
    /// The perturbation.
    pub direction: Perturbation,
}

/// Updates of their own that attackers remember: enough for a deviation of every coordinate.
const REMEMBERED: usize = 50;

/// The first gamma that is tried; honest updates are seldom further than 2.
const START: f64 = 10.0;

/// Steps are halved until they are shorter.
const SHORTEST_STEP: f64 = 0.1;

/// For rules that follow anything.
const GREAT: f64 = 1e5;

/// A gamma that hides among honest updates, where the rule cannot be tried.
const UNTRIED: f64 = 1.0;

impl Adversary for DynOpt {
    fn remembers(&self) -> bool {
        true
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let (n_params, n_own) = (own.n_params, own.rows().len());
        if seen.honest.is_none() {
            remember(own);
        }
        let remembered = to_f32(own.memory.iter().copied());
        let known = seen.typical(Rows::new(&remembered, n_params));
        let mean = mean_of(known);
        let spread = median_distance(known, &mean);
        let way: Vec<f64> = self.direction.way(known, &mean).iter().map(|value| spread * value).collect();
        let progress = |gamma: f64| -> Option<f64> {
            let messages = along(&mean, gamma, &way).repeat(n_own);
            let step = seen.rehearse(&messages).or_else(|| seen.simulate(&messages, known))?;
            Some(step.iter().zip(&way).map(|(step, way)| step * way).sum())
        };
        own.send_all(&along(&mean, largest_gamma(progress).unwrap_or(UNTRIED), &way));
    }
}

/// Adds the attackers' honest updates of the round to those of earlier ones.
fn remember(own: &mut Own<'_>) {
    own.memory.extend(own.values.iter().map(|&value| f64::from(value)));
    let n_old = own.memory.len().saturating_sub(REMEMBERED * own.n_params);
    own.memory.drain(..n_old);
}

/// The gamma that gets furthest: up by half a step after a success, down after a failure. Nothing if none can be tried.
fn largest_gamma(progress: impl Fn(f64) -> Option<f64>) -> Option<f64> {
    let (mut best, mut furthest) = (0.0, progress(0.0)?);
    let mut is_further = |gamma: f64| {
        let reached = progress(gamma).filter(|&reached| reached > furthest);
        if let Some(reached) = reached {
            (best, furthest) = (gamma, reached);
        }
        reached.is_some()
    };
    let (mut gamma, mut step) = (START, START);
    while step > SHORTEST_STEP {
        step /= 2.0;
        gamma += if is_further(gamma) { step } else { -step };
    }
    is_further(GREAT);
    Some(best)
}
