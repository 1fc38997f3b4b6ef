//! A history as bytes, and how many of them each part takes.
//!
//! ```text
//! mark, version                                         8 + 2 bytes
//! header     policy, clients, optimiser, settings, initial model
//! rounds     number of rounds, then links: kind, content, head
//! ledger     one vector a client, and the salt that opens its commitment
//! checksum   SHA-256 of all bytes before it             32 bytes
//! ```
//!
//! Numbers are little-endian. The decoder is total: any byte string is a history or a named error, nothing is allocated
//! for which there are no bytes, and every accepted byte string encodes to itself again. It checks form;
//! [`History::verify`] checks what is in it.

mod links;

use serde::{Deserialize, Serialize};

use super::bytes::Reader;
use super::{Accounts, Header, History, HistoryError, HistoryPolicy, Salt};
use crate::fingerprint::Fingerprint;
use crate::server_optimiser::ServerOptimiser;
use crate::writer::Writer;
use links::{read_link, write_link};

/// Of the stored form; another one is refused.
pub(super) const VERSION: u16 = 3;
const MARK: &[u8; 8] = b"foltrhis";
const CHECKSUM: usize = 32;
/// The least bytes of a link: kind, the kind of a ledger's seal, head.
const LEAST_LINK: usize = 1 + 1 + 32;

/// How many bytes a history takes when it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Size {
    pub updates: usize,
    pub checkpoints: usize,
    /// How far each client has moved the model.
    pub ledger: usize,
    /// All that is stored in any case: the initial model, who took part when, commitments, heads.
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
        let ledger = input.option(|input| read_ledger(input, &header))?;
        input.require(ledger.is_none() || header.policy.ledger, "a ledger that was not to be stored")?;
        input.require(input.is_at_end(), "more bytes than a history has")?;
        Ok(Self { header, links, n_rounds, ledger, n_dropped: 0 })
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

/// An account whose seal was not made yet is written with a salt of zeros, and is not believed.
fn write_ledger(out: &mut Writer, accounts: &Accounts) {
    out.u32(accounts.sums.len() as u32);
    for (client, sum) in &accounts.sums {
        let salt = accounts.salts.get(client).copied().unwrap_or_default();
        out.u32(*client).bytes(&salt).f64s(sum);
    }
}

fn read_ledger(input: &mut Reader<'_>, header: &Header) -> Result<Accounts, HistoryError> {
    let n_params = header.initial.len();
    let read = |input: &mut Reader<'_>| Ok((input.u32()?, input.salt()?, input.f64s(n_params)?));
    let all: Vec<(u32, Salt, Vec<f64>)> = input.many(4 + 16 + 8 * n_params, read)?;
    input.require_clients(all.iter().map(|(client, ..)| *client), header.n_clients)?;
    let salts = all.iter().map(|(client, salt, _)| (*client, *salt)).collect();
    Ok(Accounts { sums: all.into_iter().map(|(client, _, sum)| (client, sum)).collect(), salts })
}
