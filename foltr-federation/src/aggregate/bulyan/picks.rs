//! Which contributions does Krum pick one after the other? All distances are sorted once; what a pick changes in a
//! score is taken from it, so that n picks cost n^2 steps after n^2 log n for sorting.
//!
//! A score counts all but the m - 1 farthest of the others that are left. When one of the others is picked, the score
//! loses its distance if it was counted, and the farthest counted one otherwise. Sums are kept in two f64 and rounded to
//! one when they are compared: rows with the same distances have the same score, whatever the order in which others
//! were picked. A score that has become small beside what it once was is added up anew, because subtraction has lost
//! its digits; scores never grow, so that this happens to a row a few times at most.

use std::num::NonZeroUsize;

use crate::aggregate::geometry::Distances;

/// A score below this share of what was last added up is added up anew. The sums have 104 bits; those that n
/// subtractions leave of such a score are far more than the 53 that are compared.
const SMALL: f64 = 1.0 / 1_048_576.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Picks {
    n: usize,
    /// All others of every contribution, the nearest first, the lowest row among equals.
    neighbours: Vec<Neighbour>,
    scores: Vec<Score>,
    is_left: Vec<bool>,
}

impl Picks {
    /// Picks so many rows: each time the one with the lowest score, the lowest row among equals. Returns how many
    /// distances were looked at after sorting.
    pub(super) fn pick(&mut self, distances: &Distances, n: usize, n_attackers: usize, n_picks: usize) -> usize {
        self.begin(distances, n, n_attackers);
        let mut n_looks = n * n;
        for _ in 0..n_picks {
            let Some(pick) = self.lowest() else { break };
            self.is_left[pick] = false;
            for (row, &distance) in distances.row(pick).iter().enumerate() {
                if self.is_left[row] {
                    n_looks += self.forget(row, Neighbour::new(distance, pick));
                }
            }
        }
        n_looks
    }

    pub(super) fn is_picked(&self, row: usize) -> bool {
        !self.is_left[row]
    }

    fn begin(&mut self, distances: &Distances, n: usize, n_attackers: usize) {
        self.n = n;
        self.is_left.clear();
        self.is_left.resize(n, true);
        self.neighbours.clear();
        self.scores.clear();
        let n_counted = (n - 1).saturating_sub(n_attackers.saturating_sub(1));
        for row in 0..n {
            let others = distances.row(row).iter().enumerate().filter(|(other, _)| *other != row);
            self.neighbours.extend(others.map(|(other, &distance)| Neighbour::new(distance, other)));
            let sorted = &mut self.neighbours[row * (n - 1)..];
            sorted.sort_unstable();
            self.scores.push(Score::of(n_counted, &sorted[..n_counted], &self.is_left));
        }
    }

    fn lowest(&self) -> Option<usize> {
        let mut lowest: Option<(f64, usize)> = None;
        for (row, score) in self.scores.iter().enumerate().filter(|(row, _)| self.is_left[*row]) {
            if lowest.is_none_or(|(least, _)| score.sum.high < least) {
                lowest = Some((score.sum.high, row));
            }
        }
        lowest.map(|(_, row)| row)
    }

    /// Takes one that was picked out of the score of a row. Returns how many distances were looked at.
    fn forget(&mut self, row: usize, picked: Neighbour) -> usize {
        let (neighbours, score) = (&self.neighbours[row * (self.n - 1)..][..self.n - 1], &mut self.scores[row]);
        let Some(last) = NonZeroUsize::new(score.end).map(|end| end.get() - 1) else { return 1 };
        let farthest = neighbours[last];
        score.sum = score.sum.plus(-picked.min(farthest).distance());
        let mut n_looks = 1;
        if picked >= farthest {
            let counted = neighbours[..last].iter().rposition(|other| self.is_left[other.row()]);
            score.end = counted.map_or(0, |place| place + 1);
            n_looks += last + 1 - score.end;
        }
        if score.sum.high < SMALL * score.added_up {
            n_looks += score.end;
            *score = Score::of(score.end, &neighbours[..score.end], &self.is_left);
        }
        n_looks
    }
}

/// The bits of a distance above the number of a row: ordered by distance, then by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Neighbour(u128);

impl Neighbour {
    fn new(distance: f64, row: usize) -> Self {
        Self(u128::from(distance.to_bits()) << 64 | row as u128)
    }

    const fn distance(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }

    const fn row(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Score {
    sum: Sum,
    /// The sum when it was last added up.
    added_up: f64,
    /// Neighbours before this place count if they are left; the one before it always is.
    end: usize,
}

impl Score {
    fn of(end: usize, counted: &[Neighbour], is_left: &[bool]) -> Self {
        let left = counted.iter().filter(|other| is_left[other.row()]);
        let sum = left.fold(Sum::default(), |sum, other| sum.plus(other.distance()));
        Self { sum, added_up: sum.high, end }
    }
}

/// A number as the sum of two, of which the first is the number rounded to f64.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// Knuth's exact sum of two numbers; only what is below the low part is rounded.
    fn plus(self, value: f64) -> Self {
        let sum = self.high + value;
        let added = sum - self.high;
        let low = self.low + ((self.high - (sum - added)) + (value - added));
        let high = sum + low;
        Self { high, low: low - (high - sum) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Contributions;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    fn distances(rows: &[Vec<f32>]) -> Distances {
        let mut distances = Distances::default();
        distances.measure(&Contributions::of_rows(rows));
        distances.take_roots();
        distances
    }

    /// By the definition: every score is added up anew for every pick.
    fn picked_by_definition(distances: &Distances, n: usize, n_attackers: usize, n_picks: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..n).collect();
        for _ in 0..n_picks {
            let score = |row: usize| {
                let mut others: Vec<f64> =
                    left.iter().filter(|other| **other != row).map(|other| distances.row(row)[*other]).collect();
                others.sort_by(f64::total_cmp);
                others.iter().take(left.len() - n_attackers).sum::<f64>()
            };
            let scores: Vec<f64> = left.iter().map(|&row| score(row)).collect();
            let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
            left.remove(scores.iter().position(|&score| score == least).expect("one is left"));
        }
        (0..n).filter(|row| !left.contains(row)).collect()
    }

    fn compare(name: &str, rows: &[Vec<f32>]) {
        let (n, distances) = (rows.len(), distances(rows));
        let mut picks = Picks::default();
        for n_attackers in 0..=(n.saturating_sub(3) / 4) {
            for n_picks in [1, (n - 2 * n_attackers) / 2, n - 2 * n_attackers] {
                picks.pick(&distances, n, n_attackers, n_picks);
                let picked: Vec<usize> = (0..n).filter(|&row| picks.is_picked(row)).collect();
                let want = picked_by_definition(&distances, n, n_attackers, n_picks);
                assert_eq!(picked, want, "{name}: {n_picks} of {n} with {n_attackers} attackers");
            }
        }
    }

    #[test]
    fn picks_are_those_of_the_definition() {
        let mut random = SmallRng::seed_from_u64(1);
        for n in [1_usize, 2, 3, 7, 12, 31, 60] {
            let mut rows = |values: u32, n_params: usize| -> Vec<Vec<f32>> {
                (0..n).map(|_| (0..n_params).map(|_| random.random_range(0..values) as f32).collect()).collect()
            };
            compare("random", &rows(1 << 20, 5));
            // On a line all sums are exact: many scores are equal.
            compare("ties on a line", &rows(4, 1));
            compare("all equal", &rows(1, 3));
            let copies: Vec<_> = rows(1 << 20, 3).into_iter().map(|row| [&row[..], &[0.5]].concat()).collect();
            compare("copies", &(0..n).map(|i| copies[i % n.div_ceil(3)].clone()).collect::<Vec<_>>());
            compare(
                "corners",
                &(0..n).map(|i| (0..n).map(|j| f32::from(u8::from(i == j))).collect()).collect::<Vec<_>>(),
            );
        }
    }

    #[test]
    fn huge_contributions_do_not_blur_those_that_are_close_together() {
        // Until the huge ones are excluded or picked, every score has their distances in it.
        for n_huge in 1..6 {
            let row =
                |i: u16| vec![if i < n_huge { f32::MAX / f32::from(i + 1) } else { f32::from(i * i % 101) * 1e-3 }];
            let rows: Vec<Vec<f32>> = (0..23).map(row).collect();
            let (distances, mut picks) = (distances(&rows), Picks::default());
            picks.pick(&distances, 23, 5, 13);
            assert!((0..n_huge.into()).all(|huge| !picks.is_picked(huge)), "{n_huge} huge");
            let left_score: Vec<f64> = picks.scores.iter().map(|score| score.sum.high).collect();
            for row in (0..23).filter(|&row| picks.is_left[row]) {
                let counted = &picks.neighbours[row * 22..][..picks.scores[row].end];
                let want: f64 =
                    counted.iter().filter(|other| picks.is_left[other.row()]).map(|other| other.distance()).sum();
                assert!((left_score[row] - want).abs() <= 1e-15 * want, "{row}: {} is not {want}", left_score[row]);
            }
        }
    }

    #[test]
    fn the_work_grows_with_the_square_of_the_clients() {
        let mut random = SmallRng::seed_from_u64(2);
        let mut looks = |n: usize, values: u32| {
            let rows: Vec<Vec<f32>> =
                (0..n).map(|_| (0..3).map(|_| random.random_range(0..values) as f32).collect()).collect();
            Picks::default().pick(&distances(&rows), n, n / 5, n - 2 * (n / 5)) as f64
        };
        for values in [1, 3, 1 << 20] {
            let (few, many) = (looks(100, values), looks(400, values));
            // 16 if it is the square, 64 if every pick looks at all distances again.
            assert!(many / few < 20.0, "{few} and {many}, {values} different values");
            assert!(many < 4.0 * 400.0 * 400.0, "{many}");
        }
    }
}
