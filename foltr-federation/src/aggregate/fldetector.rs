//! FLDetector: clients whose contributions are not what their last ones let expect are left out.
//!
//! `ZCJG22` Zhang, Cao, Jia, Gong: *FLDetector: Defending Federated Learning Against Model Poisoning Attacks via
//! Detecting Malicious Clients*, KDD 2022, Algorithms 1 and 2. A client's contribution is predicted from its last one
//! and from how the model has moved since, through an approximate Hessian. Its errors, as shares of those of all
//! clients, are averaged over a window; if such scores fall into more than one cluster, those with the higher scores
//! are left out.
//!
//! It promises nothing: attackers whose lies are consistent from round to round are not seen, those of the first
//! rounds are always let in, and single noisy contributions look like lies.
//!
//! Deviation: the paper removes those it detects and trains again from the beginning; a server cannot take rounds
//! back, so they are left out of this round and judged again in the next. A client that was absent is predicted from
//! the last contribution that it sent and the last movement of the model alone, so its errors are larger. Pairs without
//! positive curvature are not taken into the Hessian, as is usual for L-BFGS.

mod clusters;
mod hessian;
mod saved;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use self::clusters::Clusters;
use self::hessian::Hessian;
use crate::aggregate::geometry::{add_scaled, squared_distance};
use crate::aggregate::{AggregationRule, Combined, Contributions};
use foltr_rank::bytes::{BytesError, Reader, Writer};
use foltr_rank::parameter::{ParameterError, require};

/// How long FLDetector looks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlDetector {
    /// Errors of a client that its score is the mean of, and rounds from which the Hessian is made.
    pub window: u32,
}

impl AggregationRule for FlDetector {
    type Memory = Memory;

    const REMEMBERS: bool = true;

    fn save(&self, memory: &Memory, out: &mut Writer) {
        saved::write(memory, out);
    }

    fn restore(&self, input: &mut Reader<'_>, n_params: usize) -> Result<Memory, BytesError> {
        saved::read(input, n_params, self.window as usize)
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("window", self.window.into(), self.window > 0, "at least 1")
    }

    fn combine(&self, memory: &mut Memory, global: &[f32], round: &Contributions, combined: &mut Combined) {
        let window = self.window as usize;
        let moved: Vec<f64> =
            global.iter().zip(&memory.last_global).map(|(now, last)| f64::from(*now) - last).collect();
        memory.remember_errors(round, &moved, window);
        memory.leave_out(round, combined, window);
        for (row, &share) in round.rows().zip(&combined.shares) {
            add_scaled(&mut combined.step, row, share);
        }
        if !memory.last_step.is_empty() {
            // Of a descent: the negative of what the steps changed by.
            let bend = memory.last_step.iter().zip(&combined.step).map(|(last, now)| last - now).collect();
            memory.hessian.add(moved, bend, window);
        }
        memory.last_global = global.iter().map(|&value| value.into()).collect();
        memory.last_step.clone_from(&combined.step);
    }
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    clients: BTreeMap<u32, History>,
    hessian: Hessian,
    /// The model and the step of the last round; empty before the first.
    last_global: Vec<f64>,
    last_step: Vec<f64>,
    clusters: Clusters,
}

#[derive(Clone, Debug, Default)]
struct History {
    last: Vec<f32>,
    /// As shares of the errors of all clients.
    errors: VecDeque<f64>,
}

impl Memory {
    /// Compares contributions with predictions: the last one, and what the model's movement changes in it.
    fn remember_errors(&mut self, contributions: &Contributions, moved: &[f64], window: usize) {
        let change = self.hessian.times(moved);
        let mut errors = Vec::new();
        for (client, _, row) in contributions.iter() {
            let history = self.clients.entry(client).or_default();
            if !history.last.is_empty() && !change.is_empty() {
                let predicted: Vec<f64> =
                    history.last.iter().zip(&change).map(|(&last, change)| f64::from(last) - change).collect();
                errors.push((client, squared_distance(row, &predicted).sqrt()));
            }
            history.last.clear();
            history.last.extend_from_slice(row);
        }
        let total: f64 = errors.iter().map(|(_, error)| error).sum();
        for (client, error) in errors {
            let history = self.clients.entry(client).or_default();
            history.errors.push_back(if total > 0.0 { error / total } else { 0.0 });
            if history.errors.len() > window {
                history.errors.pop_front();
            }
        }
    }

    /// Gives equal shares to all but those with high scores. Who has not been seen for a whole window is not judged.
    fn leave_out(&mut self, contributions: &Contributions, combined: &mut Combined, window: usize) {
        let score = |client: &u32| {
            let errors = &self.clients.get(client)?.errors;
            (errors.len() == window).then(|| errors.iter().sum::<f64>() / window as f64)
        };
        let scores: Vec<Option<f64>> = contributions.clients().iter().map(score).collect();
        let judged: Vec<f64> = scores.iter().flatten().copied().collect();
        let highest = self.clusters.split(&judged).unwrap_or(f64::INFINITY);
        let is_trusted = |score: &Option<f64>| score.is_none_or(|score| score <= highest);
        let n_trusted = scores.iter().filter(|score| is_trusted(score)).count();
        combined.shares.extend(scores.iter().map(|score| if is_trusted(score) { 1.0 / n_trusted as f64 } else { 0.0 }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Aggregator;
    use foltr_rank::normal::fill_standard_normal;
    use foltr_rank::rng::{Purpose, Streams};

    const N_CLIENTS: u32 = 10;

    /// Shares after 40 rounds towards a summit, where every client sees a little less or more of the slope. The first
    /// `n_liars` send something else in every round.
    fn shares_at_the_end(n_liars: u32) -> Vec<f64> {
        let mut rule = FlDetector { window: 5 }.start();
        let (mut global, mut combined) = (vec![0.0_f32; 8], Combined::default());
        for round in 0..40 {
            let mut contributions = Contributions::new(8);
            for client in 0..N_CLIENTS {
                let mut row = [0.0; 8];
                fill_standard_normal(&mut Streams::new(2).open(Purpose::Noise, client, round), &mut row);
                let is_liar = client < n_liars;
                for ((value, &at), i) in row.iter_mut().zip(&global).zip(1_u8..) {
                    let slope = 0.1 * (f32::from(i) - at);
                    *value = if is_liar { *value * 0.3 } else { slope + *value * 0.01 };
                }
                contributions.push(client, 1.0, &row);
            }
            rule.aggregate(&global, &contributions, &mut combined).expect("ten");
            global.iter_mut().zip(&combined.step).for_each(|(at, step)| *at += *step as f32);
        }
        combined.shares
    }

    #[test]
    fn inconsistent_clients_are_left_out() {
        let shares = shares_at_the_end(3);
        assert_eq!(shares[..3], [0.0; 3]);
        assert!(shares[3..].iter().all(|&share| share == 1.0 / 7.0), "{shares:?}");
    }

    #[test]
    fn nobody_is_left_out_before_a_window_has_passed() {
        let mut rule = FlDetector { window: 5 }.start();
        let mut combined = Combined::default();
        for round in 0..5_u8 {
            let mut contributions = Contributions::new(1);
            (0..4).for_each(|client| contributions.push(client, 1.0, &[f32::from(round) * client as f32]));
            rule.aggregate(&[f32::from(round)], &contributions, &mut combined).expect("four");
            assert_eq!(combined.shares, [0.25; 4]);
        }
    }
}
