//! The discount that each document of a list has on average when a ranker draws the list from its scores.
//!
//! A device shows lists of the Plackett-Luce law, so that what a person sees depends on the size of scores, not only on
//! their order: a tenth of a model orders documents alike, and shows lists that are nearly random.
//!
//! In that law every document comes at a time of its own, exponential with rate e^score, and the list is the order in which
//! they come. Given that document i comes at time t, the others are above it independently, j with probability
//! 1 - l_j, l_j = e^(-t e^score_j). For a discount b^place the mean is then the product over j != i of b + (1 - b) l_j; and
//! 1 / log2(place + 2) is nearly a sum of four such powers. What is left is one integral over the time, which equal
//! steps of x = -ln t compute well.
//!
//! The discount of the mean place, sum over j of 1 / (1 + e^(score_i - score_j)), would be simpler but is no nDCG: for ten
//! documents with normal scores, differences between two rankers came out .6 to 2.5 times as large as they are.

use crate::elementary::exp_double;
use crate::query::MAX_SHOWN;

/// (a, b): the sum of a b^k is 1 / log2(k + 2) within .001 at all places k of a list. Fitted to the least largest error.
const TERMS: [(f64, f64); 4] =
    [(0.196_152, 0.997_243), (0.168_143, 0.929_581), (0.312_624, 0.681_810), (0.323_078, 0.204_292)];
/// Of x. Half of it changes no mean by more than .0005.
const STEP: f64 = 1.0;
/// How far x of a document is above its score, but for a probability of e^-9.
const ABOVE: f64 = 9.0;
/// How far below, but for a probability of e^-20.
const BELOW: f64 = 3.0;
/// Documents whose scores are further apart count as this far: they change places with probability e^-12.
const WIDEST_GAP: f64 = 12.0;

/// Writes the mean discount of each document. Scores must be finite.
pub(super) fn mean_discounts(scores: &[f32], means: &mut [f64]) {
    let mut shifted = [0.0; MAX_SHOWN];
    let shifted = &mut shifted[..scores.len()];
    let lowest = close_gaps(scores, shifted);
    let mut mass = [0.0; MAX_SHOWN];
    means.fill(0.0);
    let n_steps = ((ABOVE + BELOW - lowest) / STEP) as usize + 1;
    for step in 0..n_steps {
        let x = ABOVE - STEP * step as f64;
        add_at(x, shifted, &mut mass, means);
    }
    means.iter_mut().zip(mass).for_each(|(mean, mass)| *mean /= mass);
}

/// Scores below the best one, which gets 0, without gaps that are too wide; says the lowest.
fn close_gaps(scores: &[f32], shifted: &mut [f64]) -> f64 {
    let mut order: [usize; MAX_SHOWN] = std::array::from_fn(|doc| doc);
    let order = &mut order[..scores.len()];
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut lowest = 0.0;
    for pair in order.windows(2) {
        let gap = f64::from(scores[pair[0]]) - f64::from(scores[pair[1]]);
        lowest -= gap.min(WIDEST_GAP);
        shifted[pair[1]] = lowest;
    }
    lowest
}

/// Adds the share of those who come at time e^-x.
fn add_at(x: f64, shifted: &[f64], mass: &mut [f64], means: &mut [f64]) {
    let mut late = [0.0; MAX_SHOWN];
    let mut products = [1.0; TERMS.len()];
    // Whoever should have come long ago has: no need for the infinite rates.
    let rate = |score: f64| exp_double((score - x).min(2.0 * BELOW));
    for (late, &score) in late.iter_mut().zip(shifted) {
        *late = exp_double(-rate(score));
        for (product, (_, base)) in products.iter_mut().zip(TERMS) {
            *product *= base + (1.0 - base) * *late;
        }
    }
    for (doc, (&score, late)) in shifted.iter().zip(late).enumerate() {
        let density = rate(score) * late;
        let discount: f64 = products
            .iter()
            .zip(TERMS)
            .map(|(product, (factor, base))| factor * product / (base + (1.0 - base) * late))
            .sum();
        mass[doc] += density;
        means[doc] += density * discount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::discount;

    /// Visits every order of what is left, with its probability.
    fn for_each_order(scores: &[f32], above: &[usize], probability: f64, visit: &mut impl FnMut(&[usize], f64)) {
        let left: Vec<usize> = (0..scores.len()).filter(|doc| !above.contains(doc)).collect();
        if left.is_empty() {
            return visit(above, probability);
        }
        let best = left.iter().map(|&doc| scores[doc]).fold(f32::MIN, f32::max);
        let weight = |doc: usize| f64::from(scores[doc] - best).exp();
        let total: f64 = left.iter().map(|&doc| weight(doc)).sum();
        for doc in left {
            for_each_order(scores, &[above, &[doc]].concat(), probability * weight(doc) / total, visit);
        }
    }

    fn means(scores: &[f32]) -> Vec<f64> {
        let mut means = vec![0.0; scores.len()];
        mean_discounts(scores, &mut means);
        means
    }

    #[test]
    fn means_are_those_over_all_orders() {
        let lists: [&[f32]; 6] = [
            &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            &[1.0, 0.0, -1.0, 0.5, 2.0],
            &[3.3, -0.2, 0.0, 6.0, 5.9, 1.0],
            &[0.0, 30.0, -30.0, 29.0],
            &[1e30, -1e30, 0.0, 3e38, -3e38],
            &[0.7],
        ];
        for scores in lists {
            let mut expected = vec![0.0; scores.len()];
            for_each_order(scores, &[], 1.0, &mut |order, probability| {
                order.iter().enumerate().for_each(|(place, &doc)| expected[doc] += probability * discount(place));
            });
            for (mean, expected) in means(scores).iter().zip(&expected) {
                assert!((mean - expected).abs() < 1.5e-3, "{scores:?}: {mean} instead of {expected}");
            }
        }
    }

    #[test]
    fn a_long_list_of_equals_shares_all_discounts() {
        let mean = (0..MAX_SHOWN).map(discount).sum::<f64>() / MAX_SHOWN as f64;
        assert!(means(&[2.0; MAX_SHOWN]).iter().all(|value| (value - mean).abs() < 1e-3));
    }

    #[test]
    fn places_far_apart_are_certain() {
        let scores: Vec<f32> = (0..MAX_SHOWN).map(|doc| -20.0 * doc as f32).collect();
        for (place, value) in means(&scores).into_iter().enumerate() {
            assert!((value - discount(place)).abs() < 1.5e-3, "{place}: {value}");
        }
    }
}
