//! What is measured while a round is trained, on its way to rows: as it is, or as means over so many rounds.

use crate::rows::MetricName;

#[derive(Debug)]
pub(super) struct RoundRows {
    every: usize,
    n_rounds: usize,
    /// Metric, sum and number of values since the last rows, in the order of their first value.
    sums: Vec<(MetricName, f64, u32)>,
}

impl RoundRows {
    /// Of `n_rounds` rounds: one row of every metric after so many of them, and after the last.
    pub(super) const fn new(every: usize, n_rounds: usize) -> Self {
        Self { every, n_rounds, sums: Vec::new() }
    }

    pub(super) fn add(&mut self, metric: MetricName, value: f64) {
        match self.sums.iter_mut().find(|(known, ..)| *known == metric) {
            // Time passes: its mean says nothing.
            Some((MetricName::SimulatedTime, time, _)) => *time = value,
            Some((_, sum, n)) => (*sum, *n) = (*sum + value, *n + 1),
            None => self.sums.push((metric, value, 1)),
        }
    }

    /// The rows that are due after a round.
    pub(super) fn after(&mut self, round: usize) -> Vec<(MetricName, f64)> {
        if !round.is_multiple_of(self.every) && round != self.n_rounds {
            return Vec::new();
        }
        self.sums.drain(..).map(|(metric, sum, n)| (metric, sum / f64::from(n))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_over_rounds_and_the_newest_time() {
        let mut rows = RoundRows::new(2, 5);
        let mut course = Vec::new();
        for round in 1..=5_u32 {
            // Nobody comes to round 4.
            if round != 4 {
                rows.add(MetricName::OnlineNdcg(10), f64::from(round));
            }
            rows.add(MetricName::SimulatedTime, f64::from(10 * round));
            course.extend(
                rows.after(round as usize).into_iter().map(|(metric, value)| (round, metric.to_string(), value)),
            );
        }
        let wanted = [
            (2, "online-ndcg@10", 1.5),
            (2, "simulated-time", 20.0),
            (4, "online-ndcg@10", 3.0),
            (4, "simulated-time", 40.0),
            (5, "online-ndcg@10", 5.0),
            (5, "simulated-time", 50.0),
        ];
        assert_eq!(course, wanted.map(|(round, metric, value)| (round, metric.to_owned(), value)));
    }
}
