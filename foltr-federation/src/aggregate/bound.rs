//! A bound on every contribution before another rule decides: longer ones are shortened to the middle length of the round.
//!
//! The bound of `SKSM19` (see [`NormClipping`](super::NormClipping)) in front of any rule. A rule that cuts off m clients
//! says nothing about a round with more than m attackers; with the bound, such a round moves the model no further than
//! the middle contribution is long if the rule takes means of contributions, and no further than the root of n / (n - m)
//! times that if it decides by coordinates without the m largest and smallest.

use crate::aggregate::geometry::length;
use crate::aggregate::norm_clipping::{Radius, clip_factor};
use crate::aggregate::{Aggregator, Combined, Contributions, EmptyRound};
use foltr_rank::bytes::{BytesError, Reader, Writer};

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

    fn save(&self, out: &mut Writer) {
        self.rule.save(out);
    }

    fn restore(&mut self, input: &mut Reader<'_>, n_params: usize) -> Result<(), BytesError> {
        self.rule.restore(input, n_params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{AggregationRule, CentredClipping, Mean, TrimmedMean};
    use foltr_rank::normal::fill_standard_normal;
    use foltr_rank::rng::{Purpose, Streams};

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

    /// By coordinates a step can be longer than all contributions: three that share their two coordinates in turn have a
    /// median of length root 3/2. It is never more than the root of n / (n - m): at least n - m values of every
    /// coordinate count for what is left of it.
    #[test]
    fn a_step_by_coordinates_is_at_most_a_little_longer() {
        let half = 0.5_f32.sqrt();
        let turns = [[half, half, 0.0], [half, 0.0, half], [0.0, half, half]];
        let trimmed = |attackers: u32, round: &Contributions| {
            let mut combined = Combined::default();
            let rule = Box::new(TrimmedMean { attackers }.start());
            Bound::new(Radius::Median, rule).aggregate(&[], round, &mut combined).expect("contributions");
            combined.step.iter().map(|value| value * value).sum::<f64>().sqrt()
        };
        assert!((trimmed(1, &Contributions::of_rows(&turns)) - 1.5_f64.sqrt()).abs() < 1e-6);
        for round in 0..200 {
            let row = |client: u32| {
                let mut row = [0.0; 4];
                fill_standard_normal(&mut Streams::new(2).open(Purpose::Data, client, round), &mut row);
                row.map(|value| value.powi(3) + 1.0)
            };
            let rows = Contributions::of_rows(&(0..9).map(row).collect::<Vec<_>>());
            let mut lengths: Vec<f64> = rows.rows().map(length).collect();
            lengths.sort_by(f64::total_cmp);
            for attackers in 0..5 {
                let most = lengths[4] * (9.0 / f64::from(9 - attackers)).sqrt();
                assert!(trimmed(attackers, &rows) <= most * (1.0 + 1e-6), "{attackers} in round {round}");
            }
        }
    }

    /// A rule behind a bound keeps its memory when something is tried on a copy, and the copy keeps it as well.
    #[test]
    fn a_copy_goes_on_from_the_same_memory() {
        let rule = CentredClipping { radius: Radius::Fixed(0.5), iterations: 1 };
        let mut bound = Bound::new(Radius::Median, Box::new(rule.start()));
        let round = Contributions::of_rows(&[[3.0, 4.0], [0.0, -1.0], [0.0, 10.0]]);
        let step_of = |bound: &mut dyn Aggregator| {
            let mut combined = Combined::default();
            bound.aggregate(&[0.0; 2], &round, &mut combined).expect("contributions");
            combined.step
        };
        let first = step_of(&mut bound);
        let tried = [(); 2].map(|()| step_of(&mut *bound.copy()));
        assert_eq!(tried[0], tried[1]);
        assert_ne!(tried[0], first, "the rule remembers where it was");
        assert_eq!(step_of(&mut bound), tried[0]);
    }
}
