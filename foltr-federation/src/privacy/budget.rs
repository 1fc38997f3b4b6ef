//! What a whole run may cost one client, and the parameters with which a mechanism costs no more: calibration.

use serde::{Deserialize, Serialize};

use super::MechanismError;
use crate::accountant::{self, Guarantee, PrivacyCost, distributed, gaussian, response, subsampled};

/// Noise is rounded up by so much that rounding errors of the accountant never make it too little.
pub(super) const ROUNDED_UP: f64 = 1.0 + 1e-6;

/// How far below its budget a calibrated run may stay, as a share of epsilon.
const CLOSE: f64 = 2e-4;

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

    /// Whether so many rounds of this cost stay within the budget.
    fn allows(&self, cost: PrivacyCost, n_rounds: u32) -> bool {
        accountant::is_within(&[(cost, n_rounds)], Guarantee { epsilon: self.epsilon, delta: self.delta })
    }

    /// How many of `n_rounds` rounds of this cost stay within the budget.
    pub fn affordable_rounds(&self, cost: PrivacyCost, n_rounds: usize) -> usize {
        let fits = |rounds: usize| self.allows(cost, u32::try_from(rounds).unwrap_or(u32::MAX));
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
            *(if self.allows(cost(middle), n_rounds) { &mut low } else { &mut high }) = middle;
        }
        low
    }

    pub fn per_message(&self, n_rounds: u32) -> f64 {
        self.largest(n_rounds, |epsilon| PrivacyCost::Pure { epsilon })
    }

    /// The largest probability of the truth among `n_outcomes`, where a message has `n_answers`.
    pub fn response_probability(&self, n_rounds: u32, n_answers: u32, n_outcomes: u32) -> f64 {
        let probability = |each: f64| response::probability_of(each, n_outcomes);
        let cost = |each| PrivacyCost::Response { probability: probability(each), n_outcomes, n_answers };
        probability(self.largest(n_rounds, cost))
    }

    /// The least noise multiplier of continuous Gaussian noise, by the exact bound.
    pub(super) fn gaussian_noise(&self, n_rounds: u32) -> f64 {
        gaussian::noise_multiplier(n_rounds, self.epsilon, self.delta)
    }

    /// The least noise multiplier of discrete shares on a grid of `levels` units in the sensitivity, by the bound of
    /// nearly continuous noise. `slack` is that of one round with a noise multiplier, and falls with it.
    pub(super) fn discrete_noise(&self, n_rounds: u32, levels: f64, slack: impl Fn(f64) -> f64) -> f64 {
        let slack = f64::from(n_rounds) * slack(self.gaussian_noise(n_rounds));
        let mu = gaussian::mu_for(self.epsilon - 2.0 * slack, self.delta * (-slack).exp());
        distributed::deviation_for(mu / f64::from(n_rounds).sqrt(), levels) / levels
    }

    /// The least noise multiplier for clients that take part by Poisson sampling, within [`CLOSE`].
    pub(super) fn subsampled_noise(&self, probability: f64, n_rounds: u32) -> f64 {
        let by_renyi = |noise: f64| subsampled::epsilon(probability, noise, n_rounds, self.delta);
        let cost = |noise_multiplier| PrivacyCost::Subsampled { probability, noise_multiplier };
        let by_all = |noise: f64| cost(noise).after(n_rounds, self.delta).epsilon;
        // If everybody takes part it is the plain Gaussian, by the slightly larger Renyi bound.
        let most = 2.0 * self.gaussian_noise(n_rounds);
        // The Renyi bound is quick, and not far above.
        let enough = self.least_noise(most, 0.05, by_renyi);
        self.least_noise(enough, CLOSE, by_all)
    }

    /// A noise with which epsilon is at most that of the budget, and above the share 1 - `close` of it. By halving, and
    /// by straight lines between logarithms.
    fn least_noise(&self, first: f64, close: f64, epsilon: impl Fn(f64) -> f64) -> f64 {
        let (mut enough, mut too_little) = ((first, epsilon(first)), (0.0, f64::INFINITY));
        while enough.1 > self.epsilon && enough.0 < 1e12 {
            too_little = enough;
            enough = (2.0 * enough.0, epsilon(2.0 * enough.0));
        }
        for _ in 0..60 {
            if enough.1 >= (1.0 - close) * self.epsilon {
                break;
            }
            let (aim, slope) =
                (self.epsilon * (1.0 - close / 2.0), (too_little.0 / enough.0).ln() / (too_little.1 / enough.1).ln());
            let straight = enough.0 * ((aim / enough.1).ln() * slope).exp();
            let is_inside = straight > too_little.0 && straight < enough.0;
            let next = if is_inside { straight } else { (too_little.0.max(enough.0 / 4.0) + enough.0) / 2.0 };
            let at = (next, epsilon(next));
            *(if at.1 <= self.epsilon { &mut enough } else { &mut too_little }) = at;
        }
        enough.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_up_to_the_last_that_fits() {
        let cost = PrivacyCost::Pure { epsilon: 1.0 };
        let budget = |epsilon| Budget { epsilon, delta: 1e-5 };
        assert_eq!(budget(3.5).affordable_rounds(cost, 10), 3);
        assert_eq!(budget(0.5).affordable_rounds(cost, 10), 0);
        assert_eq!(budget(100.0).affordable_rounds(cost, 10), 10);
        assert_eq!(budget(100.0).affordable_rounds(PrivacyCost::Unbounded, 10), 0);
    }

    #[test]
    fn noise_for_coins_is_the_least_by_the_law_of_losses() {
        for (probability, rounds, epsilon, least, least_by_renyi) in [
            (0.01, 1000, 4.5, 0.7062, 0.7460),
            (0.1, 200, 4.5, 1.6228, 1.7299),
            (0.1, 1000, 20.0, 1.1331, 1.1823),
            (0.001, 10_000, 8.0, 0.4502, 0.4719),
        ] {
            let budget = Budget { epsilon, delta: 1e-5 };
            let noise = budget.subsampled_noise(probability, rounds);
            let by_renyi = budget.least_noise(1.0, CLOSE, |z| subsampled::epsilon(probability, z, rounds, 1e-5));
            for (ours, pinned) in [(noise, least), (by_renyi, least_by_renyi)] {
                assert!((ours / pinned - 1.0).abs() < 3e-4, "{probability}, {rounds}: {ours}, not {pinned}");
            }
            let cost = PrivacyCost::Subsampled { probability, noise_multiplier: noise };
            let spent = cost.after(rounds, 1e-5).epsilon;
            assert!(spent <= epsilon && spent > (1.0 - CLOSE) * epsilon, "{probability}: {spent}");
        }
    }

    #[test]
    fn rounds_by_coins_are_counted_by_the_law_of_losses() {
        let budget = Budget { epsilon: 4.5, delta: 1e-5 };
        let cost = PrivacyCost::Subsampled { probability: 0.01, noise_multiplier: 0.7062 };
        let rounds = budget.affordable_rounds(cost, 2000);
        assert!((999..=1003).contains(&rounds), "{rounds}");
        assert_eq!(budget.affordable_rounds(cost, 500), 500);
    }

    #[test]
    fn larger_budgets_need_less_noise_and_allow_more_truth() {
        let budgets = [0.3, 1.0, 4.5, 12.0, 50.0].map(|epsilon| Budget { epsilon, delta: 1e-6 });
        let noises = budgets.map(|budget| budget.subsampled_noise(0.05, 100));
        assert!(noises.windows(2).all(|pair| pair[0] > pair[1]), "{noises:?}");
        let truths = budgets.map(|budget| budget.response_probability(100, 4, 11));
        assert!(truths[0] > 1.0 / 11.0 && truths.windows(2).all(|pair| pair[0] < pair[1]), "{truths:?}");
    }

    #[test]
    fn what_is_no_guarantee_is_refused_by_its_key() {
        for (epsilon, delta, key) in [(0.0, 1e-5, "epsilon"), (1.0, 0.0, "delta"), (1.0, 1.0, "delta")] {
            assert_eq!(Budget { epsilon, delta }.check().expect_err("no guarantee").key, key);
        }
        assert_eq!(Budget { epsilon: 1.0, delta: 1e-5 }.check(), Ok(()));
    }
}
