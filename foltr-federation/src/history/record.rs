//! The updates of one round, each behind a commitment that outlives it.
//!
//! A commitment is a fingerprint of the update and of a salt that is stored with it. While both are there, anybody can
//! see that the update is the one that was committed to; when they are erased, the commitment is 32 random-looking
//! bytes from which not even a guessed update can be confirmed. Salts must come from a source that nobody can repeat,
//! also in a simulation: a replay would draw them again, and an erased salt would stand beside another client's update.

use rand::CryptoRng;

use crate::aggregate::Contributions;
use crate::fingerprint::Fingerprint;
use crate::history::HistoryError;
use crate::writer::{WriteFingerprint, Writer};

/// What hides an erased update behind its commitment.
pub type Salt = [u8; 16];

pub(super) fn fresh_salt(salts: &mut impl CryptoRng) -> Salt {
    let mut salt = Salt::default();
    salts.fill_bytes(&mut salt);
    salt
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub round: u32,
    /// Of the model that the round started from.
    pub model: Fingerprint,
    /// In client order.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub client: u32,
    pub weight: f64,
    /// Of the update and its salt.
    pub commitment: Fingerprint,
    /// Nothing once it is erased.
    pub update: Option<Committed>,
}

/// An update and what opens its commitment.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    pub salt: Salt,
    pub delta: Vec<f32>,
}

impl Record {
    pub(super) fn new(round: u32, model: &[f32], updates: &Contributions, salts: &mut impl CryptoRng) -> Self {
        let entry = |(client, weight, row): (u32, f64, &[f32])| {
            let update = Committed { salt: fresh_salt(salts), delta: row.to_vec() };
            Entry { client, weight, commitment: update.commitment(round, client, weight), update: Some(update) }
        };
        Self { round, model: Fingerprint::of_model(model), entries: updates.iter().map(entry).collect() }
    }

    pub fn update(&self, client: u32) -> Option<&[f32]> {
        let at = self.entries.binary_search_by_key(&client, |entry| entry.client).ok()?;
        self.entries[at].update.as_ref().map(|update| update.delta.as_slice())
    }

    pub(super) fn erase(&mut self, clients: &[u32]) {
        let leaving = self.entries.iter_mut().filter(|entry| clients.contains(&entry.client));
        leaving.for_each(|entry| entry.update = None);
    }

    /// The same with and without what was erased.
    pub(super) fn digest(&self) -> Fingerprint {
        let mut hash = Writer::named("foltr round");
        hash.u32(self.round).fingerprint(&self.model).len(self.entries.len());
        for entry in &self.entries {
            hash.u32(entry.client).f64(entry.weight).fingerprint(&entry.commitment);
        }
        hash.finish()
    }

    /// Opens every commitment. `is_erased` says whose updates may be missing.
    pub(super) fn verify(&self, is_erased: impl Fn(u32) -> bool) -> Result<(), HistoryError> {
        let round = self.round;
        for &Entry { client, weight, commitment, ref update } in &self.entries {
            match update {
                Some(update) if update.commitment(round, client, weight) != commitment => {
                    return Err(HistoryError::Altered { round, client });
                }
                None if !is_erased(client) => return Err(HistoryError::MissingUpdate { round, client }),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Committed {
    fn commitment(&self, round: u32, client: u32, weight: f64) -> Fingerprint {
        let mut hash = Writer::named("foltr update");
        hash.bytes(&self.salt).u32(round).u32(client).f64(weight);
        hash.len(self.delta.len()).f32s(&self.delta).finish()
    }
}
