//! Has a client been forgotten? Written down before the runs: what is measured, and what must come of it.
//!
//! * **Under-unlearning.** Influence left: how far the unlearned ranker is from what the same method makes, with the
//!   same random numbers, of a federation that never had the client, over how far the trained ranker is from the
//!   retrained one. And the share of the marked client's damage that is repaired, where there is any.
//! * **Over-unlearning.** What those who stay lose against retraining.
//! * **Membership.** Somebody who sees one ranker tells whether the client was ever there, with what is known from
//!   other seeds: `membership.rs`. After `SAKS21` Sekhari et al., both rankers have gone through the method.

use super::membership;
use super::trial::{Outcome, Trial};
use crate::reproduce::forgetting::Price;
use crate::reproduce::study::mean;
use crate::statistics::Auc;

/// Share of the damage that must be repaired, and 1 minus the influence that may be left.
pub const REPAIRED: f64 = 0.8;
/// nDCG@10 that those who stay may lose against retraining.
pub const LOST: f64 = 0.01;
/// Damage in nDCG@10 from which on its repair says something.
pub const DAMAGE: f64 = 0.02;

/// What all seeds say about one way to forget.
pub struct Judged {
    pub name: String,
    /// nDCG@10.
    pub quality: f64,
    /// Share of the damage that is repaired; none if there was next to none.
    pub repaired: Option<f64>,
    /// Distance to the retrained ranker over that of the trained one.
    pub distance: f64,
    /// Distance to what the method makes of a federation without the leaver, over the same.
    pub influence: f64,
    /// What those who stay lose against retraining.
    pub lost: f64,
    /// None with a single seed.
    pub membership: Option<Auc>,
    /// Local steps, messages, bytes and seconds over those of retraining.
    pub price: [f64; 4],
    pub lowest: f64,
    pub online: Option<f64>,
    pub guarantee: String,
}

impl Judged {
    /// Of the way with this place in every trial.
    pub fn of(trials: &[&Trial], place: usize) -> Self {
        let outcomes: Vec<&Outcome> = trials.iter().map(|trial| &trial.outcomes[place]).collect();
        let over = |value: &dyn Fn(&Trial, &Outcome) -> f64| {
            mean(&trials.iter().zip(&outcomes).map(|(trial, outcome)| value(trial, outcome)).collect::<Vec<_>>())
        };
        let (trained, retrained) = (over(&|it, _| it.trained.quality), over(&|it, _| it.retrained.quality));
        let quality = over(&|_, it| it.unlearned.quality);
        let damage = retrained - trained;
        let scale = over(&|it, _| apart(&it.trained.params, &it.retrained.params));
        let online: Vec<f64> = outcomes.iter().filter_map(|it| it.online).collect();
        Self {
            name: outcomes[0].name.clone(),
            quality,
            repaired: (damage >= DAMAGE).then(|| (quality - trained) / damage),
            distance: over(&|trial, it| apart(&it.unlearned.params, &trial.retrained.params)) / scale,
            influence: over(&|_, it| apart(&it.unlearned.params, &it.never)) / scale,
            lost: retrained - quality,
            membership: membership::auc(&outcomes),
            price: relative(
                &outcomes.iter().map(|it| it.price).collect::<Vec<_>>(),
                &trials.iter().map(|it| it.retraining).collect::<Vec<_>>(),
            ),
            lowest: over(&|_, it| it.lowest),
            online: (!online.is_empty()).then(|| mean(&online)),
            guarantee: outcomes[0].guarantee.clone(),
        }
    }

    /// Something of the leaver is left.
    pub fn is_under(&self) -> bool {
        // False for what is not a number.
        let little_is_left = self.influence <= 1.0 - REPAIRED;
        !(little_is_left && self.repaired.is_none_or(|repaired| repaired >= REPAIRED))
    }

    /// Something of those who stay is gone.
    pub fn is_over(&self) -> bool {
        // What is not a number is no proof.
        self.lost.is_nan() || self.lost > LOST
    }

    /// Whether somebody can tell that the leaver was there.
    pub fn is_told(&self) -> bool {
        self.membership.is_some_and(|auc| !auc.is_chance())
    }

    /// Whether the client has been forgotten, and nothing else.
    pub fn passes(&self) -> bool {
        !self.is_under() && !self.is_over() && !self.is_told()
    }

    /// What is wrong, in words.
    pub fn verdict(&self) -> String {
        let faults = [(self.is_under(), "under"), (self.is_over(), "over"), (self.is_told(), "told")];
        let faults: Vec<&str> = faults.into_iter().filter_map(|(is_so, word)| is_so.then_some(word)).collect();
        if faults.is_empty() { "passes".into() } else { faults.join(", ") }
    }
}

fn apart(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
}

/// Sums over trials, over those of retraining.
fn relative(prices: &[Price], retraining: &[Price]) -> [f64; 4] {
    let of = |value: fn(&Price) -> f64| {
        let sum = |all: &[Price]| all.iter().map(value).sum::<f64>();
        sum(prices) / sum(retraining)
    };
    [of(|it| it.local_steps as f64), of(|it| it.messages as f64), of(|it| it.bytes as f64), of(|it| it.seconds)]
}

#[cfg(test)]
mod tests {
    use super::super::trial::Ranker;
    use super::*;

    /// Twelve seeds: rankers scatter along the second parameter, and the leaver is the first one's doing.
    fn trials(unlearned: impl Fn(&Trial) -> Ranker, never: impl Fn(&Trial) -> Vec<f32>) -> Vec<Trial> {
        let trial = |seed: u8| {
            let noise = f32::from(seed) / 10.0;
            let ranker = |value, quality| Ranker { params: vec![value, noise], quality };
            let mut trial = Trial {
                trained: ranker(5.0, 0.40),
                retrained: ranker(1.0 + noise, 0.50),
                retraining: Price { local_steps: 100, messages: 20, bytes: 1000, seconds: 2.0 },
                outcomes: Vec::new(),
            };
            trial.outcomes.push(Outcome {
                name: "way".into(),
                unlearned: unlearned(&trial),
                never: never(&trial),
                price: Price { local_steps: 10, messages: 1, bytes: 100, seconds: 0.5 },
                guarantee: "none".into(),
                lowest: 0.3,
                online: None,
            });
            trial
        };
        (0..12).map(trial).collect()
    }

    fn judged(trials: &[Trial]) -> Judged {
        Judged::of(&trials.iter().collect::<Vec<_>>(), 0)
    }

    #[test]
    fn doing_nothing_fails() {
        let judged = judged(&trials(|it| it.trained.clone(), |it| it.retrained.params.clone()));
        assert!(judged.is_under() && judged.is_over() && judged.is_told() && !judged.passes());
        assert_eq!((judged.repaired, judged.distance, judged.influence), (Some(0.0), 1.0, 1.0));
    }

    #[test]
    fn doing_nothing_fails_also_where_the_leaver_did_no_damage() {
        let honest = |it: &Trial| Ranker { quality: it.retrained.quality, ..it.trained.clone() };
        let mut all = trials(honest, |it| it.retrained.params.clone());
        all.iter_mut().for_each(|trial| trial.trained.quality = trial.retrained.quality);
        let judged = judged(&all);
        assert_eq!(judged.repaired, None);
        assert!(judged.is_under() && !judged.is_over() && !judged.passes());
    }

    #[test]
    fn retraining_passes_at_its_price() {
        let judged = judged(&trials(|it| it.retrained.clone(), |it| it.retrained.params.clone()));
        assert!(judged.passes(), "{}", judged.verdict());
        assert_eq!((judged.repaired, judged.influence, judged.lost), (Some(1.0), 0.0, 0.0));
        assert_eq!(judged.price, [0.1, 0.05, 0.1, 0.25]);
    }

    #[test]
    fn forgetting_everybody_is_too_much() {
        let blank = |_: &Trial| Ranker { params: vec![0.0, 0.0], quality: 0.45 };
        let judged = judged(&trials(blank, |_| vec![0.0, 0.0]));
        assert_eq!(judged.verdict(), "under, over");
        assert_eq!(judged.influence, 0.0);
    }

    #[test]
    fn what_is_not_a_number_does_not_pass() {
        let broken = |_: &Trial| Ranker { params: vec![f32::NAN, 0.0], quality: f64::NAN };
        assert!(!judged(&trials(broken, |it| it.retrained.params.clone())).passes());
    }
}
