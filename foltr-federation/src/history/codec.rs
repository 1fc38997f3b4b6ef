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

mod links;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::{Reader, Writer};
use super::{Contribution, Header, History, HistoryError, HistoryPolicy};
use crate::fingerprint::Fingerprint;
use crate::server_optimiser::ServerOptimiser;
use links::{read_link, write_link};

/// Of the stored form; another one is refused.
pub(super) const VERSION: u16 = 1;
const MARK: &[u8; 8] = b"foltrhis";
const CHECKSUM: usize = 32;
/// The least bytes of a link: kind, the round of a return, head.
const LEAST_LINK: usize = 1 + 4 + 32;

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
    pub fn decode(bytes: &[u8]) -> Result<Self, HistoryError> {
        let body_len = bytes.len().checked_sub(CHECKSUM).ok_or(HistoryError::Truncated { at: bytes.len() })?;
        let (body, checksum) = bytes.split_at(body_len);
        let mut input = Reader::new(body);
        if input.take(MARK.len())? != MARK {
            return Err(HistoryError::Mark);
        }
        let got = input.u16()?;
        if got != VERSION {
            return Err(HistoryError::Version { got });
        }
        if Fingerprint::of(body).as_bytes() != checksum {
            return Err(HistoryError::Damaged);
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
    let HistoryPolicy { updates_every, checkpoints_every, ledger, retention } = header.keeping;
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

fn read_header(input: &mut Reader<'_>) -> Result<Header, HistoryError> {
    let mut every = || input.u32().map(|number| (number > 0).then_some(number));
    let (updates_every, checkpoints_every, retention) = (every()?, every()?, every()?);
    let keeping = HistoryPolicy { updates_every, checkpoints_every, ledger: input.bool()?, retention };
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

fn read_contributions(input: &mut Reader<'_>, n_clients: u32) -> Result<BTreeMap<u32, Contribution>, HistoryError> {
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

fn read_ledger(input: &mut Reader<'_>, header: &Header) -> Result<BTreeMap<u32, Vec<f64>>, HistoryError> {
    let n_params = header.initial.len();
    let all = input.many(4 + 8 * n_params, |input| Ok((input.u32()?, input.f64s(n_params)?)))?;
    let known = are_clients(all.iter().map(|(client, _)| *client), header.n_clients);
    input.require(known, "clients that do not exist or are out of order")?;
    Ok(all.into_iter().collect())
}

/// Whether these are clients, in rising order.
fn are_clients(mut clients: impl Iterator<Item = u32> + Clone, n_clients: u32) -> bool {
    let is_rising = clients.clone().is_sorted_by(|a, b| a < b);
    is_rising && clients.all(|client| client < n_clients)
}
