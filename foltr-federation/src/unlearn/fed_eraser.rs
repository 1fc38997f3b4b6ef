//! FedEraser: the whole run again in strides, with stored lengths and fresh directions of updates.
//!
//! `LMYWL21` Liu, Ma, Yang, Wang, Liu: *FedEraser: Enabling Efficient Client-Level Data Removal from Federated Learning
//! Models*, IWQoS 2021, as `W24` adapts it (chapter 6). From the initial model on, for every stored round: the
//! remaining clients work for a few steps on new interactions; each gives its fresh update M' the length of the one
//! that it had stored, ||M|| M' / ||M'|| (Eq. 6.2, over the whole vector); the server averages (Eq. 6.1). floor(T /
//! interval) rounds.
//!
//! Zero guards (spec section 15): a fresh update without direction, or a stored one without length, contributes 0.
//!
//! The released code of `LMYWL21` differs, and is offered as a variant: the first round is the plain mean of the stored
//! client models; later ones have one calibration for the mean of all clients, layer by layer, whose length is that
//! from the *next* stored global model to the mean of the stored client models.
//!
//! Deviations: weights are those of the stored round. The server's optimiser is that of training, from its beginning.

mod erasing;

use std::ops::Range;

use foltr_rank::Shape;
use serde::{Deserialize, Serialize};

use crate::aggregate::PartialSum;
use crate::history::bytes::Reader;
use crate::history::{Entry, Header, History, HistoryError, Record};
use crate::unlearn::{Assurance, Need, UnlearnError, UnlearningMethod};
use crate::writer::Writer;
use foltr_rank::parameter::{ParameterError, require};

pub use erasing::{Asked, Erasing};

/// How far stored rounds are apart, and how long clients work in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedEraser {
    /// Rounds from one stored round to the next: Delta t.
    pub interval: u32,
    /// Interactions of a client in a round of unlearning: n'.
    pub steps: u32,
    /// Whose FedEraser.
    #[serde(default)]
    pub variant: Variant,
}

impl UnlearningMethod for FedEraser {
    fn check(&self) -> Result<(), ParameterError> {
        require("interval", self.interval.into(), self.interval > 0, "at least 1 round")?;
        require("steps", self.steps.into(), self.steps > 0, "at least 1 interaction")
    }

    fn guarantee(&self) -> Assurance {
        Assurance::heuristic("stored lengths are those of a run in which the leavers had a part")
    }

    fn needs(&self) -> Vec<Need> {
        let mut needs = vec![Need::Updates { every: self.interval }];
        if self.variant == Variant::Released {
            needs.push(Need::Checkpoints { every: Some(self.interval) });
        }
        needs
    }

    fn most_replayed_rounds(&self, n_rounds: u32) -> u32 {
        n_rounds.checked_div(self.interval).unwrap_or(0)
    }

    fn write_parameters(&self, out: &mut Writer) {
        out.u32(self.interval).u32(self.steps).u8(u8::from(self.variant == Variant::Released));
    }

    fn read_parameters(input: &mut Reader<'_>) -> Result<Self, HistoryError> {
        let (interval, steps) = (input.u32()?, input.u32()?);
        let variant = if input.bool()? { Variant::Released } else { Variant::Thesis };
        Ok(Self { interval, steps, variant })
    }
}

/// Whose FedEraser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Every client calibrates its own update, as a whole.
    #[default]
    Thesis,
    /// The mean of all clients is calibrated, layer by layer.
    Released,
}

const NAME: &str = "fed-eraser";

impl FedEraser {
    /// The beginning of unlearning. The request has been [checked](crate::unlearn::Unlearning::check_request).
    pub fn start(&self, history: &History, leavers: &[u32], shape: Shape) -> Result<Erasing, UnlearnError> {
        let n_stored = history.n_rounds() / self.interval;
        if n_stored == 0 {
            return Err(UnlearnError::TooShort { n_rounds: history.n_rounds(), interval: self.interval });
        }
        let mut records = history.records().filter(|record| record.round.is_multiple_of(self.interval));
        let layers = match self.variant {
            Variant::Thesis => std::iter::once(0..shape.n_params()).collect(),
            Variant::Released => layers(shape),
        };
        let mut rounds = Vec::with_capacity(n_stored as usize);
        for nth in 0..n_stored {
            let round = nth * self.interval;
            let dropped = UnlearnError::Dropped { method: NAME, round };
            let record = records.next().filter(|record| record.round == round).ok_or(dropped)?;
            rounds.push(match self.variant {
                Variant::Thesis => Stored::own_lengths(record, leavers),
                Variant::Released => self.mean_length(history, record, leavers, &layers)?,
            });
        }
        let Header { optimiser, initial, .. } = history.header();
        Ok(Erasing {
            method: *self,
            layers,
            optimiser: *optimiser,
            state: optimiser.start(initial.len()),
            global: initial.iter().map(|&value| value as f32).collect(),
            master: initial.clone(),
            sum: PartialSum::new(initial.len()),
            first: self.variant.first_model(history, leavers),
            rounds,
            n_done: 0,
        })
    }

    /// From the next stored global model to the mean of the stored client models, layer by layer.
    fn mean_length(
        self,
        history: &History,
        record: &Record,
        leavers: &[u32],
        layers: &[Range<usize>],
    ) -> Result<Stored, UnlearnError> {
        let global_at = |round: u32| {
            let dropped = UnlearnError::Dropped { method: NAME, round };
            history.before(round).filter(|checkpoint| checkpoint.round == round).ok_or(dropped)
        };
        let own = global_at(record.round)?;
        let next = record.round + self.interval;
        let next = if next < history.n_rounds() { Some(global_at(next)?) } else { history.latest() };
        let next = next.ok_or(UnlearnError::Dropped { method: NAME, round: history.n_rounds() })?;
        let mut stored = Stored::own_lengths(record, leavers);
        let n_params = own.master.len();
        let mean = mean_update(record, leavers, n_params).unwrap_or_else(|| vec![0.0; n_params]);
        let apart: Vec<f64> =
            (0..mean.len()).map(|index| own.master[index] + mean[index] - next.master[index]).collect();
        stored.lengths = layers.iter().map(|layer| length(&apart[layer.clone()])).collect();
        Ok(stored)
    }
}

impl Variant {
    /// The model after the first round, where it needs no work.
    fn first_model(self, history: &History, leavers: &[u32]) -> Option<Vec<f64>> {
        let record = history.records().next().filter(|_| self == Self::Released)?;
        let initial = &history.header().initial;
        let mean = mean_update(record, leavers, initial.len())?;
        Some(initial.iter().zip(mean).map(|(value, step)| value + step).collect())
    }
}

/// The plain mean of the updates of those who stay.
fn mean_update(record: &Record, leavers: &[u32], n_params: usize) -> Option<Vec<f64>> {
    let mut sum = PartialSum::new(n_params);
    remaining(record, leavers).for_each(|(_, update)| sum.add_step(update, 1.0));
    sum.mean()
}

/// Stored updates of those who stay.
fn remaining<'a>(record: &'a Record, leavers: &'a [u32]) -> impl Iterator<Item = (&'a Entry, &'a [f32])> {
    let stays = |entry: &&Entry| !leavers.contains(&entry.client);
    record.entries.iter().filter(stays).filter_map(|entry| Some((entry, entry.update.as_ref()?.delta.as_slice())))
}

#[derive(Clone, Debug)]
struct Stored {
    round: u32,
    clients: Vec<u32>,
    weights: Vec<f64>,
    /// One for each client, or for each layer.
    lengths: Vec<f64>,
}

impl Stored {
    fn own_lengths(record: &Record, leavers: &[u32]) -> Self {
        let all = || remaining(record, leavers);
        Self {
            round: record.round,
            clients: all().map(|(entry, _)| entry.client).collect(),
            weights: all().map(|(entry, _)| entry.weight).collect(),
            lengths: all().map(|(_, update)| length_of(update)).collect(),
        }
    }
}

/// Gives a fresh update the length of a stored one (Eq. 6.2); without a direction, or without a length, it becomes 0.
pub fn calibrate(stored_length: f64, fresh: &mut [f32]) {
    let factor = factor(stored_length, length_of(fresh));
    fresh.iter_mut().for_each(|value| *value = (f64::from(*value) * factor) as f32);
}

fn scale_to(stored_length: f64, step: &mut [f64]) {
    let factor = factor(stored_length, length(step));
    step.iter_mut().for_each(|value| *value *= factor);
}

fn factor(stored_length: f64, fresh_length: f64) -> f64 {
    if fresh_length > 0.0 { stored_length / fresh_length } else { 0.0 }
}

fn length_of(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// What the released code calibrates one by one: the tensors of a ranker.
fn layers(shape: Shape) -> Vec<Range<usize>> {
    match shape {
        Shape::Linear { n_features } => std::iter::once(0..n_features).collect(),
        Shape::Mlp { n_features, n_hidden, .. } => {
            let (weights, biases) = (n_features * n_hidden, (n_features + 1) * n_hidden);
            vec![0..weights, weights..biases, biases..biases + n_hidden]
        }
    }
}
