//! Two rankers on the same lists: how much nDCG of the clicks the second gains or loses, and whether that can be chance.
//!
//! What is compared is the nDCG of the lists that each would *show*, on average over its own draws (`mean_discount.rs`).
//! These means depend on the documents of a list and not on the order in which they were shown or clicked: so pairs of
//! documents between which a person is indifferent have mean 0, whatever the two rankers are.
//!
//! The sum of the lists' evidence is divided by the root of the sum of its squares. For terms whose signs are
//! symmetric this exceeds x with probability at most e^(-x^2 / 2), for any number of lists (`E69` Efron: *Student's t-Test
//! under Symmetry Conditions*, JASA 64, 1969). So a test of error a needs the threshold sqrt(2 ln(1 / a)), and at least
//! 2 ln(1 / a) lists to reach it. Terms here are not quite symmetric; the threshold is above that of the normal law, and
//! simulations with users who prefer nothing check it.

use super::mean_discount::mean_discounts;
use super::shown_list::ShownList;
use crate::elementary::ln_double;
use crate::query::MAX_SHOWN;
use crate::ranker::Ranker;

/// Standard normal quantile of .85: the spread is measured on few clicks, and sums are not quite normal, so that the quantile
/// of .8 would promise too much.
const POWER: f64 = 1.036_433_389_493_79;

/// What the lists say about two rankers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Comparison {
    pub(super) sum: f64,
    pub(super) squares: f64,
    pub(super) weight: f64,
    pub n_lists: u32,
    /// On these lists.
    pub n_clicks: u32,
}

/// How a ranker compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    Better,
    Worse,
    Undecided,
}

impl Comparison {
    /// Adds the evidence of one list. Where scores overflow, there is nothing to compare.
    pub(super) fn add(&mut self, reference: &mut Ranker, candidate: &mut Ranker, list: &ShownList) {
        let (mut moved, mut before) = ([0.0; MAX_SHOWN], [0.0; MAX_SHOWN]);
        let n_shown = list.n_shown();
        let (Some(own), Some(others)) = (list.scores(reference), list.scores(candidate)) else { return };
        mean_discounts(&own[..n_shown], &mut before[..n_shown]);
        mean_discounts(&others[..n_shown], &mut moved[..n_shown]);
        moved[..n_shown].iter_mut().zip(before).for_each(|(moved, before)| *moved -= before);
        let (evidence, expected_square) = list.evidence(&moved[..n_shown]);
        self.sum += evidence;
        self.squares += expected_square.max(evidence * evidence);
        self.weight += list.weight();
        self.n_lists += 1;
        self.n_clicks += list.n_clicks();
    }

    /// Whether the lists say nothing: there are none, or both rank them alike.
    pub fn is_empty(&self) -> bool {
        self.squares <= 0.0
    }

    /// How much more nDCG of the clicks lists of the candidate have, of the documents that were shown; 0 if nothing is
    /// known.
    ///
    /// Lists count by how random they were, so that this is about documents whose order was open.
    pub fn estimate(&self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }

    pub fn standard_error(&self) -> f64 {
        if self.weight > 0.0 { self.squares.sqrt() / self.weight } else { f64::INFINITY }
    }

    pub(super) fn outcome(&self, threshold: f64) -> Outcome {
        let bound = threshold * self.squares.sqrt();
        match self.sum {
            sum if sum < -bound => Outcome::Worse,
            sum if sum > bound => Outcome::Better,
            _ => Outcome::Undecided,
        }
    }

    /// Clicks with which a loss of this much nDCG lies beyond the threshold with probability .8, if lists stay as random
    /// and clicks as noisy as they were.
    pub fn clicks_needed(&self, loss: f64, threshold: f64) -> Option<f64> {
        let is_known = !self.is_empty() && loss > 0.0 && threshold.is_finite();
        let factor = (threshold + POWER) * self.standard_error() / loss;
        is_known.then(|| f64::from(self.n_clicks) * factor * factor)
    }
}

/// How many standard errors a test of this error needs.
pub(super) fn threshold(error: f64) -> f64 {
    (2.0 * ln_double(1.0 / error)).sqrt()
}
