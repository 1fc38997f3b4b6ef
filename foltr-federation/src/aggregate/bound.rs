//! A bound on every contribution before another rule decides: longer ones are shortened to the middle length of the round.
//!
//! The bound of `SKSM19` (see [`NormClipping`](super::NormClipping)) in front of any rule. A rule that cuts off m clients
//! says nothing about a round with more than m attackers; with the bound, such a round moves the model no further than
//! the middle contribution is long.

use crate::aggregate::geometry::length;
use crate::aggregate::norm_clipping::{Radius, clip_factor};
use crate::aggregate::{Aggregator, Combined, Contributions, EmptyRound};

/// A rule whose contributions are shortened first.
#[derive(Debug)]
pub struct Bound {
    radius: Radius,
    rule: Box<dyn Aggregator>,
    shortened: Contributions,
    lengths: Vec<f64>,
    sorted: Vec<f64>,
    row: Vec<f32>,
}

impl Bound {
    pub fn new(radius: Radius, rule: Box<dyn Aggregator>) -> Self {
        let shortened = Contributions::default();
        Self { radius, rule, shortened, lengths: Vec::new(), sorted: Vec::new(), row: Vec::new() }
    }
}

impl Aggregator for Bound {
    fn aggregate(&mut self, global: &[f32], round: &Contributions, combined: &mut Combined) -> Result<(), EmptyRound> {
        self.lengths.clear();
        self.lengths.extend(round.rows().map(length));
        let radius = self.radius.of(&self.lengths, &mut self.sorted);
        self.shortened.begin(round.n_params());
        for ((client, weight, row), &length) in round.iter().zip(&self.lengths) {
            let factor = clip_factor(length, radius);
            self.row.clear();
            self.row.extend(row.iter().map(|&value| (f64::from(value) * factor) as f32));
            self.shortened.push(client, weight, &self.row);
        }
        self.rule.aggregate(global, &self.shortened, combined)
    }

    fn copy(&self) -> Box<dyn Aggregator> {
        Box::new(Self::new(self.radius, self.rule.copy()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{AggregationRule, Mean, TrimmedMean};

    fn step(round: &Contributions, rule: Box<dyn Aggregator>) -> Vec<f64> {
        let mut combined = Combined::default();
        Bound::new(Radius::Median, rule).aggregate(&[0.0; 2], round, &mut combined).expect("contributions");
        combined.step
    }

    #[test]
    fn long_contributions_are_shortened_before_the_rule() {
        let round = Contributions::of_rows(&[[3.0, 4.0], [0.0, -1.0], [0.0, 10.0]]);
        // Lengths 5, 1 and 10: the middle one is 5.
        let got = step(&round, Box::new(Mean {}.start()));
        got.iter().zip([1.0, 8.0 / 3.0]).for_each(|(got, want)| assert!((got - want).abs() < 1e-6, "{got}"));
    }

    /// Attackers in the majority, which a trimmed mean follows anywhere, get no further than an honest update is long.
    #[test]
    fn more_attackers_than_the_rule_cuts_off_go_no_further_than_honest_clients() {
        let round = Contributions::of_rows(&[[0.0, 1.0], [0.0, 2.0], [0.0, 1.5], [1e5, 0.0], [1e5, 0.0], [1e5, 0.0]]);
        let rule = || Box::new(TrimmedMean { attackers: 2 }.start()) as Box<dyn Aggregator>;
        let mut unbounded = Combined::default();
        rule().aggregate(&[0.0; 2], &round, &mut unbounded).expect("contributions");
        assert!(unbounded.step[0] > 1e4, "{unbounded:?}");
        assert!(step(&round, rule())[0] <= 2.0);
    }
}
