//! How far every client has moved the model, all rounds together: the ledger of a history.
//!
//! An account changes with every round of its client, so the chain does not follow it: it has a commitment to every
//! account at the time of each checkpoint, the newest state included. A later one takes the place of the one before. A
//! client's account and salt can be erased, its commitment stays.

use std::collections::BTreeMap;

use rand::CryptoRng;

use crate::aggregate::Contributions;
use crate::fingerprint::Fingerprint;
use crate::history::{HistoryError, Salt, fresh_salt};
use crate::writer::{WriteFingerprint, Writer};

/// The accounts of all clients that have one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Accounts {
    /// By client: the sum over rounds of its share of the averaged step.
    pub(super) sums: BTreeMap<u32, Vec<f64>>,
    /// What opens the commitments of the newest seal; empty where rounds came since.
    pub(super) salts: BTreeMap<u32, Salt>,
}

/// What the chain knows of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// Commitments to all accounts, in client order.
    Sealed(Vec<(u32, Fingerprint)>),
    /// The digest of commitments whose place later ones took.
    Replaced(Fingerprint),
    /// The model does not follow from the ledger any longer.
    Ended,
}

impl Accounts {
    /// Adds every client's share of the averaged step to its account.
    pub(super) fn book(&mut self, updates: &Contributions) {
        self.salts.clear();
        let weight: f64 = updates.weights().iter().sum();
        for (client, own, row) in updates.iter() {
            let account = self.sums.entry(client).or_insert_with(|| vec![0.0; row.len()]);
            account.iter_mut().zip(row).for_each(|(sum, &value)| *sum += own / weight * f64::from(value));
        }
    }

    pub(super) fn erase(&mut self, clients: &[u32]) {
        for client in clients {
            self.sums.remove(client);
            self.salts.remove(client);
        }
    }

    /// Whether nothing was booked since the newest seal.
    pub(super) fn is_sealed(&self) -> bool {
        self.sums.keys().eq(self.salts.keys())
    }

    pub(super) fn seal(&mut self, salts: &mut impl CryptoRng) -> Seal {
        self.salts = self.sums.keys().map(|&client| (client, fresh_salt(salts))).collect();
        let all = self.sums.iter().zip(self.salts.values());
        Seal::Sealed(all.map(|((&client, sum), salt)| (client, commitment(salt, client, sum))).collect())
    }

    /// Opens the commitments of everybody who was not forgotten since.
    pub(super) fn verify(
        &self,
        seal: Option<&[(u32, Fingerprint)]>,
        is_erased: impl Fn(u32) -> bool,
    ) -> Result<(), HistoryError> {
        if !self.is_sealed() {
            return Err(HistoryError::Ledger { what: "is not in the chain as it is" });
        }
        let committed = seal.unwrap_or_default().iter().filter(|(client, _)| !is_erased(*client));
        let own = self.sums.iter().zip(self.salts.values());
        let opened = own.map(|((&client, sum), salt)| (client, commitment(salt, client, sum)));
        if committed.copied().eq(opened) { Ok(()) } else { Err(HistoryError::Ledger { what: "was altered" }) }
    }
}

impl Seal {
    pub(super) fn digest(&self) -> Fingerprint {
        match self {
            Self::Sealed(commitments) => {
                let mut hash = Writer::named("foltr ledger");
                hash.len(commitments.len());
                for (client, commitment) in commitments {
                    hash.u32(*client).fingerprint(commitment);
                }
                hash.finish()
            }
            Self::Replaced(digest) => *digest,
            Self::Ended => Writer::named("foltr ledger ended").finish(),
        }
    }

    pub(super) fn replace(&mut self) {
        if matches!(self, Self::Sealed(_)) {
            *self = Self::Replaced(self.digest());
        }
    }
}

fn commitment(salt: &Salt, client: u32, sum: &[f64]) -> Fingerprint {
    Writer::named("foltr account").bytes(salt).u32(client).len(sum.len()).f64s(sum).finish()
}
