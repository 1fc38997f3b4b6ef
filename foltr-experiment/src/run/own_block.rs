//! Rankers that clients use, collected over rounds, so that one pass over the queries evaluates many of them.
//!
//! Equal rankers are stored and evaluated once: those of clients that did not take part in a round, and the global
//! ranker of clients that have no other.

use std::collections::HashMap;

use foltr_rank::Shape;
use foltr_rank::learn::OwnRanker;

use crate::evaluate::SNAPSHOTS;

/// Different rankers that are enough to be evaluated: four passes of [`SNAPSHOTS`], so that the last is hardly emptier.
const ENOUGH: usize = 4 * SNAPSHOTS;
/// Clients times rounds that wait: eight megabytes of numbers of rankers.
const MOST_USES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct OwnBlock {
    pub(super) rounds: Vec<OwnRound>,
    pub(super) rankers: Vec<OwnRanker>,
    known: HashMap<(Shape, Vec<u32>), usize>,
}

/// Who uses which of the rankers after a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnRound {
    pub(super) round: usize,
    pub(super) of_clients: Vec<usize>,
    /// The ranker of all, to compare with.
    pub(super) global: Option<usize>,
}

impl OwnBlock {
    pub(super) fn number_of(&mut self, ranker: OwnRanker) -> usize {
        let bits = ranker.params.iter().map(|param| param.to_bits()).collect();
        *self.known.entry((ranker.shape, bits)).or_insert_with(|| {
            self.rankers.push(ranker);
            self.rankers.len() - 1
        })
    }

    pub(super) fn is_full(&self) -> bool {
        let n_uses: usize = self.rounds.iter().map(|round| round.of_clients.len()).sum();
        self.rankers.len() >= ENOUGH || self.rounds.len() >= SNAPSHOTS || n_uses >= MOST_USES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rankers_are_held_once() {
        let mut block = OwnBlock::default();
        let linear = |weight: f32| OwnRanker { shape: Shape::Linear { n_features: 1 }, params: vec![weight] };
        let numbers: Vec<usize> = [0.5, 0.25, 0.5, 0.0, -0.0].into_iter().map(|w| block.number_of(linear(w))).collect();
        assert_eq!((numbers, block.rankers.len()), (vec![0, 1, 0, 2, 3], 4));
        assert!(!block.is_full());
        (0..ENOUGH).for_each(|i| _ = block.number_of(linear(i as f32)));
        assert!(block.is_full());
    }
}
