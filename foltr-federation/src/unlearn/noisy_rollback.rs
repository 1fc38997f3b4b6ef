//! Back to a checkpoint at which the leavers' influence is small, noise that hides it, and on without them.
//!
//! `FVSVKL24` Fraboni, Van Waerebeke, Scaman, Vidal, Kameni, Lorenzi: *SIFU: Sequential Informed Federated Unlearning
//! for Efficient and Provable Client Unlearning in Federated Optimization*, AISTATS 2024: roll back to the last model
//! whose sensitivity is within a budget, add Gaussian noise, continue.
//!
//! **Worst case.** How far can the model before round t be from what it would be without the leavers? Let r be the
//! first round to which one of them contributed, C the norm to which the server clips updates, and eta the rate with
//! which it applies their mean. Everybody else draws the same random numbers in both worlds.
//!
//! * Until round r both worlds are the same.
//! * From then on each world moves by at most eta C a round, in whatever direction: the distance grows by at most 2 eta C.
//!
//! Delta_t = 2 eta C (t - r) for t > r, else 0. Nothing is assumed of clients or of learning. With noise of deviation
//! sigma = Delta_t / mu in every coordinate, mu by the exact Gaussian law of `BW18`, the two models are (epsilon,
//! delta)-indistinguishable; what is trained on from there is made of the noisy model and of others' data alone. Messages
//! that [stand in](crate::stand_ins) for lost ones are clipped like all others, a client has its part from the first round
//! into which it is drawn, and no message from before the noise stands in after it.
//!
//! **One request after the other.** The checkpoint and the noise of a request follow from the leavers' own first round,
//! from which rounds have a checkpoint (the policy, and the rounds of earlier requests), and from the parameters: from
//! nothing that another client sent, nor from how many took part. (In round r the others' number n would give the
//! smaller 2 eta C / n. But then the noise for A, who leaves first, has another scale in the world with B than in the
//! one without B, and when B leaves, that scale tells the worlds apart, however much noise B's own request adds.) So:
//!
//! * *The later leaver B.* Take the worlds with and without B, and A leaves first in both. Both return to the same round
//!   and add noise of the same deviation; drawn alike, it does not change their distance. Later rounds move each world by
//!   at most eta C as before. So Delta_t bounds the distance before every round t, through any number of returns, and
//!   B's own noise certifies (epsilon, delta) for B.
//! * *The earlier leaver A.* Take the worlds with and without A. After A's request both have a part before A's first
//!   round, in which they are the same, and a part from the noisy model on: checkpoints between are dropped. B's request
//!   returns to one of these parts, and does the same in both worlds. So it only processes what was certified for A.
//!
//! **Smooth.** If one round of clients were a map with Lipschitz constant L, the distance would grow by Delta_{t+1} = L
//! Delta_t + 2 eta C k/n only, for k leavers (their Theorem 2 with a bound in place of measured norms). PDGD's lists and
//! clicks are drawn, so nothing shows that it is one: this is labelled heuristic. n is a parameter, for the same reason.
//!
//! Deviations: no smoothness in the worst case; the noise that is acceptable is given, and the checkpoint follows.

use crate::noise::NoiseSource;
use serde::{Deserialize, Serialize};

use crate::accountant::{ABOVE, gaussian};
use crate::aggregate::{Aggregation, NormClipping, Radius};
use crate::defence::Defence;
use crate::history::bytes::Reader;
use crate::history::{History, HistoryError};
use crate::privacy::gaussian::add_normal;
use crate::unlearn::{Assurance, Need, Return, UnlearnError, UnlearningMethod};
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
            Sensitivity::Smooth { lipschitz, clients } => {
                positive("lipschitz", lipschitz)?;
                require("clients", clients.into(), clients > 0, "at least 1")
            }
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

    fn proven(&self, back: &Return) -> Assurance {
        if back.is_clean() {
            return Assurance::Exact;
        }
        let is_hidden = |first, to, rate| self.deviation(self.bound(rate, back.n_leavers, first, to)) <= self.max_noise;
        match (back.first, back.to, back.optimiser.plain_rate()) {
            (Some(first), Some(to), Some(rate)) if is_hidden(first, to, rate) && !back.is_after_heuristic => {
                self.guarantee()
            }
            _ => Assurance::heuristic("more of the leavers' rounds is left than the noise hides"),
        }
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::Checkpoints { every: None }]
    }

    fn most_replayed_rounds(&self, n_rounds: u32) -> u32 {
        n_rounds
    }

    fn write_parameters(&self, out: &mut Writer) {
        out.f64s(&[self.clip_norm, self.epsilon, self.delta, self.max_noise]);
        match self.sensitivity {
            Sensitivity::WorstCase => out.u8(0),
            Sensitivity::Smooth { lipschitz, clients } => out.u8(1).f64(lipschitz).u32(clients),
        };
    }

    fn read_parameters(input: &mut Reader<'_>) -> Result<Self, HistoryError> {
        let (clip_norm, epsilon, delta, max_noise) = (input.f64()?, input.f64()?, input.f64()?, input.f64()?);
        let sensitivity = if input.bool()? {
            Sensitivity::Smooth { lipschitz: input.f64()?, clients: input.u32()? }
        } else {
            Sensitivity::WorstCase
        };
        Ok(Self { clip_norm, epsilon, delta, max_noise, sensitivity })
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
        /// Clients of a round, as it was planned.
        clients: u32,
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
    /// How far the model before a round can be from one without the leavers, of whom `n_leavers` contributed, the first
    /// of them to round `first`. `rate` is the server's.
    pub fn bound(&self, rate: f64, n_leavers: u32, first: u32, round: u32) -> f64 {
        let n_rounds = round.saturating_sub(first);
        let of_round = 2.0 * rate * self.clip_norm;
        let worst = of_round * f64::from(n_rounds);
        let bound = match self.sensitivity {
            Sensitivity::WorstCase => worst,
            Sensitivity::Smooth { lipschitz, clients } => {
                let share = (f64::from(n_leavers) / f64::from(clients.max(1))).min(1.0);
                (of_round * share * geometric_sum(lipschitz, n_rounds)).min(worst)
            }
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
        if history.course().is_after_heuristic() {
            return Err(premise("checkpoints of training: earlier leavers were forgotten by a heuristic"));
        }
        // Leavers that never contributed have changed nothing.
        let start = RollbackPlan { round: history.n_rounds(), sensitivity: 0.0, deviation: 0.0 };
        let Some(first) = history.first_of(leavers) else { return Ok(start) };
        let plan = |round: u32| {
            let sensitivity = self.bound(rate, leavers.len() as u32, first, round);
            RollbackPlan { round, sensitivity, deviation: self.deviation(sensitivity) }
        };
        let plans = history.checkpoints().map(|checkpoint| plan(checkpoint.round));
        let best = plans.filter(|plan| plan.deviation <= self.max_noise).max_by_key(|plan| plan.round);
        Ok(best.unwrap_or(RollbackPlan { round: 0, sensitivity: 0.0, deviation: 0.0 }))
    }

    pub fn blur(&self, plan: &RollbackPlan, noise: &mut dyn NoiseSource, master: &mut [f64]) {
        if plan.deviation > 0.0 {
            add_normal(plan.deviation, noise, master);
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
    use crate::ServerOptimiser;
    use crate::noise::seeded::seeded;
    use foltr_rank::rng::Purpose;

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
        // 2 * 1 * .5 a round, from the first one on.
        [0.0, 0.0, 0.0, 1.0, 2.0].into_iter().zip(0..).for_each(|(want, t)| near(WORST.bound(1.0, 1, 2, t), want));
        near(WORST.bound(0.3, 3, 0, 2), 0.6);
        let smooth = |lipschitz| NoisyRollback { sensitivity: Sensitivity::Smooth { lipschitz, clients: 10 }, ..WORST };
        near(smooth(1.0).bound(1.0, 1, 4, 9), 0.5);
        near(smooth(2.0).bound(1.0, 1, 0, 3), 0.7);
        // Never above the worst case.
        near(smooth(9.0).bound(1.0, 1, 0, 9), 9.0);
    }

    #[test]
    fn no_two_runs_of_clipped_steps_are_farther_apart() {
        // The leaver in one dimension, and a world that flees from it as fast as clipping allows.
        let (rate, clip) = (0.7, 0.5);
        let (mut with, mut without) = (0.0_f64, 0.0);
        for round in 1..20 {
            with += rate * clip;
            without -= rate * clip;
            let bound = WORST.bound(rate, 1, 0, round);
            assert!(with - without <= bound, "round {round}: {} above {bound}", with - without);
            // The bound is met.
            assert!(with - without >= bound * (1.0 - 1e-6));
        }
    }

    #[test]
    fn a_return_proves_no_more_than_it_reached() {
        let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
        let back = Return { first: Some(5), to: Some(5), n_leavers: 1, optimiser, is_after_heuristic: false };
        let none = Return { first: None, to: None, ..back };
        let certified = Assurance::Certified { epsilon: 2.0, delta: 1e-6 };
        let noisy = NoisyRollback { max_noise: WORST.deviation(1.001), ..WORST };
        for (back, expected) in [
            (back, Some(Assurance::Exact)),
            (none, Some(Assurance::Exact)),
            (Return { to: Some(6), ..back }, Some(certified)),
            (Return { to: Some(7), ..back }, None),
            (Return { to: None, ..back }, None),
            (Return { is_after_heuristic: true, ..back }, None),
            (Return { is_after_heuristic: true, to: Some(0), ..back }, Some(Assurance::Exact)),
        ] {
            let proven = noisy.proven(&back);
            assert_eq!(expected.is_none(), !proven.is_proven(), "{back:?}: {proven}");
            expected.into_iter().for_each(|expected| assert_eq!(proven, expected, "{back:?}"));
        }
    }

    #[test]
    fn noise_is_that_of_the_exact_gaussian() {
        // 2.23 is the known noise multiplier of (2, 1e-6).
        assert!((WORST.deviation(1.0) - 2.23).abs() < 0.005, "{}", WORST.deviation(1.0));
        assert_eq!(WORST.deviation(0.0), 0.0);
        let plan = RollbackPlan { round: 1, sensitivity: 1.0, deviation: 3.0 };
        let mut noise = vec![0.0; 20_000];
        WORST.blur(&plan, &mut seeded(1, Purpose::Noise, 0, 0), &mut noise);
        let variance = noise.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        // Five standard errors of a variance: 5 sqrt(2 / n).
        assert!((variance / 9.0 - 1.0).abs() < 0.05, "{variance}");
    }
}
