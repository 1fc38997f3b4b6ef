//! Divide and conquer: blocks of documents that are in certain order, each of them shuffled.
//!
//! By score, a cut between two documents is certain if no pair across it is uncertain. That is the partition of JWGW21: its
//! components of uncertain pairs are joined if certain pairs between them go both ways, and that is the case exactly if their
//! stretches of scores overlap.

use rand::Rng;

use super::statistics::{Fitted, sigmoid};
use crate::interleave::below;
use crate::query::{MAX_SHOWN, QueryView};

/// Memory for the blocks of a query, and which of them the shown documents are from.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// L^-1 x of each document.
    whitened: Vec<f64>,
    scores: Vec<f64>,
    order: Vec<u32>,
    /// Of each position.
    block: [u32; MAX_SHOWN],
}

impl Default for Blocks {
    fn default() -> Self {
        Self { whitened: Vec::new(), scores: Vec::new(), order: Vec::new(), block: [0; MAX_SHOWN] }
    }
}

impl Blocks {
    /// Fills the list from the best block on.
    pub(super) fn fill(
        &mut self,
        fitted: &mut Fitted,
        exploration: f64,
        query: QueryView<'_>,
        random: &mut dyn Rng,
        shown: &mut [u32],
    ) {
        self.score(fitted, query);
        let (mut start, mut number) = (0, 0);
        while start < shown.len() {
            let end = self.end_of_block(start, query.n_features(), exploration);
            let block = &mut self.order[start..end];
            for i in 0..block.len().min(shown.len() - start) {
                block.swap(i, i + below(block.len() - i, random));
                shown[start + i] = block[i];
                self.block[start + i] = number;
            }
            (start, number) = (end, number + 1);
        }
    }

    /// Whether the documents at two positions were shuffled together.
    pub(super) fn are_together(&self, position: usize, other: usize) -> bool {
        self.block[position] == self.block[other]
    }

    fn score(&mut self, fitted: &Fitted, query: QueryView<'_>) {
        let (d, n_docs) = (query.n_features(), query.n_docs());
        self.whitened.resize(n_docs * d, 0.0);
        self.scores.clear();
        for (doc, x) in self.whitened.chunks_exact_mut(d).enumerate() {
            x.iter_mut().zip(query.row(doc)).for_each(|(x, &value)| *x = f64::from(value));
            self.scores.push(fitted.score(x));
            fitted.whiten(x);
        }
        self.order.clear();
        self.order.extend(0..n_docs as u32);
        let Self { order, scores, .. } = self;
        order.sort_unstable_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(b.cmp(&a)));
    }

    /// Where the block ends that begins at this place of the order.
    fn end_of_block(&self, start: usize, d: usize, exploration: f64) -> usize {
        let (mut at, mut last) = (start, start);
        while at <= last {
            let farthest =
                (last + 1..self.order.len()).rev().find(|&other| self.is_uncertain(at, other, d, exploration));
            last = farthest.unwrap_or(last);
            at += 1;
        }
        last + 1
    }

    /// Whether the document at one place of the order may in truth belong below that at a later place.
    fn is_uncertain(&self, place: usize, later: usize, d: usize, exploration: f64) -> bool {
        let (i, j) = (self.order[place] as usize, self.order[later] as usize);
        let (a, b) = (&self.whitened[i * d..(i + 1) * d], &self.whitened[j * d..(j + 1) * d]);
        let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        sigmoid(self.scores[i] - self.scores[j]) - exploration * square.sqrt() <= 0.5
    }
}

#[cfg(test)]
impl Blocks {
    pub(super) fn whitened_of(&self, doc: usize, d: usize) -> Vec<f64> {
        self.whitened[doc * d..(doc + 1) * d].to_vec()
    }

    pub(super) fn score_of(&self, doc: usize) -> f64 {
        self.scores[doc]
    }

    pub(super) fn number_of(&self, position: usize) -> u32 {
        self.block[position]
    }
}
