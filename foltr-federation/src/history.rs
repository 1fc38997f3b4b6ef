//! What a server stores for the day on which a client wants to be forgotten.
//!
//! A [`History`] is a chain of what happened: every round with those who took part, and the single updates of some;
//! checkpoints; clients that were forgotten; and returns to earlier rounds. All that requests and receipts count, such as
//! first rounds and messages, follows from it. Beside it is how far each client has moved the model (the ledger), to
//! which the chain has commitments. [`History::erase`] takes a client's updates, salts and account out; the chain can
//! still be [verified](History::verify) afterwards. Who took part in which round stays, also of clients that were
//! forgotten: numbers of clients and rounds. What is stored is for [`HistoryPolicy`] to say, how much it is for
//! [`History::size`].
//!
//! A history that was cut at its end is an older history, and as good as that was. Whoever has a later head, in a
//! receipt, sees that it was cut.

mod accounts;
pub(crate) mod bytes;
mod chain;
mod checkpoint;
mod codec;
mod course;
mod errors;
mod on_server;
mod participants;
mod policy;
mod record;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::BTreeMap;

use foltr_rank::rng::Lineage;
use rand::CryptoRng;

use crate::aggregate::Contributions;
use crate::fingerprint::Fingerprint;
use crate::server_optimiser::ServerOptimiser;
use crate::unlearn::Assurance;
use crate::writer::{WriteFingerprint, Writer};
use accounts::{Accounts, Seal};
use chain::{Event, Link, Round, Updates};
use checkpoint::StoredState;
use record::fresh_salt;

pub use chain::Erasure;
pub use checkpoint::{Checkpoint, Devices};
pub use codec::{Parts, Size};
pub(crate) use course::Course;
pub use course::Messages;
pub use errors::{HistoryError, UnknownClient};
pub use participants::Participants;
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

/// Everything that is stored of a run.
///
/// ```
/// use foltr_federation::history::Header;
/// use foltr_federation::{Contributions, Fingerprint, History, HistoryPolicy, ServerOptimiser};
///
/// let header = Header {
///     policy: HistoryPolicy { updates_every: Some(1), ..HistoryPolicy::default() },
///     n_clients: 2,
///     optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
///     settings: Fingerprint::of(b"the plan"),
///     initial: vec![0.0, 0.0],
/// };
/// let mut history = History::new(header);
/// let updates = Contributions::of_rows(&[[1.0, 0.0], [0.0, 1.0]]);
/// // On a server, salts are the operating system's.
/// # let streams = foltr_rank::rng::Streams::new(1);
/// # let mut salts = streams.open(foltr_rank::rng::Purpose::Noise, 0, 0);
/// history.close(0, &[0.5, 0.5], &[0, 1], &updates, &mut salts);
///
/// // Whoever holds the head finds out if anything of the past was altered.
/// let stored = History::decode(&history.encode())?;
/// stored.verify()?;
/// assert_eq!(stored.head(), history.head());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    header: Header,
    links: Vec<Link>,
    n_rounds: u32,
    /// None if it is not, or no longer, stored.
    ledger: Option<Accounts>,
    /// Links before this one have nothing that could be too old.
    n_dropped: usize,
}

/// What happens to checkpoints in which a forgotten client has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// They stay, but for what the client's device had remembered and what stood in for the client.
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
        let ledger = header.policy.ledger.then(Accounts::default);
        Self { header, links: Vec::new(), n_rounds: 0, ledger, n_dropped: 0 }
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

    /// All that happened.
    pub(crate) fn course(&self) -> Course<'_> {
        let Header { n_clients, optimiser, .. } = self.header;
        Course { links: &self.links, n_clients, optimiser }
    }

    /// What happened up to a head; nothing if it never was.
    pub(crate) fn up_to(&self, head: &Fingerprint) -> Option<Course<'_>> {
        let end = self.heads().position(|own| own == *head)?;
        Some(Course { links: &self.links[..end], ..self.course() })
    }

    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.links.iter().filter_map(|link| link.event.record())
    }

    /// Checkpoints, in the order in which they were made.
    pub fn checkpoints(&self) -> impl DoubleEndedIterator<Item = &Checkpoint> {
        self.links.iter().filter_map(|link| link.event.stored()).map(|stored| &stored.state)
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
        self.erasures().any(|erasure| erasure.forgets(client))
    }

    /// The first round, of those that were not undone, to which a client contributed.
    pub fn first_round(&self, client: u32) -> Option<u32> {
        self.course().first_round(client)
    }

    /// The earliest of the first rounds of some clients; none if none of them contributed to what is left.
    pub fn first_of(&self, clients: &[u32]) -> Option<u32> {
        self.course().first_of(clients)
    }

    /// Rounds in which a client's message, or what stood in for it, ever had a part.
    pub fn messages(&self, client: u32) -> Messages {
        self.course().messages(client)
    }

    /// Everybody who is in a list of those who took part, as often as that; clients of rounds of nearly everybody are not
    /// listed.
    pub(crate) fn listed_clients(&self) -> impl Iterator<Item = u32> {
        self.course().listed_clients()
    }

    /// What the requests so far make of the streams that protect.
    pub fn lineage(&self) -> Lineage {
        self.course().lineage()
    }

    /// The lineage after one more request.
    pub fn lineage_after(&self, erasure: &Erasure) -> Lineage {
        let number = self.erasures().count() as u32 + 1;
        course::lineage_after(&self.lineage(), number, erasure)
    }

    /// What the chain proves of each request so far.
    pub fn guarantees(&self) -> Vec<Assurance> {
        self.course().guarantees()
    }

    /// How far each client has moved the model, before the server's rate; nothing where that is not stored.
    pub fn ledger(&self) -> Option<&BTreeMap<u32, Vec<f64>>> {
        self.ledger.as_ref().map(|accounts| &accounts.sums)
    }

    /// Takes a round that is closed, panicking if it is not the next one: the model that it started from, whose messages
    /// moved the model, in rising order, and what they sent, in client order. Who moved it by a stand-in is one of them. What they sent may be empty where
    /// [`HistoryPolicy::needs_updates`] says that nobody asks for it. Salts must come from a source that nobody can repeat.
    pub fn close(
        &mut self,
        round: u32,
        model: &[f32],
        clients: &[u32],
        updates: &Contributions,
        salts: &mut impl CryptoRng,
    ) {
        assert_eq!(round, self.n_rounds, "rounds follow each other");
        self.n_rounds += 1;
        if let Some(accounts) = &mut self.ledger {
            accounts.book(updates);
        }
        let participants = Participants::new(clients, self.header.n_clients);
        let updates = match self.policy().stores_updates(round) {
            true => Updates::Stored(Record::new(round, model, updates, salts)),
            false => Updates::None,
        };
        self.push(Event::Round(Round { round, participants, updates }));
        self.drop_old();
    }

    /// Takes the state before a round. The ledger as it is comes into the chain with it.
    pub fn add_checkpoint(&mut self, state: Checkpoint, salts: &mut impl CryptoRng) {
        if let Some(accounts) = self.ledger.as_mut().filter(|accounts| !accounts.is_sealed()) {
            let seal = accounts.seal(salts);
            self.push_seal(seal);
        }
        self.push(Event::Checkpoint(Box::new(StoredState::new(state, salts))));
    }

    /// Takes clients out: their updates, salts, accounts, what their devices remembered and what stood in for them; and says
    /// so in the chain.
    /// Nothing changes on an error.
    pub fn erase(&mut self, mut erasure: Erasure, touched: Touched) -> Result<(), UnknownClient> {
        erasure.clients.sort_unstable();
        erasure.clients.dedup();
        erasure.clients.iter().try_for_each(|&client| self.knows(client))?;
        let first = self.first_of(&erasure.clients).unwrap_or(u32::MAX);
        for Link { event, .. } in &mut self.links {
            match event {
                Event::Round(Round { updates: Updates::Stored(record), .. }) => record.erase(&erasure.clients),
                Event::Checkpoint(stored) if touched == Touched::Drop && stored.state.round > first => {
                    event.drop_content();
                }
                Event::Checkpoint(stored) => stored.erase(&erasure.clients),
                _ => {}
            }
        }
        if let Some(accounts) = &mut self.ledger {
            accounts.erase(&erasure.clients);
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

    /// Goes back to the beginning of a round: drops updates and states that came after it, not who took part. The ledger
    /// cannot be undone, and ends, unless nothing is left of the run.
    pub fn roll_back(&mut self, to: u32) {
        assert!(to <= self.n_rounds, "there is no round {to} to go back to, of {}", self.n_rounds);
        for Link { event, .. } in &mut self.links {
            let is_undone = match event {
                Event::Round(round) => round.round >= to,
                Event::Checkpoint(stored) => stored.state.round > to,
                _ => false,
            };
            if is_undone {
                event.drop_content();
            }
        }
        if to < self.n_rounds {
            self.ledger = (to == 0 && self.header.policy.ledger).then(Accounts::default);
        }
        (self.n_rounds, self.n_dropped) = (to, 0);
        self.push(Event::Rollback { to });
    }

    /// Ends the ledger: the model does not follow from it any longer.
    pub fn end_ledger(&mut self) {
        if self.ledger.take().is_some() {
            self.push_seal(Seal::Ended);
        }
    }

    /// Drops every checkpoint, for those of another course of the run to come.
    pub fn drop_checkpoints(&mut self) {
        let is_checkpoint = |link: &&mut Link| matches!(link.event, Event::Checkpoint(_));
        self.links.iter_mut().filter(is_checkpoint).for_each(|link| link.event.drop_content());
    }

    fn push(&mut self, event: Event) {
        self.links.push(Link::after(&self.head(), event));
    }

    fn push_seal(&mut self, seal: Seal) {
        for link in &mut self.links {
            if let Event::Ledger(earlier) = &mut link.event {
                earlier.replace();
            }
        }
        self.push(Event::Ledger(seal));
    }

    /// Drops what is too old; never the newest checkpoint.
    fn drop_old(&mut self) {
        let (policy, n_rounds) = (self.header.policy, self.n_rounds);
        if policy.retention.is_none() {
            return;
        }
        let newest = self.links.iter().rposition(|link| link.event.stored().is_some());
        for index in self.n_dropped..self.links.len() {
            let event = &mut self.links[index].event;
            let round = match event {
                Event::Round(it) => it.round,
                Event::Checkpoint(it) => it.state.round,
                _ => 0,
            };
            if !policy.is_too_old(round, n_rounds) {
                return;
            }
            if Some(index) != newest {
                event.drop_content();
                self.n_dropped += usize::from(self.n_dropped == index);
            }
        }
    }
}
