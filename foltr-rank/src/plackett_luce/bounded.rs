//! Lists in which no document is further than k places from its rank by score: exploration that leaves a list recognisable.
//!
//! Drawn place by place. With places and ranks counted from 0, r(d) the rank and s(d) the score of document d, the
//! documents that may be drawn at place i are
//!
//! A_i = { d not placed yet : r(d) <= i + k }, or the document with r(d) = i - k alone if it is not placed yet,
//!
//! and d is drawn with probability e^s(d) / sum of e^s over A_i: the Plackett-Luce law (`plackett_luce.rs`) restricted to A_i.
//! This always works: of the i + 1 documents with r(d) <= i at most i are placed, so that A_i is never empty, and ranks
//! differ, so that every document has a last place r(d) + k of its own, at which it is drawn if it is still there.
//!
//! What is placed before i has ranks below i + k. So A_i has k + 1 documents at most, and a list of n places is about the n + k
//! documents that score best: its cost does not depend on how many others there are. k = 0 is the ranking by score.
//!
//! No paper: this sampler is foltr's own. Sums are relative to the best document of A_i, so that scores may spread to any
//! width; a draw has 53 random bits.

use rand::Rng;

use crate::elementary::exp_double;
use crate::query::Ranking;
use crate::select::ScoreBuffer;

/// The largest bound: lists have no more places.
pub const MAX_DISPLACEMENT: usize = crate::query::MAX_SHOWN;

/// Draws lists with bounded displacement; owns the memory for it.
#[derive(Clone, Debug)]
pub struct BoundedSampler {
    displacement: usize,
    /// The documents that the last list could show, and their scores, by rank.
    docs: Vec<u32>,
    scores: Vec<f32>,
    allowed: Allowed,
    masses: Vec<f64>,
}

impl BoundedSampler {
    /// Documents move at most `displacement` places.
    ///
    /// # Panics
    /// With a displacement above [`MAX_DISPLACEMENT`].
    pub fn new(displacement: usize) -> Self {
        assert!(displacement <= MAX_DISPLACEMENT, "a displacement of {displacement} is above {MAX_DISPLACEMENT}");
        let (docs, scores, masses) = (Vec::new(), Vec::new(), Vec::new());
        Self { displacement, docs, scores, allowed: Allowed::default(), masses }
    }

    /// What [`ListSampler::sample`](super::ListSampler::sample) does, with bounded displacement.
    pub fn sample(
        &mut self,
        scores: &mut ScoreBuffer,
        n_shown: usize,
        stream: &mut dyn Rng,
        ranking: &mut Ranking,
        between: impl Fn(usize),
    ) {
        between(0);
        let n_shown = n_shown.min(scores.scores().len());
        self.docs.clear();
        self.docs.extend_from_slice(scores.best_few(n_shown.saturating_add(self.displacement)));
        between(1);
        self.scores.clear();
        self.scores.extend(self.docs.iter().map(|&doc| scores.scores()[doc as usize]));
        between(2);
        self.allowed.start(self.displacement, self.docs.len());
        for place in ranking.resize(n_shown) {
            let rank = draw(&self.scores, self.allowed.ranks(), &mut self.masses, stream);
            self.allowed.place(rank);
            *place = self.docs[rank as usize];
        }
        between(3);
    }

    pub(crate) const fn displacement(&self) -> usize {
        self.displacement
    }

    /// The documents that the last list could show, best first.
    pub(crate) fn docs(&self) -> &[u32] {
        &self.docs
    }

    /// Their scores.
    pub(crate) fn scores(&self) -> &[f32] {
        &self.scores
    }
}

/// One of these ranks, with probability proportional to e^score.
fn draw(scores: &[f32], ranks: &[u32], masses: &mut Vec<f64>, stream: &mut dyn Rng) -> u32 {
    let best = ranks[0];
    if ranks.len() == 1 {
        return best;
    }
    let score = |rank: u32| f64::from(scores[rank as usize]);
    masses.clear();
    masses.extend(ranks.iter().map(|&rank| exp_double(score(rank) - score(best))));
    let uniform = (stream.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
    let mut left = uniform * masses.iter().sum::<f64>();
    for (&rank, &mass) in ranks.iter().zip(&*masses) {
        if left < mass {
            return rank;
        }
        left -= mass;
    }
    best // what rounding has left over
}

/// The ranks of the documents that may be drawn at one place after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    displacement: usize,
    n_ranks: usize,
    place: usize,
    /// Of all documents that are not placed and not too far below, rising.
    near: Vec<u32>,
}

impl Allowed {
    /// Goes to the first place, with documents of ranks below `n_ranks`.
    pub(crate) fn start(&mut self, displacement: usize, n_ranks: usize) {
        (self.displacement, self.n_ranks, self.place) = (displacement, n_ranks, 0);
        self.near.clear();
        self.near.extend(0..n_ranks.min(displacement + 1) as u32);
    }

    /// A_i: what may be drawn, best first.
    pub(crate) fn ranks(&self) -> &[u32] {
        if self.is_due() { &self.near[..1] } else { &self.near }
    }

    /// The same if nothing were due.
    pub(crate) fn near(&self) -> &[u32] {
        &self.near
    }

    /// Whether this is the last place for the best document that is left.
    pub(crate) fn is_due(&self) -> bool {
        self.near.first().is_some_and(|&best| best as usize + self.displacement == self.place)
    }

    /// Places a document and goes to the next place. Says whether that document may be drawn; if not, nothing changes.
    pub(crate) fn place(&mut self, rank: u32) -> bool {
        let Some(index) = self.ranks().iter().position(|&allowed| allowed == rank) else { return false };
        self.near.remove(index);
        self.place += 1;
        let entering = self.place + self.displacement;
        if entering < self.n_ranks {
            self.near.push(entering as u32);
        }
        true
    }
}

#[cfg(test)]
pub(crate) mod by_definition;
#[cfg(test)]
mod tests;
