//! Everything with which a federation goes on as if it had never stopped.

use foltr_rank::Params;
use rand::CryptoRng;

use crate::fingerprint::Fingerprint;
use crate::history::chain::DroppedState;
use crate::history::{HistoryError, Salt, fresh_salt};
use crate::server_optimiser::{OptimiserState, ServerOptimiser};
use crate::stand_ins::{LastMessage, StandIns};
use crate::tail_mean::TailMean;
use crate::writer::{WriteFingerprint, Writer};

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
    /// What clients sent last, where it stands in for messages that do not come.
    pub stand_ins: StandIns,
}

/// What devices keep from round to round, such as their momentum: one stretch of equal length for each.
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

    /// The same round with another model, and nothing that was remembered of earlier ones.
    #[must_use]
    pub fn with_model(&self, params: &[f32], optimiser: &ServerOptimiser) -> Self {
        let master: Vec<f64> = params.iter().map(|&value| value.into()).collect();
        let optimiser = optimiser.start(master.len());
        let (round, clip_norm) = (self.round, self.clip_norm);
        let (devices, stand_ins) = (Devices::default(), StandIns::default());
        Self { round, master, optimiser, clip_norm, tail: None, devices, stand_ins }
    }

    /// Takes out what is of single clients.
    pub fn erase(&mut self, clients: &[u32]) {
        self.devices.erase(clients);
        self.stand_ins.erase(clients);
    }

    /// The ranker to use: the mean of the last models, or the newest.
    pub fn ranker(&self) -> Params {
        self.tail.as_ref().and_then(TailMean::mean).unwrap_or_else(|| self.global())
    }
}

/// A state in a history, with a commitment to what each device remembers and to what stands in for each client, so that a
/// client's part can be erased.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoredState {
    pub(super) state: Checkpoint,
    /// One a client, or none where devices remember nothing.
    pub(super) devices: Vec<ClientSeal>,
    /// Of every client that something stood in for, in client order.
    pub(super) stand_ins: Vec<(u32, ClientSeal)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientSeal {
    pub(super) commitment: Fingerprint,
    /// Nothing once what it opens is erased.
    pub(super) salt: Option<Salt>,
}

impl StoredState {
    pub(super) fn new(state: Checkpoint, salts: &mut impl CryptoRng) -> Self {
        let seal = |(client, stretch): (u32, &[f32])| {
            let salt = fresh_salt(salts);
            ClientSeal { commitment: commitment(&salt, state.round, client, stretch), salt: Some(salt) }
        };
        let devices = state.devices.all().map(seal).collect();
        let seal = |(client, last): (u32, &LastMessage)| {
            let salt = fresh_salt(salts);
            (client, ClientSeal { commitment: commitment_to_last(&salt, state.round, client, last), salt: Some(salt) })
        };
        let stand_ins = state.stand_ins.iter().map(seal).collect();
        Self { state, devices, stand_ins }
    }

    /// What stays when the state is dropped.
    pub(super) fn dropped(&self) -> DroppedState {
        let ranker = Fingerprint::of_model(&self.state.ranker());
        DroppedState { round: self.state.round, ranker, digest: self.digest() }
    }

    fn digest(&self) -> Fingerprint {
        let Checkpoint { round, master, optimiser, clip_norm, tail, devices, stand_ins: _ } = &self.state;
        let OptimiserState { first, second, n_steps } = optimiser;
        let mut hash = Writer::named("foltr checkpoint");
        hash.u32(*round);
        for numbers in [master, first, second] {
            hash.len(numbers.len()).f64s(numbers);
        }
        hash.u64(*n_steps as u64).option(*clip_norm, |hash, norm| {
            hash.f32s(&[norm]);
        });
        hash.option(tail.as_ref(), |hash, TailMean { first_round, sum, n_models }| {
            hash.u32(*first_round).len(sum.len()).f64s(sum).u32(*n_models);
        });
        hash.len(devices.len).len(self.devices.len());
        for seal in &self.devices {
            hash.fingerprint(&seal.commitment);
        }
        // Heads of federations in which nothing stands in are those of version 2, which receipts name.
        for (client, seal) in &self.stand_ins {
            hash.u32(*client).fingerprint(&seal.commitment);
        }
        hash.finish()
    }

    pub(super) fn erase(&mut self, clients: &[u32]) {
        self.state.erase(clients);
        for &client in clients {
            self.devices.get_mut(client as usize).into_iter().for_each(|seal| seal.salt = None);
            let own = self.stand_ins.iter_mut().find(|(other, _)| *other == client);
            own.into_iter().for_each(|(_, seal)| seal.salt = None);
        }
    }

    /// Opens every commitment. `is_erased` says whose may be missing.
    pub(super) fn verify(&self, is_erased: impl Fn(u32) -> bool) -> Result<(), HistoryError> {
        let round = self.state.round;
        for ((client, stretch), seal) in self.state.devices.all().zip(&self.devices) {
            let is_right = match &seal.salt {
                Some(salt) => commitment(salt, round, client, stretch) == seal.commitment,
                None => is_erased(client) && stretch.iter().all(|value| value.to_bits() == 0),
            };
            if !is_right {
                return Err(HistoryError::Device { round, client });
            }
        }
        for (client, seal) in &self.stand_ins {
            let is_right = match (&seal.salt, self.state.stand_ins.of(*client)) {
                (Some(salt), Some(last)) => commitment_to_last(salt, round, *client, last) == seal.commitment,
                (None, None) => is_erased(*client),
                _ => false,
            };
            if !is_right {
                return Err(HistoryError::StandIn { round, client: *client });
            }
        }
        let sealed = |client: u32| self.stand_ins.binary_search_by_key(&client, |(own, _)| *own).is_ok();
        let unsealed = self.state.stand_ins.iter().map(|(client, _)| client).find(|&client| !sealed(client));
        unsealed.map_or(Ok(()), |client| Err(HistoryError::StandIn { round, client }))
    }
}

fn commitment(salt: &Salt, round: u32, client: u32, stretch: &[f32]) -> Fingerprint {
    Writer::named("foltr device").bytes(salt).u32(round).u32(client).len(stretch.len()).f32s(stretch).finish()
}

fn commitment_to_last(salt: &Salt, round: u32, client: u32, last: &LastMessage) -> Fingerprint {
    let mut hash = Writer::named("foltr stand-in");
    hash.bytes(salt).u32(round).u32(client).u32(last.round).f64(last.weight);
    hash.len(last.values.len()).f32s(&last.values).finish()
}

impl Devices {
    fn all(&self) -> impl Iterator<Item = (u32, &[f32])> {
        (0..).zip(self.values.chunks_exact(self.len.max(1)))
    }

    pub fn of(&self, client: u32) -> &[f32] {
        let start = (client as usize).saturating_mul(self.len);
        self.values.get(start..start.saturating_add(self.len)).unwrap_or_default()
    }

    pub fn of_mut(&mut self, client: u32) -> &mut [f32] {
        let start = (client as usize).saturating_mul(self.len);
        self.values.get_mut(start..start.saturating_add(self.len)).unwrap_or_default()
    }

    pub fn erase(&mut self, clients: &[u32]) {
        clients.iter().for_each(|&client| self.of_mut(client).fill(0.0));
    }
}
