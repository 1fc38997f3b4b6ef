//! What the server does with the averaged ascent step.
//!
//! * Adam: `KB15` Kingma, Ba: *Adam: A Method for Stochastic Optimization*, ICLR 2015, Algorithm 1; FOLtR-ES uses it
//!   with rate .001, betas .9 and .999, epsilon 1e-8 (spec section 4).
//! * Momentum: `HQB19` Hsu, Qi, Brown: *Measuring the Effects of Non-Identical Data Distribution*, 2019 (FedAvgM).
//! * Yogi and Adagrad: `RCZ21` Reddi et al.: *Adaptive Federated Optimization*, ICLR 2021, Algorithm 2, whose second
//!   moment starts at epsilon squared and has no bias correction. Adagrad has beta1 = 0, as in that paper's
//!   experiments.
//! * Rprop: `IH03` Igel, Hüsken: *Empirical Evaluation of the Improved Rprop Learning Algorithms*, Neurocomputing 50,
//!   2003: the variant iRprop-, which uses only the signs of the step.
//!
//! Deviation: all of them climb. The step is an ascent direction, where the papers minimise.

use serde::{Deserialize, Serialize};

use foltr_rank::parameter::{ParameterError, positive, require};

/// A server optimiser, as an experiment file names it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum ServerOptimiser {
    /// params += rate * step. Rate 1 is FedAvg.
    LearningRate {
        /// Factor of the step.
        rate: f64,
    },
    /// velocity = momentum * velocity + step; params += rate * velocity.
    Momentum {
        /// Factor of the velocity.
        rate: f64,
        /// How much of the velocity stays.
        momentum: f64,
    },
    /// Adaptive moments with bias correction.
    Adam {
        /// Length of a step in a coordinate whose gradient does not change.
        rate: f64,
        /// Decay of the first moment.
        beta1: f64,
        /// Decay of the second moment.
        beta2: f64,
        /// Added to the root of the second moment.
        epsilon: f64,
    },
    /// Adam whose second moment moves by at most (1 - beta2) step^2.
    Yogi {
        /// As Adam's.
        rate: f64,
        /// Decay of the first moment.
        beta1: f64,
        /// Inertia of the second moment.
        beta2: f64,
        /// Added to the root of the second moment, which starts at its square.
        epsilon: f64,
    },
    /// Divides by the root of the sum of all squared steps.
    Adagrad {
        /// Length of the first steps.
        rate: f64,
        /// Added to the root of the sum, which starts at its square.
        epsilon: f64,
    },
    /// Each coordinate has its own step length, which grows while the sign stays and shrinks when it changes.
    Rprop {
        /// First step length of a coordinate.
        initial_step: f64,
        /// Factor while the sign stays: 1.2 in the paper.
        increase: f64,
        /// Factor when the sign changes: .5 in the paper.
        decrease: f64,
        /// Step lengths shrink no further.
        min_step: f64,
        /// Step lengths grow no further.
        max_step: f64,
    },
}

/// What an optimiser remembers between rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimiserState {
    /// Velocity, first moment, or the last step.
    pub(crate) first: Vec<f64>,
    /// Second moment, or the step lengths.
    pub(crate) second: Vec<f64>,
    pub(crate) n_steps: i32,
}

impl ServerOptimiser {
    pub const LIST: &[(&str, &str)] = &[
        ("learning-rate", "The step times a rate; rate 1 is FedAvg"),
        ("momentum", "FedAvgM: a velocity that decays"),
        ("adam", "Adaptive moments, as in FOLtR-ES"),
        ("yogi", "FedYogi: Adam with an additive second moment"),
        ("adagrad", "FedAdagrad: divides by the root of all squared steps"),
        ("rprop", "Only the signs of the step (iRprop-)"),
    ];

    /// The factor of the step, if that is all that happens to it.
    pub const fn plain_rate(&self) -> Option<f64> {
        match *self {
            Self::LearningRate { rate } => Some(rate),
            _ => None,
        }
    }

    pub fn check(&self) -> Result<(), ParameterError> {
        match *self {
            Self::LearningRate { rate } => positive("rate", rate),
            Self::Momentum { rate, momentum } => positive("rate", rate).and(decay("momentum", momentum)),
            Self::Adam { rate, beta1, beta2, epsilon } | Self::Yogi { rate, beta1, beta2, epsilon } => {
                positive("rate", rate)
                    .and(decay("beta1", beta1))
                    .and(decay("beta2", beta2))
                    .and(positive("epsilon", epsilon))
            }
            Self::Adagrad { rate, epsilon } => positive("rate", rate).and(positive("epsilon", epsilon)),
            Self::Rprop { initial_step, increase, decrease, min_step, max_step } => positive("min_step", min_step)
                .and(require("initial_step", initial_step, initial_step >= min_step, "at least min_step"))
                .and(require("max_step", max_step, max_step >= initial_step, "finite and at least initial_step"))
                .and(require("increase", increase, increase >= 1.0, "finite and at least 1"))
                .and(require("decrease", decrease, decrease > 0.0 && decrease <= 1.0, "above 0 and at most 1")),
        }
    }

    pub fn start(&self, n_params: usize) -> OptimiserState {
        let second = match *self {
            Self::Yogi { epsilon, .. } | Self::Adagrad { epsilon, .. } => epsilon * epsilon,
            Self::Rprop { initial_step, .. } => initial_step,
            Self::LearningRate { .. } | Self::Momentum { .. } | Self::Adam { .. } => 0.0,
        };
        OptimiserState { first: vec![0.0; n_params], second: vec![second; n_params], n_steps: 0 }
    }

    pub fn climb(&self, state: &mut OptimiserState, params: &mut [f64], step: &[f64]) {
        assert_eq!((step.len(), state.first.len()), (params.len(), params.len()), "step and state must fit the model");
        state.n_steps = state.n_steps.saturating_add(1);
        let moment_pairs = state.first.iter_mut().zip(&mut state.second);
        let coordinates = params.iter_mut().zip(step).zip(moment_pairs);
        match *self {
            Self::LearningRate { rate } => coordinates.for_each(|((param, &g), _)| *param += rate * g),
            Self::Momentum { rate, momentum } => coordinates.for_each(|((param, &g), (velocity, _))| {
                *velocity = momentum * *velocity + g;
                *param += rate * *velocity;
            }),
            Self::Adam { rate, beta1, beta2, epsilon } => {
                let (bias1, bias2) = (1.0 - beta1.powi(state.n_steps), 1.0 - beta2.powi(state.n_steps));
                coordinates.for_each(|((param, &g), (m, v))| {
                    *m = beta1 * *m + (1.0 - beta1) * g;
                    *v = beta2 * *v + (1.0 - beta2) * g * g;
                    *param += rate * (*m / bias1) / ((*v / bias2).sqrt() + epsilon);
                });
            }
            Self::Yogi { rate, beta1, beta2, epsilon } => coordinates.for_each(|((param, &g), (m, v))| {
                *m = beta1 * *m + (1.0 - beta1) * g;
                *v -= (1.0 - beta2) * g * g * sign(*v - g * g);
                *param += rate * *m / (v.sqrt() + epsilon);
            }),
            Self::Adagrad { rate, epsilon } => coordinates.for_each(|((param, &g), (_, v))| {
                *v += g * g;
                *param += rate * g / (v.sqrt() + epsilon);
            }),
            Self::Rprop { increase, decrease, min_step, max_step, .. } => {
                coordinates.for_each(|((param, &g), (last, length))| {
                    let agreement = sign(*last) * sign(g);
                    let factor = if agreement > 0.0 { increase } else { decrease };
                    if agreement != 0.0 {
                        *length = (*length * factor).clamp(min_step, max_step);
                    }
                    // iRprop-: after a change of sign the coordinate rests for a round.
                    *last = if agreement < 0.0 { 0.0 } else { g };
                    *param += sign(*last) * *length;
                });
            }
        }
    }
}

/// The sign as a number, 0 for 0 (`f64::signum` gives 1).
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

fn decay(name: &'static str, value: f64) -> Result<(), ParameterError> {
    require(name, value, (0.0..1.0).contains(&value), "at least 0 and below 1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_close;

    const ADAM: ServerOptimiser = ServerOptimiser::Adam { rate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    const RPROP: ServerOptimiser =
        ServerOptimiser::Rprop { initial_step: 0.1, increase: 1.2, decrease: 0.5, min_step: 1e-6, max_step: 0.13 };

    fn climbed(optimiser: ServerOptimiser, steps: &[f64]) -> Vec<f64> {
        let (mut state, mut params) = (optimiser.start(1), [0.0]);
        let climb = |&step| {
            optimiser.climb(&mut state, &mut params, &[step]);
            params[0]
        };
        steps.iter().map(climb).collect()
    }

    #[test]
    fn steps_worked_by_hand() {
        assert_close(&climbed(ServerOptimiser::LearningRate { rate: 0.5 }, &[2.0, -1.0]), &[1.0, 0.5], 1e-12);
        // Velocities 2, 2, 0.
        let momentum = ServerOptimiser::Momentum { rate: 0.5, momentum: 0.5 };
        assert_close(&climbed(momentum, &[2.0, 1.0, -1.0]), &[1.0, 2.0, 2.0], 1e-12);
        // Sums of squares 9 and 25 after the initial 0.
        let adagrad = ServerOptimiser::Adagrad { rate: 1.0, epsilon: 1e-14 };
        assert_close(&climbed(adagrad, &[3.0, 4.0]), &[1.0, 1.8], 1e-12);
        // v: 1 -> 1 - .5 * 1 * sign(0) = 1 -> 1 + .5 * 4 = 3.
        let yogi = ServerOptimiser::Yogi { rate: 1.0, beta1: 0.0, beta2: 0.5, epsilon: 1.0 };
        assert_close(&climbed(yogi, &[1.0, 2.0]), &[0.5, 0.5 + 2.0 / (3_f64.sqrt() + 1.0)], 1e-12);
        // Lengths .1, .12, .13 (limit), .065 (and a rest), then .065 without growth.
        assert_close(&climbed(RPROP, &[9.0, 1.0, 4.0, -2.0, -3.0]), &[0.1, 0.22, 0.35, 0.35, 0.285], 1e-12);
        // Adam's first step is the rate, by sign.
        assert!((climbed(ADAM, &[-7.0])[0] + 0.001).abs() < 1e-10);
    }

    #[test]
    fn bad_parameters_are_named() {
        let bad = ServerOptimiser::Adam { rate: 0.001, beta1: 1.0, beta2: 0.999, epsilon: 1e-8 };
        let message = bad.check().expect_err("beta1 = 1").to_string();
        assert_eq!(message, "beta1 = 1 must be at least 0 and below 1");
        assert!(ServerOptimiser::LearningRate { rate: f64::NAN }.check().is_err());
        assert!(ServerOptimiser::LearningRate { rate: f64::INFINITY }.check().is_err());
        let shrinking =
            ServerOptimiser::Rprop { initial_step: 0.1, increase: 0.9, decrease: 0.5, min_step: 0.01, max_step: 1.0 };
        assert_eq!(shrinking.check().map_err(|error| error.name), Err("increase"));
        assert_eq!(RPROP.check(), Ok(()));
        assert_eq!(ADAM.check(), Ok(()));
    }
}
