//! A history as bytes, and how many of them each part takes.
//!
//! ```text
//! mark, version                                         8 + 2 bytes
//! header     keeping, clients, optimiser, settings, initial model
//! rounds     number of rounds, then links: kind, content, head
//! clients    first and last rounds
//! ledger     one vector a client
//! checksum   SHA-256 of all bytes before it             32 bytes
//! ```
//!
//! Numbers are little-endian. The decoder is total: any byte string is a history or a named error, nothing is allocated
//! for which there are no bytes, and every accepted byte string encodes to itself again. It checks form;
//! [`History::verify`] checks what is in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::{Reader, Writer};
use super::chain::{Event, Link, What};
use super::{
    BadHistory, Checkpoint, Committed, Contribution, Devices, Entry, Erasure, Header, History, Keeping, Record,
};
use crate::fingerprint::Fingerprint;
use crate::server_optimiser::{OptimiserState, ServerOptimiser};
use crate::tail_mean::TailMean;

/// Of the stored form; another one is refused.
pub(super) const VERSION: u16 = 1;
const MARK: &[u8; 8] = b"foltrhis";
const CHECKSUM: usize = 32;
/// The least bytes of a link: kind, the round of a return, head.
const LEAST_LINK: usize = 1 + 4 + 32;
/// The least bytes of an entry: client, weight, commitment, whether there is an update.
const LEAST_ENTRY: usize = 4 + 8 + 32 + 1;

/// How many bytes a history takes when it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Size {
    /// Stored updates with their salts.
    pub updates: usize,
    /// States before some rounds.
    pub checkpoints: usize,
    /// How far each client has moved the model.
    pub ledger: usize,
    /// All that is kept in any case: the initial model, commitments, heads, who took part when.
    pub rest: usize,
}

impl Size {
    /// All parts.
    pub const fn total(&self) -> usize {
        self.updates + self.checkpoints + self.ledger + self.rest
    }
}

impl History {
    /// The history as bytes.
    pub fn encode(&self) -> Vec<u8> {
        self.written().0
    }

    /// How many bytes each part takes.
    pub fn size(&self) -> Size {
        self.written().1
    }

    fn written(&self) -> (Vec<u8>, Size) {
        let (mut out, mut size) = (Writer::default(), Size::default());
        out.0.extend(MARK);
        out.0.extend(VERSION.to_le_bytes());
        write_header(&mut out, &self.header);
        out.u32(self.n_rounds);
        out.u32(self.links.len() as u32);
        self.links.iter().for_each(|link| write_link(&mut out, link, &mut size));
        out.u32(self.contributions.len() as u32);
        for (client, it) in &self.contributions {
            [*client, it.first, it.n_peers, it.last, it.n_messages].into_iter().for_each(|number| out.u32(number));
        }
        let before = out.0.len();
        out.option(self.ledger.as_ref(), write_ledger);
        size.ledger = out.0.len() - before;
        let checksum = Fingerprint::of(&out.0);
        out.fingerprint(&checksum);
        size.rest = out.0.len() - size.updates - size.checkpoints - size.ledger;
        (out.0, size)
    }

    /// Reads a history.
    ///
    /// # Errors
    /// If the bytes are not one. Whether it is to be believed is for [`Self::verify`] to say.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadHistory> {
        let body_len = bytes.len().checked_sub(CHECKSUM).ok_or(BadHistory::Truncated { at: bytes.len() })?;
        let (body, checksum) = bytes.split_at(body_len);
        let mut input = Reader::new(body);
        if input.take(MARK.len())? != MARK {
            return Err(BadHistory::Mark);
        }
        let got = input.u16()?;
        if got != VERSION {
            return Err(BadHistory::Version { got });
        }
        if Fingerprint::of(body).as_bytes() != checksum {
            return Err(BadHistory::Damaged);
        }
        let header = read_header(&mut input)?;
        let n_rounds = input.u32()?;
        let links = input.many(LEAST_LINK, |input| read_link(input, &header))?;
        let contributions = read_contributions(&mut input, header.n_clients)?;
        let ledger = input.option(|input| read_ledger(input, &header))?;
        input.require(ledger.is_none() || header.keeping.ledger, "a ledger that was not to be kept")?;
        input.require(input.is_at_end(), "more bytes than a history has")?;
        Ok(Self { header, links, n_rounds, contributions, ledger, n_dropped: 0 })
    }
}

fn write_header(out: &mut Writer, header: &Header) {
    let Keeping { updates_every, checkpoints_every, ledger, retention } = header.keeping;
    [updates_every, checkpoints_every, retention].into_iter().for_each(|number| out.u32(number.unwrap_or(0)));
    out.u8(ledger.into());
    out.u32(header.n_clients);
    let (kind, numbers) = optimiser_parts(&header.optimiser);
    out.u8(kind);
    out.f64s(&numbers);
    out.fingerprint(&header.settings);
    out.u32(header.initial.len() as u32);
    out.f64s(&header.initial);
}

fn read_header(input: &mut Reader<'_>) -> Result<Header, BadHistory> {
    let mut every = || input.u32().map(|number| (number > 0).then_some(number));
    let (updates_every, checkpoints_every, retention) = (every()?, every()?, every()?);
    let keeping = Keeping { updates_every, checkpoints_every, ledger: input.bool()?, retention };
    let n_clients = input.u32()?;
    let kind = input.u8()?;
    let numbers = input.f64s(n_numbers(kind).ok_or_else(|| input.wrong("an unknown optimiser"))?)?;
    let optimiser = optimiser_of(kind, &numbers).ok_or_else(|| input.wrong("an unknown optimiser"))?;
    let settings = input.fingerprint()?;
    let n_params = input.count(8)?;
    Ok(Header { keeping, n_clients, optimiser, settings, initial: input.f64s(n_params)? })
}

/// An optimiser as a number and its parameters.
pub(super) fn optimiser_parts(optimiser: &ServerOptimiser) -> (u8, Vec<f64>) {
    match *optimiser {
        ServerOptimiser::LearningRate { rate } => (0, vec![rate]),
        ServerOptimiser::Momentum { rate, momentum } => (1, vec![rate, momentum]),
        ServerOptimiser::Adam { rate, beta1, beta2, epsilon } => (2, vec![rate, beta1, beta2, epsilon]),
        ServerOptimiser::Yogi { rate, beta1, beta2, epsilon } => (3, vec![rate, beta1, beta2, epsilon]),
        ServerOptimiser::Adagrad { rate, epsilon } => (4, vec![rate, epsilon]),
        ServerOptimiser::Rprop { initial_step, increase, decrease, min_step, max_step } => {
            (5, vec![initial_step, increase, decrease, min_step, max_step])
        }
    }
}

fn n_numbers(kind: u8) -> Option<usize> {
    [1, 2, 4, 4, 2, 5].get(usize::from(kind)).copied()
}

fn optimiser_of(kind: u8, numbers: &[f64]) -> Option<ServerOptimiser> {
    match (kind, numbers) {
        (0, &[rate]) => Some(ServerOptimiser::LearningRate { rate }),
        (1, &[rate, momentum]) => Some(ServerOptimiser::Momentum { rate, momentum }),
        (2, &[rate, beta1, beta2, epsilon]) => Some(ServerOptimiser::Adam { rate, beta1, beta2, epsilon }),
        (3, &[rate, beta1, beta2, epsilon]) => Some(ServerOptimiser::Yogi { rate, beta1, beta2, epsilon }),
        (4, &[rate, epsilon]) => Some(ServerOptimiser::Adagrad { rate, epsilon }),
        (5, &[initial_step, increase, decrease, min_step, max_step]) => {
            Some(ServerOptimiser::Rprop { initial_step, increase, decrease, min_step, max_step })
        }
        _ => None,
    }
}

fn write_link(out: &mut Writer, link: &Link, size: &mut Size) {
    match &link.event {
        Event::Round(record) => {
            out.u8(1);
            write_record(out, record, size);
        }
        Event::Checkpoint(checkpoint) => {
            out.u8(2);
            let before = out.0.len();
            write_checkpoint(out, checkpoint);
            size.checkpoints += out.0.len() - before;
        }
        Event::Erasure(erasure) => {
            out.u8(3);
            out.u32(erasure.round);
            out.u32(erasure.clients.len() as u32);
            erasure.clients.iter().for_each(|client| out.u32(*client));
            out.u32(erasure.method.len() as u32);
            out.0.extend(erasure.method.as_bytes());
            out.u8(erasure.is_proven.into());
            out.u32(erasure.fresh_rounds);
        }
        Event::Rollback { to } => {
            out.u8(4);
            out.u32(*to);
        }
        Event::Dropped { what, round, digest } => {
            out.u8(if *what == What::Round { 5 } else { 6 });
            out.u32(*round);
            out.fingerprint(digest);
        }
    }
    out.fingerprint(&link.head);
}

fn read_link(input: &mut Reader<'_>, header: &Header) -> Result<Link, BadHistory> {
    let event = match input.u8()? {
        1 => Event::Round(read_record(input, header)?),
        2 => Event::Checkpoint(read_checkpoint(input, header)?),
        3 => Event::Erasure(read_erasure(input, header)?),
        4 => Event::Rollback { to: input.u32()? },
        5 => Event::Dropped { what: What::Round, round: input.u32()?, digest: input.fingerprint()? },
        6 => Event::Dropped { what: What::Checkpoint, round: input.u32()?, digest: input.fingerprint()? },
        _ => return Err(input.wrong("a link of an unknown kind")),
    };
    Ok(Link { event, head: input.fingerprint()? })
}

fn write_record(out: &mut Writer, record: &Record, size: &mut Size) {
    out.u32(record.round);
    out.fingerprint(&record.model);
    out.u32(record.entries.len() as u32);
    for entry in &record.entries {
        out.u32(entry.client);
        out.f64(entry.weight);
        out.fingerprint(&entry.commitment);
        let before = out.0.len() + 1;
        out.option(entry.update.as_ref(), |out, update| {
            out.0.extend(update.salt);
            out.f32s(&update.delta);
        });
        size.updates += out.0.len() - before;
    }
}

fn read_record(input: &mut Reader<'_>, header: &Header) -> Result<Record, BadHistory> {
    let (round, model) = (input.u32()?, input.fingerprint()?);
    let entries = input.many(LEAST_ENTRY, |input| {
        let (client, weight, commitment) = (input.u32()?, input.f64()?, input.fingerprint()?);
        let update =
            input.option(|input| Ok(Committed { salt: input.salt()?, delta: input.f32s(header.initial.len())? }))?;
        Ok(Entry { client, weight, commitment, update })
    })?;
    let clients = entries.iter().map(|entry| entry.client);
    input.require(are_clients(clients, header.n_clients), "clients that do not exist or are out of order")?;
    Ok(Record { round, model, entries })
}

/// Whether these are clients, in rising order.
fn are_clients(mut clients: impl Iterator<Item = u32> + Clone, n_clients: u32) -> bool {
    let is_rising = clients.clone().is_sorted_by(|a, b| a < b);
    is_rising && clients.all(|client| client < n_clients)
}

fn write_checkpoint(out: &mut Writer, checkpoint: &Checkpoint) {
    out.u32(checkpoint.round);
    out.f64s(&checkpoint.master);
    let (first, second, n_steps) = checkpoint.optimiser.parts();
    out.f64s(first);
    out.f64s(second);
    out.u32(n_steps as u32);
    out.option(checkpoint.clip_norm, |out, norm| out.f32s(&[norm]));
    out.option(checkpoint.tail.as_ref(), |out, tail| {
        let (first_round, sum, n_models) = tail.parts();
        out.u32(first_round);
        out.f64s(sum);
        out.u32(n_models);
    });
    out.u32(checkpoint.devices.len as u32);
    out.u32(checkpoint.devices.values.len() as u32);
    out.f32s(&checkpoint.devices.values);
}

fn read_checkpoint(input: &mut Reader<'_>, header: &Header) -> Result<Checkpoint, BadHistory> {
    let n_params = header.initial.len();
    let (round, master) = (input.u32()?, input.f64s(n_params)?);
    let (first, second, n_steps) = (input.f64s(n_params)?, input.f64s(n_params)?, input.u32()?);
    let n_steps = i32::try_from(n_steps).map_err(|_| input.wrong("a negative number of steps"))?;
    let clip_norm = input.option(Reader::f32)?;
    let tail = input.option(|input| Ok(TailMean::from_parts(input.u32()?, input.f64s(n_params)?, input.u32()?)))?;
    let len = input.u32()? as usize;
    let n_values = input.count(4)?;
    let fits = n_values as u64 == len as u64 * u64::from(if len > 0 { header.n_clients } else { 0 });
    input.require(fits, "states of more or fewer devices than there are")?;
    let devices = Devices { len, values: input.f32s(n_values)? };
    let optimiser = OptimiserState::from_parts(first, second, n_steps);
    Ok(Checkpoint { round, master, optimiser, clip_norm, tail, devices })
}

fn read_erasure(input: &mut Reader<'_>, header: &Header) -> Result<Erasure, BadHistory> {
    let round = input.u32()?;
    let clients = input.many(4, Reader::u32)?;
    let known = are_clients(clients.iter().copied(), header.n_clients);
    input.require(known, "clients that do not exist or are out of order")?;
    let length = input.count(1)?;
    let method = str::from_utf8(input.take(length)?).map_err(|_| input.wrong("a name that is no text"))?.to_owned();
    Ok(Erasure { round, clients, method, is_proven: input.bool()?, fresh_rounds: input.u32()? })
}

fn read_contributions(input: &mut Reader<'_>, n_clients: u32) -> Result<BTreeMap<u32, Contribution>, BadHistory> {
    let all = input.many(20, |input| {
        let (client, first, n_peers) = (input.u32()?, input.u32()?, input.u32()?);
        Ok((client, Contribution { first, n_peers, last: input.u32()?, n_messages: input.u32()? }))
    })?;
    let known = are_clients(all.iter().map(|(client, _)| *client), n_clients);
    input.require(known, "clients that do not exist or are out of order")?;
    Ok(all.into_iter().collect())
}

fn write_ledger(out: &mut Writer, ledger: &BTreeMap<u32, Vec<f64>>) {
    out.u32(ledger.len() as u32);
    for (client, account) in ledger {
        out.u32(*client);
        out.f64s(account);
    }
}

fn read_ledger(input: &mut Reader<'_>, header: &Header) -> Result<BTreeMap<u32, Vec<f64>>, BadHistory> {
    let n_params = header.initial.len();
    let all = input.many(4 + 8 * n_params, |input| Ok((input.u32()?, input.f64s(n_params)?)))?;
    let known = are_clients(all.iter().map(|(client, _)| *client), header.n_clients);
    input.require(known, "clients that do not exist or are out of order")?;
    Ok(all.into_iter().collect())
}
