//! Was the client ever there? An attacker sees one ranker that has gone through a method, and knows from runs with
//! other seeds how such rankers differ with and without the client.
//!
//! The score of a ranker is its place along the mean difference of the other seeds: an attack with shadow models, so no
//! ranker helps to make the direction along which it is judged. `SSSS17` Shokri et al. have shadow models; here they
//! make a direction, not a classifier.

use super::trial::Outcome;
use crate::statistics::Auc;

/// How well scores tell rankers with the client from those without; none for fewer than two seeds.
pub fn auc(outcomes: &[&Outcome]) -> Option<Auc> {
    if outcomes.len() < 2 {
        return None;
    }
    let differences: Vec<Vec<f64>> = outcomes.iter().map(|it| difference(it)).collect();
    let n_params = differences[0].len();
    let sums: Vec<f64> = (0..n_params).map(|i| differences.iter().map(|it| it[i]).sum()).collect();
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (outcome, own) in outcomes.iter().zip(&differences) {
        let others: Vec<f64> = sums.iter().zip(own).map(|(sum, own)| sum - own).collect();
        with.push(place(&outcome.unlearned.params, &others));
        without.push(place(&outcome.never, &others));
    }
    Auc::of(&with, &without)
}

fn difference(outcome: &Outcome) -> Vec<f64> {
    outcome.unlearned.params.iter().zip(&outcome.never).map(|(with, without)| f64::from(with - without)).collect()
}

/// How far a ranker is along a direction; 0 if there is none.
fn place(params: &[f32], direction: &[f64]) -> f64 {
    let length = direction.iter().map(|value| value * value).sum::<f64>().sqrt();
    let product: f64 = params.iter().zip(direction).map(|(&value, along)| f64::from(value) * along).sum();
    if length > 0.0 { product / length } else { 0.0 }
}
