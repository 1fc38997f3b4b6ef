//! Everything with which a federation goes on as if it had never stopped.

use foltr_rank::Params;

use crate::fingerprint::Fingerprint;
use crate::server_optimiser::OptimiserState;
use crate::tail_mean::TailMean;
use crate::writer::Writer;

/// The state before a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub round: u32,
    /// The global model before it is rounded.
    pub master: Vec<f64>,
    pub optimiser: OptimiserState,
    /// The norm to which updates are clipped, where it changes from round to round.
    pub clip_norm: Option<f32>,
    /// The models that are averaged into the published one so far.
    pub tail: Option<TailMean>,
    pub devices: Devices,
}

/// What devices keep from round to round, such as their momentum: one stretch of equal length for each.
/// It is outside of the chain of a history, for a client's stretch to be erasable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Devices {
    pub len: usize,
    /// Those of all, one behind the other.
    pub values: Vec<f32>,
}

impl Checkpoint {
    /// The global model as it is sent to clients.
    pub fn global(&self) -> Params {
        self.master.iter().map(|&value| value as f32).collect()
    }

    /// The ranker to use: the mean of the last models, or the newest.
    pub fn ranker(&self) -> Params {
        self.tail.as_ref().and_then(TailMean::mean).unwrap_or_else(|| self.global())
    }

    pub(super) fn digest(&self) -> Fingerprint {
        let OptimiserState { first, second, n_steps } = &self.optimiser;
        let mut hash = Writer::named("foltr checkpoint");
        hash.u32(self.round);
        for numbers in [&self.master, first, second] {
            hash.len(numbers.len()).f64s(numbers);
        }
        hash.u64(*n_steps as u64).f64(self.clip_norm.map_or(-1.0, f64::from)).u32(self.tail.is_some().into());
        if let Some(TailMean { first_round, sum, n_models }) = &self.tail {
            hash.u32(*first_round).len(sum.len()).f64s(sum).u32(*n_models);
        }
        hash.finish()
    }
}

impl Devices {
    pub fn of(&self, client: u32) -> &[f32] {
        let start = (client as usize).saturating_mul(self.len);
        self.values.get(start..start.saturating_add(self.len)).unwrap_or_default()
    }

    pub fn erase(&mut self, clients: &[u32]) {
        for &client in clients {
            let start = (client as usize).saturating_mul(self.len);
            if let Some(stretch) = self.values.get_mut(start..start.saturating_add(self.len)) {
                stretch.fill(0.0);
            }
        }
    }
}
