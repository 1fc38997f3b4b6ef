//! What a whole run may cost one client, and the parameters with which a mechanism costs no more: calibration.

use serde::{Deserialize, Serialize};

use super::MechanismError;
use crate::accountant::{PrivacyCost, gaussian, subsampled, zcdp};

/// Noise is rounded up by so much that rounding errors of the accountant never make it too little.
pub(super) const ROUNDED_UP: f64 = 1.0 + 1e-6;

/// Differential privacy of one client over the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Of a client over the whole run.
    pub epsilon: f64,
    /// Of a client over the whole run.
    pub delta: f64,
}

impl Budget {
    pub fn check(&self) -> Result<(), MechanismError> {
        if !(self.epsilon.is_finite() && self.epsilon > 0.0) {
            return Err(MechanismError::new("epsilon", "must be a positive number"));
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            let right = "must be above 0 and below 1, and should be far below 1 over the number of clients";
            return Err(MechanismError::new("delta", right));
        }
        Ok(())
    }

    /// How many of `n_rounds` rounds of this cost stay within the budget.
    pub fn affordable_rounds(&self, cost: PrivacyCost, n_rounds: usize) -> usize {
        let fits = |rounds: usize| {
            let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
            cost.after(rounds, self.delta).epsilon <= self.epsilon
        };
        // Rounds only ever add to the cost: halve the interval between what fits and what does not.
        let (mut fitting, mut too_many) = (0, n_rounds + 1);
        while too_many - fitting > 1 {
            let middle = fitting + (too_many - fitting) / 2;
            *(if fits(middle) { &mut fitting } else { &mut too_many }) = middle;
        }
        fitting
    }

    /// The largest x up to epsilon for which `n_rounds` rounds stay within the budget, by halving; costs rise with x.
    pub fn largest(&self, n_rounds: u32, cost: impl Fn(f64) -> PrivacyCost) -> f64 {
        let (mut low, mut high) = (0.0, self.epsilon);
        for _ in 0..60 {
            let middle = low + (high - low) / 2.0;
            let fits = cost(middle).after(n_rounds, self.delta).epsilon <= self.epsilon;
            *(if fits { &mut low } else { &mut high }) = middle;
        }
        low
    }

    pub fn per_message(&self, n_rounds: u32) -> f64 {
        self.largest(n_rounds, |per_message| PrivacyCost::Pure { per_interaction: None, per_message })
    }

    /// The pure epsilon of each answer where a message has `n_answers` of them.
    pub fn per_answer(&self, n_rounds: u32, n_answers: u32) -> f64 {
        let cost = |each| PrivacyCost::Pure { per_interaction: Some(each), per_message: each * f64::from(n_answers) };
        self.largest(n_rounds, cost)
    }

    /// The least noise multiplier of continuous Gaussian noise, by the exact bound.
    pub(super) fn gaussian_noise(&self, n_rounds: u32) -> f64 {
        gaussian::noise_multiplier(n_rounds, self.epsilon, self.delta)
    }

    /// The least noise multiplier of discrete shares, by concentrated privacy: the exact bound is that of a continuous
    /// Gaussian.
    pub(super) fn discrete_noise(&self, n_rounds: u32) -> f64 {
        let rho = zcdp::rho_for(self.epsilon, self.delta) / f64::from(n_rounds);
        (2.0 * rho).sqrt().recip()
    }

    /// The least noise multiplier for clients that take part by Poisson sampling, by halving.
    pub(super) fn subsampled_noise(&self, probability: f64, n_rounds: u32) -> f64 {
        let fits = |noise: f64| subsampled::epsilon(probability, noise, n_rounds, self.delta) <= self.epsilon;
        // If everybody takes part it is the plain Gaussian, by the slightly larger Renyi bound.
        let mut enough = 2.0 * self.gaussian_noise(n_rounds);
        while !fits(enough) && enough < 1e12 {
            enough *= 2.0;
        }
        let mut too_little = 0.0;
        while enough - too_little > 1e-4 * enough {
            let middle = too_little + (enough - too_little) / 2.0;
            *(if fits(middle) { &mut enough } else { &mut too_little }) = middle;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_up_to_the_last_that_fits() {
        let cost = PrivacyCost::Pure { per_interaction: None, per_message: 1.0 };
        let budget = |epsilon| Budget { epsilon, delta: 1e-5 };
        assert_eq!(budget(3.5).affordable_rounds(cost, 10), 3);
        assert_eq!(budget(0.5).affordable_rounds(cost, 10), 0);
        assert_eq!(budget(100.0).affordable_rounds(cost, 10), 10);
        assert_eq!(budget(100.0).affordable_rounds(PrivacyCost::Unbounded, 10), 0);
    }

    #[test]
    fn what_is_no_guarantee_is_refused_by_its_key() {
        for (epsilon, delta, key) in [(0.0, 1e-5, "epsilon"), (1.0, 0.0, "delta"), (1.0, 1.0, "delta")] {
            assert_eq!(Budget { epsilon, delta }.check().expect_err("no guarantee").key, key);
        }
        assert_eq!(Budget { epsilon: 1.0, delta: 1e-5 }.check(), Ok(()));
    }
}
