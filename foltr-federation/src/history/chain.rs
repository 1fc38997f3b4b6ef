//! What happened, link by link: every link's head is a fingerprint of the head before it and of what happened.
//!
//! Nothing can be taken out, put in, exchanged or altered without another head, unless all later heads are made anew;
//! whoever has one of them, in a [receipt](crate::receipt), sees that too. What may be erased or dropped is in the chain
//! by its digest, or by a commitment with a salt, and the head does not change when it goes.

use crate::fingerprint::Fingerprint;
use crate::history::accounts::Seal;
use crate::history::{Participants, Record, StoredState};
use crate::unlearn::Unlearning;
use crate::writer::{WriteFingerprint, Writer};

#[derive(Clone, Debug, PartialEq)]
pub struct Erasure {
    pub round: u32,
    /// In rising order.
    pub clients: Vec<u32>,
    pub method: Unlearning,
    /// Rounds of fresh work that it took beside those of the federation.
    pub fresh_rounds: u32,
}

/// A round that was closed. Who took part stays, whatever happens to the updates.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Round {
    pub(super) round: u32,
    pub(super) participants: Participants,
    pub(super) updates: Updates,
}

/// Updates of a round, if they were to be stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Updates {
    None,
    Stored(Record),
    /// Not stored any longer; the digest still holds the chain together.
    Dropped(Fingerprint),
}

/// A state that is not stored any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DroppedState {
    pub(super) round: u32,
    /// Of the ranker that it had, which receipts name.
    pub(super) ranker: Fingerprint,
    pub(super) digest: Fingerprint,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Round(Round),
    /// The state before a round.
    Checkpoint(Box<StoredState>),
    Dropped(DroppedState),
    /// Clients were forgotten.
    Erasure(Erasure),
    /// The federation went back to the beginning of a round.
    Rollback {
        to: u32,
    },
    /// What the ledger was, or that it ended.
    Ledger(Seal),
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
}

pub(super) fn next_head(head: &Fingerprint, event: &Event) -> Fingerprint {
    Writer::named("foltr head").fingerprint(head).fingerprint(&event.digest()).finish()
}

impl Event {
    pub(super) const fn round(&self) -> Option<&Round> {
        if let Self::Round(round) = self { Some(round) } else { None }
    }

    pub(super) const fn record(&self) -> Option<&Record> {
        if let Self::Round(Round { updates: Updates::Stored(record), .. }) = self { Some(record) } else { None }
    }

    pub(super) fn stored(&self) -> Option<&StoredState> {
        if let Self::Checkpoint(stored) = self { Some(stored) } else { None }
    }

    pub(super) const fn erasure(&self) -> Option<&Erasure> {
        if let Self::Erasure(erasure) = self { Some(erasure) } else { None }
    }

    /// The state that this is, or was before it was dropped.
    pub(super) fn state(&self) -> Option<DroppedState> {
        match self {
            Self::Checkpoint(stored) => Some(stored.dropped()),
            Self::Dropped(dropped) => Some(*dropped),
            _ => None,
        }
    }

    fn digest(&self) -> Fingerprint {
        match self {
            Self::Round(round) => round.digest(),
            Self::Checkpoint(stored) => stored.dropped().head_part(),
            Self::Dropped(dropped) => dropped.head_part(),
            Self::Erasure(erasure) => erasure.digest(),
            Self::Rollback { to } => Writer::named("foltr rollback").u32(*to).finish(),
            Self::Ledger(seal) => seal.digest(),
        }
    }

    /// Puts digests in the place of updates and states.
    pub(super) fn drop_content(&mut self) {
        match self {
            Self::Checkpoint(stored) => *self = Self::Dropped(stored.dropped()),
            Self::Round(Round { updates, .. }) => {
                if let Updates::Stored(record) = updates {
                    *updates = Updates::Dropped(record.digest());
                }
            }
            _ => {}
        }
    }
}

impl Round {
    fn digest(&self) -> Fingerprint {
        let mut hash = Writer::named("foltr round");
        hash.u32(self.round);
        self.participants.write(&mut hash);
        let updates = match &self.updates {
            Updates::None => None,
            Updates::Stored(record) => Some(record.digest()),
            Updates::Dropped(digest) => Some(*digest),
        };
        hash.option(updates, |hash, digest| {
            hash.fingerprint(&digest);
        });
        hash.finish()
    }
}

impl DroppedState {
    fn head_part(&self) -> Fingerprint {
        let mut hash = Writer::named("foltr state");
        hash.u32(self.round).fingerprint(&self.ranker).fingerprint(&self.digest).finish()
    }
}

impl Erasure {
    fn digest(&self) -> Fingerprint {
        let mut hash = Writer::named("foltr erasure");
        self.write(&mut hash);
        hash.finish()
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.u32(self.round).u32(self.clients.len() as u32).u32s(&self.clients);
        self.method.write(out);
        out.u32(self.fresh_rounds);
    }

    pub fn forgets(&self, client: u32) -> bool {
        self.clients.binary_search(&client).is_ok()
    }
}
