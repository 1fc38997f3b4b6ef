//! Nearest-neighbour mixing: every contribution becomes the mean of those closest to it, then another rule decides.
//!
//! `AFGHPS23` Allouah, Farhadkhani, Guerraoui, Gupta, Pinot, Stephan: *Fixing by Mixing: A Recipe for Optimal Byzantine
//! ML under Heterogeneity*, AISTATS 2023, Algorithm 2 (NNM): the n - m nearest neighbours, itself among them.
//!
//! Mixing takes scatter away, so that a rule that bounds attackers by the scatter bounds them more tightly, up to the
//! best possible factor for m < n/2. It bounds nothing by itself: a robust rule has to follow.

use crate::aggregate::geometry::{Distances, add_scaled};
use crate::aggregate::{Aggregator, Combined, Contributions, EmptyRound};
use foltr_rank::bytes::{BytesError, Reader, Writer};

/// A rule whose contributions are mixed first, with the memory that is kept between rounds.
#[derive(Debug)]
pub struct Mixing {
    n_attackers: usize,
    rule: Box<dyn Aggregator>,
    mixed: Contributions,
    distances: Distances,
    selected: Vec<f64>,
    mean: Vec<f64>,
    row: Vec<f32>,
}

impl Mixing {
    /// Mixing that leaves out the `n_attackers` contributions that are furthest from each.
    pub fn new(n_attackers: usize, rule: Box<dyn Aggregator>) -> Self {
        let (mixed, distances) = (Contributions::default(), Distances::default());
        Self { n_attackers, rule, mixed, distances, selected: Vec::new(), mean: Vec::new(), row: Vec::new() }
    }
}

impl Aggregator for Mixing {
    fn aggregate(&mut self, global: &[f32], round: &Contributions, combined: &mut Combined) -> Result<(), EmptyRound> {
        let n = round.len();
        // For callers without stand-ins: where fewer than 2m + 1 came, as many as still leave a majority.
        let n_attackers = self.n_attackers.min(n.saturating_sub(1) / 2);
        self.distances.measure(round);
        self.mixed.begin(round.n_params());
        for (row, (client, weight, _)) in round.iter().enumerate() {
            self.mix(round, row, n - n_attackers);
            self.mixed.push(client, weight, &self.row);
        }
        self.rule.aggregate(global, &self.mixed, combined)?;
        // Of mixtures, not of what clients sent.
        combined.shares.clear();
        Ok(())
    }

    fn copy(&self) -> Box<dyn Aggregator> {
        Box::new(Self::new(self.n_attackers, self.rule.copy()))
    }

    fn save(&self, out: &mut Writer) {
        self.rule.save(out);
    }

    fn restore(&mut self, input: &mut Reader<'_>, n_params: usize) -> Result<(), BytesError> {
        self.rule.restore(input, n_params)
    }
}

impl Mixing {
    /// The mean of the contributions nearest to one, added in client order; the lowest clients of those equally near.
    fn mix(&mut self, contributions: &Contributions, row: usize, n_mixed: usize) {
        let distances = self.distances.row(row);
        self.selected.clear();
        self.selected.extend_from_slice(distances);
        let (below, &mut furthest, _) = self.selected.select_nth_unstable_by(n_mixed - 1, f64::total_cmp);
        let mut n_ties = n_mixed - below.iter().filter(|&&distance| distance < furthest).count();
        self.mean.clear();
        self.mean.resize(contributions.n_params(), 0.0);
        for (other, &distance) in contributions.rows().zip(distances) {
            let is_tie = distance == furthest && n_ties > 0;
            n_ties -= usize::from(is_tie);
            if distance < furthest || is_tie {
                add_scaled(&mut self.mean, other, 1.0);
            }
        }
        self.row.clear();
        self.row.extend(self.mean.iter().map(|sum| (sum / n_mixed as f64) as f32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{AggregationRule, Krum, Mean};

    #[test]
    fn contributions_become_means_of_their_neighbours() {
        let round = Contributions::of_rows(&[[0.0], [1.0], [3.0], [100.0]]);
        // {0, 1, 3} three times, and {1, 3, 100}; of four contributions at most one can be expected.
        let want = [4.0 / 3.0, 4.0 / 3.0, 4.0 / 3.0, 104.0 / 3.0];
        for n_attackers in [1, 2, 7] {
            let mut mixing = Mixing::new(n_attackers, Box::new(Mean {}.start()));
            let mut combined = Combined::default();
            mixing.aggregate(&[], &round, &mut combined).expect("four");
            assert_eq!(mixing.mixed.len(), 4);
            mixing.mixed.values().iter().zip(want).for_each(|(&got, want)| assert_eq!(got, want as f32));
            assert!((combined.step[0] - want.iter().sum::<f64>() / 4.0).abs() < 1e-6);
        }
        let mut krum = Mixing::new(1, Box::new(Krum { attackers: 1, squared: false, neighbours: None }.start()));
        let mut combined = Combined::default();
        krum.aggregate(&[], &round, &mut combined).expect("four");
        assert!((combined.step[0] - 4.0 / 3.0).abs() < 1e-6);
        assert_eq!(krum.aggregate(&[], &Contributions::new(1), &mut combined), Err(EmptyRound));
    }
}
