//! Back to a checkpoint at which the leavers' influence is small, noise that hides it, and on without them.
//!
//! `FVSVKL24` Fraboni, Van Waerebeke, Scaman, Vidal, Kameni, Lorenzi: *SIFU: Sequential Informed Federated Unlearning
//! for Efficient and Provable Client Unlearning in Federated Optimization*, AISTATS 2024: roll back to the last model
//! whose sensitivity is within a budget, add Gaussian noise, continue.
//!
//! **Worst case.** How far can the model before round t be from what it would be without the leavers? Let r be the
//! first round to which one of them contributed, n the clients of that round, k the leavers among them, C the norm to
//! which the server clips updates (each weighs 1/n), and eta the rate with which it applies their mean. Everybody else
//! draws the same random numbers in both worlds.
//!
//! * Until round r both worlds are the same.
//! * In round r the others start from the same model and send the same. With and without the leavers' updates the mean
//!   differs by (k/n) (mean of the leavers - mean of the others): at most 2 C k/n, so the models by 2 eta C k/n. (If
//!   nobody else is there the other world does not move: at most eta C.)
//! * In a later round each world moves by at most eta C, in whatever direction: the distance grows by at most 2 eta C.
//!
//! Delta_t = 2 eta C k/n + 2 eta C (t - r - 1) for t > r, else 0. Nothing is assumed of clients or of learning. With
//! noise of deviation sigma = Delta_t / mu in every coordinate, mu by the exact Gaussian law of `BW18`, the two models
//! are (epsilon, delta)-indistinguishable; what is trained on from there is made of the noisy model and of others' data
//! alone.
//!
//! **Smooth.** If one round of clients were a map with Lipschitz constant L, the distance would grow by Delta_{t+1} = L
//! Delta_t + 2 eta C k/n only (their Theorem 2 with a bound in place of measured norms). PDGD's lists and clicks are
//! drawn, so nothing shows that it is one: this is labelled heuristic.
//!
//! Deviations: no smoothness in the worst case; the noise that is acceptable is given, and the checkpoint follows.

use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::accountant::{ABOVE, gaussian};
use crate::aggregate::{Aggregation, NormClipping, Radius};
use crate::defence::Defence;
use crate::history::History;
use crate::privacy::gaussian::add_normal;
use crate::unlearn::{Assurance, Need, UnlearnError, UnlearningMethod};
use crate::writer::Writer;
use foltr_rank::parameter::{ParameterError, positive, require};

/// What is to be certified, and at the price of which noise.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoisyRollback {
    /// The norm to which the server clipped every update of the run.
    pub clip_norm: f64,
    /// How much more likely an event may be.
    pub epsilon: f64,
    /// And how much beyond that.
    pub delta: f64,
    /// The largest deviation of the noise in a coordinate. With 0 nothing is left of the leavers but rounds before
    /// theirs.
    pub max_noise: f64,
    /// How far the leavers can have moved the model.
    #[serde(default)]
    pub sensitivity: Sensitivity,
}

impl UnlearningMethod for NoisyRollback {
    fn check(&self) -> Result<(), ParameterError> {
        positive("clip_norm", self.clip_norm)?;
        positive("epsilon", self.epsilon)?;
        require("delta", self.delta, self.delta > 0.0 && self.delta < 1.0, "above 0 and below 1")?;
        require("max_noise", self.max_noise, self.max_noise >= 0.0, "at least 0 and finite")?;
        match self.sensitivity {
            Sensitivity::WorstCase => Ok(()),
            Sensitivity::Smooth { lipschitz } => positive("lipschitz", lipschitz),
        }
    }

    fn guarantee(&self) -> Assurance {
        match self.sensitivity {
            Sensitivity::WorstCase => Assurance::Certified { epsilon: self.epsilon, delta: self.delta },
            Sensitivity::Smooth { .. } => {
                Assurance::heuristic("the noise rests on a Lipschitz constant that nobody has proven")
            }
        }
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::Checkpoints { every: None }]
    }

    fn write_parameters(&self, out: &mut Writer) {
        out.f64s(&[self.clip_norm, self.epsilon, self.delta, self.max_noise]);
        match self.sensitivity {
            Sensitivity::WorstCase => out.u8(0),
            Sensitivity::Smooth { lipschitz } => out.u8(1).f64(lipschitz),
        };
    }
}

/// How influence grows from round to round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sensitivity {
    /// As fast as clipping allows.
    #[default]
    WorstCase,
    /// As if one round were a map with this Lipschitz constant.
    Smooth {
        /// Of the map from the model before a round to the model after it.
        lipschitz: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RollbackPlan {
    /// The round before which the model is taken.
    pub round: u32,
    /// How far it can be from a model without the leavers.
    pub sensitivity: f64,
    /// Deviation of the noise in every coordinate.
    pub deviation: f64,
}

const NAME: &str = "noisy-rollback";

impl NoisyRollback {
    /// How far the model can be from one without the leavers, so many rounds after the beginning of their first one, to
    /// which `n_leavers` of `n_peers` clients contributed. `rate` is the server's.
    pub fn bound(&self, rate: f64, n_leavers: u32, n_peers: u32, n_rounds: u32) -> f64 {
        let Some(later) = n_rounds.checked_sub(1) else { return 0.0 };
        let share = (f64::from(n_leavers) / f64::from(n_peers.max(1))).min(1.0);
        let first = 2.0 * rate * self.clip_norm * share;
        let worst = first + 2.0 * rate * self.clip_norm * f64::from(later);
        let bound = match self.sensitivity {
            Sensitivity::WorstCase => worst,
            Sensitivity::Smooth { lipschitz } => (first * geometric_sum(lipschitz, n_rounds)).min(worst),
        };
        bound * ABOVE
    }

    /// Whether a defence clips every update to the norm that the bound rests on.
    pub fn is_clipped_by(&self, defence: &Defence) -> bool {
        let is_clipped = match defence.rule {
            Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(radius) }) => radius <= self.clip_norm,
            _ => false,
        };
        is_clipped && defence.mixing.is_none()
    }

    /// The deviation of noise that hides such a distance.
    pub fn deviation(&self, sensitivity: f64) -> f64 {
        if sensitivity == 0.0 { 0.0 } else { sensitivity / gaussian::mu_for(self.epsilon, self.delta) }
    }

    /// The last checkpoint at which the noise is acceptable; the beginning of the run, if there is no other.
    pub fn plan(&self, history: &History, leavers: &[u32]) -> Result<RollbackPlan, UnlearnError> {
        let premise = |on| UnlearnError::Premise { method: NAME, on };
        let plain = premise("a server that only multiplies steps by a rate");
        let rate = history.header().optimiser.plain_rate().ok_or(plain)?;
        if history.erasures().any(|erasure| !erasure.is_proven) {
            return Err(premise("checkpoints of training: earlier leavers were forgotten by a heuristic"));
        }
        let firsts = || leavers.iter().filter_map(|&client| history.contribution(client));
        // Leavers that never contributed have changed nothing.
        let start = RollbackPlan { round: history.n_rounds(), sensitivity: 0.0, deviation: 0.0 };
        let Some(first) = firsts().map(|it| it.first).min() else { return Ok(start) };
        let n_leavers = firsts().filter(|it| it.first == first).count() as u32;
        let n_peers = firsts().find(|it| it.first == first).map_or(1, |it| it.n_peers);
        let plan = |round: u32| {
            let sensitivity = self.bound(rate, n_leavers, n_peers, round.saturating_sub(first));
            RollbackPlan { round, sensitivity, deviation: self.deviation(sensitivity) }
        };
        let plans = history.checkpoints().map(|checkpoint| plan(checkpoint.round));
        let best = plans.filter(|plan| plan.deviation <= self.max_noise).max_by_key(|plan| plan.round);
        Ok(best.unwrap_or(RollbackPlan { round: 0, sensitivity: 0.0, deviation: 0.0 }))
    }

    pub fn blur(&self, plan: &RollbackPlan, stream: &mut Stream, master: &mut [f64]) {
        if plan.deviation > 0.0 {
            add_normal(plan.deviation, stream, master);
        }
    }
}

/// 1 + L + L^2 + ... with n terms.
fn geometric_sum(lipschitz: f64, n: u32) -> f64 {
    if (lipschitz - 1.0).abs() < 1e-12 {
        return f64::from(n);
    }
    (lipschitz.powf(f64::from(n)) - 1.0) / (lipschitz - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};

    const WORST: NoisyRollback = NoisyRollback {
        clip_norm: 0.5,
        epsilon: 2.0,
        delta: 1e-6,
        max_noise: 1.0,
        sensitivity: Sensitivity::WorstCase,
    };

    #[test]
    fn bounds_by_hand() {
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-8, "{got} is not {want}");
        // 2 * 1 * .5 / 10, then 1 more a round.
        [0.0, 0.1, 1.1, 2.1].into_iter().zip(0..).for_each(|(want, n)| near(WORST.bound(1.0, 1, 10, n), want));
        near(WORST.bound(0.5, 3, 10, 2), 0.65);
        let smooth = |lipschitz| NoisyRollback { sensitivity: Sensitivity::Smooth { lipschitz }, ..WORST };
        near(smooth(1.0).bound(1.0, 1, 10, 5), 0.5);
        near(smooth(2.0).bound(1.0, 1, 10, 3), 0.7);
        // Never above the worst case.
        near(smooth(9.0).bound(1.0, 1, 10, 9), 8.1);
    }

    #[test]
    fn no_two_runs_of_clipped_steps_are_farther_apart() {
        // Three clients in one dimension, the leaver and a world that flees from it as fast as clipping allows.
        let (rate, clip) = (0.7, 0.5);
        let (mut with, mut without) = (0.0, 0.0);
        for round in 0..20 {
            let sign = if round == 0 { [1.0, -1.0, -1.0] } else { [1.0, 1.0, 1.0] };
            with += rate * clip * sign.iter().sum::<f64>() / 3.0;
            without -= rate * clip;
            let bound = WORST.bound(rate, 1, 3, round + 1);
            assert!((with - without).abs() <= bound, "round {round}: {} above {bound}", with - without);
            // The bound is met.
            assert!((with - without).abs() >= bound * (1.0 - 1e-6));
        }
    }

    #[test]
    fn noise_is_that_of_the_exact_gaussian() {
        // 2.23 is the known noise multiplier of (2, 1e-6).
        assert!((WORST.deviation(1.0) - 2.23).abs() < 0.005, "{}", WORST.deviation(1.0));
        assert_eq!(WORST.deviation(0.0), 0.0);
        let plan = RollbackPlan { round: 1, sensitivity: 1.0, deviation: 3.0 };
        let mut noise = vec![0.0; 20_000];
        WORST.blur(&plan, &mut Streams::new(1).open(Purpose::Noise, 0, 0), &mut noise);
        let variance = noise.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        // Five standard errors of a variance: 5 sqrt(2 / n).
        assert!((variance / 9.0 - 1.0).abs() < 0.05, "{variance}");
    }
}
