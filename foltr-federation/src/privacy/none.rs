//! No protection: a step is sent as it is, outcomes are sent as their average value.

use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use serde::{Deserialize, Serialize};

use crate::message::{Kind, Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::{
    Adjacency, Circumstances, Explanation, LocalPrivacy, MechanismContext, MechanismError, MechanismParameters, Noise,
    RoundCost, average,
};

/// Nothing to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

impl MechanismParameters for NoParameters {
    type Mechanism = Unprotected;

    const ADMITS_SINGLE_UPDATES: bool = true;

    fn mechanism(&self, context: &MechanismContext) -> Result<Unprotected, MechanismError> {
        Ok(Unprotected { reward: context.reward })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unprotected {
    /// What an outcome of FOLtR-ES is worth; steps have no outcomes.
    pub reward: Reward,
}

impl LocalPrivacy for Unprotected {
    fn protect(&self, update: Update<'_>, _: &RoundTask, _: &mut dyn NoiseSource, payload: &mut Payload) {
        match update {
            Update::Step { delta, n_interactions } => payload.as_step(n_interactions).extend_from_slice(delta),
            Update::Evolution { seed, plus, minus } => {
                let value = |outcomes: &[u16]| average(outcomes.iter().map(|&outcome| self.reward.value(outcome)));
                *payload =
                    Payload::Evolution { seed, plus: value(plus), minus: (!minus.is_empty()).then(|| value(minus)) };
            }
        }
    }

    fn accepts(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Step | Kind::Evolution | Kind::EvolutionAntithetic)
    }

    fn cost(&self, _: &Circumstances) -> RoundCost {
        RoundCost::nothing(Adjacency::OtherClicks, None)
    }

    fn noise(&self, _: usize) -> Noise {
        Noise::None
    }

    fn explain(&self, circumstances: &Circumstances) -> Explanation {
        let betrayal = if circumstances.sends_rewards {
            "A single message gives the clicks away: it has the exact mean reward of a few interactions."
        } else {
            "A single update gives the clicks away: to whoever knows the lists shown it is a system of linear equations, \
             one a parameter, for the clicks on their documents."
        };
        Explanation {
            summary: "No privacy mechanism: updates leave the device as they are".into(),
            remarks: vec![betrayal.into()],
            ..Explanation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use foltr_rank::rng::Purpose;

    fn protect(update: Update<'_>, payload: &mut Payload) {
        let task = RoundTask { round: 0, global: vec![0.0; 2], n_clients: 1, n_interactions: 4, clip_norm: None };
        let mut stream = seeded(1, Purpose::Noise, 0, 0);
        Unprotected { reward: Reward::MaxRr }.protect(update, &task, &mut stream, payload);
    }

    #[test]
    fn outcomes_are_averaged_in_each_direction() {
        let mut payload = Payload::default();
        protect(Update::Evolution { seed: 7, plus: &[1, 0, 2, 4], minus: &[0, 0] }, &mut payload);
        assert_eq!(payload, Payload::Evolution { seed: 7, plus: 0.4375, minus: Some(0.0) });
        protect(Update::Evolution { seed: 7, plus: &[2], minus: &[] }, &mut payload);
        assert_eq!(payload, Payload::Evolution { seed: 7, plus: 0.5, minus: None });
    }

    #[test]
    fn a_step_reuses_the_memory_of_the_last_one() {
        let mut payload = Payload::default();
        protect(Update::Step { delta: &[1.0, 2.0], n_interactions: 4 }, &mut payload);
        let address = |payload: &Payload| match payload {
            Payload::Step { delta, .. } => delta.as_ptr(),
            _ => panic!("a step"),
        };
        let before = address(&payload);
        protect(Update::Step { delta: &[3.0, 4.0], n_interactions: 2 }, &mut payload);
        assert_eq!(payload, Payload::Step { n_interactions: 2, delta: vec![3.0, 4.0] });
        assert_eq!(address(&payload), before);
    }
}
