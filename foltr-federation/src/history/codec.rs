//! A history as bytes, and how many of them each part takes.
//!
//! ```text
//! mark, version                                         8 + 2 bytes
//! header     policy, clients, optimiser, settings, initial model
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

use super::bytes::Reader;
use super::{Contribution, Header, History, HistoryError, HistoryPolicy};
use crate::fingerprint::Fingerprint;
use crate::server_optimiser::ServerOptimiser;
use crate::writer::Writer;
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
    pub updates: usize,
    pub checkpoints: usize,
    /// How far each client has moved the model.
    pub ledger: usize,
    /// All that is stored in any case: the initial model, commitments, heads, who took part when.
    pub rest: usize,
}

impl Size {
    pub const fn total(&self) -> usize {
        self.updates + self.checkpoints + self.ledger + self.rest
    }
}

impl History {
    pub fn encode(&self) -> Vec<u8> {
        self.written().0
    }

    pub fn size(&self) -> Size {
        self.written().1
    }

    fn written(&self) -> (Vec<u8>, Size) {
        let (mut out, mut size) = (Writer::default(), Size::default());
        out.bytes(MARK).bytes(&VERSION.to_le_bytes());
        write_header(&mut out, &self.header);
        out.u32(self.n_rounds).u32(self.links.len() as u32);
        self.links.iter().for_each(|link| write_link(&mut out, link, &mut size));
        out.u32(self.contributions.len() as u32);
        for (client, it) in &self.contributions {
            out.u32s(&[*client, it.first, it.n_peers, it.last, it.n_messages]);
        }
        let before = out.0.len();
        out.option(self.ledger.as_ref(), write_ledger);
        size.ledger = out.0.len() - before;
        let checksum = out.finish();
        out.fingerprint(&checksum);
        size.rest = out.0.len() - size.updates - size.checkpoints - size.ledger;
        (out.0, size)
    }

    /// Whether what is read is to be believed is for [`Self::verify`] to say.
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
        input.require(ledger.is_none() || header.policy.ledger, "a ledger that was not to be stored")?;
        input.require(input.is_at_end(), "more bytes than a history has")?;
        Ok(Self { header, links, n_rounds, contributions, ledger, n_dropped: 0 })
    }
}

fn write_header(out: &mut Writer, header: &Header) {
    let HistoryPolicy { updates_every, checkpoints_every, ledger, retention } = header.policy;
    let (kind, numbers) = optimiser_parts(&header.optimiser);
    out.u32s(&[updates_every, checkpoints_every, retention].map(Option::unwrap_or_default)).u8(ledger.into());
    out.u32(header.n_clients).u8(kind).f64s(&numbers).fingerprint(&header.settings);
    out.u32(header.initial.len() as u32).f64s(&header.initial);
}

fn read_header(input: &mut Reader<'_>) -> Result<Header, HistoryError> {
    let mut every = || input.u32().map(|number| (number > 0).then_some(number));
    let (updates_every, checkpoints_every, retention) = (every()?, every()?, every()?);
    let policy = HistoryPolicy { updates_every, checkpoints_every, ledger: input.bool()?, retention };
    let (n_clients, optimiser, settings) = (input.u32()?, read_optimiser(input)?, input.fingerprint()?);
    let n_params = input.count(8)?;
    Ok(Header { policy, n_clients, optimiser, settings, initial: input.f64s(n_params)? })
}

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

fn read_optimiser(input: &mut Reader<'_>) -> Result<ServerOptimiser, HistoryError> {
    let kind = input.u8()?;
    let mut number = || input.f64();
    Ok(match kind {
        0 => ServerOptimiser::LearningRate { rate: number()? },
        1 => ServerOptimiser::Momentum { rate: number()?, momentum: number()? },
        2 => ServerOptimiser::Adam { rate: number()?, beta1: number()?, beta2: number()?, epsilon: number()? },
        3 => ServerOptimiser::Yogi { rate: number()?, beta1: number()?, beta2: number()?, epsilon: number()? },
        4 => ServerOptimiser::Adagrad { rate: number()?, epsilon: number()? },
        5 => ServerOptimiser::Rprop {
            initial_step: number()?,
            increase: number()?,
            decrease: number()?,
            min_step: number()?,
            max_step: number()?,
        },
        _ => return Err(input.wrong("an unknown optimiser")),
    })
}

fn read_contributions(input: &mut Reader<'_>, n_clients: u32) -> Result<BTreeMap<u32, Contribution>, HistoryError> {
    by_client(input, n_clients, 20, |input| {
        let (first, n_peers, last) = (input.u32()?, input.u32()?, input.u32()?);
        Ok(Contribution { first, n_peers, last, n_messages: input.u32()? })
    })
}

fn write_ledger(out: &mut Writer, ledger: &BTreeMap<u32, Vec<f64>>) {
    out.u32(ledger.len() as u32);
    for (client, account) in ledger {
        out.u32(*client).f64s(account);
    }
}

fn read_ledger(input: &mut Reader<'_>, header: &Header) -> Result<BTreeMap<u32, Vec<f64>>, HistoryError> {
    let n_params = header.initial.len();
    by_client(input, header.n_clients, 4 + 8 * n_params, |input| input.f64s(n_params))
}

fn by_client<'a, T>(
    input: &mut Reader<'a>,
    n_clients: u32,
    len: usize,
    read: impl Fn(&mut Reader<'a>) -> Result<T, HistoryError>,
) -> Result<BTreeMap<u32, T>, HistoryError> {
    let all = input.many(len, |input| Ok((input.u32()?, read(input)?)))?;
    require_clients(input, all.iter().map(|(client, _)| *client), n_clients)?;
    Ok(all.into_iter().collect())
}

fn require_clients(
    input: &Reader<'_>,
    mut clients: impl Iterator<Item = u32> + Clone,
    n_clients: u32,
) -> Result<(), HistoryError> {
    let is_rising = clients.clone().is_sorted_by(|a, b| a < b);
    let known = is_rising && clients.all(|client| client < n_clients);
    input.require(known, "clients that do not exist or are out of order")
}
