//! FOLtR-ES at a price that does not grow with the message: one interaction is drawn, and its outcome is randomised.
//!
//! `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019, section 3.3 randomises
//! every interaction before they are averaged, so that a message of B of them costs B epsilon_0. Here only one of the
//! B enters the message, chosen without looking, and the message costs epsilon_0 = ln(p (n - 1)/(1 - p)) as a whole.
//!
//! With mirrored perturbations the drawn interaction stands for its side and the other side says nothing: the answer
//! minus the mean of all values, twice, estimates the difference of the sides without bias.

use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::message::{Kind, Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::randomised_response::cost_of_answers;
use crate::privacy::{
    Budget, Circumstances, Explanation, LocalPrivacy, MechanismContext, MechanismError, MechanismParameters, Mode,
    Noise, RandomisedResponse, ResponseParameters, RoundCost,
};

/// Those of randomised response; a message counts as one answer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SampledResponseParameters(pub ResponseParameters);

impl MechanismParameters for SampledResponseParameters {
    type Mechanism = SampledResponse;

    fn mechanism(&self, context: &MechanismContext) -> Result<SampledResponse, MechanismError> {
        let probability = self.0.probability(context, 1)?;
        SampledResponse::new(probability, context.reward, context.list_length)
    }

    fn whole_run(&self) -> Option<Budget> {
        self.0.whole_run
    }
}

/// Randomised response on one of the interactions. Its stream is
/// [`Purpose::RandomisedResponse`](foltr_rank::rng::Purpose::RandomisedResponse).
#[derive(Clone, Debug, PartialEq)]
pub struct SampledResponse {
    response: RandomisedResponse,
}

impl SampledResponse {
    pub fn new(probability: f64, reward: Reward, n_shown: usize) -> Result<Self, MechanismError> {
        Ok(Self { response: RandomisedResponse::new(probability, reward, n_shown)? })
    }

    pub fn epsilon(&self) -> f64 {
        self.response.epsilon()
    }
}

impl LocalPrivacy for SampledResponse {
    fn protect(&self, update: Update<'_>, _: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let Update::Evolution { seed, plus, minus } = update else {
            panic!("randomised response is defined for outcomes, not for a step")
        };
        let drawn = noise.random_range(0..(plus.len() + minus.len()).max(1));
        let truth = plus.iter().chain(minus).nth(drawn).copied().unwrap_or(0);
        let answer = self.response.answer(truth, noise);
        *payload = if minus.is_empty() {
            Payload::Evolution { seed, plus: answer as f32, minus: None }
        } else {
            let centred = (2.0 * (answer - self.response.mean_value())) as f32;
            let (plus, minus) = if drawn < plus.len() { (centred, 0.0) } else { (0.0, centred) };
            Payload::Evolution { seed, plus, minus: Some(minus) }
        };
    }

    fn accepts(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Evolution | Kind::EvolutionAntithetic)
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        cost_of_answers(circumstances, self.response.cost_of(1))
    }

    fn noise(&self, _: usize) -> Noise {
        Noise::Answer { truth: self.response.truth() }
    }

    fn mode(&self) -> Mode {
        Mode::Local
    }

    fn explain(&self, _: &Circumstances) -> Explanation {
        Explanation::local("Of a message's interactions one is drawn, and its outcome randomised")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use crate::privacy::sent;
    use foltr_rank::rng::Purpose;

    fn mean_difference(plus: &[u16], minus: &[u16], n: usize) -> f64 {
        let mechanism = SampledResponse::new(0.6, Reward::MaxRr, 10).expect("p > 1/11");
        let mut stream = seeded(4, Purpose::RandomisedResponse, 0, 0);
        let mut sum = 0.0;
        for _ in 0..n {
            let payload = sent(&mechanism, Update::Evolution { seed: 1, plus, minus }, 1, &mut stream);
            let Payload::Evolution { seed: 1, plus, minus } = payload else { panic!("an evolution of seed 1") };
            assert!(minus.is_none_or(|minus| plus == 0.0 || minus == 0.0), "only one side speaks");
            sum += f64::from(plus - minus.unwrap_or(0.0));
        }
        sum / n as f64
    }

    #[test]
    fn the_difference_of_the_sides_is_estimated_without_bias() {
        // E[f_p] = scale f_0 + offset; the offset cancels between the sides. scale = (.6 * 11 - 1)/10 = .56.
        let n = 400_000;
        let got = mean_difference(&[1, 2, 1, 1], &[0, 4, 2, 0], n);
        let want = 0.56 * (3.5 / 4.0 - 0.75 / 4.0);
        // Values are within 2 * .74 of 0: five standard errors at most.
        assert!((got - want).abs() < 5.0 * 1.5 / (n as f64).sqrt(), "{got} is not {want}");
    }

    #[test]
    fn one_side_alone_is_the_expected_response() {
        let n = 400_000;
        let got = mean_difference(&[1, 2, 0, 1], &[], n);
        let want = 0.56 * (2.5 / 4.0) + 0.4 / 10.0 * 2.928_968_3;
        assert!((got - want).abs() < 5.0 / (n as f64).sqrt(), "{got} is not {want}");
    }
}
