//! What has a device spent of its privacy, and what may it still spend?
//!
//! A [`Ledger`] belongs to one device and is kept for as long as its budget is promised. For every message:
//!
//! 1. make the message;
//! 2. [`Ledger::reserve`] it: a message that would exceed the budget is refused, and nothing changes;
//! 3. write the ledger and the message to durable storage, and wait until they are there;
//! 4. send.
//!
//! Sent before it was written, a message would be forgotten by a crash and its cost spent twice. A retry resends the
//! stored bytes at no further cost; other bytes for the same round are refused, since the mean of two noises is less
//! noise. An old copy of a ledger has forgotten what was spent since: it must never be restored.
//!
//! Costs are kept as they are and added up anew, as Renyi divergences: messages of different kinds cost no more together
//! than they must. The checksum finds accidents and careless edits; it is no protection against an attacker on the device.
//! The format must keep every f64 exactly (serde_json: feature `float_roundtrip`).

mod stored;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::accountant::{self, Guarantee, PrivacyCost};

use stored::Hash;
pub use stored::LedgerError;

/// Budget, costs, and a fingerprint of every message.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "stored::Stored", into = "stored::Stored")]
pub struct Ledger {
    budget: Guarantee,
    /// Each cost once, with the number of messages.
    spent: Vec<(PrivacyCost, u32)>,
    messages: BTreeMap<String, BTreeMap<u32, Hash>>,
}

/// A message may be sent, once the ledger is durable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receipt {
    /// The same bytes had been reserved before: no further cost.
    pub is_repeat: bool,
    /// Everything that is spent, this message included.
    pub spent: Guarantee,
}

/// Why a message may not be sent. The ledger is unchanged.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refused {
    #[error(
        "round {round} of task `{task}` would raise the epsilon of this device to {would_be:.4}, above its budget of \
         {} at delta {}",
        budget.epsilon, budget.delta
    )]
    Exceeded { task: String, round: u32, would_be: f64, budget: Guarantee },
    #[error(
        "round {round} of task `{task}` was answered with other bytes; resend those: fresh noise would average out"
    )]
    OtherBytes { task: String, round: u32 },
    #[error("a message that costs {cost:?} has no finite cost; no budget is enough for it")]
    NotBounded { cost: PrivacyCost },
}

impl Ledger {
    pub fn new(budget: Guarantee) -> Result<Self, LedgerError> {
        let Guarantee { epsilon, delta } = budget;
        if !(epsilon.is_finite() && epsilon >= 0.0 && (0.0..1.0).contains(&delta)) {
            return Err(LedgerError::Budget { epsilon, delta });
        }
        Ok(Self { budget, spent: Vec::new(), messages: BTreeMap::new() })
    }

    pub fn budget(&self) -> Guarantee {
        self.budget
    }

    /// What all messages guarantee together.
    pub fn spent(&self) -> Guarantee {
        accountant::total(&self.spent, self.budget.delta)
    }

    /// Books one message, if the budget allows it. Nothing changes on an error.
    pub fn reserve(&mut self, task: &str, round: u32, cost: PrivacyCost, message: &[u8]) -> Result<Receipt, Refused> {
        let hash = Hash::of(message);
        match self.messages.get(task).and_then(|rounds| rounds.get(&round)) {
            Some(known) if *known == hash => return Ok(Receipt { is_repeat: true, spent: self.spent() }),
            Some(_) => return Err(Refused::OtherBytes { task: task.into(), round }),
            None => {}
        }
        if !is_finite(&cost) {
            return Err(Refused::NotBounded { cost });
        }
        let mut spent = self.spent.clone();
        match spent.iter_mut().find(|(known, n)| *known == cost && *n < u32::MAX) {
            Some((_, n)) => *n += 1,
            None => spent.push((cost, 1)),
        }
        let total = accountant::total(&spent, self.budget.delta);
        // Not `>`: what is not a number is not within a budget.
        if !matches!(total.epsilon.partial_cmp(&self.budget.epsilon), Some(order) if order.is_le()) {
            return Err(Refused::Exceeded { task: task.into(), round, would_be: total.epsilon, budget: self.budget });
        }
        self.spent = spent;
        self.messages.entry(task.into()).or_default().insert(round, hash);
        Ok(Receipt { is_repeat: false, spent: total })
    }
}

/// Whether every number of a cost is finite and none is negative, which would give something back.
fn is_finite(cost: &PrivacyCost) -> bool {
    let fine = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
    match *cost {
        PrivacyCost::Unbounded => false,
        PrivacyCost::Pure { per_interaction, per_message } => fine(&[per_interaction.unwrap_or(0.0), per_message]),
        PrivacyCost::Concentrated { rho } => fine(&[rho]),
        PrivacyCost::Gaussian { mu } => fine(&[mu]),
        PrivacyCost::Subsampled { probability, noise_multiplier } => {
            fine(&[probability, noise_multiplier]) && probability <= 1.0 && noise_multiplier > 0.0
        }
        PrivacyCost::Laplace { scale, shift, .. } => fine(&[scale, shift]) && scale > 0.0,
    }
}

#[cfg(test)]
mod tests;
