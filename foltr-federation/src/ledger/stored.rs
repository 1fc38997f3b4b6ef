//! A ledger as it is stored: with a version and a checksum, refused when damaged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::settled::Settled;
use super::{Ledger, is_finite, is_of_coin};
use crate::accountant::{Guarantee, PrivacyCost};
use crate::fingerprint::hexadecimal;
use crate::writer::Writer;

/// Of the stored form that is written.
const VERSION: u32 = 3;

/// The oldest that is read. It knows nothing of messages without privacy and of settled rounds.
const OLDEST: u32 = 2;

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
    /// The same of messages without privacy.
    #[serde(default)]
    unprotected: BTreeMap<String, BTreeMap<u32, Hash>>,
    /// Task, what is left of rounds that are over.
    #[serde(default)]
    settled: BTreeMap<String, Settled>,
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
    #[error("the privacy ledger has version {found}; this program reads versions {OLDEST} to {VERSION}")]
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
    #[error(
        "a budget is never raised: epsilon {epsilon} and delta {delta} must be at most {} and {}, which this device was \
         promised",
        present.epsilon, present.delta
    )]
    Raised { epsilon: f64, delta: f64, present: Guarantee },
}

impl From<Ledger> for Stored {
    fn from(ledger: Ledger) -> Self {
        let checksum = checksum(&ledger, VERSION);
        let Ledger { budget, spent, coins, messages, unprotected, settled } = ledger;
        let spent = spent.into_iter().map(|(cost, times)| Spent { cost, times }).collect();
        Self { version: VERSION, budget, spent, coins, messages, unprotected, settled, checksum }
    }
}

impl TryFrom<Stored> for Ledger {
    type Error = LedgerError;

    fn try_from(stored: Stored) -> Result<Self, LedgerError> {
        let Stored { version, budget, spent, coins, messages, unprotected, settled, checksum: expected } = stored;
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(LedgerError::Version { found: version });
        }
        let spent = spent.into_iter().map(|spent| (spent.cost, spent.times)).collect();
        let ledger = Self { spent, coins, messages, unprotected, settled, ..Self::new(budget)? };
        // The checksum of the oldest version is not over these.
        if version == OLDEST && !(ledger.unprotected.is_empty() && ledger.settled.is_empty()) {
            return Err(LedgerError::Damaged { what: "it has parts that its version does not have" });
        }
        if checksum(&ledger, version) != expected {
            return Err(LedgerError::Damaged { what: "its checksum does not fit its contents" });
        }
        if !(are_costs_paid(&ledger) && are_rounds_apart(&ledger)) {
            return Err(LedgerError::Damaged { what: "its costs do not fit its coins and messages" });
        }
        Ok(ledger)
    }
}

/// Whether every coin has paid its own cost, and every message without a coin one that needs none.
fn are_costs_paid(ledger: &Ledger) -> bool {
    let mut unpaid: Vec<u64> = ledger.spent.iter().map(|(_, n)| u64::from(*n)).collect();
    for idx in ledger.coins.values().flat_map(BTreeMap::values) {
        match unpaid.get_mut(*idx) {
            Some(left @ 1..) => *left -= 1,
            _ => return false,
        }
    }
    // What live coins have not paid is of settled coins, and of messages without one.
    let left = |of_coins: bool| -> u64 {
        let costs = ledger.spent.iter().zip(&unpaid).filter(|((cost, _), _)| is_of_coin(cost) == of_coins);
        costs.map(|(_, left)| left).sum()
    };
    let settled = |count: fn(&Settled) -> u32| ledger.settled.values().map(|it| u64::from(count(it))).sum::<u64>();
    let only_coins = ledger.coins.values().flat_map(BTreeMap::values).all(|idx| is_of_coin(&ledger.spent[*idx].0));
    let are_finite = ledger.spent.iter().all(|(cost, n)| is_finite(cost) && *n > 0);
    only_coins
        && are_finite
        && left(true) == settled(|it| it.n_coins)
        && left(false) == n_without_coin(ledger) + settled(|it| it.n_without_coin)
}

/// Messages that are not settled and paid for themselves.
fn n_without_coin(ledger: &Ledger) -> u64 {
    let without = |(task, rounds): (&String, &BTreeMap<u32, Hash>)| {
        rounds.keys().filter(|round| !has_round(&ledger.coins, task, round)).count() as u64
    };
    ledger.messages.iter().map(without).sum()
}

/// Whether no round is booked both with and without a promise, and none that is settled is still there.
fn are_rounds_apart(ledger: &Ledger) -> bool {
    let Ledger { coins, messages, unprotected, settled, .. } = ledger;
    let promises_nothing = |(task, rounds): (&String, &BTreeMap<u32, Hash>)| {
        rounds.keys().all(|round| !has_round(coins, task, round) && !has_round(messages, task, round))
    };
    let is_over = |(task, settled): (&String, &Settled)| {
        let is_later = |first: Option<u32>| first.is_none_or(|first| first >= settled.before);
        settled.is_possible()
            && is_later(first_round(coins, task))
            && is_later(first_round(messages, task))
            && is_later(first_round(unprotected, task))
    };
    unprotected.iter().all(promises_nothing) && settled.iter().all(is_over)
}

fn has_round<T>(of: &BTreeMap<String, BTreeMap<u32, T>>, task: &str, round: &u32) -> bool {
    of.get(task).is_some_and(|rounds| rounds.contains_key(round))
}

fn first_round<T>(of: &BTreeMap<String, BTreeMap<u32, T>>, task: &str) -> Option<u32> {
    of.get(task)?.keys().next().copied()
}

/// Over everything, with lengths, so that no two ledgers have the same bytes.
fn checksum(ledger: &Ledger, version: u32) -> Hash {
    let mut out = Writer::default();
    out.u64(version.into()).f64s(&[ledger.budget.epsilon, ledger.budget.delta]).len(ledger.spent.len());
    for (cost, n) in &ledger.spent {
        cost.words().iter().fold(&mut out, |out, &word| out.u64(word)).u64(u64::from(*n));
    }
    out.len(ledger.coins.len());
    write_rounds(&mut out, &ledger.coins, |idx| *idx as u64);
    let of_hash = |hash: &Hash| u64::from_be_bytes(hash.0);
    if version == OLDEST {
        write_rounds(&mut out, &ledger.messages, of_hash);
        return Hash::of(&out.0);
    }
    for messages in [&ledger.messages, &ledger.unprotected] {
        out.len(messages.len());
        write_rounds(&mut out, messages, of_hash);
    }
    out.len(ledger.settled.len());
    for (task, settled) in &ledger.settled {
        let Settled { before, n_coins, n_with_coin, n_without_coin, n_unprotected } = *settled;
        write_task(&mut out, task).u32s(&[before, n_coins, n_with_coin, n_without_coin, n_unprotected]);
    }
    Hash::of(&out.0)
}

fn write_rounds<T>(out: &mut Writer, of: &BTreeMap<String, BTreeMap<u32, T>>, number: impl Fn(&T) -> u64) {
    for (task, rounds) in of {
        write_task(out, task).len(rounds.len());
        for (round, it) in rounds {
            out.u64(u64::from(*round)).u64(number(it));
        }
    }
}

/// Every byte of the name as a word, as in the first version.
fn write_task<'a>(out: &'a mut Writer, task: &str) -> &'a mut Writer {
    task.bytes().fold(out.len(task.len()), |out, byte| out.u64(byte.into()))
}
