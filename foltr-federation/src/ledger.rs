//! What has a device spent of its privacy, and what may it still spend?
//!
//! A [`Ledger`] belongs to one device and is kept for as long as its budget is promised. For every message:
//!
//! 1. make the message;
//! 2. [`Ledger::reserve`] it: a message that would exceed the budget is refused, and nothing changes;
//! 3. write the ledger and the message to durable storage, and wait until they are there;
//! 4. send.
//!
//! Where a device decides by a coin whether it takes part in a round, what the coin hides is paid for in every round, also
//! in those in which it says no: [`Ledger::book_coin`] books it, and the ledger is durable, *before* it is tossed. If it
//! says yes, its message is reserved at no further cost. A ledger of the messages alone would count a tenth of the
//! rounds, each at the price of a client that is seldom there: it refuses such a message without its coin.
//!
//! Sent before it was written, a message would be forgotten by a crash and its cost spent twice. A retry resends the
//! stored bytes at no further cost; other bytes for the same round are refused, since the mean of two noises is less
//! noise. An old copy of a ledger has forgotten what was spent since: it must never be restored.
//!
//! A plan without privacy promises nothing. Its messages are booked by [`Ledger::book_unprotected`], and what is spent is
//! infinite from then on: no budget is enough for what comes after. A device lives for years: [`Ledger::settle`] forgets the
//! fingerprints of rounds that are over, and keeps what they cost.
//!
//! Costs are kept as they are and added up anew, as Renyi divergences: messages of different kinds cost no more together
//! than they must. The checksum finds accidents and careless edits; it is no protection against an attacker on the device.
//! The format must keep every f64 exactly (serde_json: feature `float_roundtrip`).

mod settled;
mod stored;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::accountant::{self, Guarantee, PrivacyCost};

use settled::Settled;
use stored::Hash;
pub use stored::LedgerError;

/// Budget, costs, the coins, and a fingerprint of every message that is not settled.
///
/// ```
/// use foltr_federation::{Guarantee, Ledger, PrivacyCost};
///
/// let mut ledger = Ledger::new(Guarantee { epsilon: 2.0, delta: 1e-5 })?;
/// let cost = PrivacyCost::Pure { epsilon: 1.0 };
/// ledger.reserve("plan", 0, cost, b"the bytes of round 0")?;
/// // A retry sends the same bytes, at no further cost; other bytes would give two noises away.
/// assert!(ledger.reserve("plan", 0, cost, b"the bytes of round 0")?.is_repeat);
/// assert!(ledger.reserve("plan", 0, cost, b"other bytes").is_err());
/// ledger.reserve("plan", 1, cost, b"the bytes of round 1")?;
/// assert!(ledger.reserve("plan", 2, cost, b"beyond the budget").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "stored::Stored", into = "stored::Stored")]
pub struct Ledger {
    budget: Guarantee,
    /// Each cost once, with the number of messages, or of coins.
    spent: Vec<(PrivacyCost, u32)>,
    /// Of each booked coin, the index of its cost.
    coins: BTreeMap<String, BTreeMap<u32, usize>>,
    messages: BTreeMap<String, BTreeMap<u32, Hash>>,
    /// Messages of plans without privacy.
    unprotected: BTreeMap<String, BTreeMap<u32, Hash>>,
    /// Of each task, what is left of rounds that are over.
    settled: BTreeMap<String, Settled>,
}

/// A message may be sent, or a coin tossed, once the ledger is durable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receipt {
    /// The same bytes had been reserved before, or the same coin booked: no further cost.
    pub is_repeat: bool,
    /// Everything that is spent, this message or coin included.
    pub spent: Guarantee,
}

/// Why a message may not be sent, or a coin not tossed. The ledger is unchanged.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
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
    #[error(
        "round {round} of task `{task}` takes part by a coin that was not booked; its cost is that of every coin, not of \
         the messages: book it before it is tossed"
    )]
    NoCoin { task: String, round: u32 },
    #[error("round {round} of task `{task}` was booked before, at another cost")]
    OtherCost { task: String, round: u32 },
    #[error("{cost:?} is not the cost of a coin; reserve the message instead")]
    NotACoin { cost: PrivacyCost },
    #[error(
        "round {round} of task `{task}` is over: this device has settled all rounds before {before} and no longer knows what \
         it sent in them; take part in a later one"
    )]
    Settled { task: String, round: u32, before: u32 },
}

impl Ledger {
    pub fn new(budget: Guarantee) -> Result<Self, LedgerError> {
        check_budget(budget)?;
        Ok(Self {
            budget,
            spent: Vec::new(),
            coins: BTreeMap::new(),
            messages: BTreeMap::new(),
            unprotected: BTreeMap::new(),
            settled: BTreeMap::new(),
        })
    }

    pub fn budget(&self) -> Guarantee {
        self.budget
    }

    /// Replaces the budget by one that is no larger. What was spent stays spent, even if it is more than that.
    pub fn lower_budget(&mut self, budget: Guarantee) -> Result<(), LedgerError> {
        check_budget(budget)?;
        let Guarantee { epsilon, delta } = budget;
        if epsilon > self.budget.epsilon || delta > self.budget.delta {
            return Err(LedgerError::Raised { epsilon, delta, present: self.budget });
        }
        self.budget = budget;
        Ok(())
    }

    /// What all messages and coins guarantee together: nothing, once a message was sent without privacy.
    pub fn spent(&self) -> Guarantee {
        self.total(&self.spent)
    }

    /// All messages that were ever booked.
    pub fn n_messages(&self) -> u64 {
        let settled = self.settled.values().map(Settled::n_messages).sum::<u64>();
        n_rounds(&self.messages) + n_rounds(&self.unprotected) + settled
    }

    /// Those of them that no privacy protected.
    pub fn n_unprotected(&self) -> u64 {
        let settled = self.settled.values().map(|settled| u64::from(settled.n_unprotected)).sum::<u64>();
        n_rounds(&self.unprotected) + settled
    }

    /// Whether these bytes were booked for this round, which is not settled.
    pub fn has_message(&self, task: &str, round: u32, message: &[u8]) -> bool {
        let known = self.message(task, round).or_else(|| self.unprotected_message(task, round));
        known == Some(Hash::of(message))
    }

    /// Books the coin by which the device decides about taking part in a round, if the budget allows it: to be called in
    /// every round, before the coin is tossed. Nothing changes on an error.
    pub fn book_coin(&mut self, task: &str, round: u32, cost: PrivacyCost) -> Result<Receipt, Refused> {
        if !is_of_coin(&cost) {
            return Err(Refused::NotACoin { cost });
        }
        self.check_not_settled(task, round)?;
        match self.coin(task, round) {
            Some(known) if known == cost => return Ok(Receipt { is_repeat: true, spent: self.spent() }),
            Some(_) => return Err(Refused::OtherCost { task: task.into(), round }),
            // A message that needed no coin has paid for the round, or promised nothing in it.
            None if self.message(task, round).or_else(|| self.unprotected_message(task, round)).is_some() => {
                return Err(Refused::OtherCost { task: task.into(), round });
            }
            None => {}
        }
        let (spent, idx) = self.spend(task, round, cost)?;
        self.coins.entry(task.into()).or_default().insert(round, idx);
        Ok(Receipt { is_repeat: false, spent })
    }

    /// Books one message, if the budget allows it. One whose coin was booked costs nothing more. Nothing changes on an
    /// error.
    pub fn reserve(&mut self, task: &str, round: u32, cost: PrivacyCost, message: &[u8]) -> Result<Receipt, Refused> {
        self.check_not_settled(task, round)?;
        let hash = Hash::of(message);
        match (self.message(task, round), self.unprotected_message(task, round)) {
            (Some(known), _) if known == hash => return Ok(Receipt { is_repeat: true, spent: self.spent() }),
            // What was sent without a promise cannot get one.
            (None, Some(known)) if known == hash => return Err(Refused::OtherCost { task: task.into(), round }),
            (Some(_), _) | (_, Some(_)) => return Err(Refused::OtherBytes { task: task.into(), round }),
            (None, None) => {}
        }
        let spent = match self.coin(task, round) {
            Some(known) if known == cost => self.spent(),
            Some(_) => return Err(Refused::OtherCost { task: task.into(), round }),
            None if is_of_coin(&cost) => return Err(Refused::NoCoin { task: task.into(), round }),
            None => self.spend(task, round, cost)?.0,
        };
        self.messages.entry(task.into()).or_default().insert(round, hash);
        Ok(Receipt { is_repeat: false, spent })
    }

    /// Books one message of a plan that promises no privacy. From then on what is spent is infinite, and the budget allows
    /// nothing that has a cost. Nothing changes on an error.
    pub fn book_unprotected(&mut self, task: &str, round: u32, message: &[u8]) -> Result<Receipt, Refused> {
        self.check_not_settled(task, round)?;
        if self.message(task, round).is_some() || self.coin(task, round).is_some() {
            return Err(Refused::OtherCost { task: task.into(), round });
        }
        let hash = Hash::of(message);
        let is_repeat = match self.unprotected_message(task, round) {
            Some(known) if known == hash => true,
            Some(_) => return Err(Refused::OtherBytes { task: task.into(), round }),
            None => false,
        };
        self.unprotected.entry(task.into()).or_default().insert(round, hash);
        Ok(Receipt { is_repeat, spent: self.spent() })
    }

    /// The first round of a task that nothing was booked for, nor for any after it.
    pub fn next_round(&self, task: &str) -> u32 {
        let booked = [self.messages.get(task), self.unprotected.get(task)];
        let booked = booked.into_iter().flatten().filter_map(|rounds| rounds.keys().next_back());
        let coins = self.coins.get(task).and_then(|rounds| rounds.keys().next_back());
        let newest = booked.chain(coins).map(|round| round.saturating_add(1)).max();
        let settled = self.settled.get(task).map(|settled| settled.before);
        newest.into_iter().chain(settled).max().unwrap_or(0)
    }

    fn message(&self, task: &str, round: u32) -> Option<Hash> {
        self.messages.get(task)?.get(&round).copied()
    }

    fn unprotected_message(&self, task: &str, round: u32) -> Option<Hash> {
        self.unprotected.get(task)?.get(&round).copied()
    }

    /// What these costs guarantee together with the messages that have none.
    fn total(&self, spent: &[(PrivacyCost, u32)]) -> Guarantee {
        match self.n_unprotected() {
            0 => accountant::total(spent, self.budget.delta),
            _ => Guarantee { epsilon: f64::INFINITY, delta: self.budget.delta },
        }
    }

    /// The cost of the booked coin of a round.
    fn coin(&self, task: &str, round: u32) -> Option<PrivacyCost> {
        let idx = *self.coins.get(task)?.get(&round)?;
        self.spent.get(idx).map(|(cost, _)| *cost)
    }

    /// Adds a cost, if the budget allows it: everything that is spent, and the index of the cost.
    fn spend(&mut self, task: &str, round: u32, cost: PrivacyCost) -> Result<(Guarantee, usize), Refused> {
        if !is_finite(&cost) {
            return Err(Refused::NotBounded { cost });
        }
        let mut spent = self.spent.clone();
        let known = spent.iter().position(|(known, n)| *known == cost && *n < u32::MAX);
        let idx = known.unwrap_or(spent.len());
        match known {
            Some(idx) => spent[idx].1 += 1,
            None => spent.push((cost, 1)),
        }
        let total = self.total(&spent);
        // Not `>`: what is not a number is not within a budget.
        if !matches!(total.epsilon.partial_cmp(&self.budget.epsilon), Some(order) if order.is_le()) {
            return Err(Refused::Exceeded { task: task.into(), round, would_be: total.epsilon, budget: self.budget });
        }
        self.spent = spent;
        Ok((total, idx))
    }
}

fn check_budget(Guarantee { epsilon, delta }: Guarantee) -> Result<(), LedgerError> {
    let is_sound = epsilon.is_finite() && epsilon >= 0.0 && (0.0..1.0).contains(&delta);
    if is_sound { Ok(()) } else { Err(LedgerError::Budget { epsilon, delta }) }
}

fn n_rounds(of: &BTreeMap<String, BTreeMap<u32, Hash>>) -> u64 {
    of.values().map(|rounds| rounds.len() as u64).sum()
}

/// Whether a cost is amplified by a coin: it is that of a round, whatever the coin says, and not of a message.
fn is_of_coin(cost: &PrivacyCost) -> bool {
    matches!(cost, PrivacyCost::Subsampled { .. })
}

/// Whether every number of a cost is finite and none is negative, which would give something back.
fn is_finite(cost: &PrivacyCost) -> bool {
    let fine = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
    match *cost {
        PrivacyCost::Unbounded => false,
        PrivacyCost::Pure { epsilon } => fine(&[epsilon]),
        PrivacyCost::Response { probability, n_outcomes, .. } => {
            n_outcomes >= 2 && probability < 1.0 && probability * f64::from(n_outcomes) >= 1.0
        }
        PrivacyCost::DiscreteGaussian { rho, mu, slack } => fine(&[rho, mu, slack]),
        PrivacyCost::Gaussian { mu } => fine(&[mu]),
        PrivacyCost::Subsampled { probability, noise_multiplier } => {
            fine(&[probability, noise_multiplier]) && probability <= 1.0 && noise_multiplier > 0.0
        }
        PrivacyCost::Laplace { scale, shift, .. } => fine(&[scale, shift]) && scale > 0.0,
    }
}

#[cfg(test)]
mod tests;
