//! A history in parts: what is of a single client, and what is shared by all.
//!
//! A server encrypts each client's part with a key of its own. To erase a client for good, also from backups, it deletes
//! the key. What is shared has commitments and salts of nobody: who took part when, heads, digests, models.
//!
//! ```text
//! shared     mark, version, header, links, ledger and checksum, as in the whole form, but for:
//! a client's salts with updates, device memory, last messages and the account that they open, in the order of the links
//! ```
//!
//! Where the shared part says that something of a client is there and the client has no part, it is read as erased. Only
//! what is shared has a checksum: a client's part is opened by commitments, which [`History::verify`] does.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;

use sha2::{Digest, Sha256};

use super::{Form, Size, read_checked};
use crate::history::bytes::{Reader, from_slice};
use crate::history::{History, HistoryError};
use crate::writer::Writer;

pub(in crate::history) const PARTS_VERSION: u16 = 1;
const IN_PARTS: Form = Form { mark: b"foltrhip", version: PARTS_VERSION };

/// A history, with everything that is of a single client apart.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parts {
    pub shared: Vec<u8>,
    /// Of every client of whom anything is stored.
    pub clients: BTreeMap<u32, Vec<u8>>,
}

impl fmt::Debug for Parts {
    /// Sizes only: a log is a place where single updates must not be found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_bytes: usize = self.clients.values().map(Vec::len).sum();
        write!(f, "Parts({} shared bytes, {n_bytes} of {} clients)", self.shared.len(), self.clients.len())
    }
}

impl History {
    /// Everything that [`Self::encode`] has, in parts.
    pub fn to_parts(&self) -> Parts {
        let mut out = Output { shared: Writer::default(), apart: Some(BTreeMap::new()) };
        let Ok(()) = self.write(&mut out, &IN_PARTS, &mut Size::default(), |_| Ok::<(), Infallible>(()));
        let checksum = Sha256::digest(&out.shared.0);
        out.shared.bytes(&checksum);
        let clients = out.apart.into_iter().flatten().map(|(client, own)| (client, own.0)).collect();
        Parts { shared: out.shared.0, clients }
    }

    /// What the parts say. A client whose part is missing is erased here, but not [forgotten](Self::erase): until that is
    /// in the chain, [`Self::verify`] finds its updates missing.
    pub fn from_parts(parts: &Parts) -> Result<Self, HistoryError> {
        let readers = parts.clients.iter().map(|(&client, own)| {
            let reader = Reader::of_stream(own.len(), from_slice(own));
            (client, reader)
        });
        let mut apart = Input::Apart(readers.collect());
        let (shared, mut fetch) = (&parts.shared, from_slice(&parts.shared));
        let history = read_checked(shared.len(), &mut fetch, &IN_PARTS, &mut apart)?;
        apart.finish()?;
        Ok(history)
    }
}

/// Where the bytes of a history go.
pub(super) struct Output {
    /// Everything, or everything but what is of single clients.
    pub(super) shared: Writer,
    /// What is of each client, if it goes elsewhere.
    apart: Option<BTreeMap<u32, Writer>>,
}

impl Output {
    pub(super) fn whole() -> Self {
        Self { shared: Writer::default(), apart: None }
    }

    pub(super) const fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// For what is of a client.
    pub(super) fn of(&mut self, client: u32) -> &mut Writer {
        match &mut self.apart {
            Some(clients) => clients.entry(client).or_default(),
            None => &mut self.shared,
        }
    }

    /// Writes what is of a client, if it is still there; whether it is, is shared.
    pub(super) fn option_of<T>(&mut self, client: u32, value: Option<T>, write: impl FnOnce(&mut Writer, T)) {
        self.shared.u8(value.is_some().into());
        if let Some(value) = value {
            write(self.of(client), value);
        }
    }
}

/// Where what is of single clients comes from.
pub(super) enum Input<'a> {
    /// From between all else.
    Whole,
    Apart(BTreeMap<u32, Reader<'a>>),
}

impl Input<'_> {
    pub(super) const fn is_apart(&self) -> bool {
        matches!(self, Self::Apart(_))
    }

    /// Reads what is of a client; nothing if its part is gone.
    pub(super) fn of<T>(
        &mut self,
        client: u32,
        shared: &mut Reader<'_>,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, HistoryError>,
    ) -> Result<Option<T>, HistoryError> {
        let Self::Apart(clients) = self else { return read(shared).map(Some) };
        let own = clients.get_mut(&client).map(read).transpose();
        own.map_err(|error| HistoryError::Part { client, what: what(&error) })
    }

    /// The same where the shared part says whether there is something.
    pub(super) fn option_of<T>(
        &mut self,
        client: u32,
        shared: &mut Reader<'_>,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, HistoryError>,
    ) -> Result<Option<T>, HistoryError> {
        if shared.bool()? { self.of(client, shared, read) } else { Ok(None) }
    }

    /// Refuses parts with more than the shared one asks for.
    fn finish(&self) -> Result<(), HistoryError> {
        let Self::Apart(clients) = self else { return Ok(()) };
        let rest = clients.iter().find(|(_, own)| !own.is_at_end() || own.is_empty());
        rest.map_or(Ok(()), |(&client, _)| {
            Err(HistoryError::Part { client, what: "more bytes than the history has of it, or none" })
        })
    }
}

fn what(error: &HistoryError) -> &'static str {
    match error {
        HistoryError::Content { what, .. } => what,
        _ => "fewer bytes than the history has of it",
    }
}
