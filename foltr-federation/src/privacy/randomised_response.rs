//! Randomised response on the outcome of every interaction: the truth with probability p, else another one.
//!
//! `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019, section 3.3,
//! Eq. 7; spec section 5. With n outcomes of values f_i and truth f_0:
//! E\[f_p\] = f_0 (pn - 1)/(n - 1) + (1 - p)/(n - 1) sum_i f_i.
//!
//! Deviation: another outcome is drawn by its index among the n - 1 others, instead of drawing values until one
//! differs. For click DCG all click vectors are equally likely replacements, instead of a random number of clicks.

use foltr_rank::Update;
use foltr_rank::learn::evolution::MAX_REPORTED;
use foltr_rank::learn::evolution::Reward;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::accountant::{PrivacyCost, response};
use crate::message::{Kind, Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::parameters::given_or_calibrated;
use crate::privacy::{
    Adjacency, Budget, Circumstances, Claim, Explanation, LocalPrivacy, MechanismContext, MechanismError,
    MechanismParameters, Mode, Noise, RoundCost, Unit, average, outcome_values,
};

/// What randomised response needs to know of a file; [`SampledResponse`](super::SampledResponse) as well.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(deny_unknown_fields)]
pub struct ResponseParameters {
    /// Of the truth. Give this, or `whole_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The guarantee over the whole run to which the probability is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_run: Option<Budget>,
}

impl ResponseParameters {
    /// The probability of the truth, where a message has so many answers.
    pub(super) fn probability(&self, context: &MechanismContext, n_answers: u32) -> Result<f64, MechanismError> {
        check_shown("probability", context.list_length)?;
        refuse_published(self.whole_run, context)?;
        let n_outcomes = context.reward.n_outcomes(context.list_length) as u32;
        let calibrate = |budget: Budget| budget.response_probability(context.n_rounds, n_answers, n_outcomes);
        given_or_calibrated("probability", self.probability, self.whole_run, calibrate)
    }
}

/// Why answers have no finite epsilon beside seeds from the same generator.
const PUBLISHED_STREAM: &str = "learner.stream = \"published\" draws clicks and the seed of the next message from one \
                                generator, so that a seed tells how many numbers the clicks took";

/// Refuses to promise anything where transmitted seeds give the clicks away.
pub(super) fn refuse_published(whole_run: Option<Budget>, context: &MechanismContext) -> Result<(), MechanismError> {
    if whole_run.is_some() && context.circumstances.published_stream {
        return Err(MechanismError::new("whole_run", format!("cannot be promised: {PUBLISHED_STREAM}")));
    }
    Ok(())
}

/// What answers cost, unless transmitted seeds give the clicks away.
pub(super) const fn cost_of_answers(circumstances: &Circumstances, cost: PrivacyCost) -> RoundCost {
    if circumstances.published_stream {
        RoundCost::nothing(Adjacency::OtherClicks, Some(PUBLISHED_STREAM))
    } else {
        RoundCost::new(Adjacency::OtherClicks, cost)
    }
}

impl MechanismParameters for ResponseParameters {
    type Mechanism = RandomisedResponse;

    const ADMITS_SINGLE_UPDATES: bool = true;

    fn mechanism(&self, context: &MechanismContext) -> Result<RandomisedResponse, MechanismError> {
        let probability = self.probability(context, context.circumstances.n_interactions)?;
        RandomisedResponse::new(probability, context.reward, context.list_length)
    }

    fn whole_run(&self) -> Option<Budget> {
        self.whole_run
    }

    fn claim(&self, mechanism: &RandomisedResponse) -> Option<Claim> {
        // With the truth only there is nothing to claim.
        let of_paper = mechanism.epsilon().is_finite().then(|| Claim::of_paper(Unit::Interaction, mechanism.epsilon()));
        self.whole_run.map(Claim::of_file).or(of_paper)
    }
}

/// Replaces each outcome with probability 1 - p before averaging. Its stream is
/// [`Purpose::RandomisedResponse`](foltr_rank::rng::Purpose::RandomisedResponse).
#[derive(Clone, Debug, PartialEq)]
pub struct RandomisedResponse {
    probability: f64,
    /// So that no logarithm is taken in the loop.
    values: Vec<f64>,
}

pub(super) fn check_shown(key: &'static str, n_shown: usize) -> Result<(), MechanismError> {
    let error = || MechanismError::new(key, format!("n_shown = {n_shown} must be 1 to {MAX_REPORTED}"));
    if (1..=MAX_REPORTED).contains(&n_shown) { Ok(()) } else { Err(error()) }
}

impl RandomisedResponse {
    /// Tells the truth with `probability`, about lists of at most `n_shown` documents.
    pub fn new(probability: f64, reward: Reward, n_shown: usize) -> Result<Self, MechanismError> {
        check_shown("probability", n_shown)?;
        let n_outcomes = reward.n_outcomes(n_shown);
        let least = 1.0 / n_outcomes as f64;
        if !(probability > least && probability <= 1.0) {
            let right = format!("above 1/{n_outcomes} = {least:.4}, where the answer says nothing, and at most 1");
            return Err(MechanismError::new("probability", format!("probability = {probability} must be {right}")));
        }
        // The draw has 53 bits: what it can tell apart is what is accounted for.
        let probability = (probability * 2_f64.powi(53)).floor() / 2_f64.powi(53);
        Ok(Self { probability, values: outcome_values(reward, n_shown) })
    }

    /// ln(p (n - 1)/(1 - p)): the price of one interaction (Eq. 10 of `KO19`).
    pub fn epsilon(&self) -> f64 {
        response::epsilon(self.probability, self.n_outcomes())
    }

    fn n_outcomes(&self) -> u32 {
        self.values.len() as u32
    }

    /// What so many answers cost.
    pub(super) fn cost_of(&self, n_answers: u32) -> PrivacyCost {
        PrivacyCost::Response { probability: self.probability, n_outcomes: self.n_outcomes(), n_answers }
    }

    pub(super) const fn truth(&self) -> f64 {
        self.probability
    }

    pub(super) fn mean_value(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    pub(super) fn answer(&self, truth: u16, noise: &mut dyn NoiseSource) -> f64 {
        let outcome = respond(usize::from(truth), self.probability, self.values.len(), noise);
        self.values[outcome]
    }
}

/// The truth with probability p, else one of the other n - 1 indices.
#[inline]
fn respond(truth: usize, p: f64, n: usize, noise: &mut dyn NoiseSource) -> usize {
    if noise.random::<f64>() < p {
        return truth;
    }
    let other = noise.random_range(0..n as u32 - 1) as usize;
    other + usize::from(other >= truth)
}

/// The law of the answer, given the law of the truth: q'_j = p q_j + (1 - p)(1 - q_j)/(n - 1) (spec section 5).
pub fn privatise_distribution(truth: &[f64], p: f64) -> Vec<f64> {
    let others = truth.len() as f64 - 1.0;
    truth.iter().map(|q| p * q + (1.0 - p) * (1.0 - q) / others).collect()
}

/// The largest epsilon by which an answer tells two of these truths apart: max over answers and pairs of truths of
/// ln(q'_a / q'_b) (Eq. 9 of `KO19`, over all values). Every truth is a law over the same outcomes.
pub fn privacy_loss(truths: &[Vec<f64>], p: f64) -> f64 {
    let answers: Vec<Vec<f64>> = truths.iter().map(|truth| privatise_distribution(truth, p)).collect();
    let loss = |outcome: usize| {
        let of_outcome = || answers.iter().map(|answer| answer[outcome]);
        (of_outcome().fold(0.0, f64::max) / of_outcome().fold(1.0, f64::min)).ln()
    };
    (0..truths.first().map_or(0, Vec::len)).map(loss).fold(0.0, f64::max)
}

/// The laws of users who certainly give one outcome: no users can be told apart better, so their loss is the bound
/// ln(p (n - 1)/(1 - p)) (Eq. 10 of `KO19`).
pub fn certain_outcomes(n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|truth| (0..n).map(|outcome| f64::from(u8::from(outcome == truth))).collect()).collect()
}

impl LocalPrivacy for RandomisedResponse {
    fn protect(&self, update: Update<'_>, _: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Evolution { seed, plus, minus } = update else {
            panic!("randomised response is defined for outcomes, not for a step")
        };
        let mut answers = |outcomes: &[u16]| average(outcomes.iter().map(|&truth| self.answer(truth, noise)));
        let plus = answers(plus);
        *payload = Payload::Evolution { seed, plus, minus: (!minus.is_empty()).then(|| answers(minus)) };
    }

    fn accepts(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Evolution | Kind::EvolutionAntithetic)
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        cost_of_answers(circumstances, self.cost_of(circumstances.n_interactions))
    }

    fn noise(&self, _: usize) -> Noise {
        Noise::Answer { truth: self.probability }
    }

    fn mode(&self) -> Mode {
        Mode::Local
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        Explanation {
            remarks: vec![
                "The paper's epsilon is that of one interaction; those of a message and of all rounds add up.".into(),
                "Not comparable with FPDGD's epsilon, which is printed for a round and needs a trusted sum.".into(),
            ],
            ..Explanation::local("FOLtR-ES: the outcome of every interaction is randomised on the device")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use foltr_rank::rng::Purpose;

    fn shares(truth: usize, p: f64, n: usize) -> Vec<f64> {
        const DRAWS: usize = 1_000_000;
        let mut stream = seeded(5, Purpose::RandomisedResponse, 0, 0);
        let mut shares = vec![0.0; n];
        for _ in 0..DRAWS {
            shares[respond(truth, p, n, &mut stream)] += 1.0 / DRAWS as f64;
        }
        shares
    }

    #[test]
    fn every_other_outcome_is_equally_likely() {
        // At one in n the answer does not depend on the truth.
        for (truth, p, n) in [(0, 0.9, 11), (4, 0.9, 11), (10, 0.9, 11), (0, 0.25, 4), (3, 0.25, 4)] {
            for (outcome, share) in shares(truth, p, n).iter().enumerate() {
                let want = if outcome == truth { p } else { (1.0 - p) / (n as f64 - 1.0) };
                // Five standard errors.
                assert!((share - want).abs() < 5.0 * (want * (1.0 - want) / 1e6).sqrt(), "{outcome}: {share}");
            }
        }
    }

    #[test]
    fn a_probability_at_which_an_answer_says_nothing_is_refused() {
        let refused = RandomisedResponse::new(0.25, Reward::MaxRr, 3);
        assert!(refused.expect_err("a quarter").message.contains("must be above 1/4 = 0.2500"));
        assert!(RandomisedResponse::new(0.25 + 1e-12, Reward::MaxRr, 3).is_ok());
        for probability in [f64::NAN, 1.0 + 1e-12, -1.0] {
            assert!(RandomisedResponse::new(probability, Reward::MaxRr, 3).is_err());
        }
    }

    #[test]
    fn an_answer_has_the_epsilon_of_the_paper() {
        for (probability, epsilon) in [(0.25, 1.2040), (0.5, 10.0_f64.ln()), (0.9, 4.4998), (1.0, f64::INFINITY)] {
            let response = RandomisedResponse::new(probability, Reward::MaxRr, 10).expect("above 1/11");
            assert!(response.epsilon() == epsilon || (response.epsilon() - epsilon).abs() < 5e-5, "{probability}");
        }
    }

    #[test]
    fn certainty_tells_the_truth() {
        let response = RandomisedResponse::new(1.0, Reward::ClickDcg, 10).expect("p = 1");
        let mut stream = seeded(5, Purpose::RandomisedResponse, 0, 0);
        for truth in 0..1024 {
            assert_eq!(response.answer(truth, &mut stream), Reward::ClickDcg.value(truth));
        }
    }
}
