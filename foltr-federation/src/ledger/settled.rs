//! Rounds that are over: what stays of them is what they cost, so that the ledger of a device that lives for years is small.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Ledger, Refused};

/// What is left of the rounds of one task before `before`. Their cost is still in `spent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settled {
    /// Rounds below this one take nothing more.
    pub(super) before: u32,
    /// Coins, whatever they said.
    pub(super) n_coins: u32,
    /// Messages that their coins paid for.
    pub(super) n_with_coin: u32,
    /// Messages that paid for themselves.
    pub(super) n_without_coin: u32,
    /// Messages that no privacy protected.
    pub(super) n_unprotected: u32,
}

impl Settled {
    pub(super) fn n_messages(&self) -> u64 {
        u64::from(self.n_with_coin) + u64::from(self.n_without_coin) + u64::from(self.n_unprotected)
    }

    /// Whether so many can have been booked: every round has at most one coin or message that needed none.
    pub(super) fn is_possible(&self) -> bool {
        let n_rounds = u64::from(self.n_coins) + u64::from(self.n_without_coin) + u64::from(self.n_unprotected);
        self.n_with_coin <= self.n_coins && self.before > 0 && n_rounds <= u64::from(self.before)
    }
}

impl Ledger {
    /// Forgets the fingerprints of all messages and coins of a task before this round, and keeps what they cost. From then on
    /// nothing more is booked there. What was settled stays so: an earlier round changes nothing.
    pub fn settle(&mut self, task: &str, before: u32) {
        if before <= self.settled_before(task) {
            return;
        }
        let coins = take_before(&mut self.coins, task, before);
        let messages = take_before(&mut self.messages, task, before);
        let unprotected = take_before(&mut self.unprotected, task, before);
        let n_with_coin = messages.keys().filter(|round| coins.contains_key(round)).count();
        let settled = self.settled.entry(task.into()).or_default();
        // There are no more rounds below a u32 than one holds.
        settled.before = before;
        settled.n_coins += coins.len() as u32;
        settled.n_with_coin += n_with_coin as u32;
        settled.n_without_coin += (messages.len() - n_with_coin) as u32;
        settled.n_unprotected += unprotected.len() as u32;
    }

    /// The first round of a task that is not settled.
    fn settled_before(&self, task: &str) -> u32 {
        self.settled.get(task).map_or(0, |settled| settled.before)
    }

    pub(super) fn check_not_settled(&self, task: &str, round: u32) -> Result<(), Refused> {
        let before = self.settled_before(task);
        if round < before { Err(Refused::Settled { task: task.into(), round, before }) } else { Ok(()) }
    }
}

/// Moves the rounds of a task before this one out of the map.
fn take_before<T>(of: &mut BTreeMap<String, BTreeMap<u32, T>>, task: &str, before: u32) -> BTreeMap<u32, T> {
    let Some(mut rounds) = of.remove(task) else { return BTreeMap::new() };
    let left = rounds.split_off(&before);
    if !left.is_empty() {
        of.insert(task.into(), left);
    }
    rounds
}
