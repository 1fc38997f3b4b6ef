//! What attackers can say where a message is a seed and one or two rewards (FOLtR-ES).
//!
//! `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019, section 3.2; spec
//! section 4. The server reads such a message as the seed's direction times a coefficient. So any update that an attack
//! wants is fitted: of the seeds that an attacker may send, with rewards that an honest client could send, the message
//! whose reading is nearest to the target update. There is no paper on such attacks that we know of.
//!
//! Rewards are means over interactions, privatised or not, so they lie between 0 and the largest outcome. That bounds
//! what an attacker can do: with both signs its coefficient is within what honest clients may have, and with one sign it
//! cannot even be negative. A server that assigns seeds leaves it nothing but the coefficient of its own direction.

use foltr_federation::aggregate::evolution_coefficient;
use foltr_federation::{ParameterError, Payload, PayloadSemantics};
use foltr_rank::learn::evolution::{Reward, fill_direction};
use foltr_rank::rng::Stream;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::adversary::require;

/// Wanted updates have the digits of an f32: rewards that differ from honest ones by less are those.
const NEAR: f64 = 1e-6;

/// Which seeds attackers may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Seeds {
    /// Their own: the server knows them.
    #[default]
    Own,
    /// Any.
    Free {
        /// Seeds that each attacker tries beside its own.
        candidates: u32,
    },
}

impl Seeds {
    pub(super) fn check(self) -> Result<(), ParameterError> {
        let candidates = self.candidates();
        require("candidates", candidates.into(), candidates < 1 << 20, "below 2^20")
    }

    const fn candidates(self) -> u32 {
        match self {
            Self::Own => 0,
            Self::Free { candidates } => candidates,
        }
    }
}

/// Between which numbers rewards lie, and what the server makes of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RewardRange {
    pub(crate) sigma: f64,
    /// Rewards are from 0 to this.
    pub(crate) most: f64,
}

impl RewardRange {
    /// Of rewards of lists of `n_shown` documents under this rule; nothing if its messages are not rewards.
    pub(crate) fn of(rule: PayloadSemantics, reward: Reward, n_shown: usize) -> Option<Self> {
        let PayloadSemantics::Evolution { sigma, .. } = rule else { return None };
        let outcomes = 0..reward.n_outcomes(n_shown) as u32;
        let most = outcomes.map(|outcome| reward.value(outcome as u16)).fold(0.0, f64::max);
        Some(Self { sigma, most })
    }

    /// The update that the server reads in a message.
    pub(crate) fn read(&self, payload: &Payload, update: &mut [f32]) {
        let &Payload::Evolution { seed, plus, minus } = payload else { panic!("{:?} has no reward", payload.kind()) };
        fill_direction(seed, update);
        let coefficient = evolution_coefficient(plus, minus, self.sigma);
        update.iter_mut().for_each(|value| *value = (f64::from(*value) * coefficient) as f32);
    }

    /// The rewards whose coefficient is nearest to this one, and otherwise as the honest ones are.
    fn rewards(&self, coefficient: f64, honest: (f32, Option<f32>)) -> (f32, Option<f32>) {
        let known = [f64::from(honest.0), honest.1.map_or(f64::NAN, f64::from)];
        let settle = |reward: f64| {
            let same = known.into_iter().find(|known| (reward - known).abs() < NEAR);
            same.unwrap_or(reward) as f32
        };
        match honest.1 {
            None => (settle((self.sigma * coefficient).clamp(0.0, self.most)), None),
            Some(_) => {
                let half = (self.sigma * coefficient).clamp(-0.5 * self.most, 0.5 * self.most);
                // Not `clamp`, which panics where the target update is not a number.
                let middle = (0.5 * (known[0] + known[1])).max(half.abs()).min(self.most - half.abs());
                (settle(middle + half), Some(settle(middle - half)))
            }
        }
    }

    /// What an attacker sends in place of its honest message: the message whose reading is nearest to a target update.
    pub(crate) fn nearest_message(
        &self,
        target: &[f32],
        honest: &Payload,
        seeds: Seeds,
        stream: &mut Stream,
    ) -> Payload {
        let &Payload::Evolution { seed, plus, minus } = honest else { panic!("{:?} has no reward", honest.kind()) };
        let mut direction = vec![0.0; target.len()];
        let mut fit = |seed| self.fit(target, seed, (plus, minus), &mut direction);
        let (mut best, mut least) = fit(seed);
        for _ in 0..seeds.candidates() {
            let (message, distance) = fit(stream.next_u32());
            if distance < least {
                (best, least) = (message, distance);
            }
        }
        best
    }

    /// The best rewards for a seed, and the squared distance of what the server reads to the target update, apart from
    /// the squared length of that.
    fn fit(&self, target: &[f32], seed: u32, honest: (f32, Option<f32>), direction: &mut [f32]) -> (Payload, f64) {
        fill_direction(seed, direction);
        let (mut product, mut square) = (0.0, 0.0);
        for (&value, &target) in direction.iter().zip(target) {
            product += f64::from(value) * f64::from(target);
            square += f64::from(value) * f64::from(value);
        }
        let (plus, minus) = self.rewards(product / square, honest);
        let coefficient = evolution_coefficient(plus, minus, self.sigma);
        (Payload::Evolution { seed, plus, minus }, coefficient * (coefficient * square - 2.0 * product))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};

    const RANGE: RewardRange = RewardRange { sigma: 0.01, most: 1.0 };
    const N_PARAMS: usize = 46;

    fn read(payload: &Payload) -> Vec<f32> {
        let mut update = vec![0.0; N_PARAMS];
        RANGE.read(payload, &mut update);
        update
    }

    fn scaled(payload: &Payload, factor: f32) -> Vec<f32> {
        read(payload).iter().map(|value| factor * value).collect()
    }

    fn message(target: &[f32], honest: &Payload, seeds: Seeds) -> Payload {
        RANGE.nearest_message(target, honest, seeds, &mut Streams::new(3).open(Purpose::Attack, 0, 0))
    }

    #[test]
    fn flipped_signs_are_swapped_rewards() {
        let values = [0.0, 0.001, 0.1, 1.0 / 3.0, 0.5, 0.775, 1.0];
        for (i, plus) in values.into_iter().enumerate() {
            for (j, minus) in values.into_iter().enumerate() {
                let honest = Payload::Evolution { seed: (7 * i + j) as u32, plus, minus: Some(minus) };
                let swapped = Payload::Evolution { seed: (7 * i + j) as u32, plus: minus, minus: Some(plus) };
                assert_eq!(message(&scaled(&honest, -1.0), &honest, Seeds::Own), swapped);
                assert_eq!(message(&read(&honest), &honest, Seeds::Own), honest);
            }
        }
    }

    #[test]
    fn rewards_stay_in_their_range() {
        let rewards = |plus, minus| Payload::Evolution { seed: 5, plus, minus };
        let honest = rewards(0.5, Some(0.25));
        let long = scaled(&honest, -1e6);
        assert_eq!(message(&long, &honest, Seeds::Own), rewards(0.0, Some(1.0)), "as far as rewards go");
        let single = rewards(0.5, None);
        let flipped = scaled(&single, -1.0);
        assert_eq!(message(&flipped, &single, Seeds::Own), rewards(0.0, None), "a single reward cannot point back");
        let Payload::Evolution { plus, minus, .. } = message(&[f32::NAN; N_PARAMS], &honest, Seeds::Own) else {
            panic!("a message of rewards")
        };
        assert!(plus.is_nan() && minus.is_some_and(f32::is_nan), "garbage stays garbage, for the server to refuse");
    }

    #[test]
    fn free_seeds_come_nearer() {
        let honest = Payload::Evolution { seed: 5, plus: 0.5, minus: Some(0.25) };
        let other = read(&Payload::Evolution { seed: 99, plus: 0.9, minus: Some(0.3) });
        let distance = |candidates: u32| {
            let seeds = if candidates == 0 { Seeds::Own } else { Seeds::Free { candidates } };
            let got = read(&message(&other, &honest, seeds));
            got.iter().zip(&other).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
        };
        let (own, few, many) = (distance(0), distance(10), distance(1000));
        assert!(own > few && few > many, "{own} {few} {many}");
    }

    #[test]
    fn the_range_is_that_of_the_outcomes() {
        let rule = PayloadSemantics::Evolution { sigma: 0.01, antithetic: true };
        let most = |reward| RewardRange::of(rule, reward, 10).expect("rewards").most;
        assert_eq!((most(Reward::MaxRr), most(Reward::ReciprocalRank)), (1.0, 1.0));
        let all_clicked: f64 = (0..10).map(foltr_rank::metric::discount).sum();
        assert_eq!(most(Reward::ClickDcg), all_clicked);
        assert!(RewardRange::of(PayloadSemantics::Averaging, Reward::MaxRr, 10).is_none());
    }

    #[test]
    fn seeds_in_a_file() {
        let read = |text: &str| serde_json::from_str::<Seeds>(text).expect("seeds");
        assert_eq!(read("\"own\""), Seeds::Own);
        assert_eq!(read("{\"free\": {\"candidates\": 8}}"), Seeds::Free { candidates: 8 });
    }
}
