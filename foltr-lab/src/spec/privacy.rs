//! `[privacy]` and `[budget]`: what happens to an update before it leaves a device, and what a run may cost.
//!
//! The mechanisms are the federation crate's. A file does not repeat what other sections say already: the reward comes
//! from `[learner]`, the length of the list from `[metrics]`, the number of rounds from `[federation]`.

use foltr_federation::LocalPrivacy;
use foltr_federation::accountant::{PrivacyCost, gaussian, renyi::Conversion, subsampled};
use foltr_federation::privacy::{
    CentralMode, Clip, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, PrivUnit, RandomisedResponse,
    SampledResponse, Unprotected,
};
use foltr_rank::learn::evolution::Reward;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Clients, Experiment, Learner};

/// A privacy mechanism as a file names it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Privacy {
    /// The update leaves the device as it is.
    None,
    /// FOLtR-ES: each outcome is replaced by another one with probability 1 - `probability` (spec section 5).
    RandomisedResponse {
        /// Of the truth.
        probability: f64,
    },
    /// FPDGD: clipping, and noise whose sum over all clients is Laplace (spec section 9).
    DistributedLaplace(DistributedLaplace),
    /// The update is clipped, Gaussian noise is added to the sum, and the sum is divided by a fixed number.
    Gaussian {
        /// Norm to which an update is clipped: a number, or how it follows a quantile of the norms.
        clip: Clip,
        /// Standard deviation of the noise over the clip norm. Give this, or `epsilon` and `delta`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        noise_multiplier: Option<f64>,
        /// Of a client over the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
        /// Of a client over the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<f64>,
        /// `sealed`: the server sees the noisy sum only. `clear`: it sees every update and is trusted.
        mode: CentralMode,
    },
    /// The same in integers, with exact shares of noise from every client; always sealed.
    DiscreteGaussian {
        /// Norm to which an update is clipped.
        clip: f64,
        /// Standard deviation of the noise over the clip norm. Give this, or `epsilon` and `delta`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        noise_multiplier: Option<f64>,
        /// Of a client over the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
        /// Of a client over the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<f64>,
        /// With fewer messages in a round its sum is not opened.
        min_survivors: u32,
        /// Clients that may pass their share of the noise to the server; 0 when absent.
        #[serde(default)]
        colluders: u32,
    },
    /// Local: one randomised bit about one coordinate of the update.
    Duchi(Duchi),
    /// Local: a random direction that leans towards that of the update.
    PrivUnit {
        /// Of one message.
        epsilon: f64,
        /// Length of the step that a direction stands for.
        norm: f64,
    },
    /// Local, FOLtR-ES: randomised response on one of a message's interactions.
    SampledResponse {
        /// Of the truth.
        probability: f64,
    },
}

/// What a run may cost a client.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Of a client over the whole run.
    pub epsilon: f64,
    /// Of a client over the whole run.
    pub delta: f64,
}

/// A mechanism that cannot be made, and the key to blame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct BadMechanism {
    /// As a file spells it.
    pub key: &'static str,
    /// What is wrong with it.
    pub message: String,
}

impl BadMechanism {
    fn of(key: &'static str) -> impl Fn(&dyn std::error::Error) -> Self {
        move |error| Self { key, message: error.to_string() }
    }
}

impl Privacy {
    /// The kind, as experiment files spell it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::RandomisedResponse { .. } => "randomised-response",
            Self::DistributedLaplace(_) => "distributed-laplace",
            Self::Gaussian { .. } => "gaussian",
            Self::DiscreteGaussian { .. } => "discrete-gaussian",
            Self::Duchi(_) => "duchi",
            Self::PrivUnit { .. } => "priv-unit",
            Self::SampledResponse { .. } => "sampled-response",
        }
    }
}

impl Experiment {
    /// The mechanism that `[privacy]` asks for, with the reward, list length and rounds of this experiment, for a model
    /// of `n_params` parameters.
    ///
    /// # Errors
    /// If it is not defined for its parameters.
    pub fn mechanism(&self, n_params: usize) -> Result<foltr_federation::Privacy, BadMechanism> {
        use foltr_federation::Privacy as Made;
        // A learner without rewards never asks what an outcome is worth.
        let reward = if let Learner::Evolution { reward, .. } = self.learner { reward } else { Reward::MaxRr };
        let (n_shown, of_response) = (self.metrics.list_length, BadMechanism::of("privacy.probability"));
        Ok(match self.privacy {
            Privacy::None => Made::Unprotected(Unprotected { reward }),
            Privacy::RandomisedResponse { probability } => Made::RandomisedResponse(
                RandomisedResponse::new(probability, reward, n_shown).map_err(|bad| of_response(&bad))?,
            ),
            Privacy::SampledResponse { probability } => Made::SampledResponse(
                SampledResponse::new(probability, reward, n_shown).map_err(|bad| of_response(&bad))?,
            ),
            Privacy::DistributedLaplace(mechanism) => Made::DistributedLaplace(mechanism),
            Privacy::Gaussian { clip, noise_multiplier, epsilon, delta, mode } => {
                let noise = self.noise(noise_multiplier, epsilon, delta, clip)?;
                let made = Gaussian::new(clip, noise, mode);
                Made::Gaussian(made.map_err(|bad| BadMechanism::of("privacy.clip")(&bad))?)
            }
            Privacy::DiscreteGaussian { clip, noise_multiplier, epsilon, delta, min_survivors, colluders } => {
                let noise = self.noise(noise_multiplier, epsilon, delta, Clip::Fixed(clip))?;
                let made = DiscreteGaussian::new(clip, noise, min_survivors, colluders);
                Made::DiscreteGaussian(made.map_err(|bad| BadMechanism::of("privacy.min_survivors")(&bad))?)
            }
            Privacy::Duchi(mechanism) => Made::Duchi(mechanism),
            Privacy::PrivUnit { epsilon, norm } => {
                let made = PrivUnit::new(epsilon, norm, n_params);
                Made::PrivUnit(made.map_err(|bad| BadMechanism::of("privacy.epsilon")(&bad))?)
            }
        })
    }

    /// The noise multiplier: as given, or the least with which the whole run stays within (epsilon, delta).
    fn noise(
        &self,
        noise_multiplier: Option<f64>,
        epsilon: Option<f64>,
        delta: Option<f64>,
        clip: Clip,
    ) -> Result<f64, BadMechanism> {
        let wrong = |key, message: &str| Err(BadMechanism { key, message: message.into() });
        let (epsilon, delta) = match (noise_multiplier, epsilon, delta) {
            (Some(noise), None, None) if noise.is_finite() && noise > 0.0 => return Ok(noise),
            (Some(_), None, None) => return wrong("privacy.noise_multiplier", "must be a positive number"),
            (None, Some(epsilon), Some(delta)) => (epsilon, delta),
            (None, ..) => return wrong("privacy", "give `noise_multiplier`, or both `epsilon` and `delta`"),
            (Some(_), ..) => {
                return wrong("privacy.noise_multiplier", "give either this or `epsilon` and `delta`, not both");
            }
        };
        let target = Budget { epsilon, delta };
        target.check("privacy.epsilon", "privacy.delta")?;
        let n_rounds = self.schedule().map_or(1, |schedule| schedule.n_rounds.max(1));
        let n_rounds = u32::try_from(n_rounds).unwrap_or(u32::MAX);
        let least = match (self.participation(), clip, self.privacy) {
            (Some(_), Clip::Adaptive(_), _) => {
                return wrong("privacy.clip", "an adaptive norm with clients.participation needs `noise_multiplier`");
            }
            (Some(probability), ..) => target.noise_by_coins(probability, n_rounds),
            (None, _, Privacy::DiscreteGaussian { .. }) => target.discrete_noise(n_rounds),
            (None, Clip::Fixed(_), _) => gaussian::noise_multiplier(n_rounds, epsilon, delta),
            (None, Clip::Adaptive(adaptive), _) => {
                let per_round = gaussian::mu_for(epsilon, delta).powi(2) / f64::from(n_rounds);
                let left = per_round - 2.0 * adaptive.rho();
                if left <= 0.0 {
                    let message = "the adaptive norm alone costs more than the budget: raise `count_noise`";
                    return wrong("privacy.clip.count_noise", message);
                }
                left.sqrt().recip()
            }
        };
        Ok(least * ROUNDED_UP)
    }

    /// With which probability a client takes part by its own coin, if it does.
    fn participation(&self) -> Option<f64> {
        self.clients.as_ref().and_then(|clients| clients.participation)
    }

    /// What one round costs a client that may be in it.
    ///
    /// # Errors
    /// As [`Self::mechanism`].
    pub fn cost(&self, n_params: usize) -> Result<PrivacyCost, BadMechanism> {
        let n_interactions = self.clients.as_ref().map_or(1, Clients::most_interactions);
        let n_interactions = u32::try_from(n_interactions).unwrap_or(u32::MAX);
        let cost = self.mechanism(n_params)?.cost(n_params, n_interactions);
        let has_losses = self.clients.as_ref().and_then(|clients| clients.dropout).is_some_and(|dropout| dropout > 0.0);
        Ok(match (cost, self.participation()) {
            // Lost shares leave noise that is not Laplace, of which nothing is known.
            (PrivacyCost::Laplace { .. }, _) if has_losses => PrivacyCost::Unbounded,
            (PrivacyCost::Gaussian { mu }, Some(probability)) => {
                PrivacyCost::Subsampled { probability, noise_multiplier: mu.recip() }
            }
            _ => cost,
        })
    }

    /// Rounds that the budget allows; all of them without a budget.
    ///
    /// # Errors
    /// As [`Self::mechanism`].
    pub fn affordable_rounds(&self, n_rounds: usize, n_params: usize) -> Result<usize, BadMechanism> {
        let Some(Budget { epsilon, delta }) = self.budget else { return Ok(n_rounds) };
        let cost = self.cost(n_params)?;
        let fits = |rounds: usize| {
            let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
            cost.after(rounds, delta).epsilon <= epsilon
        };
        // Rounds only ever add to the cost: halve the interval between what fits and what does not.
        let (mut fitting, mut too_many) = (0, n_rounds + 1);
        while too_many - fitting > 1 {
            let middle = fitting + (too_many - fitting) / 2;
            *(if fits(middle) { &mut fitting } else { &mut too_many }) = middle;
        }
        Ok(fitting)
    }
}

/// Noise is rounded up by so much that rounding errors of the accountant never make it too little.
const ROUNDED_UP: f64 = 1.0 + 1e-6;

impl Budget {
    /// Checks the numbers, which stand under these keys.
    pub(super) fn check(&self, epsilon: &'static str, delta: &'static str) -> Result<(), BadMechanism> {
        let wrong = |key, message: &str| Err(BadMechanism { key, message: message.into() });
        if !(self.epsilon.is_finite() && self.epsilon > 0.0) {
            return wrong(epsilon, "must be a positive number");
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return wrong(delta, "must be above 0 and below 1, and should be far below 1 over the number of clients");
        }
        Ok(())
    }

    /// The least noise for discrete shares, by concentrated privacy: the exact bound is that of a continuous Gaussian.
    fn discrete_noise(&self, n_rounds: u32) -> f64 {
        let rho = foltr_federation::accountant::zcdp::rho_for(self.epsilon, self.delta) / f64::from(n_rounds);
        (2.0 * rho).sqrt().recip()
    }

    /// The least noise for clients that take part by their own coins, by halving.
    fn noise_by_coins(&self, probability: f64, n_rounds: u32) -> f64 {
        let fits = |noise: f64| {
            subsampled::epsilon(probability, noise, n_rounds, self.delta, Conversion::Improved) <= self.epsilon
        };
        // With every coin on heads it is the plain Gaussian, by the slightly larger Renyi bound.
        let mut enough = 2.0 * gaussian::noise_multiplier(n_rounds, self.epsilon, self.delta);
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
