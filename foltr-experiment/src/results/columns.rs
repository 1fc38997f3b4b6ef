//! The rows of a run by metric: eight bytes a value, and rounds as stretches of equal steps.

use crate::rows::{MetricName, Row};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns(Vec<Column>);

#[derive(Clone, Debug, PartialEq)]
struct Column {
    metric: MetricName,
    rounds: Vec<Stretch>,
    values: Vec<f64>,
}

/// Rounds `first`, `first + step`, ..., so many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    first: usize,
    step: usize,
    len: usize,
}

impl Stretch {
    fn rounds(self) -> impl Iterator<Item = usize> {
        (0..self.len).map(move |i| self.first + i * self.step)
    }

    /// Whether it can have one more round, which it then has.
    fn extend(&mut self, round: usize) -> bool {
        let step = if self.len == 1 { round.checked_sub(self.first) } else { Some(self.step) };
        match step {
            Some(step) if self.first + self.len * step == round => {
                (self.step, self.len) = (step, self.len + 1);
                true
            }
            _ => false,
        }
    }
}

impl Columns {
    pub(super) fn push(&mut self, Row { round, metric, value }: Row) {
        let index = self.0.iter().position(|column| column.metric == metric).unwrap_or_else(|| {
            self.0.push(Column { metric, rounds: Vec::new(), values: Vec::new() });
            self.0.len() - 1
        });
        let column = &mut self.0[index];
        column.values.push(value);
        if !column.rounds.last_mut().is_some_and(|last| last.extend(round)) {
            column.rounds.push(Stretch { first: round, step: 0, len: 1 });
        }
    }

    fn column(&self, metric: MetricName) -> Option<&Column> {
        self.0.iter().find(|column| column.metric == metric)
    }

    pub(super) fn metrics(&self) -> impl Iterator<Item = MetricName> {
        self.0.iter().map(|column| column.metric)
    }

    pub(super) fn course(&self, metric: MetricName) -> Vec<(usize, f64)> {
        let Some(Column { rounds, values, .. }) = self.column(metric) else { return Vec::new() };
        rounds.iter().flat_map(|stretch| stretch.rounds()).zip(values.iter().copied()).collect()
    }

    pub(super) fn last(&self, metric: MetricName) -> Option<f64> {
        self.column(metric)?.values.last().copied()
    }

    /// Gives back memory that was reserved for more rows.
    pub(super) fn shrink(&mut self) {
        for column in &mut self.0 {
            column.values.shrink_to_fit();
            column.rounds.shrink_to_fit();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|column| column.values.len()).sum()
    }
}

impl FromIterator<Row> for Columns {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        let mut columns = Self::default();
        rows.into_iter().for_each(|row| columns.push(row));
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const METRICS: [MetricName; 3] = [MetricName::OnlineMaxRr, MetricName::SimulatedTime, MetricName::OnlineNdcg(10)];

    proptest! {
        #[test]
        fn columns_have_the_rows_of_each_metric_in_order(
            drawn in prop::collection::vec((0_usize..9, 0_usize..3, -1e3..1e3_f64), 0..60),
        ) {
            let rows: Vec<Row> =
                drawn.iter().map(|&(round, metric, value)| Row { round, metric: METRICS[metric], value }).collect();
            let columns: Columns = rows.iter().copied().collect();
            prop_assert_eq!(columns.len(), rows.len());
            for metric in METRICS {
                let want: Vec<(usize, f64)> =
                    rows.iter().filter(|row| row.metric == metric).map(|row| (row.round, row.value)).collect();
                prop_assert_eq!(columns.course(metric), want.clone());
                prop_assert_eq!(columns.last(metric), want.last().map(|(_, value)| *value));
            }
        }
    }

    #[test]
    fn rounds_of_equal_steps_are_one_stretch() {
        let rows = |rounds: &[usize]| -> Columns {
            rounds.iter().map(|&round| Row { round, metric: METRICS[0], value: 0.5 }).collect()
        };
        let stretches = |rounds: &[usize]| rows(rounds).0[0].rounds.len();
        assert_eq!(stretches(&[0, 1, 2, 3, 4]), 1);
        assert_eq!(stretches(&[10, 20, 30, 31, 32]), 2);
        assert_eq!(stretches(&[5, 4]), 2);
    }
}
