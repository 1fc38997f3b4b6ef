//! The tables: every setting with mean, interval, number of runs, and how it compares with the baseline.

use super::Results;
use super::comparison::{Comparison, Tested};
use super::facts::method;
use super::measures::Measure;
use super::roles::{Roles, labels};
use crate::plot::colour;

pub struct ResultTable<'a> {
    /// Names of the columns that tell settings apart.
    pub axes: Vec<String>,
    pub measures: Vec<&'a str>,
    pub rows: Vec<ResultRow>,
}

pub struct ResultRow {
    /// Under [`ResultTable::axes`].
    pub labels: Vec<RowLabel>,
    pub colour: &'static str,
    /// Under [`ResultTable::measures`]; none where it was not measured.
    pub cells: Vec<Option<ResultCell>>,
    pub n: usize,
    /// Whether it is the first with its users and data.
    pub is_first: bool,
}

pub struct RowLabel {
    /// A dash where a setting has no label.
    pub text: String,
    pub is_long: bool,
    /// Whether the colour of the line stands beside it.
    pub has_chip: bool,
    /// Whether others are compared with it because of this label.
    pub is_baseline: bool,
}

#[derive(Clone)]
pub struct ResultCell {
    pub mean: String,
    /// Half the interval; empty for a single run.
    pub half_width: String,
    pub sort: f64,
    /// Whether no other setting with the same users and data has a better mean.
    pub is_best: bool,
    pub mark: &'static str,
    /// The test; empty where there is none.
    pub test: String,
}

/// Labels longer than this may be broken anywhere.
const LONG: usize = 26;

pub struct Tables<'a> {
    pub results: &'a Results,
    pub roles: &'a Roles,
    pub comparison: &'a Comparison,
    pub line_of: Vec<Option<usize>>,
}

impl Tables<'_> {
    /// A table of measures; none where nothing was measured. Settings with the same data and users stand together.
    pub fn table<'m>(&self, measures: &[&'m Measure]) -> Option<ResultTable<'m>> {
        let Self { results, roles, .. } = self;
        let settings = &results.grid.settings;
        let columns: Vec<Vec<Option<ResultCell>>> = measures.iter().map(|measure| self.column(measure)).collect();
        let places: Vec<&String> = [&roles.rows, &roles.columns].into_iter().flatten().collect();
        let others = results.grid.axes().into_iter().filter(|axis| !places.contains(&axis));
        let axes: Vec<String> = places.iter().map(|axis| (*axis).clone()).chain(others).collect();
        let is_measured = |setting: &usize| columns.iter().any(|column| column[*setting].is_some());
        let mut order: Vec<usize> = (0..settings.len()).filter(is_measured).collect();
        let place = |&setting: &usize| {
            let label = |axis: &&String| settings[setting].label(axis);
            let position = |axis: &&String| labels(results, axis).iter().position(|known| *known == label(axis));
            places.iter().map(position).collect::<Vec<_>>()
        };
        order.sort_by_cached_key(place);
        let row = |(idx, &setting): (usize, &usize)| ResultRow {
            labels: self.row_labels(setting, &axes),
            colour: colour(self.line_of[setting].unwrap_or(0)),
            cells: columns.iter().map(|column| column[setting].clone()).collect(),
            n: results.runs_of(setting).count(),
            is_first: idx == 0 || place(&order[idx - 1]) != place(&setting),
        };
        let rows: Vec<ResultRow> = order.iter().enumerate().map(row).collect();
        (!rows.is_empty()).then(|| ResultTable {
            axes: if axes.is_empty() { vec!["learner".into()] } else { axes },
            measures: measures.iter().map(|measure| measure.name.as_str()).collect(),
            rows,
        })
    }

    /// Labels in the order of the table's axes; the learner for a setting without axes.
    fn row_labels(&self, setting: usize, axes: &[String]) -> Vec<RowLabel> {
        let Self { results, roles, comparison, .. } = self;
        let label = |text: String, has_chip, is_baseline| {
            let is_long = text.chars().count() > LONG;
            RowLabel { text, is_long, has_chip, is_baseline }
        };
        if axes.is_empty() {
            return vec![label(method(results, setting), true, false)];
        }
        let with_chip = roles.lines.first().or(axes.first());
        let baseline = comparison.baseline.as_ref().filter(|_| comparison.partner.contains(&Some(setting)));
        let of_axis = |axis: &String| {
            let text = results.grid.settings[setting].label(axis).unwrap_or("–").to_owned();
            label(text, with_chip == Some(axis), baseline.is_some_and(|(of, _)| of == axis))
        };
        axes.iter().map(of_axis).collect()
    }

    fn column(&self, measure: &Measure) -> Vec<Option<ResultCell>> {
        let Self { results, roles, comparison, .. } = self;
        let tests = comparison.tests(results, measure);
        let estimates = measure.estimates(results);
        let place = |setting: usize| {
            let label = |axis| results.grid.settings[setting].label(axis);
            [&roles.columns, &roles.rows].map(|axis| axis.as_deref().and_then(label))
        };
        let is_best = |setting: usize, mean: f64| {
            let mut rivals = (0..estimates.len()).filter(|&other| other != setting && place(other) == place(setting));
            let is_no_better = |other: f64| if measure.less_is_better { other >= mean } else { other <= mean };
            let best = |other: usize| estimates[other].is_none_or(|estimate| is_no_better(estimate.mean));
            rivals.clone().next().is_some() && rivals.all(best)
        };
        let largest = estimates.iter().flatten().map(|estimate| estimate.mean.abs()).fold(0.0, f64::max);
        let cell = |setting: usize| {
            let estimate = estimates[setting]?;
            let half = estimate.confidence_interval_95.map(|_| with_digits_of(largest, estimate.half_width()));
            let test = tests[setting].as_ref();
            Some(ResultCell {
                mean: with_digits_of(largest, estimate.mean),
                half_width: half.unwrap_or_default(),
                sort: estimate.mean,
                is_best: is_best(setting, estimate.mean),
                mark: test.map(Tested::mark).unwrap_or_default(),
                test: test.map(Tested::description).unwrap_or_default(),
            })
        };
        (0..estimates.len()).map(cell).collect()
    }
}

/// A number with as many digits as are read in a column whose largest is `scale`: four decimals below 10, fewer above.
fn with_digits_of(scale: f64, value: f64) -> String {
    match scale.abs() {
        size if size >= 1000.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
