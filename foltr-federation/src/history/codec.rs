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
mod parts;

use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::bytes::{Fetch, Reader, from_slice};
use super::{Accounts, Header, History, HistoryError, HistoryPolicy, Salt};
use crate::server_optimiser::ServerOptimiser;
use crate::writer::{WriteFingerprint, Writer};
use links::{read_link, write_link};
use parts::{Input, Output};

pub(super) use parts::PARTS_VERSION;
pub use parts::Parts;

/// Of the stored form; another one is refused.
pub(super) const VERSION: u16 = 3;
const WHOLE: Form = Form { mark: b"foltrhis", version: VERSION };
const CHECKSUM: usize = 32;
/// The least bytes of a link: kind, the kind of a ledger's seal, head.
const LEAST_LINK: usize = 1 + 1 + 32;

/// How a stored form begins.
struct Form {
    mark: &'static [u8; 8],
    version: u16,
}

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
        let mut bytes = Vec::new();
        let Ok(_) = self.encode_to(|piece| {
            bytes.extend_from_slice(piece);
            Ok::<(), Infallible>(())
        });
        bytes
    }

    pub fn size(&self) -> Size {
        let Ok(size) = self.encode_to(|_| Ok::<(), Infallible>(()));
        size
    }

    /// Hands out the bytes of [`Self::encode`] piece by piece, none longer than a round or a checkpoint. The first error
    /// ends it.
    pub fn encode_to<E>(&self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<Size, E> {
        let (mut size, mut hash, mut len) = (Size::default(), Sha256::new(), 0);
        let pass_on = |out: &mut Writer| {
            hash.update(&out.0);
            len += out.0.len();
            take(&out.0)?;
            out.0.clear();
            Ok(())
        };
        self.write(&mut Output::whole(), &WHOLE, &mut size, pass_on)?;
        take(&hash.finalize())?;
        size.rest = len + CHECKSUM - size.updates - size.checkpoints - size.ledger;
        Ok(size)
    }

    /// Writes all but the checksum, and hands out piece by piece what is shared.
    fn write<E>(
        &self,
        out: &mut Output,
        form: &Form,
        size: &mut Size,
        mut pass_on: impl FnMut(&mut Writer) -> Result<(), E>,
    ) -> Result<(), E> {
        out.shared.bytes(form.mark).u16(form.version);
        write_header(&mut out.shared, &self.header);
        out.shared.u32(self.n_rounds).u32(self.links.len() as u32);
        for link in &self.links {
            write_link(out, link, size);
            pass_on(&mut out.shared)?;
        }
        out.shared.u8(self.ledger.is_some().into());
        size.ledger = 1;
        if let Some(accounts) = &self.ledger {
            out.shared.u32(accounts.sums.len() as u32);
            size.ledger += 4;
            pass_on(&mut out.shared)?;
            for (client, sum) in &accounts.sums {
                let before = out.shared.0.len();
                write_account(out, accounts, *client, sum);
                size.ledger += out.shared.0.len() - before;
                pass_on(&mut out.shared)?;
            }
        }
        pass_on(&mut out.shared)
    }

    /// Whether what is read is to be believed is for [`Self::verify`] to say.
    pub fn decode(bytes: &[u8]) -> Result<Self, HistoryError> {
        Self::decode_from(bytes.len(), from_slice(bytes))
    }

    /// Reads so many bytes from a function that fills a block with those that come next, and says whether it could.
    pub fn decode_from(len: usize, mut fetch: impl FnMut(&mut [u8]) -> bool) -> Result<Self, HistoryError> {
        read_checked(len, &mut fetch, &WHOLE, &mut Input::Whole)
    }
}

/// Reads a history and its checksum.
fn read_checked(
    len: usize,
    fetch: &mut Fetch<'_>,
    form: &Form,
    apart: &mut Input<'_>,
) -> Result<History, HistoryError> {
    let body_len = len.checked_sub(CHECKSUM).ok_or(HistoryError::Truncated { at: len })?;
    let mut hash = Sha256::new();
    let body = |block: &mut [u8]| {
        let is_there = fetch(block);
        hash.update(&*block);
        is_there
    };
    let read = read_body(&mut Reader::of_stream(body_len, body), form, apart);
    if let Err(HistoryError::Mark | HistoryError::Version { .. }) = read {
        return read;
    }
    let mut checksum = [0; CHECKSUM];
    if !fetch(&mut checksum) {
        return Err(HistoryError::Truncated { at: body_len });
    }
    // Damaged bytes can be anything; only what was written so says what is wrong with it.
    if *hash.finalize() == checksum { read } else { Err(HistoryError::Damaged) }
}

/// Reads to the end, whatever is found on the way.
fn read_body(input: &mut Reader<'_>, form: &Form, apart: &mut Input<'_>) -> Result<History, HistoryError> {
    if input.take(form.mark.len())? != form.mark {
        return Err(HistoryError::Mark);
    }
    let got = input.u16()?;
    if got != form.version {
        return Err(HistoryError::Version { got });
    }
    let read = read_history(input, apart);
    input.skip_to_end()?;
    read
}

fn read_history(input: &mut Reader<'_>, apart: &mut Input<'_>) -> Result<History, HistoryError> {
    let header = read_header(input)?;
    let n_rounds = input.u32()?;
    let links = input.many(LEAST_LINK, |input| read_link(input, apart, &header))?;
    let ledger = input.option(|input| read_ledger(input, apart, &header))?;
    input.require(ledger.is_none() || header.policy.ledger, "a ledger that was not to be stored")?;
    input.require(input.is_at_end(), "more bytes than a history has")?;
    Ok(History { header, links, n_rounds, ledger, n_dropped: 0 })
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

/// An account whose seal was not made yet has a salt of zeros, and is not believed.
const UNSEALED: Salt = [0; 16];

fn write_account(out: &mut Output, accounts: &Accounts, client: u32, sum: &[f64]) {
    let salt = accounts.salts.get(&client).unwrap_or(&UNSEALED);
    out.shared.u32(client);
    out.of(client).bytes(salt).f64s(sum);
}

fn read_ledger(input: &mut Reader<'_>, apart: &mut Input<'_>, header: &Header) -> Result<Accounts, HistoryError> {
    let n_params = header.initial.len();
    let least_len = if apart.is_apart() { 4 } else { 4 + 16 + 8 * n_params };
    let all = input.many(least_len, |input| {
        let client = input.u32()?;
        Ok((client, apart.of(client, input, |input| Ok((input.salt()?, input.f64s(n_params)?)))?))
    })?;
    input.require_clients(all.iter().map(|(client, _)| *client), header.n_clients)?;
    let mut accounts = Accounts::default();
    for (client, (salt, sum)) in all.into_iter().filter_map(|(client, own)| Some((client, own?))) {
        accounts.sums.insert(client, sum);
        if salt != UNSEALED {
            accounts.salts.insert(client, salt);
        }
    }
    Ok(accounts)
}
