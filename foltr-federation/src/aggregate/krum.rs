//! Krum: the contribution that is closest to its neighbours. Multi-Krum: the mean of the best n - m.
//!
//! `BMGS17` Blanchard, El Mhamdi, Guerraoui, Stainer: *Machine Learning with Adversaries: Byzantine Tolerant Gradient
//! Descent*, NeurIPS 2017, section 4; spec section 14. A score is the sum of the distances from the n - m - 2 nearest
//! others, or from the n - m nearest as in the code of `BBG19`; the lowest scores win, the lowest client among equals.
//!
//! With n >= 2m + 3 the choice stays among the honest contributions however far away m attackers are; Multi-Krum can
//! take a few of theirs, but only such as are as close to honest ones as these are to each other. Neither promises
//! anything about attackers who hide inside the scatter of honest contributions, and Krum throws n - 1 of them away.
//!
//! Deviation: distances are not squared unless asked for (the thesis), and fewer clients than 2m + 3 are taken, as
//! there.

use foltr_rank::simd::two_widths;
use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::{Distances, add_scaled};
use crate::aggregate::{AggregationRule, Combined, Contributions};
use foltr_rank::parameter::{ParameterError, require};

/// How neighbours are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Krum {
    /// Attackers to expect.
    pub attackers: u32,
    /// Whether distances are squared, as in the paper that proposed it.
    #[serde(default)]
    pub squared: bool,
    /// How many of the nearest others are looked at: a number, "n-m-2" (of n clients and m attackers) or "n-m"; "n-m-2" when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
}

/// How many of the nearest others a score looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a number of neighbours, \"n-m-2\" or \"n-m\"")]
pub enum Neighbours {
    Fixed(u32),
    Counted(Counted),
}

/// Neighbours by the number of clients, n, and of attackers, m.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Counted {
    /// As in the paper that proposed it.
    #[serde(rename = "n-m-2")]
    WithoutTwo,
    /// As many as honest clients, which is one more than an honest client has honest others.
    #[serde(rename = "n-m")]
    All,
}

impl Neighbours {
    pub const OF_THE_PAPER: Self = Self::Counted(Counted::WithoutTwo);

    pub fn check(self) -> Result<(), ParameterError> {
        let least = if let Self::Fixed(neighbours) = self { neighbours } else { 1 };
        require("neighbours", least.into(), least > 0, "at least 1")
    }

    /// Among `n` updates of which `attackers` are made up: at least one, and not more than there are others.
    pub fn of(self, n: usize, attackers: usize) -> usize {
        let neighbours = match self {
            Self::Fixed(neighbours) => neighbours as usize,
            Self::Counted(Counted::WithoutTwo) => n.saturating_sub(attackers + 2),
            Self::Counted(Counted::All) => n.saturating_sub(attackers),
        };
        let n_others = n.saturating_sub(1);
        neighbours.clamp(n_others.min(1), n_others)
    }
}

/// The same parameters, for the mean of all that are close to their neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct MultiKrum(pub Krum);

impl AggregationRule for Krum {
    type Memory = Memory;

    fn check(&self) -> Result<(), ParameterError> {
        self.neighbours.map_or(Ok(()), Neighbours::check)
    }

    fn least_clients(&self) -> usize {
        let attackers = self.attackers as usize;
        match self.neighbours.unwrap_or(Neighbours::OF_THE_PAPER) {
            Neighbours::Counted(Counted::WithoutTwo) => attackers.saturating_add(3),
            Neighbours::Fixed(neighbours) => attackers.max(neighbours as usize).saturating_add(1),
            Neighbours::Counted(Counted::All) => attackers.saturating_add(1),
        }
    }

    fn combine(&self, memory: &mut Memory, _: &[f32], round: &Contributions, combined: &mut Combined) {
        self.mean_of_best(memory, round, combined, |_| 1);
    }
}

impl AggregationRule for MultiKrum {
    type Memory = Memory;

    fn check(&self) -> Result<(), ParameterError> {
        self.0.check()
    }

    fn least_clients(&self) -> usize {
        self.0.least_clients()
    }

    fn combine(&self, memory: &mut Memory, _: &[f32], round: &Contributions, combined: &mut Combined) {
        self.0.mean_of_best(memory, round, combined, |n_attackers| round.len() - n_attackers);
    }
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    distances: Distances,
    scores: Scores,
}

impl Krum {
    /// Attackers to expect among `n` contributions, and how many neighbours a score adds up. For callers without
    /// stand-ins: where fewer came than are needed, as many attackers as it can stand.
    fn expected(&self, n: usize) -> (usize, usize) {
        let attackers = self.attackers as usize;
        let attackers = if n >= self.least_clients() { attackers } else { attackers.min(n.saturating_sub(3) / 2) };
        (attackers, self.neighbours.unwrap_or(Neighbours::OF_THE_PAPER).of(n, attackers))
    }

    fn mean_of_best(
        &self,
        memory: &mut Memory,
        round: &Contributions,
        combined: &mut Combined,
        n_best: impl Fn(usize) -> usize,
    ) {
        let n = round.len();
        let (n_attackers, n_neighbours) = self.expected(n);
        memory.distances.measure(round);
        if !self.squared {
            memory.distances.take_roots();
        }
        memory.scores.fill(&memory.distances, n, n_neighbours);
        let n_best = n_best(n_attackers);
        combined.shares.resize(n, 0.0);
        for &row in memory.scores.best(n_best) {
            combined.shares[row] = 1.0 / n_best as f64;
        }
        // In client order, whatever the scores are.
        let best = round.rows().zip(&combined.shares).filter(|(_, share)| **share > 0.0);
        best.for_each(|(row, _)| add_scaled(&mut combined.step, row, 1.0));
        combined.step.iter_mut().for_each(|value| *value /= n_best as f64);
    }
}

/// Distances that are added side by side.
const LANES: usize = 8;
/// Rows of more distances are selected from, not sorted.
const SORTED: usize = 32;

#[derive(Clone, Debug, Default)]
struct Scores {
    values: Vec<f64>,
    order: Vec<usize>,
    /// Distances of one contribution as bits, which have the same order and are compared faster.
    bits: Vec<u64>,
}

impl Scores {
    fn fill(&mut self, distances: &Distances, n: usize, n_neighbours: usize) {
        self.values.clear();
        for row in 0..n {
            let distances = distances.row(row);
            self.bits.clear();
            self.bits.extend(distances.iter().map(|distance| distance.to_bits()));
            // The distance from itself is among them, and adds nothing.
            self.values.push(sum_of_smallest(distances, &mut self.bits, n_neighbours + 1));
        }
    }

    /// The rows with the lowest scores, in no particular order.
    fn best(&mut self, n_best: usize) -> &[usize] {
        self.order.clear();
        self.order.extend(0..self.values.len());
        let compare = |a: &usize, b: &usize| self.values[*a].total_cmp(&self.values[*b]).then(a.cmp(b));
        self.order.select_nth_unstable_by(n_best - 1, compare);
        &self.order[..n_best]
    }
}

fn sum_of_smallest(distances: &[f64], bits: &mut [u64], n_smallest: usize) -> f64 {
    if bits.len() <= SORTED {
        // In sorted order: equal distances give equal scores, whichever contribution they are from.
        bits.sort_unstable();
        return bits[..n_smallest].iter().map(|&bits| f64::from_bits(bits)).sum();
    }
    let (_, &mut largest, _) = bits.select_nth_unstable(n_smallest - 1);
    let largest = f64::from_bits(largest);
    // All others count as the largest, and are taken away again: the order of addition is that of the clients.
    limited_sum(distances, largest) - largest * (distances.len() - n_smallest) as f64
}

two_widths! {
    /// The sum of distances of which none counts as more than the limit.
    fn limited_sum(distances: &[f64], limit: f64) -> f64 {
        let mut sums = [0.0; LANES];
        let (whole, rest) = distances.as_chunks();
        for distances in whole {
            add_limited(distances, limit, &mut sums);
        }
        let rest = rest.iter().map(|&distance| if distance < limit { distance } else { limit }).sum::<f64>();
        sums.iter().sum::<f64>() + rest
    }
}

#[inline(always)]
fn add_limited(distances: &[f64; LANES], limit: f64, sums: &mut [f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] += if distances[lane] < limit { distances[lane] } else { limit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_sums_are_sorted_sums() {
        for n in [33_usize, 40, 1000] {
            let distances: Vec<f64> = (0..n).map(|i| f64::from((i * 37 % 101) as u32)).collect();
            for n_smallest in [1, 2, n / 2, n - 1, n] {
                let mut sorted = distances.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let mut bits: Vec<u64> = distances.iter().map(|distance| distance.to_bits()).collect();
                let want: f64 = sorted[..n_smallest].iter().sum();
                assert_eq!(sum_of_smallest(&distances, &mut bits, n_smallest), want, "{n_smallest} of {n}");
            }
        }
    }

    #[test]
    fn where_few_came_fewer_attackers_are_expected() {
        let expected = |attackers, neighbours, n| Krum { attackers, squared: false, neighbours }.expected(n);
        let fixed = |neighbours| Some(Neighbours::Fixed(neighbours));
        assert_eq!((expected(4, None, 10), expected(4, None, 6)), ((4, 4), (1, 3)));
        assert_eq!((expected(4, fixed(9), 10), expected(4, fixed(9), 9)), ((4, 9), (3, 8)));
        assert_eq!((expected(4, fixed(1), 4), expected(4, None, 2), expected(4, None, 1)), ((0, 1), (0, 1), (0, 0)));
        let none = Krum { attackers: 1, squared: false, neighbours: fixed(0) };
        assert_eq!(none.check().expect_err("no neighbour").name, "neighbours");
    }

    #[test]
    fn both_ways_to_count_neighbours_are_read_and_counted() {
        let krum = |neighbours: &str| {
            let text = format!(r#"{{ "attackers": 4{neighbours} }}"#);
            serde_json::from_str::<Krum>(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        let all = krum(r#", "neighbours": "n-m""#);
        assert_eq!(krum("").expected(10), krum(r#", "neighbours": "n-m-2""#).expected(10));
        assert_eq!((all.expected(10), krum(r#", "neighbours": 3"#).expected(10)), ((4, 6), (4, 3)));
        // With one attacker of ten all others count.
        let one = Krum { attackers: 1, ..all };
        assert_eq!((one.expected(10), one.least_clients()), ((1, 9), 2));
        assert_eq!((one.expected(2), one.expected(1)), ((1, 1), (0, 0)));
        let error =
            serde_json::from_str::<Krum>(r#"{ "attackers": 1, "neighbours": "m-n" }"#).expect_err("no such count");
        assert!(error.to_string().contains("\"n-m-2\" or \"n-m\""), "{error}");
    }
}
