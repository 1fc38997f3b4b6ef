//! The discount that each document of a list has on average when a ranker draws the list from its scores.
//!
//! A device shows lists of the Plackett-Luce law, so that what a person sees depends on the size of scores, not only on
//! their order: a tenth of a model orders documents alike, and shows lists that are nearly random.
//!
//! In that law every document comes at a time of its own, exponential with rate e^score, and the list is the order in which
//! they come (`Y77` Yellott: *The Relationship between Luce's Choice Axiom, Thurstone's Theory, and the Double Exponential
//! Distribution*, Journal of Mathematical Psychology 15, 1977). Given that document i comes at time t, the others are above
//! it independently, j with probability 1 - l_j, l_j = e^(-t e^score_j). For a discount b^place the mean is then the
//! product over j != i of b + (1 - b) l_j; and 1 / log2(place + 2) is nearly a sum of four such powers. What is left is one
//! integral over the time, by equal steps of x = -ln t. Means are within .0015 of those over all orders.
//!
//! The discount of the mean place, sum over j of 1 / (1 + e^(score_i - score_j)), would be simpler but is no nDCG: for ten
//! documents with normal scores, differences between two rankers came out .6 to 2.5 times as large as they are.

use crate::elementary::{exp, exp_double};
use crate::query::MAX_SHOWN;
use crate::simd::two_widths;

/// The sum of factor * base^k is 1 / log2(k + 2) within .001 at all places k of a list. Fitted to the least largest error.
const N_TERMS: usize = 4;
const FACTORS: [f64; N_TERMS] = [0.196_152, 0.168_143, 0.312_624, 0.323_078];
const BASES: [f64; N_TERMS] = [0.997_243, 0.929_581, 0.681_810, 0.204_292];
/// Of x, going down. A rate t e^score grows by e from step to step.
const STEP: f64 = 1.0;
const GROWTH: f64 = std::f64::consts::E;
/// How far x of a document is above its score, but for a probability of e^-9.
const ABOVE: f64 = 9.0;
/// How far below, but for a probability of e^-20.
const BELOW: f64 = 3.0;
/// Documents whose scores are further apart count as this far: they change places with probability e^-12.
const WIDEST_GAP: f64 = 12.0;

/// Writes the mean discount of each document. Scores must be finite.
pub(super) fn mean_discounts(scores: &[f32], means: &mut [f64]) {
    let mut order: [usize; MAX_SHOWN] = std::array::from_fn(|doc| doc);
    let order = &mut order[..scores.len()];
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut arrivals = Arrivals::new(scores, order);
    while arrivals.n_came < order.len() {
        arrivals.step();
    }
    for (place, &doc) in order.iter().enumerate() {
        means[doc] = arrivals.sums[place] / arrivals.mass[place];
    }
}

/// Documents as they come, the best first: some have come for certain, some may come now, the rest is still to come.
struct Arrivals {
    n_docs: usize,
    /// Below the best one, which has 0, without gaps that are too wide.
    scores: [f64; MAX_SHOWN],
    x: f64,
    n_came: usize,
    n_begun: usize,
    /// base^(how many have come), for each term.
    above: [f64; N_TERMS],
    /// t e^score.
    rates: [f64; MAX_SHOWN],
    /// That a document comes after t.
    late: [f64; MAX_SHOWN],
    mass: [f64; MAX_SHOWN],
    sums: [f64; MAX_SHOWN],
}

impl Arrivals {
    fn new(scores: &[f32], order: &[usize]) -> Self {
        let mut shifted = [0.0; MAX_SHOWN];
        for (place, pair) in order.windows(2).enumerate() {
            let gap = f64::from(scores[pair[0]]) - f64::from(scores[pair[1]]);
            shifted[place + 1] = shifted[place] - gap.min(WIDEST_GAP);
        }
        let none = [0.0; MAX_SHOWN];
        Self {
            n_docs: scores.len(),
            scores: shifted,
            x: ABOVE,
            n_came: 0,
            n_begun: 0,
            above: [1.0; N_TERMS],
            rates: none,
            late: none,
            mass: none,
            sums: none,
        }
    }

    /// Adds the share of those who come at time e^-x.
    fn step(&mut self) {
        while self.n_begun < self.n_docs && self.scores[self.n_begun] >= self.x - ABOVE {
            self.rates[self.n_begun] = exp_double(self.scores[self.n_begun] - self.x);
            self.n_begun += 1;
        }
        let coming = self.n_came..self.n_begun;
        let arrays = [&mut self.rates, &mut self.late, &mut self.mass, &mut self.sums];
        let [rates, late, mass, sums] = arrays.map(|array| &mut array[coming.clone()]);
        add_arrivals(&self.above, rates, late, mass, sums);
        self.x -= STEP;
        while self.n_came < self.n_docs && self.scores[self.n_came] > self.x + BELOW {
            self.above.iter_mut().zip(BASES).for_each(|(power, base)| *power *= base);
            self.n_came += 1;
        }
    }
}

two_widths! {
    /// Adds the density of each document that comes now, and its mean discount times that.
    fn add_arrivals(above: &[f64; N_TERMS], rates: &mut [f64], late: &mut [f64], mass: &mut [f64], sums: &mut [f64]) {
        // Single precision has digits enough for a probability.
        late.iter_mut().zip(&*rates).for_each(|(late, rate)| *late = f64::from(exp(-*rate as f32)));
        let factor = |term: usize, late: f64| BASES[term] + (1.0 - BASES[term]) * late;
        let mut products: [f64; N_TERMS] = std::array::from_fn(|term| FACTORS[term] * above[term]);
        for &late in &*late {
            products = std::array::from_fn(|term| products[term] * factor(term, late));
        }
        for (((rate, &mut late), mass), sum) in rates.iter_mut().zip(late).zip(mass).zip(sums) {
            let terms: [f64; N_TERMS] = std::array::from_fn(|term| products[term] / factor(term, late));
            let density = *rate * late;
            *mass += density;
            *sum += density * ((terms[0] + terms[1]) + (terms[2] + terms[3]));
            *rate *= GROWTH;
        }
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
