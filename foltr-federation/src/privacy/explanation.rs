//! What `foltr privacy explain` and a consent screen say about a mechanism, beside the accountant's numbers.

use serde::Serialize;

use super::Budget;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What the mechanism does, in one line.
    pub summary: String,
    /// Without these the numbers do not hold.
    pub assumptions: Vec<String>,
    pub remarks: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Claim {
    pub by: &'static str,
    pub unit: Unit,
    pub epsilon: f64,
    /// 0 where none is named.
    pub delta: f64,
}

/// How much is random in what an observer sees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Noise {
    None,
    /// On each coordinate of the sum of a round's messages, at least.
    Sum {
        law: &'static str,
        deviation: f64,
    },
    /// On each coordinate of a message whose update is zero.
    Message {
        deviation: f64,
    },
    /// On the mean reward of a message.
    Reward {
        deviation: f64,
    },
    /// An answer is true with this probability.
    Answer {
        truth: f64,
    },
}

/// What a number is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One list and the clicks on it.
    Interaction,
    /// All that is behind one message, or one round.
    Message,
    /// Everything that one client does in the whole run.
    Run,
}

impl Explanation {
    /// Of a mechanism that needs no trust in anybody.
    pub(super) fn local(summary: &str) -> Self {
        Self {
            summary: summary.into(),
            assumptions: vec!["A retry resends the same bytes: fresh noise would average out.".into()],
            remarks: Vec::new(),
        }
    }
}

impl Claim {
    pub(super) const fn of_paper(unit: Unit, epsilon: f64) -> Self {
        Self { by: "the paper", unit, epsilon, delta: 0.0 }
    }

    pub(super) const fn of_file(budget: Budget) -> Self {
        Self { by: "the file", unit: Unit::Run, epsilon: budget.epsilon, delta: budget.delta }
    }
}
