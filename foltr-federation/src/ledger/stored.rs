//! A ledger as it is stored: with a version and a checksum, refused when damaged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{BudgetError, Ledger, fingerprint, is_finite};
use crate::accountant::{Guarantee, PrivacyCost};

/// Of the stored form; another one is refused.
const VERSION: u32 = 1;

/// The stored form. Hashes are hexadecimal text: not every reader keeps 64 bits of a number.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    version: u32,
    budget: Guarantee,
    spent: Vec<Spent>,
    /// Task, round, fingerprint of the message.
    messages: BTreeMap<String, BTreeMap<u32, String>>,
    checksum: String,
}

/// Messages of one cost.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Spent {
    cost: PrivacyCost,
    messages: u32,
}

/// Why a stored ledger is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LedgerError {
    #[error("the privacy ledger has version {found}; this program reads version {VERSION}")]
    Version { found: u32 },
    #[error(
        "the privacy ledger is damaged or was edited: {what}. Nobody knows what this device has spent, so nothing may be \
         sent on its budget"
    )]
    Damaged { what: &'static str },
    #[error(transparent)]
    Budget(#[from] BudgetError),
}

impl From<Ledger> for Stored {
    fn from(ledger: Ledger) -> Self {
        let checksum = hex(checksum(&ledger));
        let hex_rounds = |rounds: BTreeMap<u32, u64>| rounds.into_iter().map(|(round, hash)| (round, hex(hash)));
        let messages = ledger.fingerprints.into_iter().map(|(task, rounds)| (task, hex_rounds(rounds).collect()));
        Self {
            version: VERSION,
            budget: ledger.budget,
            spent: ledger.spent.into_iter().map(|(cost, messages)| Spent { cost, messages }).collect(),
            messages: messages.collect(),
            checksum,
        }
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
        for (task, rounds) in stored.messages {
            let rounds = rounds.into_iter().map(|(round, text)| Some((round, u64::from_str_radix(&text, 16).ok()?)));
            let rounds: Option<_> = rounds.collect();
            let what = "the fingerprint of a message is not hexadecimal";
            ledger.fingerprints.insert(task, rounds.ok_or(LedgerError::Damaged { what })?);
        }
        if hex(checksum(&ledger)) != stored.checksum {
            return Err(LedgerError::Damaged { what: "its checksum does not fit its contents" });
        }
        let n_spent: u64 = ledger.spent.iter().map(|(_, n)| u64::from(*n)).sum();
        let n_messages: u64 = ledger.fingerprints.values().map(|rounds| rounds.len() as u64).sum();
        if n_spent != n_messages || !ledger.spent.iter().all(|(cost, _)| is_finite(cost)) {
            return Err(LedgerError::Damaged { what: "its costs do not fit its messages" });
        }
        Ok(ledger)
    }
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Over everything, with lengths, so that no two ledgers have the same bytes.
fn checksum(ledger: &Ledger) -> u64 {
    let mut bytes = Vec::new();
    let mut word = |word: u64| bytes.extend(word.to_le_bytes());
    word(u64::from(VERSION));
    word(ledger.budget.epsilon.to_bits());
    word(ledger.budget.delta.to_bits());
    word(ledger.spent.len() as u64);
    for (cost, n) in &ledger.spent {
        words_of(cost).into_iter().for_each(&mut word);
        word(u64::from(*n));
    }
    for (task, rounds) in &ledger.fingerprints {
        word(task.len() as u64);
        task.bytes().for_each(|byte| word(u64::from(byte)));
        word(rounds.len() as u64);
        rounds.iter().flat_map(|(round, hash)| [u64::from(*round), *hash]).for_each(&mut word);
    }
    fingerprint(bytes.into_iter())
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
