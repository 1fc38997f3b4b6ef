//! Was the client ever there? An attacker sees one ranker that has gone through a method, and knows from runs with
//! other seeds how such rankers differ with and without the client.
//!
//! The score of a ranker is its position along the mean difference of the other seeds: an attack with shadow models, so
//! no ranker helps to make the direction along which it is judged. `SSSS17` Shokri et al. have shadow models; here they
//! make a direction, not a classifier.

use foltr_rank::Params;
use foltr_report::statistics::Auc;

/// How well scores tell rankers with the client from those without, by seed; none for fewer than two seeds.
pub fn auc(with: &[Params], without: &[Params]) -> Option<Auc> {
    if with.len() < 2 {
        return None;
    }
    let difference = |(with, without): (&Params, &Params)| -> Vec<f64> {
        with.iter().zip(without).map(|(with, without)| f64::from(with - without)).collect()
    };
    let differences: Vec<Vec<f64>> = with.iter().zip(without).map(difference).collect();
    let sums: Vec<f64> = (0..differences[0].len()).map(|i| differences.iter().map(|it| it[i]).sum()).collect();
    let scores = |rankers: &[Params]| -> Vec<f64> {
        let score = |(params, own): (&Params, &Vec<f64>)| {
            let others: Vec<f64> = sums.iter().zip(own).map(|(sum, own)| sum - own).collect();
            position(params, &others)
        };
        rankers.iter().zip(&differences).map(score).collect()
    };
    Auc::of(&scores(with), &scores(without))
}

/// How far a ranker is along a direction; 0 if there is none.
fn position(params: &[f32], direction: &[f64]) -> f64 {
    let length = direction.iter().map(|value| value * value).sum::<f64>().sqrt();
    let product: f64 = params.iter().zip(direction).map(|(&value, along)| f64::from(value) * along).sum();
    if length > 0.0 { product / length } else { 0.0 }
}
