//! The hinge loss of all pairs of one query without visiting all pairs: sort the scores, then count.
//!
//! `J06` Joachims: *Training Linear SVMs in Linear Time*, KDD 2006, counts so for ordinal regression; here each two
//! grades of a query are swept in turn.
//!
//! A pair (i, j) with label_i > label_j has the violation t = 1 - (s_i - s_j). Its hinge max(0, t) is smoothed to
//! max over 0 <= a <= 1 of a t - (h / 2) a^2: the multiplier a is 0 for t <= 0, t / h up to t = h, and 1 above.

use std::ops::Range;

/// Sums over the pairs of one or more queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PairSums {
    /// Sum of max(0, t).
    pub hinge: f64,
    /// Sum of a.
    pub multipliers: f64,
}

impl PairSums {
    pub(super) fn add(&mut self, other: Self) {
        self.hinge += other.hinge;
        self.multipliers += other.multipliers;
    }
}

/// One query at a time: its documents in order of label and score, and memory that the next query uses again.
#[derive(Default)]
pub(super) struct PairSweep {
    order: Vec<u32>,
    scores: Vec<f64>,
    grades: Vec<Range<usize>>,
    score_sum_from: Vec<f64>,
    fully_violated_from: Vec<u32>,
}

impl PairSweep {
    /// Sums over all pairs of a query.
    ///
    /// Adds a to `balance[i]` and takes it from `balance[j]`, for each pair (i, j). Hands the pairs with 0 < t < h,
    /// where the smoothed loss is curved, to `curved`.
    pub(super) fn run(
        &mut self,
        labels: &[u8],
        scores: &[f64],
        smoothing: f64,
        balance: &mut [f64],
        mut curved: impl FnMut(u32, u32),
    ) -> PairSums {
        self.sort(labels, scores);
        let mut sums = PairSums::default();
        for low in 0..self.grades.len() {
            self.sum_scores_from(self.grades[low].clone());
            for high in low + 1..self.grades.len() {
                let (low, high) = (self.grades[low].clone(), self.grades[high].clone());
                self.two_grades(low, high, smoothing, balance, &mut sums, &mut curved);
            }
        }
        sums
    }

    /// Documents by label, and within a label by score, lowest first.
    fn sort(&mut self, labels: &[u8], scores: &[f64]) {
        self.order.clear();
        self.order.extend(0..labels.len() as u32);
        let key = |doc: u32| (labels[doc as usize], scores[doc as usize]);
        self.order.sort_unstable_by(|&a, &b| {
            let ((label_a, score_a), (label_b, score_b)) = (key(a), key(b));
            label_a.cmp(&label_b).then(score_a.total_cmp(&score_b)).then(a.cmp(&b))
        });
        self.scores.clear();
        self.scores.extend(self.order.iter().map(|&doc| scores[doc as usize]));
        self.grades.clear();
        let mut start = 0;
        for grade in self.order.chunk_by(|&a, &b| key(a).0 == key(b).0) {
            self.grades.push(start..start + grade.len());
            start += grade.len();
        }
    }

    /// For each place of a grade the sum of the scores from there to the grade's end.
    fn sum_scores_from(&mut self, grade: Range<usize>) {
        self.score_sum_from.clear();
        self.score_sum_from.resize(grade.len() + 1, 0.0);
        for place in (0..grade.len()).rev() {
            self.score_sum_from[place] = self.score_sum_from[place + 1] + self.scores[grade.start + place];
        }
    }

    /// All pairs of a document of grade `high` with one of grade `low`.
    fn two_grades(
        &mut self,
        low: Range<usize>,
        high: Range<usize>,
        smoothing: f64,
        balance: &mut [f64],
        sums: &mut PairSums,
        curved: &mut impl FnMut(u32, u32),
    ) {
        let low_scores = &self.scores[low.clone()];
        let low_docs = &self.order[low];
        self.fully_violated_from.clear();
        self.fully_violated_from.resize(low_docs.len() + 1, 0);
        // As s_i rises, both ends of 0 < t < h move up the sorted lower grade.
        let (mut violated, mut fully) = (0, 0);
        for (&better, &score) in self.order[high.clone()].iter().zip(&self.scores[high]) {
            let violation = |place: usize| 1.0 + low_scores[place] - score;
            while violated < low_scores.len() && violation(violated) <= 0.0 {
                violated += 1;
            }
            fully = fully.max(violated);
            while fully < low_scores.len() && violation(fully) < smoothing {
                fully += 1;
            }
            let n_fully = (low_scores.len() - fully) as f64;
            sums.hinge += n_fully * (1.0 - score) + self.score_sum_from[fully];
            let mut pull = n_fully;
            for (place, &worse) in low_docs.iter().enumerate().take(fully).skip(violated) {
                let t = violation(place);
                let multiplier = t / smoothing;
                sums.hinge += t;
                pull += multiplier;
                balance[worse as usize] -= multiplier;
                curved(better, worse);
            }
            sums.multipliers += pull;
            balance[better as usize] += pull;
            self.fully_violated_from[fully] += 1;
        }
        take_fully_violated(low_docs, &self.fully_violated_from, balance);
    }
}

/// Takes 1 for each fully violated pair from its worse document: such pairs reach from a place to the grade's end.
fn take_fully_violated(worse_docs: &[u32], n_from: &[u32], balance: &mut [f64]) {
    let mut n_pairs = 0;
    for (&worse, &n_more) in worse_docs.iter().zip(n_from) {
        n_pairs += n_more;
        balance[worse as usize] -= f64::from(n_pairs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, pair by pair.
    fn by_definition(labels: &[u8], scores: &[f64], h: f64) -> (PairSums, Vec<f64>, Vec<(u32, u32)>) {
        let (mut sums, mut balance, mut curved) = (PairSums::default(), vec![0.0; labels.len()], Vec::new());
        for i in 0..labels.len() {
            for j in (0..labels.len()).filter(|&j| labels[i] > labels[j]) {
                let t = 1.0 - (scores[i] - scores[j]);
                let a = (t / h).clamp(0.0, 1.0);
                sums.add(PairSums { hinge: t.max(0.0), multipliers: a });
                balance[i] += a;
                balance[j] -= a;
                if t > 0.0 && t < h {
                    curved.push((i as u32, j as u32));
                }
            }
        }
        (sums, balance, curved)
    }

    #[test]
    fn counting_agrees_with_the_definition() {
        let mut sweep = PairSweep::default();
        let mut state = 1_u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for h in [1e-3, 0.25, 1.0, 3.0] {
            for n_docs in [1, 2, 7, 40] {
                let labels: Vec<u8> = (0..n_docs).map(|_| (next() % 5) as u8).collect();
                // Eighths: many equal scores, and violations of exactly 0 and exactly h.
                let scores: Vec<f64> = (0..n_docs).map(|_| f64::from(next() % 32) / 8.0 - 2.0).collect();
                let (sums, balance, mut curved) = by_definition(&labels, &scores, h);
                let (mut our_balance, mut our_curved) = (vec![0.0; n_docs], Vec::new());
                let ours = sweep.run(&labels, &scores, h, &mut our_balance, |i, j| our_curved.push((i, j)));
                assert!((ours.hinge - sums.hinge).abs() < 1e-9, "{ours:?} instead of {sums:?}");
                assert!((ours.multipliers - sums.multipliers).abs() < 1e-9, "{ours:?} instead of {sums:?}");
                assert!(our_balance.iter().zip(&balance).all(|(a, b)| (a - b).abs() < 1e-9));
                curved.sort_unstable();
                our_curved.sort_unstable();
                assert_eq!(our_curved, curved);
            }
        }
    }

    #[test]
    fn three_documents_by_hand() {
        // Pairs (0, 1): t = 1 - (0 - .5) = 1.5, fully violated; (0, 2): t = 1 - .75 = .25, a = .5 at h = .5.
        let mut balance = [0.0; 3];
        let mut curved = Vec::new();
        let sums =
            PairSweep::default().run(&[1, 0, 0], &[0.0, 0.5, -0.75], 0.5, &mut balance, |i, j| curved.push((i, j)));
        assert_eq!(sums, PairSums { hinge: 1.75, multipliers: 1.5 });
        assert_eq!((balance, curved), ([1.5, -1.0, -0.5], vec![(0, 2)]));
    }
}
