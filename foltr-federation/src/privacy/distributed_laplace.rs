//! Each client adds a difference of two gamma variates, so that the noise of all clients together is Laplace.
//!
//! `WLZZ21` Wang, Liu, Zhuang, Zuccon: *Effective and Privacy-preserving Federated Online Learning to Rank*, ICTIR
//! 2021, Algorithm 3; spec section 9. With C clients: Gamma(1/C, Delta/epsilon) - Gamma(1/C, Delta/epsilon) a coordinate.
//!
//! Floating-point noise is for simulation. Deviation: the released code clips to norm Delta where the paper says
//! Delta/2; both are offered by name.

use foltr_rank::Update;
use rand::RngExt;
use rand_distr::{Distribution, Exp1, Gamma, Open01};
use serde::{Deserialize, Serialize};

use crate::accountant::PrivacyCost;
use crate::message::{Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::parameters::given_or_calibrated;
use crate::privacy::{
    Adjacency, Budget, Circumstances, Claim, ClosingSum, Explanation, LocalPrivacy, MechanismContext, MechanismError,
    MechanismParameters, Noise, NoiseShares, RoundCost, Unit,
};
use foltr_rank::parameter::{ParameterError, positive};

/// What distributed Laplace noise needs to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LaplaceParameters {
    /// Delta: the noise in the sum has scale sensitivity / epsilon, and models are clipped to it or to its half.
    pub sensitivity: f64,
    /// The paper's label, which is not what holds. Give this, or `whole_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// To which norm local models are clipped.
    pub clip: ClipRadius,
    /// The guarantee over the whole run, against whoever sees sums only, to which the label is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_run: Option<Budget>,
}

impl MechanismParameters for LaplaceParameters {
    type Mechanism = DistributedLaplace;

    const DEPENDS_ON_MODEL: bool = true;

    fn mechanism(&self, context: &MechanismContext) -> Result<DistributedLaplace, MechanismError> {
        let Self { sensitivity, clip, .. } = *self;
        positive("sensitivity", sensitivity)?;
        if self.whole_run.is_some() && !context.circumstances.is_complete() {
            return Err(MechanismError::new("whole_run", format!("cannot be promised: {INCOMPLETE}")));
        }
        let cost = |epsilon| DistributedLaplace { sensitivity, epsilon, clip }.cost(&context.circumstances).unseen.1;
        let calibrate = |budget: Budget| budget.largest(context.n_rounds, cost);
        let epsilon = given_or_calibrated("epsilon", self.epsilon, self.whole_run, calibrate)?;
        Ok(DistributedLaplace::new(sensitivity, epsilon, clip)?)
    }

    fn whole_run(&self) -> Option<Budget> {
        self.whole_run
    }

    fn claim(&self, mechanism: &DistributedLaplace) -> Option<Claim> {
        let of_paper = Claim::of_paper(Unit::Message, mechanism.claimed_epsilon());
        Some(self.whole_run.map_or(of_paper, Claim::of_file))
    }
}

/// Clipping at every local step, and gamma noise on the message. Its stream is
/// [`Purpose::Noise`](foltr_rank::rng::Purpose::Noise).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributedLaplace {
    sensitivity: f64,
    epsilon: f64,
    clip: ClipRadius,
}

/// To which norm the learner clips its local model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClipRadius {
    /// Delta/2.
    Paper,
    /// Delta.
    ReleasedCode,
}

/// Why nothing is proven about the noise of an incomplete round.
const INCOMPLETE: &str = "messages are lost or clients absent, and their shares of the noise with them";

/// ln of a factor so small that, times any gamma variate and any reasonable scale, it changes no f32: e^-200 = 1e-87.
const VANISHING_LN: f64 = -200.0;

impl DistributedLaplace {
    /// Noise of scale `sensitivity / epsilon` in the sum over all clients.
    pub fn new(sensitivity: f64, epsilon: f64, clip: ClipRadius) -> Result<Self, ParameterError> {
        positive("sensitivity", sensitivity)?;
        positive("epsilon", epsilon)?;
        Ok(Self { sensitivity, epsilon, clip })
    }

    /// lambda = Delta/epsilon, the scale of the noise in the sum of all messages.
    pub fn laplace_scale(&self) -> f64 {
        self.sensitivity / self.epsilon
    }

    pub const fn claimed_epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The norm to which local models are clipped; two of them differ by at most twice this.
    pub const fn radius(&self) -> f64 {
        match self.clip {
            ClipRadius::Paper => self.sensitivity / 2.0,
            ClipRadius::ReleasedCode => self.sensitivity,
        }
    }

    fn cost_of_complete_round(&self, n_params: usize) -> PrivacyCost {
        PrivacyCost::Laplace { scale: self.laplace_scale(), shift: 2.0 * self.radius(), n_params }
    }
}

/// Gamma(1/n) - Gamma(1/n), of scale 1.
struct GammaDifference {
    above: Gamma<f64>,
    n_clients: f64,
}

impl GammaDifference {
    fn new(n_clients: u32) -> Self {
        let n_clients = f64::from(n_clients.max(1));
        let above = Gamma::new(1.0 / n_clients + 1.0, 1.0).expect("a shape of 1 to 2 is positive");
        Self { above, n_clients }
    }

    fn sample(&self, noise: &mut dyn NoiseSource) -> f64 {
        self.one(noise) - self.one(noise)
    }

    /// ln G = ln Gamma(a + 1) + ln(U)/a with a = 1/n: no shape is too small (spec section 9).
    fn one(&self, noise: &mut dyn NoiseSource) -> f64 {
        let uniform: f64 = noise.sample(Open01);
        let ln_factor = uniform.ln() * self.n_clients;
        if ln_factor < VANISHING_LN { 0.0 } else { self.above.sample(noise) * ln_factor.exp() }
    }
}

impl LocalPrivacy for DistributedLaplace {
    fn protect(&self, update: Update<'_>, task: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Step { delta, n_interactions } = update else {
            panic!("distributed Laplace noise is defined for a step, not for outcomes")
        };
        let (share, scale) = (GammaDifference::new(task.n_clients), self.laplace_scale());
        let noisy = delta.iter().map(|&value| (f64::from(value) + scale * share.sample(noise)) as f32);
        payload.as_step(n_interactions).extend(noisy);
    }

    fn protect_without_share(&self, update: Update<'_>, _: &RoundTask, _: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Step { delta, n_interactions } = update else {
            panic!("distributed Laplace noise is defined for a step, not for outcomes")
        };
        payload.as_step(n_interactions).extend_from_slice(delta);
    }

    /// Adds Laplace(lambda)/C to each coordinate of an average of C messages: the law of the averaged shares when all
    /// weights are equal and nobody is missing, at a price that does not depend on C.
    fn finish(&self, sum: &ClosingSum, noise: &mut dyn NoiseSource, step: &mut [f64]) -> Option<f32> {
        if sum.shares == NoiseShares::DrawnAtClosing {
            let scale = self.laplace_scale() / f64::from(sum.n_contributions);
            for value in step {
                // The difference of two exponential variates is a Laplace variate.
                let (plus, minus): (f64, f64) = (Exp1.sample(noise), Exp1.sample(noise));
                *value += scale * (plus - minus);
            }
        }
        sum.clip_norm
    }

    fn clip_radius(&self) -> Option<f32> {
        Some(self.radius() as f32)
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        let complete = self.cost_of_complete_round(circumstances.n_params);
        if circumstances.is_complete() {
            return RoundCost::new(Adjacency::OtherClicks, complete);
        }
        RoundCost { flaw: Some(INCOMPLETE), ..RoundCost::new(Adjacency::OtherClicks, complete.without_some_shares()) }
    }

    fn noise(&self, _: usize) -> Noise {
        Noise::Sum { law: "Laplace", deviation: 2.0_f64.sqrt() * self.laplace_scale() }
    }

    fn explain(&self, circumstances: &Circumstances) -> Explanation {
        let mut remarks = vec![
            "Against the server that sees single messages: none. A message has one small share of the noise.".into(),
        ];
        let n_params = circumstances.n_params;
        remarks.push(format!(
            "A round costs {:.1} times what the paper says: the clip bounds the l2 norm of {n_params} coordinates, the \
             noise would have to hide the l1 norm.",
            self.cost_of_complete_round(n_params).epsilon() / self.epsilon
        ));
        remarks.push("Not comparable with FOLtR-ES's epsilon, which is for one interaction and needs no trust.".into());
        Explanation {
            summary: "FPDGD: models are clipped; the noise of all clients together is Laplace".into(),
            assumptions: [
                "Nobody sees a single message: the server is trusted, or a secure sum hides them (here it is neither).",
                "All shares of the noise arrive: what is left of a Laplace law without some of them is not known.",
                "All clients count the same: weighting by a client-reported count makes the sensitivity unbounded.",
                "No client passes its share of the noise on.",
            ]
            .map(str::to_owned)
            .into(),
            remarks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use crate::privacy::sent;
    use foltr_rank::rng::Purpose;

    const N: usize = 100_000;
    /// Kolmogorov: exceeded by chance once in 10^6 samples of size `N`.
    const KS_LIMIT: f64 = 2.69 / 316.0;

    fn mechanism() -> DistributedLaplace {
        DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive")
    }

    /// Greatest distance between the sample's distribution function and that of Laplace(scale).
    fn ks_distance(mut sample: Vec<f64>, scale: f64) -> f64 {
        sample.sort_unstable_by(f64::total_cmp);
        let n = sample.len() as f64;
        let law = |x: f64| if x < 0.0 { (x / scale).exp() / 2.0 } else { 1.0 - (-x / scale).exp() / 2.0 };
        let gaps = sample.iter().enumerate().map(|(rank, &x)| (law(x) - (rank as f64 + 0.5) / n).abs());
        gaps.fold(0.0, f64::max) + 0.5 / n
    }

    #[test]
    fn messages_of_all_clients_sum_to_laplace_noise() {
        for n_clients in [1, 10, 100] {
            let (mut sums, zero) = (vec![0.0; N], vec![0.0; N]);
            for client in 0..n_clients {
                let mut stream = seeded(9, Purpose::Noise, client, 0);
                let update = Update::Step { delta: &zero, n_interactions: 4 };
                let Payload::Step { delta, .. } = sent(&mechanism(), update, n_clients, &mut stream) else {
                    panic!("a step stays a step")
                };
                sums.iter_mut().zip(delta).for_each(|(sum, noise)| *sum += f64::from(noise));
            }
            let distance = ks_distance(sums, 5.0 / 4.5);
            assert!(distance < KS_LIMIT, "{n_clients} clients: {distance}");
        }
    }

    #[test]
    fn the_fast_path_has_the_law_of_the_average_and_a_wrong_scale_is_seen() {
        for n_clients in [1, 1000] {
            let (mut sample, scale) = (vec![0.0; N], 5.0 / 4.5 / f64::from(n_clients));
            let (divisor, shares) = (f64::from(n_clients), NoiseShares::DrawnAtClosing);
            let sum = ClosingSum { n_contributions: n_clients, n_within: 0, clip_norm: None, divisor, shares };
            mechanism().finish(&sum, &mut seeded(9, Purpose::Noise, 0, 0), &mut sample);
            assert!(ks_distance(sample.clone(), scale) < KS_LIMIT);
            assert!(ks_distance(sample, scale * 1.05) > KS_LIMIT);
        }
    }

    #[test]
    fn noise_of_a_large_cohort_is_mostly_zero_and_has_the_right_variance() {
        // Variance of one message: 2 lambda^2 / C; for scale 1 and C = 1000 that is .002.
        let (noise, mut stream) = (GammaDifference::new(1000), seeded(9, Purpose::Noise, 0, 0));
        let n = 4_000_000;
        let sample: Vec<f64> = (0..n).map(|_| noise.sample(&mut stream)).collect();
        let square = sample.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        // The fourth moment of Gamma(a) - Gamma(a) is 12 a + 12 a^2 = .012: a standard error of 5.5e-5.
        assert!((square - 0.002).abs() < 5.0 * 5.5e-5, "{square}");
        // Both factors vanish where ln U < -200/1000 twice: e^-.4 = .6703.
        let zeros = sample.iter().filter(|&&x| x == 0.0).count() as f64 / f64::from(n);
        assert!((zeros - 0.6703).abs() < 0.002, "{zeros}");
    }
}
