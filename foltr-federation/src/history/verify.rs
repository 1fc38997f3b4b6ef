//! Is anything missing, out of order or altered?

use std::collections::BTreeMap;

use crate::fingerprint::Fingerprint;
use crate::history::accounts::Seal;
use crate::history::chain::{Erasure, Event, Link, Round, Updates, next_head};
use crate::history::{History, HistoryError, HistoryPolicy, StoredState};

impl History {
    /// Checks that nothing is missing, out of order or altered.
    pub fn verify(&self) -> Result<(), HistoryError> {
        let reader = ChainReader::new(&self.links, &self.header.policy);
        let mut read = Read { ledger: self.header.policy.ledger.then_some(&[]), ..Read::default() };
        for ((index, link), head) in self.links.iter().enumerate().zip(self.heads()) {
            reader.check(&mut read, index)?;
            if next_head(&head, &link.event) != link.head {
                return Err(link.event.altered());
            }
        }
        match read.n_rounds {
            round if round < self.n_rounds => return Err(HistoryError::Missing { round }),
            round if round > self.n_rounds => return Err(HistoryError::Order { round: round - 1 }),
            _ => {}
        }
        match (&self.ledger, read.ledger) {
            (Some(accounts), Some(seal)) => accounts.verify(Some(seal), |client| reader.gone.contains_key(&client)),
            (None, None) => Ok(()),
            (Some(_), None) => Err(HistoryError::Ledger { what: "had ended" }),
            (None, Some(_)) => Err(HistoryError::Ledger { what: "is missing" }),
        }
    }
}

/// What the links so far say.
#[derive(Debug, Default)]
struct Read<'a> {
    n_rounds: u32,
    /// Commitments to the ledger's accounts; none if it has ended.
    ledger: Option<&'a [(u32, Fingerprint)]>,
}

struct ChainReader<'a> {
    links: &'a [Link],
    policy: &'a HistoryPolicy,
    /// The most rounds that there ever were: what was too old then was dropped.
    most_rounds: u32,
    /// By client: the link that forgets it.
    gone: BTreeMap<u32, usize>,
    /// The last link that commits to the ledger.
    last_seal: Option<usize>,
}

impl<'a> ChainReader<'a> {
    fn new(links: &'a [Link], policy: &'a HistoryPolicy) -> Self {
        let most_rounds = links.iter().filter_map(|link| link.event.round()).map(|it| it.round.saturating_add(1)).max();
        let mut gone = BTreeMap::new();
        for (index, link) in links.iter().enumerate() {
            for &client in link.event.erasure().into_iter().flat_map(|erasure| &erasure.clients) {
                gone.entry(client).or_insert(index);
            }
        }
        let last_seal = links.iter().rposition(|link| matches!(link.event, Event::Ledger(_)));
        Self { links, policy, most_rounds: most_rounds.unwrap_or(0), gone, last_seal }
    }

    fn check(&self, read: &mut Read<'a>, index: usize) -> Result<(), HistoryError> {
        match &self.links[index].event {
            Event::Round(round) => {
                self.check_round(read.n_rounds, index, round)?;
                read.n_rounds = read.n_rounds.saturating_add(1);
            }
            Event::Checkpoint(stored) => self.check_state(read.n_rounds, index, stored)?,
            Event::Dropped(dropped) => {
                in_order(dropped.round <= read.n_rounds, dropped.round)?;
                if !self.may_be_dropped(index, dropped.round) {
                    return Err(HistoryError::MissingState { round: dropped.round });
                }
            }
            Event::Erasure(erasure) => self.check_erasure(read.n_rounds, index, erasure)?,
            Event::Rollback { to } => {
                in_order(*to <= read.n_rounds, *to)?;
                if *to < read.n_rounds {
                    read.ledger = (*to == 0 && self.policy.ledger).then_some(&[]);
                }
                read.n_rounds = *to;
            }
            Event::Ledger(seal) => {
                let is_in_place = match seal {
                    Seal::Replaced(_) => self.last_seal != Some(index),
                    _ => read.ledger.is_some(),
                };
                if !is_in_place {
                    return Err(HistoryError::Ledger { what: "is not in its place" });
                }
                read.ledger = match seal {
                    Seal::Sealed(commitments) => Some(commitments),
                    Seal::Replaced(_) => read.ledger,
                    Seal::Ended => None,
                };
            }
        }
        Ok(())
    }

    /// Rounds come one after the other, of clients that were not forgotten, and have their updates unless there is a
    /// reason.
    fn check_round(&self, n_rounds: u32, index: usize, it: &Round) -> Result<(), HistoryError> {
        let round = it.round;
        if round > n_rounds {
            return Err(HistoryError::Missing { round: n_rounds });
        }
        in_order(round == n_rounds, round)?;
        if let Some((&client, _)) =
            self.gone.iter().find(|(client, at)| **at < index && it.participants.contains(**client))
        {
            return Err(HistoryError::Returned { round, client });
        }
        match &it.updates {
            Updates::Stored(record) => {
                in_order(self.policy.stores_updates(round) && record.round == round, round)?;
                record.verify(|client| self.is_gone_after(index, client))
            }
            Updates::Dropped(_) => {
                in_order(self.policy.stores_updates(round), round)?;
                let undoes = |later: &Link| matches!(later.event, Event::Rollback { to } if to <= round);
                let has_reason =
                    self.policy.is_too_old(round, self.most_rounds) || self.links[index..].iter().any(undoes);
                if has_reason { Ok(()) } else { Err(HistoryError::Missing { round }) }
            }
            Updates::None => {
                let is_right = !self.policy.stores_updates(round);
                if is_right { Ok(()) } else { Err(HistoryError::Missing { round }) }
            }
        }
    }

    fn check_state(&self, n_rounds: u32, index: usize, stored: &StoredState) -> Result<(), HistoryError> {
        in_order(stored.state.round <= n_rounds, stored.state.round)?;
        stored.verify(|client| self.is_gone_after(index, client))
    }

    fn check_erasure(&self, n_rounds: u32, index: usize, erasure: &Erasure) -> Result<(), HistoryError> {
        let is_new = |client| self.gone.get(client) == Some(&index);
        let is_right = erasure.round == n_rounds && !erasure.clients.is_empty() && erasure.clients.iter().all(is_new);
        if is_right { Ok(()) } else { Err(self.links[index].event.altered()) }
    }

    fn is_gone_after(&self, index: usize, client: u32) -> bool {
        self.gone.get(&client).is_some_and(|&at| at > index)
    }

    /// A state goes when it is too old, when it is undone, and when somebody who may be in it is forgotten.
    fn may_be_dropped(&self, index: usize, round: u32) -> bool {
        let is_reason = |later: &Link| match later.event {
            Event::Rollback { to } => to < round,
            Event::Erasure(_) => true,
            _ => false,
        };
        self.policy.is_too_old(round, self.most_rounds) || self.links[index..].iter().any(is_reason)
    }
}

fn in_order(is_in_order: bool, round: u32) -> Result<(), HistoryError> {
    if is_in_order { Ok(()) } else { Err(HistoryError::Order { round }) }
}

impl Event {
    fn altered(&self) -> HistoryError {
        let (what, round) = match self {
            Self::Round(it) => ("the record", it.round),
            Self::Checkpoint(stored) => ("the checkpoint", stored.state.round),
            Self::Dropped(dropped) => ("the checkpoint", dropped.round),
            Self::Erasure(erasure) => ("the erasure", erasure.round),
            Self::Rollback { to } => ("the rollback", *to),
            Self::Ledger(_) => ("the ledger", 0),
        };
        HistoryError::Chain { what, round }
    }
}
