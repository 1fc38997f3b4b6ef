//! What a device sends instead of its newest update: a running mean of its updates, which is far less noisy.
//!
//! `KHJ21` Karimireddy, He, Jaggi: *Learning from History for Byzantine Robust Optimization*, ICML 2021, Eq. 2: m =
//! (1 - beta) g + beta m. An attacker can hide in the noise of honest updates; momentum takes the noise away.
//!
//! The length can grow: beta = 1 - 1 / (1 + share t) after t updates remembers about the last `share` of them (ours).
//! Early on the model has far to go, and a long memory would lose time; late updates are all noise around a model that
//! hardly moves, where attackers have the most room and a long memory costs nothing. It is never shorter than `least`,
//! since attackers who win the first rounds under noisy clicks win for long.
//!
//! Or the length can follow from what a device measures. If its updates are a signal mu and independent noise of variance
//! sigma^2, the noise in m has the variance sigma^2 (1 - beta) / (1 + beta). For it to be at most `target` times |mu|^2,
//!
//! beta = (k - 1) / (k + 1) with k = sigma^2 / (target |mu|^2).
//!
//! Both come from two running means with the longest memory `most`: A of the updates and Q of their squared lengths.
//! The mean of Q is |mu|^2 + sigma^2, that of |A|^2 is |mu|^2 + v sigma^2, v the sum of the squared weights in A.
//! Where no signal is seen, beta is `most`. Everything is measured on the device: attackers cannot change an honest
//! device's beta.
//!
//! Deviation: a measured momentum begins as the plain mean of all updates so far (beta is at most 1 - 1/t in round t)
//! instead of at 0. A signal that turns within the memory of A counts as noise, which makes the momentum longer.

use serde::{Deserialize, Serialize};

use foltr_rank::parameter::{ParameterError, positive, require};

/// How long a device remembers.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum WorkerMomentum {
    /// beta is given.
    Fixed {
        /// How much of the running mean stays in a round.
        beta: f64,
    },
    /// beta grows: the memory is a share of the updates so far.
    Growing {
        /// How much of the past is remembered.
        share: f64,
        /// beta is never below.
        #[serde(default = "default_least_growing")]
        least: f64,
        /// beta is never above.
        #[serde(default = "default_most_growing")]
        most: f64,
    },
    /// beta is set from the measured signal-to-noise of the device's updates.
    Measured {
        /// Noise in what is sent, as a share of the signal: squared lengths.
        target: f64,
        /// beta is never below; 0 when absent.
        #[serde(default)]
        least: f64,
        /// beta is never above; also the memory of what is measured.
        #[serde(default = "default_most")]
        most: f64,
    },
}

/// The first updates must not carry the model away: a hundred rounds make attackers visible where clicks are noisiest.
const fn default_least_growing() -> f64 {
    0.99
}

/// A memory of about a thousand rounds.
const fn default_most_growing() -> f64 {
    0.999
}

/// A memory of about a hundred rounds: longer ones follow a learning model too slowly.
const fn default_most() -> f64 {
    0.99
}

/// Numbers of a measuring device beside m and A: Q, the weight of all updates in A and Q, and their number.
const N_MEASURED: usize = 3;

impl WorkerMomentum {
    pub fn check(&self) -> Result<(), ParameterError> {
        let below_1 = |name, value: f64| require(name, value, (0.0..1.0).contains(&value), "at least 0 and below 1");
        let limits = |least: f64, most: f64| {
            below_1("least", least)?;
            below_1("most", most)?;
            require("least", least, least <= most, "at most `most`")
        };
        match *self {
            Self::Fixed { beta } => below_1("beta", beta),
            Self::Growing { share, least, most } => {
                require("share", share, share > 0.0 && share <= 1.0, "above 0 and at most 1")?;
                limits(least, most)
            }
            Self::Measured { target, least, most } => positive("target", target).and(limits(least, most)),
        }
    }

    pub const fn state_len(&self, n_params: usize) -> usize {
        match self {
            Self::Fixed { .. } => n_params,
            Self::Growing { .. } => n_params + 1,
            Self::Measured { .. } => 2 * n_params + N_MEASURED,
        }
    }

    /// Takes the newest update into the device's state, which begins as zeros, and puts what is sent in its place.
    pub fn replace(&self, state: &mut [f32], update: &mut [f32]) {
        match *self {
            Self::Fixed { beta } => remember(state, update, beta),
            Self::Growing { share, least, most } => {
                let (momentum, n_updates) = state.split_at_mut(update.len());
                let beta = 1.0 - 1.0 / (1.0 + share * f64::from(n_updates[0]));
                remember(momentum, update, beta.clamp(least, most));
                n_updates[0] += 1.0;
            }
            Self::Measured { target, least, most } => {
                let (momentum, measured) = state.split_at_mut(update.len());
                let beta = Measurement::take(measured, update, most).beta(target).clamp(least, most);
                let n_updates = &mut measured[update.len() + 2];
                *n_updates += 1.0;
                remember(momentum, update, beta.min(1.0 - 1.0 / f64::from(*n_updates)));
            }
        }
        update.copy_from_slice(&state[..update.len()]);
    }
}

/// Takes an update into a running mean of which `beta` stays.
fn remember(mean: &mut [f32], update: &[f32], beta: f64) {
    for (mean, &value) in mean.iter_mut().zip(update) {
        *mean = (f64::from(*mean) * beta + f64::from(value) * (1.0 - beta)) as f32;
    }
}

#[derive(Clone, Copy, Debug)]
struct Measurement {
    /// |mu|^2; may be negative by chance.
    signal: f64,
    noise: f64,
}

impl Measurement {
    /// Takes an update into A, Q and their weight, and solves the two equations for signal and noise.
    fn take(measured: &mut [f32], update: &[f32], memory: f64) -> Self {
        let (mean, rest) = measured.split_at_mut(update.len());
        let squared_length = |values: &[f32]| values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>();
        remember(mean, update, memory);
        remember(&mut rest[..2], &[squared_length(update) as f32, 1.0], memory);
        // All began at 0: the weights of t updates add up to 1 - memory^t.
        let weight = f64::from(rest[1]);
        let (squares, all) = (squared_length(mean) / (weight * weight), f64::from(rest[0]) / weight);
        let v = (1.0 - memory) / (1.0 + memory) * (2.0 - weight) / weight;
        let noise = (all - squares) / (1.0 - v);
        Self { signal: all - noise, noise }
    }

    /// The memory for which noise is the target's share of the signal; 1 where no signal is seen.
    fn beta(self, target: f64) -> f64 {
        // The first update says nothing: noise is not a number then.
        if self.signal > 0.0 {
            let k = self.noise / (target * self.signal);
            (k - 1.0) / (k + 1.0)
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::normal::fill_standard_normal;
    use foltr_rank::rng::{Purpose, Streams};

    const N_PARAMS: usize = 46;

    /// What a device sends of these updates, one after the other.
    fn sent(momentum: WorkerMomentum, updates: &[f32]) -> Vec<f32> {
        momentum.check().expect("sound parameters");
        let mut state = vec![0.0; momentum.state_len(1)];
        let replace = |&update: &f32| {
            let mut update = [update];
            momentum.replace(&mut state, &mut update);
            update[0]
        };
        updates.iter().map(replace).collect()
    }

    #[test]
    fn momenta_by_hand() {
        assert_eq!(sent(WorkerMomentum::Fixed { beta: 0.75 }, &[4.0, 0.0, -8.0]), [1.0, 0.75, -1.4375]);
        // 1 - 1 / (1 + t / 2) for t = 0, 1, 2, 3, within .2 to .6: .2, 1/3, 1/2, .6.
        let growing = sent(WorkerMomentum::Growing { share: 0.5, least: 0.2, most: 0.6 }, &[5.0, 0.0, 0.0, 0.0]);
        for (got, want) in growing.iter().zip([4.0, 4.0 / 3.0, 2.0 / 3.0, 0.4]) {
            assert!((got - want).abs() < 1e-6, "{growing:?}");
        }
    }

    /// Squared errors of what is sent when updates are (signal, 0, ..., 0) and noise, by round, and the last beta.
    fn simulate(momentum: WorkerMomentum, signal: f32, noise: f64, n_rounds: u32) -> (Vec<f64>, f64) {
        let WorkerMomentum::Measured { target, least, most } = momentum else { panic!("measured") };
        momentum.check().expect("sound parameters");
        let mut state = vec![0.0; momentum.state_len(N_PARAMS)];
        let (mut errors, mut beta) = (Vec::new(), 0.0);
        for round in 0..n_rounds {
            let mut update = [0.0; N_PARAMS];
            fill_standard_normal(&mut Streams::new(3).open(Purpose::Noise, 0, round), &mut update);
            update.iter_mut().for_each(|value| *value *= (noise / N_PARAMS as f64).sqrt() as f32);
            update[0] += signal;
            beta = Measurement::take(&mut state.clone()[N_PARAMS..], &update, most).beta(target).clamp(least, most);
            momentum.replace(&mut state, &mut update);
            update[0] -= signal;
            errors.push(update.iter().map(|&value| f64::from(value).powi(2)).sum());
        }
        (errors, beta)
    }

    #[test]
    fn the_measured_length_is_near_the_closed_form() {
        // |mu|^2 = 4. The estimate of it has a deviation of about 2 sqrt(v sigma^2 / (46 * 4)): below 5 %.
        for (noise, target) in [(20.0, 0.5), (20.0, 0.1), (80.0, 1.0), (4.0, 0.02)] {
            let momentum = WorkerMomentum::Measured { target, least: 0.0, most: 0.998 };
            let (errors, beta) = simulate(momentum, 2.0, noise, 4000);
            let k: f64 = noise / (target * 4.0);
            let want = (k - 1.0) / (k + 1.0);
            assert!(((1.0 - beta) / (1.0 - want) - 1.0).abs() < 0.25, "noise {noise}: {beta} is not near {want}");
            // What it is for: the noise in what is sent, here over 2000 rounds.
            let sent = errors[2000..].iter().sum::<f64>() / 2000.0;
            assert!(
                (sent / (target * 4.0) - 1.0).abs() < 0.25,
                "noise {noise}: {sent} is sent for a target of {target}"
            );
        }
    }

    #[test]
    fn without_noise_nothing_is_remembered_and_without_signal_everything() {
        let momentum = WorkerMomentum::Measured { target: 0.1, least: 0.3, most: 0.95 };
        assert_eq!(simulate(momentum, 2.0, 0.0, 100).1, 0.3);
        let (errors, _) = simulate(momentum, 0.0, 5.0, 4000);
        let noise = errors[1000..].iter().sum::<f64>() / 3000.0;
        // sigma^2 (1 - .95) / (1 + .95), or a little more where chance looks like a signal.
        assert!((0.9..1.5).contains(&(noise / (5.0 * 0.05 / 1.95))), "{noise}");
        // The first update is sent as it is, then the mean of all while that is the shorter memory.
        assert_eq!(sent(momentum, &[4.0, -4.0, 3.0]), [4.0, 0.0, 1.0]);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |momentum: WorkerMomentum| momentum.check().expect_err("out of range").name;
        assert_eq!(refused(WorkerMomentum::Fixed { beta: 1.0 }), "beta");
        assert_eq!(refused(WorkerMomentum::Measured { target: 0.0, least: 0.0, most: 0.9 }), "target");
        assert_eq!(refused(WorkerMomentum::Measured { target: 1.0, least: -0.1, most: 0.9 }), "least");
        assert_eq!(refused(WorkerMomentum::Measured { target: 1.0, least: 0.5, most: f64::NAN }), "most");
        assert_eq!(refused(WorkerMomentum::Measured { target: 1.0, least: 0.95, most: 0.9 }), "least");
    }
}
