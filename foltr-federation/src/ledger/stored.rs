//! A ledger as it is stored: with a version and a checksum, refused when damaged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Ledger, is_finite};
use crate::accountant::{Guarantee, PrivacyCost};
use crate::fingerprint::hexadecimal;
use crate::writer::Writer;

/// Of the stored form; another one is refused.
const VERSION: u32 = 1;

/// Hexadecimal text when stored: not every reader keeps 64 bits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct Hash(#[serde(with = "hexadecimal")] [u8; 8]);

impl Hash {
    /// FNV-1a, 64 bits: tells two messages of one device apart, and finds accidents.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step).to_be_bytes())
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    version: u32,
    budget: Guarantee,
    spent: Vec<Spent>,
    /// Task, round, hash of the message.
    messages: BTreeMap<String, BTreeMap<u32, Hash>>,
    checksum: Hash,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Spent {
    cost: PrivacyCost,
    messages: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LedgerError {
    #[error("the privacy ledger has version {found}; this program reads version {VERSION}")]
    Version { found: u32 },
    #[error(
        "the privacy ledger is damaged or was edited: {what}. Nobody knows what this device has spent, so nothing may be \
         sent on its budget"
    )]
    Damaged { what: &'static str },
    #[error(
        "a budget of epsilon {epsilon}, delta {delta} must have a finite epsilon of at least 0 and a delta from 0 to \
         below 1"
    )]
    Budget { epsilon: f64, delta: f64 },
}

impl From<Ledger> for Stored {
    fn from(ledger: Ledger) -> Self {
        let checksum = checksum(&ledger);
        let spent = ledger.spent.into_iter().map(|(cost, messages)| Spent { cost, messages }).collect();
        Self { version: VERSION, budget: ledger.budget, spent, messages: ledger.messages, checksum }
    }
}

impl TryFrom<Stored> for Ledger {
    type Error = LedgerError;

    fn try_from(stored: Stored) -> Result<Self, LedgerError> {
        if stored.version != VERSION {
            return Err(LedgerError::Version { found: stored.version });
        }
        let mut ledger = Self::new(stored.budget)?;
        ledger.spent = stored.spent.into_iter().map(|spent| (spent.cost, spent.messages)).collect();
        ledger.messages = stored.messages;
        if checksum(&ledger) != stored.checksum {
            return Err(LedgerError::Damaged { what: "its checksum does not fit its contents" });
        }
        let n_spent: u64 = ledger.spent.iter().map(|(_, n)| u64::from(*n)).sum();
        let n_messages: u64 = ledger.messages.values().map(|rounds| rounds.len() as u64).sum();
        if n_spent != n_messages || !ledger.spent.iter().all(|(cost, _)| is_finite(cost)) {
            return Err(LedgerError::Damaged { what: "its costs do not fit its messages" });
        }
        Ok(ledger)
    }
}

/// Over everything, with lengths, so that no two ledgers have the same bytes.
fn checksum(ledger: &Ledger) -> Hash {
    let mut out = Writer::default();
    out.u64(VERSION.into()).f64s(&[ledger.budget.epsilon, ledger.budget.delta]).len(ledger.spent.len());
    for (cost, n) in &ledger.spent {
        words_of(cost).iter().fold(&mut out, |out, &word| out.u64(word)).u64(u64::from(*n));
    }
    for (task, rounds) in &ledger.messages {
        task.bytes().fold(out.len(task.len()), |out, byte| out.u64(byte.into())).len(rounds.len());
        for (round, hash) in rounds {
            out.u64(u64::from(*round)).u64(u64::from_be_bytes(hash.0));
        }
    }
    Hash::of(&out.0)
}

/// A cost as four numbers.
fn words_of(cost: &PrivacyCost) -> [u64; 4] {
    match *cost {
        PrivacyCost::Unbounded => [0; 4],
        PrivacyCost::Pure { per_interaction, per_message } => {
            // No epsilon has the bits of a NaN.
            [1, per_interaction.map_or(u64::MAX, f64::to_bits), per_message.to_bits(), 0]
        }
        PrivacyCost::Concentrated { rho } => [2, rho.to_bits(), 0, 0],
        PrivacyCost::Gaussian { mu } => [3, mu.to_bits(), 0, 0],
        PrivacyCost::Subsampled { probability, noise_multiplier } => {
            [5, probability.to_bits(), noise_multiplier.to_bits(), 0]
        }
        PrivacyCost::Laplace { scale, shift, n_params } => [4, scale.to_bits(), shift.to_bits(), n_params as u64],
    }
}
