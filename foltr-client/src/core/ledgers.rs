//! What was spent in each federation. Survives being forgotten: who joins again goes on with the same budget.

use std::collections::BTreeMap;

use foltr_federation::Ledger;
use foltr_federation::accountant::{Guarantee, PrivacyCost};
use foltr_federation::ledger::{LedgerError, Receipt, Refused};
use foltr_federation::protocol::Plan;

use super::error::LoadError;
use crate::item::{Item, Records, State, Write};

/// By the address of the federation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ledgers(BTreeMap<String, Ledger>);

/// Rounds whose messages the ledger can still recognise; older ones are refused.
const RECENT_ROUNDS: u32 = 16;

impl Ledgers {
    pub fn load(records: &Records) -> Result<Self, LoadError> {
        let Some(record) = records.get(&Item::State(State::Ledgers)) else { return Ok(Self::default()) };
        let ledgers = serde_json::from_slice(&record.bytes);
        Ok(Self(ledgers.map_err(|error| LoadError::damaged(State::Ledgers.name(), error))?))
    }

    pub fn write(&self, writes: &mut Vec<Write>) {
        let bytes = serde_json::to_vec(&self.0).expect("texts and finite numbers");
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
        if !self.0.contains_key(address) {
            self.0.insert(address.to_owned(), Ledger::new(planned)?);
        }
        let ledger = self.0.get_mut(address).expect("it was just inserted");
        for limit in [Some(planned), owner].into_iter().flatten() {
            let present = ledger.budget();
            let stricter =
                Guarantee { epsilon: limit.epsilon.min(present.epsilon), delta: limit.delta.min(present.delta) };
            ledger.lower_budget(stricter)?;
        }
        Ok(())
    }

    pub fn get(&self, address: &str) -> Option<&Ledger> {
        self.0.get(address)
    }

    /// Whether one more message is within the budget.
    pub fn affords(&self, address: &str, task: &str, round: u32, cost: PrivacyCost) -> bool {
        let mut trial = self.clone();
        trial.book(address, task, round, cost, &[]).is_ok()
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
        let ledger = self.0.get_mut(address).ok_or(not_open)?;
        let receipt = match cost {
            PrivacyCost::Unbounded => ledger.book_unprotected(task, round, message),
            cost => ledger.reserve(task, round, cost, message),
        }?;
        ledger.settle(task, round.saturating_sub(RECENT_ROUNDS));
        Ok(receipt)
    }
}
