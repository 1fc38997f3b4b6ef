//! FedEraser's server: asks for fresh work round after round, calibrates it and moves the model.

use std::ops::Range;

use foltr_rank::Params;

use super::{FedEraser, Stored, Variant, calibrate, scale_to};
use crate::aggregate::{Contributions, PartialSum};
use crate::history::{Checkpoint, Devices};
use crate::server_optimiser::{OptimiserState, ServerOptimiser};
use crate::stand_ins::StandIns;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked<'a> {
    /// The stored round that is gone through again.
    pub round: u32,
    /// Who is asked, in rising order.
    pub clients: &'a [u32],
    /// Interactions of each; 0 where the model follows from what is stored.
    pub steps: u32,
    pub global: &'a [f32],
}

/// Unlearning in the middle of its rounds: the server's side.
#[derive(Clone, Debug)]
pub struct Erasing {
    pub(super) method: FedEraser,
    pub(super) layers: Vec<Range<usize>>,
    pub(super) optimiser: ServerOptimiser,
    pub(super) state: OptimiserState,
    pub(super) master: Vec<f64>,
    pub(super) global: Params,
    pub(super) sum: PartialSum,
    /// The model after the first round, where it needs no work.
    pub(super) first: Option<Vec<f64>>,
    pub(super) rounds: Vec<Stored>,
    pub(super) n_done: usize,
}

impl Erasing {
    /// What the next round asks for; nothing when all are done.
    pub fn asked(&self) -> Option<Asked<'_>> {
        let stored = self.rounds.get(self.n_done)?;
        let steps = if self.n_done == 0 && self.first.is_some() { 0 } else { self.method.steps };
        Some(Asked { round: stored.round, clients: &stored.clients, steps, global: &self.global })
    }

    pub const fn n_rounds(&self) -> usize {
        self.rounds.len()
    }

    pub const fn global(&self) -> &Params {
        &self.global
    }

    pub fn master(&self) -> &[f64] {
        &self.master
    }

    /// The state so far, as that before a round of the run.
    pub fn checkpoint(&self, round: u32) -> Checkpoint {
        let (master, optimiser) = (self.master.clone(), self.state.clone());
        Checkpoint {
            round,
            master,
            optimiser,
            clip_norm: None,
            tail: None,
            devices: Devices::default(),
            stand_ins: StandIns::default(),
        }
    }

    /// Takes fresh updates, in client order, and moves the model. Who was asked and sent nothing contributes 0.
    pub fn close(&mut self, fresh: &mut Contributions) {
        if self.n_done >= self.rounds.len() {
            return;
        }
        match self.method.variant {
            Variant::Thesis => self.close_thesis(fresh),
            Variant::Released => self.close_released(fresh),
        }
        self.global.iter_mut().zip(&self.master).for_each(|(published, &value)| *published = value as f32);
        self.n_done += 1;
    }

    fn close_thesis(&mut self, fresh: &mut Contributions) {
        let stored = &self.rounds[self.n_done];
        let zero = vec![0.0; self.master.len()];
        self.sum.clear();
        for ((&client, &weight), &length) in stored.clients.iter().zip(&stored.weights).zip(&stored.lengths) {
            let row = fresh.clients().binary_search(&client).ok();
            let update = row.map(|row| {
                let update = fresh.row_mut(row);
                calibrate(length, update);
                &*update
            });
            self.sum.add_step(update.unwrap_or(&zero), weight);
        }
        // A round to which nobody contributed who stays moves nothing, as in training.
        if let Some(step) = self.sum.mean() {
            self.optimiser.climb(&mut self.state, &mut self.master, &step);
        }
    }

    fn close_released(&mut self, fresh: &Contributions) {
        if self.n_done == 0
            && let Some(first) = self.first.take()
        {
            self.master = first;
            return;
        }
        self.sum.clear();
        fresh.rows().for_each(|row| self.sum.add_step(row, 1.0));
        let Some(mut mean) = self.sum.mean() else { return };
        for (layer, &stored) in self.layers.iter().zip(&self.rounds[self.n_done].lengths) {
            scale_to(stored, &mut mean[layer.clone()]);
        }
        self.master.iter_mut().zip(&mean).for_each(|(value, step)| *value += step);
    }
}
