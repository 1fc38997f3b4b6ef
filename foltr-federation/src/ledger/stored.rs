//! A ledger as it is stored: with a version and a checksum, refused when damaged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Ledger, is_finite, is_of_coin};
use crate::accountant::{Guarantee, PrivacyCost};
use crate::fingerprint::hexadecimal;
use crate::writer::Writer;

/// Of the stored form; another one is refused.
const VERSION: u32 = 2;

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
    /// Task, round, index of the cost of the coin.
    coins: BTreeMap<String, BTreeMap<u32, usize>>,
    /// Task, round, hash of the message.
    messages: BTreeMap<String, BTreeMap<u32, Hash>>,
    checksum: Hash,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Spent {
    cost: PrivacyCost,
    /// Messages or coins of this cost.
    times: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
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
        let spent = ledger.spent.into_iter().map(|(cost, times)| Spent { cost, times }).collect();
        let (coins, messages) = (ledger.coins, ledger.messages);
        Self { version: VERSION, budget: ledger.budget, spent, coins, messages, checksum }
    }
}

impl TryFrom<Stored> for Ledger {
    type Error = LedgerError;

    fn try_from(stored: Stored) -> Result<Self, LedgerError> {
        if stored.version != VERSION {
            return Err(LedgerError::Version { found: stored.version });
        }
        let mut ledger = Self::new(stored.budget)?;
        ledger.spent = stored.spent.into_iter().map(|spent| (spent.cost, spent.times)).collect();
        ledger.coins = stored.coins;
        ledger.messages = stored.messages;
        if checksum(&ledger) != stored.checksum {
            return Err(LedgerError::Damaged { what: "its checksum does not fit its contents" });
        }
        if !is_consistent(&ledger) {
            return Err(LedgerError::Damaged { what: "its costs do not fit its coins and messages" });
        }
        Ok(ledger)
    }
}

/// Whether every coin has paid its own cost, and every message without a coin one that needs none.
fn is_consistent(ledger: &Ledger) -> bool {
    let mut unpaid: Vec<u64> = ledger.spent.iter().map(|(_, n)| u64::from(*n)).collect();
    for idx in ledger.coins.values().flat_map(BTreeMap::values) {
        match unpaid.get_mut(*idx) {
            Some(left @ 1..) => *left -= 1,
            _ => return false,
        }
    }
    let has_coin = |task: &str, round: &u32| ledger.coins.get(task).is_some_and(|rounds| rounds.contains_key(round));
    let without = |(task, rounds): (&String, &BTreeMap<u32, Hash>)| {
        rounds.keys().filter(|round| !has_coin(task, round)).count() as u64
    };
    let n_without_coin: u64 = ledger.messages.iter().map(without).sum();
    let is_coin_paid = ledger.spent.iter().zip(&unpaid).all(|((cost, _), left)| !is_of_coin(cost) || *left == 0);
    let only_coins = ledger.coins.values().flat_map(BTreeMap::values).all(|idx| is_of_coin(&ledger.spent[*idx].0));
    let are_finite = ledger.spent.iter().all(|(cost, n)| is_finite(cost) && *n > 0);
    is_coin_paid && only_coins && are_finite && unpaid.iter().sum::<u64>() == n_without_coin
}

/// Over everything, with lengths, so that no two ledgers have the same bytes.
fn checksum(ledger: &Ledger) -> Hash {
    let mut out = Writer::default();
    out.u64(VERSION.into()).f64s(&[ledger.budget.epsilon, ledger.budget.delta]).len(ledger.spent.len());
    for (cost, n) in &ledger.spent {
        cost.words().iter().fold(&mut out, |out, &word| out.u64(word)).u64(u64::from(*n));
    }
    out.len(ledger.coins.len());
    for (task, rounds) in &ledger.coins {
        task.bytes().fold(out.len(task.len()), |out, byte| out.u64(byte.into())).len(rounds.len());
        for (round, idx) in rounds {
            out.u64(u64::from(*round)).len(*idx);
        }
    }
    for (task, rounds) in &ledger.messages {
        task.bytes().fold(out.len(task.len()), |out, byte| out.u64(byte.into())).len(rounds.len());
        for (round, hash) in rounds {
            out.u64(u64::from(*round)).u64(u64::from_be_bytes(hash.0));
        }
    }
    Hash::of(&out.0)
}
