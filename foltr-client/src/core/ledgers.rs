//! What was spent in each federation. Survives being forgotten: who joins again goes on with the same budget.

use std::collections::{BTreeMap, BTreeSet};

use foltr_federation::Ledger;
use foltr_federation::accountant::{Guarantee, PrivacyCost};
use foltr_federation::ledger::{LedgerError, Receipt, Refused};
use foltr_federation::protocol::Plan;
use serde::{Deserialize, Serialize};

use super::error::LoadError;
use crate::item::{Item, Records, State, Write};

/// By the address of the federation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ledgers {
    ledgers: BTreeMap<String, Ledger>,
    /// Federations that have messages of this device which its ledger does not know: what was spent there is not known.
    stopped: BTreeSet<String>,
}

/// Rounds whose messages the ledger can still recognise; older ones are refused.
const RECENT_ROUNDS: u32 = 16;

impl Ledgers {
    pub fn load(records: &Records) -> Result<Self, LoadError> {
        let Some(record) = records.get(&Item::State(State::Ledgers)) else { return Ok(Self::default()) };
        serde_json::from_slice(&record.bytes).map_err(|error| LoadError::damaged(State::Ledgers.name(), error))
    }

    pub fn write(&self, writes: &mut Vec<Write>) {
        let bytes = serde_json::to_vec(self).expect("texts and finite numbers");
        writes.push(Write::put(Item::State(State::Ledgers), bytes));
    }

    /// The ledger of a federation that the device joins or whose plan has changed. A budget is never raised.
    pub fn open(&mut self, address: &str, plan: &Plan, owner: Option<Guarantee>) -> Result<(), LedgerError> {
        let federation = plan.federation();
        let delta = federation.delta();
        let planned = federation.privacy.whole_run().or(federation.budget);
        // Without a budget it only counts.
        let planned = planned.map_or(Guarantee { epsilon: f64::MAX, delta }, |budget| Guarantee {
            epsilon: budget.epsilon,
            delta: budget.delta,
        });
        if !self.ledgers.contains_key(address) {
            self.ledgers.insert(address.to_owned(), Ledger::new(planned)?);
        }
        self.limit(address, planned)?;
        owner.map_or(Ok(()), |owner| self.limit(address, owner).map(drop))
    }

    /// Lowers a budget, if this is less; says whether it was.
    pub fn limit(&mut self, address: &str, limit: Guarantee) -> Result<bool, LedgerError> {
        let Some(ledger) = self.ledgers.get_mut(address) else { return Ok(false) };
        let present = ledger.budget();
        let (epsilon, delta) = (limit.epsilon.min(present.epsilon), limit.delta.min(present.delta));
        ledger.lower_budget(Guarantee { epsilon, delta })?;
        Ok(ledger.budget() != present)
    }

    pub fn get(&self, address: &str) -> Option<&Ledger> {
        self.ledgers.get(address)
    }

    /// Nothing is sent there any more.
    pub fn stop(&mut self, address: &str) {
        self.stopped.insert(address.to_owned());
    }

    pub fn is_stopped(&self, address: &str) -> bool {
        self.stopped.contains(address)
    }

    /// Whether one more message is within the budget.
    pub fn affords(&self, address: &str, task: &str, round: u32, cost: PrivacyCost) -> bool {
        let mut trial = self.clone();
        !self.is_stopped(address) && trial.book(address, task, round, cost, &[]).is_ok()
    }

    /// Books a message before it is sent.
    pub fn book(
        &mut self,
        address: &str,
        task: &str,
        round: u32,
        cost: PrivacyCost,
        message: &[u8],
    ) -> Result<Receipt, Refused> {
        let not_open = Refused::NotBounded { cost };
        let ledger = self.ledgers.get_mut(address).ok_or(not_open)?;
        let receipt = match cost {
            PrivacyCost::Unbounded => ledger.book_unprotected(task, round, message),
            cost => ledger.reserve(task, round, cost, message),
        }?;
        ledger.settle(task, round.saturating_sub(RECENT_ROUNDS));
        Ok(receipt)
    }
}
