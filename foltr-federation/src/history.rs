//! What a server stores for the day on which a client wants to be forgotten.
//!
//! A [`History`] is a chain of what happened: stored rounds with the single updates of their clients, checkpoints,
//! clients that were forgotten, and returns to earlier rounds. Beside it are numbers that change with every round: who
//! took part first and last, and how far each client has moved the model (the ledger). [`History::erase`] takes a
//! client's updates, salts and ledger out; the chain can still be [verified](History::verify) afterwards. What is stored
//! is for [`HistoryPolicy`] to say, how much it is for [`History::size`].

mod bytes;
mod chain;
mod checkpoint;
mod codec;
mod policy;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rand::Rng;
use thiserror::Error;

use crate::aggregate::Contributions;
use crate::fingerprint::Fingerprint;
use crate::server_optimiser::ServerOptimiser;
use crate::writer::Writer;
use chain::{Event, Link, What};
use codec::VERSION;

pub use chain::Erasure;
pub use checkpoint::{Checkpoint, Devices};
pub use codec::Size;
pub use policy::HistoryPolicy;
pub use record::{Committed, Entry, Record, Salt};

/// What does not change in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub policy: HistoryPolicy,
    pub n_clients: u32,
    pub optimiser: ServerOptimiser,
    pub settings: Fingerprint,
    pub initial: Vec<f64>,
}

/// When a client took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// Its first round, of those that were not undone.
    pub first: u32,
    /// Clients that contributed to that round, this one included.
    pub n_peers: u32,
    /// Its last round; after a return to an earlier round at least no earlier than it was.
    pub last: u32,
    /// Messages that the server ever took from it, also in rounds that were undone.
    pub n_messages: u32,
}

/// No round has this number.
const NEVER: u32 = u32::MAX;

impl Contribution {
    const NONE: Self = Self { first: NEVER, n_peers: 0, last: NEVER, n_messages: 0 };
}

/// Everything that is stored of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    header: Header,
    links: Vec<Link>,
    n_rounds: u32,
    contributions: BTreeMap<u32, Contribution>,
    /// By client: the sum over rounds of its share of the averaged step. None if it is not, or no longer, stored.
    ledger: Option<BTreeMap<u32, Vec<f64>>>,
    /// Links before this one have nothing that could be too old.
    n_dropped: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage<'a> {
    links: &'a [Link],
}

impl<'a> Passage<'a> {
    pub(crate) fn erasures(&self) -> impl Iterator<Item = &'a Erasure> {
        self.links.iter().filter_map(|link| link.event.erasure())
    }

    /// The last checkpoint of the passage; nothing if it is not stored any longer.
    pub(crate) fn latest(&self) -> Option<&'a Checkpoint> {
        let is_state =
            |link: &&Link| matches!(link.event, Event::Checkpoint(_) | Event::Dropped { what: What::Checkpoint, .. });
        self.links.iter().rfind(is_state)?.event.checkpoint()
    }
}

/// What happens to checkpoints in which a forgotten client has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// They stay, but for what the client's device had remembered.
    Stay,
    Drop,
}

impl Header {
    fn digest(&self) -> Fingerprint {
        let every = |number: Option<u32>| number.map_or(0, u64::from);
        let HistoryPolicy { updates_every, checkpoints_every, ledger, retention } = self.policy;
        let (kind, numbers) = codec::optimiser_parts(&self.optimiser);
        let mut hash = Writer::named("foltr history");
        hash.u64(every(updates_every)).u64(every(checkpoints_every)).u32(ledger.into()).u64(every(retention));
        hash.u32(self.n_clients).fingerprint(&self.settings);
        hash.u32(kind.into()).len(numbers.len()).f64s(&numbers);
        hash.len(self.initial.len()).f64s(&self.initial).finish()
    }
}

impl History {
    pub fn new(header: Header) -> Self {
        let ledger = header.policy.ledger.then(BTreeMap::new);
        Self { header, links: Vec::new(), n_rounds: 0, contributions: BTreeMap::new(), ledger, n_dropped: 0 }
    }

    pub const fn header(&self) -> &Header {
        &self.header
    }

    pub const fn policy(&self) -> &HistoryPolicy {
        &self.header.policy
    }

    /// Rounds that were closed and not undone.
    pub const fn n_rounds(&self) -> u32 {
        self.n_rounds
    }

    /// The fingerprint of all that happened.
    pub fn head(&self) -> Fingerprint {
        self.links.last().map_or_else(|| self.header.digest(), |link| link.head)
    }

    pub fn heads(&self) -> impl Iterator<Item = Fingerprint> {
        std::iter::once(self.header.digest()).chain(self.links.iter().map(|link| link.head))
    }

    /// What happened from a head, or from the beginning, to another; or the head that is not there, or not after the other.
    pub(crate) fn between(
        &self,
        before: Option<&Fingerprint>,
        after: &Fingerprint,
    ) -> Result<Passage<'_>, Fingerprint> {
        let place = |wanted: &Fingerprint| self.heads().position(|head| head == *wanted).ok_or(*wanted);
        let start = before.map_or(Ok(0), place)?;
        let length = self.heads().skip(start).position(|head| head == *after).ok_or(*after)?;
        Ok(Passage { links: &self.links[start..start + length] })
    }

    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.links.iter().filter_map(|link| link.event.record())
    }

    /// Checkpoints, in the order in which they were made.
    pub fn checkpoints(&self) -> impl DoubleEndedIterator<Item = &Checkpoint> {
        self.links.iter().filter_map(|link| link.event.checkpoint())
    }

    pub fn latest(&self) -> Option<&Checkpoint> {
        self.checkpoints().next_back()
    }

    /// The last state in which no round from this one on has a part.
    pub fn before(&self, round: u32) -> Option<&Checkpoint> {
        self.checkpoints().filter(|checkpoint| checkpoint.round <= round).max_by_key(|checkpoint| checkpoint.round)
    }

    pub fn erasures(&self) -> impl Iterator<Item = &Erasure> {
        self.links.iter().filter_map(|link| link.event.erasure())
    }

    pub fn is_forgotten(&self, client: u32) -> bool {
        self.erasures().any(|erasure| erasure.clients.binary_search(&client).is_ok())
    }

    /// When a client took part; nothing if it never did, or not since its rounds were undone, or was forgotten.
    pub fn contribution(&self, client: u32) -> Option<&Contribution> {
        self.contributions.get(&client).filter(|it| it.first != NEVER)
    }

    /// Messages that the server ever took from a client that was not forgotten.
    pub fn n_messages(&self, client: u32) -> u32 {
        self.contributions.get(&client).map_or(0, |it| it.n_messages)
    }

    /// How far each client has moved the model, before the server's rate; nothing where that is not stored.
    pub const fn ledger(&self) -> Option<&BTreeMap<u32, Vec<f64>>> {
        self.ledger.as_ref()
    }

    /// Takes a round that is closed, panicking if it is not the next one: the model that it started from, whose messages
    /// moved the model, in rising order, and what they sent, in client order. That may be empty where
    /// [`HistoryPolicy::needs_updates`] says that nobody asks for it. Salts must come from a source that nobody can repeat.
    pub fn close(&mut self, round: u32, model: &[f32], clients: &[u32], updates: &Contributions, salts: &mut impl Rng) {
        assert_eq!(round, self.n_rounds, "rounds follow each other");
        self.n_rounds += 1;
        for &client in clients {
            let it = self.contributions.entry(client).or_insert(Contribution::NONE);
            if it.first == NEVER {
                (it.first, it.n_peers) = (round, clients.len() as u32);
            }
            it.last = round;
            it.n_messages = it.n_messages.saturating_add(1);
        }
        if let Some(ledger) = &mut self.ledger {
            book(ledger, updates);
        }
        if self.policy().stores_updates(round) {
            self.push(Event::Round(Record::new(round, model, updates, salts)));
        }
        self.drop_old();
    }

    pub fn add_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.push(Event::Checkpoint(checkpoint));
    }

    /// Takes clients out: their updates, salts, ledgers, and what their devices remembered; and says so in the chain.
    /// Nothing changes on an error.
    pub fn erase(&mut self, mut erasure: Erasure, touched: Touched) -> Result<(), UnknownClient> {
        erasure.clients.sort_unstable();
        erasure.clients.dedup();
        erasure.clients.iter().try_for_each(|&client| self.knows(client))?;
        let firsts = erasure.clients.iter().filter_map(|&client| self.contribution(client));
        let first = firsts.map(|contribution| contribution.first).min().unwrap_or(u32::MAX);
        for link in &mut self.links {
            match &mut link.event {
                Event::Round(record) => record.erase(&erasure.clients),
                Event::Checkpoint(checkpoint) if touched == Touched::Drop && checkpoint.round > first => {
                    link.drop_content();
                }
                Event::Checkpoint(checkpoint) => checkpoint.devices.erase(&erasure.clients),
                Event::Erasure(_) | Event::Rollback { .. } | Event::Dropped { .. } => {}
            }
        }
        for client in &erasure.clients {
            self.contributions.remove(client);
            self.ledger.iter_mut().for_each(|ledger| drop(ledger.remove(client)));
        }
        self.push(Event::Erasure(erasure));
        Ok(())
    }

    /// Refuses a client that does not exist or was forgotten.
    pub fn knows(&self, client: u32) -> Result<(), UnknownClient> {
        let n_clients = self.header.n_clients;
        if client >= n_clients {
            return Err(UnknownClient::Nobody { client, n_clients });
        }
        if self.is_forgotten(client) { Err(UnknownClient::Forgotten { client }) } else { Ok(()) }
    }

    /// Goes back to the beginning of a round: drops what came after it. The ledger cannot be undone, and ends, unless
    /// nothing is left of the run.
    pub fn roll_back(&mut self, to: u32) {
        for link in &mut self.links {
            match &link.event {
                Event::Round(record) if record.round >= to => link.drop_content(),
                Event::Checkpoint(checkpoint) if checkpoint.round > to => link.drop_content(),
                _ => {}
            }
        }
        for it in self.contributions.values_mut() {
            *it = if it.first < to {
                Contribution { last: it.last.min(to.saturating_sub(1)), ..*it }
            } else {
                Contribution { n_messages: it.n_messages, ..Contribution::NONE }
            };
        }
        if to < self.n_rounds {
            self.ledger = (to == 0 && self.header.policy.ledger).then(BTreeMap::new);
        }
        (self.n_rounds, self.n_dropped) = (to, 0);
        self.push(Event::Rollback { to });
    }

    /// Ends the ledger: the model does not follow from it any longer.
    pub fn end_ledger(&mut self) {
        self.ledger = None;
    }

    /// Drops every checkpoint, for those of another course of the run to come.
    pub fn drop_checkpoints(&mut self) {
        let is_checkpoint = |link: &&mut Link| matches!(link.event, Event::Checkpoint(_));
        self.links.iter_mut().filter(is_checkpoint).for_each(Link::drop_content);
    }

    fn push(&mut self, event: Event) {
        self.links.push(Link::after(&self.head(), event));
    }

    /// Drops what is too old; never the newest checkpoint.
    fn drop_old(&mut self) {
        let (policy, n_rounds) = (self.header.policy, self.n_rounds);
        if policy.retention.is_none() {
            return;
        }
        let is_checkpoint = |link: &Link| matches!(link.event, Event::Checkpoint(_));
        let newest = self.links.iter().rposition(is_checkpoint);
        for index in self.n_dropped..self.links.len() {
            let link = &mut self.links[index];
            match &link.event {
                Event::Round(record) if !policy.is_too_old(record.round, n_rounds) => return,
                Event::Checkpoint(it) if Some(index) == newest || !policy.is_too_old(it.round, n_rounds) => return,
                _ => link.drop_content(),
            }
            self.n_dropped = index + 1;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    #[error("this is no history: it does not begin with its mark")]
    Mark,
    #[error("the history has version {got}; this program reads version {VERSION}")]
    Version { got: u16 },
    #[error("the history ends at byte {at}, in the middle of something")]
    Truncated { at: usize },
    #[error("the history is damaged: its checksum does not fit its contents")]
    Damaged,
    #[error("the history has {what} before byte {at}")]
    Content { what: &'static str, at: usize },
    #[error("the update of client {client} in round {round} was altered: its commitment does not open")]
    Altered { round: u32, client: u32 },
    #[error("the update of client {client} in round {round} is missing, and the client was never forgotten")]
    MissingUpdate { round: u32, client: u32 },
    #[error("round {round} is missing")]
    Missing { round: u32 },
    #[error("round {round} is not in its place")]
    Order { round: u32 },
    #[error("{what} of round {round} was altered, or something before it was taken out: its head does not fit")]
    Chain { what: &'static str, round: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnknownClient {
    #[error("client {client} is not one of the {n_clients} of this federation, counted from 0")]
    Nobody { client: u32, n_clients: u32 },
    #[error("client {client} is already forgotten")]
    Forgotten { client: u32 },
}

/// Adds every client's share of the averaged step to its account.
fn book(ledger: &mut BTreeMap<u32, Vec<f64>>, updates: &Contributions) {
    let weight: f64 = updates.weights().iter().sum();
    for (client, own, row) in updates.iter() {
        let account = ledger.entry(client).or_insert_with(|| vec![0.0; row.len()]);
        account.iter_mut().zip(row).for_each(|(sum, &value)| *sum += own / weight * f64::from(value));
    }
}
