//! What a list with bounded displacement says about its pairs: their weights by the propensities of the sampler that drew it.
//!
//! `OdR18` Oosterhuis, de Rijke: *Differentiable Unbiased Online Learning to Rank*, CIKM 2018, Eqs. 6 to 8, with the law of
//! `plackett_luce/bounded.rs` in place of Plackett-Luce. For positions a < b with documents x and y, R* being R with the two
//! exchanged and Z_i the sum of e^score over A_i:
//!
//! rho = P(R*) / (P(R) + P(R*)) = 1 / (1 + prod_{i = a+1}^{b} Z*_i / Z_i).
//!
//! **R\* is possible** if both documents are within k of their ranks in it, r(y) <= a + k and r(x) >= b - k; all others stay
//! where they may be. If not, P(R*) = 0 and the pair weighs 0. With k = 0 no exchange is possible and nothing is learnt.
//!
//! **The factors** of a possible exchange: a document between a and b that is due in R is due in R* as well, factor 1.
//! Else A_i has y in R and x in R*, the rest C being the same: Z*_i / Z_i = (C + e^{s_x}) / (C + e^{s_y}). At b itself Z_b is
//! e^{s_y} if y is due there, and Z*_b is e^{s_x} if x is. At a both lists draw from the same documents.
//!
//! C is a sum of positive terms relative to the best document of A_i, so that nothing cancels at any range of scores. If s_x > s_y,
//! no factor is below 1 / (k + 1), else none is above k + 1: a product may be 0 or infinite, but is never 0 times infinity.

use super::Preferences;
use super::pair_weights::unclicked_considered;
use crate::bytes::{BytesError, Reader, Writer};
use crate::elementary::exp_double;
use crate::plackett_luce::{Allowed, BoundedSampler, MAX_DISPLACEMENT};
use crate::query::{Clicks, MAX_SHOWN, Ranking};

/// A list with bounded displacement: all that its pair weights need.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundedList {
    displacement: usize,
    /// Of the documents that could be shown, by rank.
    scores: Vec<f32>,
    /// Of the shown documents, by position.
    ranks: Vec<u8>,
}

/// Sums over the documents that could be drawn at each place of a list. Memory that lists share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    allowed: Allowed,
    masses: Vec<f64>,
    /// Position of the document with this rank; `u8::MAX` if it is not shown.
    positions: Vec<u8>,
    places: Vec<Place>,
    /// At `place * n_shown + position`: the sum over all that are near at this place but the document at this position.
    others: Vec<f64>,
}

/// What could be drawn at one place.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The score that masses are relative to.
    best: f64,
    /// Z without regard to what is due.
    total: f64,
    is_due: bool,
}

impl BoundedList {
    pub(super) fn new() -> Self {
        Self { displacement: 0, scores: Vec::new(), ranks: Vec::new() }
    }

    /// Becomes a list of the documents that the sampler drew from last.
    ///
    /// # Panics
    /// If it could not have drawn this list.
    pub(super) fn fill(&mut self, sampler: &BoundedSampler, ranking: &Ranking) {
        let rank = |doc: &u32| sampler.docs().iter().position(|other| other == doc);
        self.displacement = sampler.displacement();
        self.scores.clear();
        self.scores.extend_from_slice(sampler.scores());
        self.ranks.clear();
        self.ranks.extend(ranking.docs().iter().map(|doc| match rank(doc) {
            Some(rank) => rank as u8,
            None => panic!("document {doc} is not among those that could be shown: {:?}", sampler.docs()),
        }));
    }

    pub(crate) fn n_bytes(&self) -> usize {
        size_of::<f32>() * self.scores.capacity() + self.ranks.capacity()
    }

    pub(crate) const fn n_shown(&self) -> usize {
        self.ranks.len()
    }

    /// The score of the document at this position.
    fn score(&self, position: usize) -> f64 {
        f64::from(self.scores[usize::from(self.ranks[position])])
    }

    /// Sets the weight of each shown document times the rate, by position: Eqs. 6 and 8.
    pub(super) fn position_weights(&self, sums: &mut Sums, clicks: Clicks, rate: f32, weights: &mut [f32; MAX_SHOWN]) {
        let mut result = [0.0_f64; MAX_SHOWN];
        let considered = unclicked_considered(clicks, self.ranks.len());
        self.for_each_pair(sums, clicks, considered, |clicked, unclicked, rho| {
            let gap = exp_double(-(self.score(clicked) - self.score(unclicked)).abs());
            let pair = rho * gap / ((1.0 + gap) * (1.0 + gap));
            result[clicked] += pair;
            result[unclicked] -= pair;
        });
        *weights = result.map(|weight| rate * weight as f32);
    }

    /// Adds the pairs that the clicks suggest and whose exchange is possible.
    pub(super) fn add_preferences(&self, sums: &mut Sums, clicks: Clicks, preferences: &mut Preferences) {
        let considered = unclicked_considered(clicks, self.ranks.len());
        self.for_each_pair(sums, clicks, considered, |clicked, unclicked, rho| {
            if rho > 0.0 {
                preferences.add(clicked, unclicked, rho);
            }
        });
    }

    /// Visits the pairs of the clicked documents with these unclicked ones: both positions, and rho.
    pub(crate) fn for_each_pair(
        &self,
        sums: &mut Sums,
        clicks: Clicks,
        unclicked: u128,
        mut visit: impl FnMut(usize, usize, f64),
    ) {
        let n_shown = self.ranks.len();
        sums.fill(self);
        for c in (0..n_shown).filter(|&i| clicks.at(i)) {
            for u in (0..n_shown).filter(|&i| unclicked >> i & 1 == 1) {
                visit(c, u, self.rho(sums, c.min(u), c.max(u)));
            }
        }
    }

    /// Of the documents at positions a < b.
    fn rho(&self, sums: &Sums, a: usize, b: usize) -> f64 {
        let (k, n_shown) = (self.displacement, self.ranks.len());
        let (rank_x, rank_y) = (usize::from(self.ranks[a]), usize::from(self.ranks[b]));
        if rank_y > a + k || rank_x + k < b {
            return 0.0;
        }
        let score_x = self.score(a);
        let mut ratio = 1.0; // P(R) / P(R*)
        for i in a + 1..=b {
            let Place { best, total, is_due } = sums.places[i];
            if is_due && i < b {
                continue;
            }
            let mass_x = exp_double(score_x - best);
            let swapped = if rank_x + k == i { mass_x } else { sums.others[i * n_shown + b] + mass_x };
            // What is due at b is y, the best of all that are near: its mass is 1.
            ratio *= swapped / if is_due { 1.0 } else { total };
        }
        1.0 / (1.0 + ratio)
    }

    /// The mean of q (1 - q) over the pairs of shown documents that can be exchanged in some list, q being the probability
    /// with which one of two comes first if both may be drawn. The same for all orders of these documents.
    pub(crate) fn openness(&self) -> f64 {
        let (mut sum, mut n_pairs) = (0.0, 0);
        for (i, &first) in self.ranks.iter().enumerate() {
            for (j, &second) in self.ranks[..i].iter().enumerate() {
                // One at place a and the other below it, each at most k from its rank.
                if usize::from(first.abs_diff(second)) < 2 * self.displacement {
                    let gap = exp_double(-(self.score(i) - self.score(j)).abs());
                    sum += gap / ((1.0 + gap) * (1.0 + gap));
                    n_pairs += 1;
                }
            }
        }
        if n_pairs > 0 { sum / f64::from(n_pairs) } else { 0.0 }
    }

    /// Whether the sampler can draw it.
    fn is_possible(&self) -> bool {
        let mut allowed = Allowed::default();
        allowed.start(self.displacement, self.scores.len());
        self.ranks.iter().all(|&rank| allowed.place(rank.into()))
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u8(self.displacement as u8).u8(self.scores.len() as u8).f32s(&self.scores).bytes(&self.ranks);
    }

    pub(crate) fn read(n_shown: usize, input: &mut Reader<'_>) -> Result<Self, BytesError> {
        let displacement = usize::from(input.u8()?);
        input.require(displacement <= MAX_DISPLACEMENT, "a displacement beyond the end of any list")?;
        let n_ranks = usize::from(input.u8()?);
        input.require(n_ranks <= n_shown + displacement, "documents that could not be shown")?;
        let scores = input.f32s(n_ranks)?;
        input.require(scores.is_sorted_by(|first, second| first >= second), "scores that do not fall")?;
        let list = Self { displacement, scores, ranks: input.take(n_shown)?.to_vec() };
        input.require(list.is_possible(), "a list that is not drawn with this displacement")?;
        Ok(list)
    }
}

impl Sums {
    /// Those of a list.
    fn fill(&mut self, list: &BoundedList) {
        let n_shown = list.ranks.len();
        self.positions.clear();
        self.positions.resize(list.scores.len(), u8::MAX);
        for (position, &rank) in list.ranks.iter().enumerate() {
            self.positions[usize::from(rank)] = position as u8;
        }
        self.others.clear();
        self.others.resize(n_shown * n_shown, 0.0);
        self.places.clear();
        self.allowed.start(list.displacement, list.scores.len());
        for (place, &rank) in list.ranks.iter().enumerate() {
            self.fill_place(&list.scores, place, n_shown);
            assert!(self.allowed.place(rank.into()), "{list:?} cannot be drawn: place {place}");
        }
    }

    fn fill_place(&mut self, scores: &[f32], place: usize, n_shown: usize) {
        let near = self.allowed.near();
        let score = |rank: u32| f64::from(scores[rank as usize]);
        let best = score(near[0]);
        self.masses.clear();
        self.masses.extend(near.iter().map(|&rank| exp_double(score(rank) - best)));
        let mut set = |rank: u32, sum: f64| {
            let position = usize::from(self.positions[rank as usize]);
            if position < n_shown {
                self.others[place * n_shown + position] += sum;
            }
        };
        // All before a document and all behind it: nothing is subtracted.
        let mut before = 0.0;
        for (&rank, mass) in near.iter().zip(&self.masses) {
            set(rank, before);
            before += mass;
        }
        let mut behind = 0.0;
        for (&rank, mass) in near.iter().zip(&self.masses).rev() {
            set(rank, behind);
            behind += mass;
        }
        self.places.push(Place { best, total: before, is_due: self.allowed.is_due() });
    }
}

#[cfg(test)]
mod tests;
