//! What forgetting costs in privacy: those who stay pay for training and for every round that comes again, leavers for
//! training only.
//!
//! Messages are counted in the chain of a history, also those of rounds that were undone: what was sent was sent. A
//! client that takes part by coins that nobody sees pays for every round, since its cost is that of a coin.
//!
//! With `distributed-laplace` every client brings a share of the noise. Where leavers' shares are missing the noise is
//! not Laplace any longer and less than it was: nothing is proven of rounds after the first request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::accountant::{PrivacyCost, total};
use crate::history::{Course, History, Messages};
use crate::privacy::Budget;
use crate::unlearn::UnlearnError;

/// What a message of a federation costs, and what a client may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageCost {
    pub cost: PrivacyCost,
    /// At which guarantees are stated where there is no budget.
    pub delta: f64,
    pub budget: Option<Budget>,
}

/// What messages have cost at a request, as its receipt states it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Accounting {
    /// Of a message; or of a round, for a client that takes part by chance.
    pub cost: PrivacyCost,
    pub delta: f64,
    /// The most of any leaver.
    pub leavers: Spent,
    /// The most of anybody who stays.
    pub stayers: Spent,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Or rounds, for clients that take part by chance.
    pub messages: u32,
    /// Of all of them together; none where nothing is proven.
    pub epsilon: Option<f64>,
}

impl MessageCost {
    /// Of messages that hide nothing.
    pub const UNPROTECTED: Self = Self { cost: PrivacyCost::Unbounded, delta: 1e-5, budget: None };

    /// The most messages, or rounds, that the certificate of some clients must cover.
    pub fn most_messages(&self, history: &History, clients: &[u32]) -> u32 {
        self.most(&history.course(), clients).total()
    }

    /// Refuses a request whose replay would take anybody who stays beyond the budget.
    pub fn check(&self, history: &History, leavers: &[u32], n_more: u32) -> Result<(), UnlearnError> {
        let Some(budget) = self.budget.filter(|_| n_more > 0) else { return Ok(()) };
        let course = history.course();
        let busiest = course.busiest(leavers);
        let sent = busiest.map_or_else(Messages::default, |client| self.counted(&course, client));
        let n_messages = sent.total();
        let then = Messages { since: sent.since.saturating_add(n_more), ..sent };
        let epsilon = self.epsilon(then, budget.delta);
        // Not `>`: what is not a number is no bound.
        if epsilon <= budget.epsilon {
            return Ok(());
        }
        let affordable = budget.affordable_rounds(self.cost, then.total() as usize);
        Err(UnlearnError::Budget { budget, affordable, n_messages, n_more, epsilon })
    }

    fn counted(&self, course: &Course<'_>, client: u32) -> Messages {
        match self.cost {
            PrivacyCost::Subsampled { .. } => course.rounds_ever(),
            _ => course.messages(client),
        }
    }

    fn most(&self, course: &Course<'_>, clients: &[u32]) -> Messages {
        let all = clients.iter().map(|&client| self.counted(course, client));
        all.max_by_key(Messages::total).unwrap_or_default()
    }

    fn epsilon(&self, sent: Messages, delta: f64) -> f64 {
        total(&[(self.cost, sent.before), (self.cost.without_some_shares(), sent.since)], delta).epsilon
    }

    fn spent(&self, sent: Messages) -> Spent {
        let epsilon = self.epsilon(sent, self.delta);
        Spent { messages: sent.total(), epsilon: epsilon.is_finite().then_some(epsilon) }
    }

    /// What leavers and those who stay have spent, by the histories before and after a request.
    pub fn account(&self, before: &History, after: &History, leavers: &[u32]) -> Accounting {
        self.accounting(&before.course(), &after.course(), leavers)
    }

    pub(crate) fn accounting(&self, before: &Course<'_>, after: &Course<'_>, leavers: &[u32]) -> Accounting {
        // An infinite number has no place in a receipt.
        let is_finite = self.epsilon(Messages { before: 1, since: 0 }, self.delta).is_finite();
        let cost = if is_finite { self.cost } else { PrivacyCost::Unbounded };
        let stayer = after.busiest(&[]);
        let stayers = stayer.map_or_else(Messages::default, |client| self.counted(after, client));
        let leavers = self.spent(self.most(before, leavers));
        Accounting { cost, delta: self.delta, leavers, stayers: self.spent(stayers) }
    }
}

impl Accounting {
    pub const fn message_cost(&self) -> MessageCost {
        MessageCost { cost: self.cost, delta: self.delta, budget: None }
    }

    /// The most of two federations with the same costs, such as shards.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        let most = |a: Spent, b: Spent| if a.messages < b.messages { b } else { a };
        Self { leavers: most(self.leavers, other.leavers), stayers: most(self.stayers, other.stayers), ..self }
    }

    /// What is counted: messages, or rounds with their coins.
    pub const fn unit(&self) -> &'static str {
        if matches!(self.cost, PrivacyCost::Subsampled { .. }) { "rounds" } else { "messages" }
    }
}

impl fmt::Display for Accounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, delta) = (self.unit(), self.delta);
        let mut say = |who: &str, spent: &Spent| match spent.epsilon {
            Some(epsilon) => write!(f, "{who} {} {unit}: epsilon {epsilon:.4}, delta {delta:e}", spent.messages),
            None => write!(f, "{who} {} {unit}: nothing is proven", spent.messages),
        };
        say("leavers at most", &self.leavers)?;
        say("; those who stay at most", &self.stayers)
    }
}
