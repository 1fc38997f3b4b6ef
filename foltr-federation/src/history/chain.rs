//! What happened, link by link: every link's head is a fingerprint of the head before it and of what happened.
//!
//! Nothing can be taken out, put in, exchanged or altered without another head, unless all later heads are made anew;
//! whoever has one of them, in a [receipt](crate::receipt), sees that too.

use std::cmp::Ordering;

use crate::fingerprint::Fingerprint;
use crate::history::{Checkpoint, History, HistoryError, HistoryPolicy, Record};
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    pub round: u32,
    pub clients: Vec<u32>,
    pub method: String,
    /// Whether the method proves something, or only hopes.
    pub is_proven: bool,
    /// Rounds of fresh work that it took, so that the next one can have other ones.
    pub fresh_rounds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Round,
    Checkpoint,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    /// A round was closed.
    Round(Record),
    /// The state before a round.
    Checkpoint(Checkpoint),
    /// Clients were forgotten.
    Erasure(Erasure),
    /// The federation went back to the beginning of a round.
    Rollback { to: u32 },
    /// A round or a checkpoint that is not stored any longer; its digest still holds the chain together.
    Dropped { what: What, round: u32, digest: Fingerprint },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) event: Event,
    pub(super) head: Fingerprint,
}

impl Link {
    pub(super) fn after(head: &Fingerprint, event: Event) -> Self {
        Self { head: next_head(head, &event), event }
    }

    /// Puts the digest in the place of what it is of.
    pub(super) fn drop_content(&mut self) {
        if let Some((what, round)) = self.event.content() {
            self.event = Event::Dropped { what, round, digest: self.event.digest() };
        }
    }
}

fn next_head(head: &Fingerprint, event: &Event) -> Fingerprint {
    Writer::named("foltr head").fingerprint(head).fingerprint(&event.digest()).finish()
}

impl Event {
    pub(super) const fn record(&self) -> Option<&Record> {
        if let Self::Round(record) = self { Some(record) } else { None }
    }

    pub(super) const fn checkpoint(&self) -> Option<&Checkpoint> {
        if let Self::Checkpoint(checkpoint) = self { Some(checkpoint) } else { None }
    }

    pub(super) const fn erasure(&self) -> Option<&Erasure> {
        if let Self::Erasure(erasure) = self { Some(erasure) } else { None }
    }

    fn digest(&self) -> Fingerprint {
        match self {
            Self::Round(record) => record.digest(),
            Self::Checkpoint(checkpoint) => checkpoint.digest(),
            Self::Erasure(erasure) => erasure.digest(),
            Self::Rollback { to } => Writer::named("foltr rollback").u32(*to).finish(),
            Self::Dropped { digest, .. } => *digest,
        }
    }

    /// The round or checkpoint that this is, or was before it was dropped.
    const fn content(&self) -> Option<(What, u32)> {
        match self {
            Self::Round(record) => Some((What::Round, record.round)),
            Self::Checkpoint(checkpoint) => Some((What::Checkpoint, checkpoint.round)),
            Self::Dropped { what, round, .. } => Some((*what, *round)),
            Self::Erasure(_) | Self::Rollback { .. } => None,
        }
    }

    fn altered(&self) -> HistoryError {
        let (what, round) = match (self, self.content()) {
            (_, Some((What::Round, round))) => ("the record", round),
            (_, Some((What::Checkpoint, round))) => ("the checkpoint", round),
            (Self::Erasure(erasure), _) => ("the erasure", erasure.round),
            (Self::Rollback { to }, _) => ("the rollback", *to),
            _ => ("the event", 0),
        };
        HistoryError::Chain { what, round }
    }

    /// Rounds that must have been closed by then.
    fn least_rounds(&self) -> u32 {
        match self {
            Self::Erasure(erasure) => erasure.round,
            other => other.closed_round().map_or(0, |round| round.saturating_add(1)),
        }
    }

    /// The round that was closed, whether or not it is still stored.
    fn closed_round(&self) -> Option<u32> {
        self.content().filter(|(what, _)| *what == What::Round).map(|(_, round)| round)
    }
}

impl Erasure {
    fn digest(&self) -> Fingerprint {
        let mut hash = Writer::named("foltr erasure");
        hash.u32(self.round).len(self.clients.len()).u32s(&self.clients);
        hash.text(&self.method).u32(self.is_proven.into()).u32(self.fresh_rounds).finish()
    }
}

impl History {
    /// Checks that nothing is missing, out of order or altered.
    pub fn verify(&self) -> Result<(), HistoryError> {
        check_order(&self.links, &self.header.policy, self.n_rounds)?;
        for ((index, link), head) in self.links.iter().enumerate().zip(self.heads()) {
            if let Event::Round(record) = &link.event {
                let later = || self.links[index..].iter().filter_map(|link| link.event.erasure());
                record.verify(|client| later().any(|erasure| erasure.clients.binary_search(&client).is_ok()))?;
            }
            if next_head(&head, &link.event) != link.head {
                return Err(link.event.altered());
            }
        }
        Ok(())
    }
}

/// Stored rounds come one after the other, back to where a rollback says, and are there unless there is a reason.
fn check_order(links: &[Link], policy: &HistoryPolicy, n_rounds: u32) -> Result<(), HistoryError> {
    let Some(every) = policy.updates_every else { return Ok(()) };
    // A federation that went back had dropped what was too old before that.
    let most_rounds = links.iter().map(|link| link.event.least_rounds()).fold(n_rounds, u32::max);
    let mut expected = 0;
    for (index, link) in links.iter().enumerate() {
        if let Event::Rollback { to } = link.event {
            expected = expected.min(to.div_ceil(every).saturating_mul(every));
        }
        let Some(round) = link.event.closed_round() else { continue };
        match round.cmp(&expected) {
            Ordering::Greater => return Err(HistoryError::Missing { round: expected }),
            Ordering::Less => return Err(HistoryError::Order { round }),
            Ordering::Equal => expected = expected.saturating_add(every),
        }
        let undoes = |later: &Link| matches!(later.event, Event::Rollback { to } if to <= round);
        let is_dropped = matches!(link.event, Event::Dropped { .. });
        if is_dropped && !policy.is_too_old(round, most_rounds) && !links[index..].iter().any(undoes) {
            return Err(HistoryError::Missing { round });
        }
    }
    if expected < n_rounds { Err(HistoryError::Missing { round: expected }) } else { Ok(()) }
}
