//! What follows from the chain, or from its beginning up to a head: who took part when, the newest state, the lineage,
//! and what is proven of a request. Nothing of it is stored.

use std::collections::{BTreeMap, BTreeSet};

use foltr_rank::rng::Lineage;

use crate::fingerprint::Fingerprint;
use crate::history::chain::{DroppedState, Erasure, Event, Link, Round};
use crate::server_optimiser::ServerOptimiser;
use crate::unlearn::{Assurance, Return};
use crate::writer::{WriteFingerprint, Writer};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Course<'a> {
    pub(super) links: &'a [Link],
    pub(super) n_clients: u32,
    pub(super) optimiser: ServerOptimiser,
}

/// Rounds in which a client's message, fresh or standing in for one, had a part, also rounds that were undone: at least
/// as many as the messages that it sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Before anybody was forgotten.
    pub before: u32,
    /// Since then, without those who had left.
    pub since: u32,
}

impl Messages {
    pub const fn total(&self) -> u32 {
        self.before.saturating_add(self.since)
    }

    fn add(&mut self, n: u32, is_since: bool) {
        let count = if is_since { &mut self.since } else { &mut self.before };
        *count = count.saturating_add(n);
    }
}

impl<'a> Course<'a> {
    pub(crate) fn erasures(&self) -> impl Iterator<Item = &'a Erasure> {
        self.links.iter().filter_map(|link| link.event.erasure())
    }

    fn rounds(&self) -> impl Iterator<Item = &'a Round> + use<'a> {
        self.links.iter().filter_map(|link| link.event.round())
    }

    /// Clients of rounds that list those who took part.
    pub(crate) fn listed_clients(&self) -> impl Iterator<Item = u32> + use<'a> {
        let lists = self.rounds().map(|round| &round.participants).filter(|it| !it.is_all_but_listed());
        lists.flat_map(|it| it.listed()).copied()
    }

    fn until(&self, end: usize) -> Self {
        Self { links: &self.links[..end], ..*self }
    }

    /// The first round, of those that were not undone, to which a client contributed.
    pub(crate) fn first_round(&self, client: u32) -> Option<u32> {
        let mut first = None;
        for link in self.links {
            match &link.event {
                Event::Round(round) if first.is_none() && round.participants.contains(client) => {
                    first = Some(round.round);
                }
                Event::Rollback { to } => first = first.filter(|first| first < to),
                _ => {}
            }
        }
        first
    }

    /// The earliest of the first rounds of some clients.
    pub(crate) fn first_of(&self, clients: &[u32]) -> Option<u32> {
        clients.iter().filter_map(|&client| self.first_round(client)).min()
    }

    pub(crate) fn messages(&self, client: u32) -> Messages {
        let (mut messages, mut is_since, mut is_gone) = (Messages::default(), false, false);
        for link in self.links {
            match &link.event {
                Event::Round(round) => messages.add(round.participants.contains(client).into(), is_since),
                Event::Erasure(erasure) => {
                    is_since = true;
                    is_gone |= erasure.forgets(client);
                    messages.add(if is_gone { 0 } else { erasure.fresh_rounds }, is_since);
                }
                _ => {}
            }
        }
        messages
    }

    /// Rounds that were ever closed, and whether they were before anybody was forgotten: coins that were thrown for a
    /// client that takes part by chance.
    pub(crate) fn rounds_ever(&self) -> Messages {
        let (mut rounds, mut is_since) = (Messages::default(), false);
        for link in self.links {
            match &link.event {
                Event::Round(_) => rounds.add(1, is_since),
                Event::Erasure(erasure) => {
                    is_since = true;
                    rounds.add(erasure.fresh_rounds, is_since);
                }
                _ => {}
            }
        }
        rounds
    }

    /// The client with the most messages of those who stay: who was not forgotten and does not leave now.
    pub(crate) fn busiest(&self, leavers: &[u32]) -> Option<u32> {
        // Counted from those who are in every round that lists who was not there.
        let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
        for round in self.rounds() {
            let step = if round.participants.is_all_but_listed() { -1 } else { 1 };
            round.participants.listed().iter().for_each(|&client| *counts.entry(client).or_default() += step);
        }
        let gone: BTreeSet<u32> =
            self.erasures().flat_map(|erasure| &erasure.clients).chain(leavers).copied().collect();
        let unlisted = (0..self.n_clients).find(|client| !counts.contains_key(client) && !gone.contains(client));
        let listed = counts.into_iter().filter(|(client, _)| !gone.contains(client));
        listed.chain(unlisted.map(|client| (client, 0))).max_by_key(|&(_, count)| count).map(|(client, _)| client)
    }

    /// The newest state that was not undone, stored or not.
    fn newest_state(&self) -> Option<DroppedState> {
        let mut states: Vec<&Event> = Vec::new();
        for link in self.links {
            match &link.event {
                event @ (Event::Checkpoint(_) | Event::Dropped(_)) => states.push(event),
                Event::Rollback { to } => states.retain(|event| event.round_of_state() <= Some(*to)),
                _ => {}
            }
        }
        states.last().and_then(|event| event.state())
    }

    /// The round of the newest state, and the fingerprint of the ranker that it has.
    pub(crate) fn newest_ranker(&self) -> Option<(u32, Fingerprint)> {
        self.newest_state().map(|state| (state.round, state.ranker))
    }

    /// Of the requests so far; that of training if there were none.
    pub(crate) fn lineage(&self) -> Lineage {
        let erasures = (1..).zip(self.erasures());
        erasures.fold(Lineage::TRAINING, |parent, (number, erasure)| lineage_after(&parent, number, erasure))
    }

    /// What is proven of each request, by the chain alone.
    pub(crate) fn guarantees(&self) -> Vec<Assurance> {
        self.judged().0
    }

    /// Whether what is left of the run rests on a request that was met by a heuristic.
    pub(crate) fn is_after_heuristic(&self) -> bool {
        self.judged().1
    }

    fn judged(&self) -> (Vec<Assurance>, bool) {
        let (mut all, mut is_after_heuristic) = (Vec::new(), false);
        for (index, link) in self.links.iter().enumerate() {
            let Some(erasure) = link.event.erasure() else { continue };
            let until_next = self.links[index + 1..].iter().take_while(|link| link.event.erasure().is_none());
            let to = until_next.filter_map(|link| link.event.rollback()).next();
            let first = self.until(index).first_of(&erasure.clients);
            let (optimiser, n_leavers) = (self.optimiser, erasure.clients.len() as u32);
            let guarantee = erasure.method.proven(&Return { first, to, n_leavers, optimiser, is_after_heuristic });
            // Nothing is left of a run that begins anew.
            is_after_heuristic = (is_after_heuristic || !guarantee.is_proven()) && to != Some(0);
            all.push(guarantee);
        }
        (all, is_after_heuristic)
    }
}

impl Event {
    const fn rollback(&self) -> Option<u32> {
        if let Self::Rollback { to } = self { Some(*to) } else { None }
    }

    fn round_of_state(&self) -> Option<u32> {
        match self {
            Self::Checkpoint(stored) => Some(stored.state.round),
            Self::Dropped(dropped) => Some(dropped.round),
            _ => None,
        }
    }
}

/// The lineage after a request: a fingerprint of the one before it, its number from 1, who leaves, and the method.
pub(super) fn lineage_after(parent: &Lineage, number: u32, erasure: &Erasure) -> Lineage {
    let mut hash = Writer::named("foltr lineage");
    hash.bytes(&parent.0).u32(number).len(erasure.clients.len()).u32s(&erasure.clients);
    erasure.method.write(&mut hash);
    Lineage(*hash.finish().as_bytes())
}
