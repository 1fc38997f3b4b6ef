//! Nothing is done: the privacy of the run bounds what a leaver can have changed.
//!
//! User-level (epsilon, delta) compares the run with one in which a client was not there. That is what forgetting is
//! about, so the model needs no change; what was stored of the client is erased. k clients that leave together are
//! bounded by group privacy: (k epsilon, k e^((k-1) epsilon) delta), Dwork, Roth, `DR14` *The Algorithmic Foundations
//! of Differential Privacy*, 2014, section 2.3 (with the delta of a chain of k steps).
//!
//! What is counted is what the [chain](crate::history::History) has: every message that the leavers ever sent, also in
//! rounds that were undone. Where they took part by coins that nobody sees, every round counts, since each had a coin.

use serde::{Deserialize, Serialize};

use crate::accountant::PrivacyCost;
use crate::history::HistoryError;
use crate::history::bytes::Reader;
use crate::unlearn::{Assurance, UnlearnError, UnlearningMethod};
use crate::writer::Writer;
use foltr_rank::parameter::{ParameterError, require};

/// What is to be certified.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// How much more likely an event may be.
    pub epsilon: f64,
    /// And how much beyond that.
    pub delta: f64,
}

impl UnlearningMethod for Certificate {
    fn check(&self) -> Result<(), ParameterError> {
        require("epsilon", self.epsilon, self.epsilon >= 0.0, "at least 0 and finite")?;
        require("delta", self.delta, self.delta > 0.0 && self.delta < 1.0, "above 0 and below 1")
    }

    fn guarantee(&self) -> Assurance {
        Assurance::Certified { epsilon: self.epsilon, delta: self.delta }
    }

    fn most_replayed_rounds(&self, _: u32) -> u32 {
        0
    }

    fn write_parameters(&self, out: &mut Writer) {
        out.f64s(&[self.epsilon, self.delta]);
    }

    fn read_parameters(input: &mut Reader<'_>) -> Result<Self, HistoryError> {
        Ok(Self { epsilon: input.f64()?, delta: input.f64()? })
    }
}

impl Certificate {
    /// Checks the certificate against what messages cost, for so many clients that sent at most so many messages each.
    pub fn confirm(&self, cost: PrivacyCost, n_messages: u32, n_clients: usize) -> Result<(), UnlearnError> {
        let actual = group_epsilon(cost, n_messages, n_clients, self.delta);
        // Not `>`: what is not a number is no bound.
        if actual <= self.epsilon {
            return Ok(());
        }
        Err(UnlearnError::NotCertified { n_clients, claimed: self.epsilon, actual })
    }
}

/// Epsilon of a group at this delta: the smallest over deltas of one client that the group's delta allows.
fn group_epsilon(cost: PrivacyCost, n_messages: u32, n_clients: usize, delta: f64) -> f64 {
    let k = n_clients as f64;
    let of_one = |own_delta: f64| cost.after(n_messages, own_delta).epsilon;
    let mut own_delta = delta / k;
    // The delta of one client depends on the epsilon that it leads to: a smaller one is always sound.
    for _ in 0..64 {
        let epsilon = of_one(own_delta);
        if k * ((k - 1.0) * epsilon).exp() * own_delta <= delta {
            return k * epsilon;
        }
        own_delta /= 1e2;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_what_the_accountant_says() {
        let cost = PrivacyCost::Gaussian { mu: 0.1 };
        let one = cost.after(25, 1e-5).epsilon;
        let certificate = Certificate { epsilon: one * (1.0 + 1e-9), delta: 1e-5 };
        assert_eq!(certificate.confirm(cost, 25, 1), Ok(()));
        assert!(certificate.confirm(cost, 26, 1).is_err());
        assert!(certificate.confirm(PrivacyCost::Unbounded, 1, 1).is_err());
    }

    #[test]
    fn a_group_is_bounded_and_costs_more_than_its_members() {
        // Gaussian noise has an exact answer for groups: mu grows with their size. Group privacy is above it.
        let (cost, together) = (PrivacyCost::Gaussian { mu: 0.1 }, PrivacyCost::Gaussian { mu: 0.2 });
        let (bound, exact) = (group_epsilon(cost, 1, 2, 1e-5), together.after(1, 1e-5).epsilon);
        assert!(bound >= exact && bound < 2.0 * exact, "{bound}, {exact}");
        let certificate = Certificate { epsilon: exact * 0.99, delta: 1e-5 };
        let refused = certificate.confirm(cost, 1, 2);
        assert!(matches!(refused, Err(UnlearnError::NotCertified { n_clients: 2, .. })), "{refused:?}");
    }
}
