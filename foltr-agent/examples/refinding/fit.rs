//! The best linear weights for given lists: logistic regression on which document was wanted (the first choice of Plackett and
//! Luce), with a penalty on long weights.

use foltr_agent::feature::FEATURES;

use super::world::List;

const STEPS: usize = 300;

/// argmin of the mean of -ln softmax(X w)[target] + penalty |w|^2 / 2, by Adam. Weights of features that are not free stay 0.
pub fn fit(lists: &[List], penalty: f32, is_free: &dyn Fn(&str) -> bool) -> Vec<f32> {
    let n = FEATURES.len();
    let free: Vec<bool> = FEATURES.iter().map(|it| is_free(it.name)).collect();
    let usable: Vec<(&[f32], usize)> = lists.iter().filter_map(|it| Some((&it.rows[..], it.target?))).collect();
    let (mut weights, mut first, mut second) = (vec![0.0_f32; n], vec![0.0_f32; n], vec![0.0_f32; n]);
    for step in 1..=STEPS {
        let gradient = gradient(&usable, &weights);
        let rate = 0.3 * (1.0 - (step - 1) as f32 / STEPS as f32);
        for at in (0..n).filter(|&at| free[at]) {
            let slope = gradient[at] / usable.len().max(1) as f32 + penalty * weights[at];
            first[at] = 0.9 * first[at] + 0.1 * slope;
            second[at] = 0.99 * second[at] + 0.01 * slope * slope;
            let (mean, square) =
                (first[at] / (1.0 - 0.9_f32.powi(step as i32)), second[at] / (1.0 - 0.99_f32.powi(step as i32)));
            weights[at] -= rate * mean / (square.sqrt() + 1e-6);
        }
    }
    weights
}

/// Of the sum over lists: sum_d p(d) x_d - x_target.
fn gradient(lists: &[(&[f32], usize)], weights: &[f32]) -> Vec<f32> {
    let n = weights.len();
    let mut gradient = vec![0.0; n];
    for &(rows, target) in lists {
        let mut scores = scores(rows, weights);
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        scores.iter_mut().for_each(|score| *score = (*score - most).exp());
        let sum: f32 = scores.iter().sum();
        for (at, (row, score)) in rows.chunks_exact(n).zip(&scores).enumerate() {
            let share = score / sum - if at == target { 1.0 } else { 0.0 };
            gradient.iter_mut().zip(row).for_each(|(sum, value)| *sum += share * value);
        }
    }
    gradient
}

fn scores(rows: &[f32], weights: &[f32]) -> Vec<f32> {
    rows.chunks_exact(weights.len()).map(|row| row.iter().zip(weights).map(|(a, b)| a * b).sum()).collect()
}

/// 1 / rank of the document that was wanted, 0 if it is not among the first 20; of equal scores BM25 decides.
pub fn reciprocal(list: &List, weights: &[f32]) -> f64 {
    let Some(target) = list.target else { return 0.0 };
    let scores = scores(&list.rows, weights);
    let is_before = |(at, score): (usize, &f32)| *score > scores[target] || (*score == scores[target] && at < target);
    let rank = 1 + scores.iter().enumerate().filter(|&it| is_before(it)).count();
    if rank > 20 { 0.0 } else { 1.0 / rank as f64 }
}
