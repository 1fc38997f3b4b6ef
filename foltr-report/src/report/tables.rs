//! The tables: every setting with mean, interval, number of runs, and how it compares with the baseline.

use super::comparison::{Comparison, Verdict};
use super::roles::{Roles, labels};
use super::{MeasureOf, Report};

/// All settings with some of the measures.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    /// Names of the columns that tell settings apart.
    pub axes: Vec<String>,
    /// Names of the measures.
    pub measures: Vec<String>,
    /// One a setting.
    pub rows: Vec<ResultRow>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultRow {
    /// Under [`ResultTable::axes`].
    pub labels: Vec<RowLabel>,
    /// Colour of its series.
    pub class: String,
    /// Under [`ResultTable::measures`]; none where it was not measured.
    pub cells: Vec<Option<ResultCell>>,
    /// Finished runs.
    pub n: usize,
    /// Whether it is the first with its users and data.
    pub is_first: bool,
}

/// A setting's label on one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLabel {
    /// A dash where it has none.
    pub text: String,
    /// Whether it may be broken anywhere.
    pub is_long: bool,
    /// Whether the colour of the series stands beside it.
    pub has_chip: bool,
    /// Whether others are compared with it because of this label.
    pub is_baseline: bool,
}

/// One mean.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultCell {
    /// As text.
    pub mean: String,
    /// Half the interval; empty for a single run.
    pub half_width: String,
    /// For sorting.
    pub sort: f64,
    /// Whether no other setting with the same users and data has a higher mean.
    pub is_best: bool,
    /// △, ▽, ▲, ▼ or nothing.
    pub mark: String,
    /// The test in words; empty where there is none.
    pub told: String,
}

/// Labels longer than this may be broken anywhere.
const LONG: usize = 26;

/// A table of the measures of this kind; none where there are none. Settings with the same data and users stand together.
pub fn table(report: &Report, roles: &Roles, comparison: &Comparison, of: MeasureOf) -> Option<ResultTable> {
    let measures: Vec<usize> = (0..report.measures.len()).filter(|&idx| report.measures[idx].of == of).collect();
    let columns: Vec<Vec<Option<ResultCell>>> =
        measures.iter().map(|&measure| column(report, roles, comparison, measure)).collect();
    let places: Vec<usize> = [roles.rows, roles.columns].into_iter().flatten().collect();
    let others = (0..report.axes.len()).filter(|axis| !places.contains(axis));
    let axes: Vec<usize> = places.iter().copied().chain(others).collect();
    let is_told = |setting: &usize| columns.iter().any(|column| column[*setting].is_some());
    let mut order: Vec<usize> = (0..report.settings.len()).filter(is_told).collect();
    let first_met = |axis: usize, setting: usize| {
        labels(report, axis).iter().position(|label| *label == report.settings[setting].labels[axis].as_deref())
    };
    let place = |&setting: &usize| places.iter().map(|&axis| first_met(axis, setting)).collect::<Vec<_>>();
    order.sort_by_cached_key(place);
    let row = |(idx, &setting): (usize, &usize)| ResultRow {
        labels: row_labels(report, roles, comparison, setting, &axes),
        class: super::panel::class(roles.series_of[setting]),
        cells: columns.iter().map(|column| column[setting].clone()).collect(),
        n: report.settings[setting].runs.len(),
        is_first: idx == 0 || place(&order[idx - 1]) != place(&setting),
    };
    let names = axes.iter().map(|&axis| report.axes[axis].clone());
    (!order.is_empty()).then(|| ResultTable {
        axes: if axes.is_empty() { vec!["learner".into()] } else { names.collect() },
        measures: measures.iter().map(|&measure| report.measures[measure].name.clone()).collect(),
        rows: order.iter().enumerate().map(row).collect(),
    })
}

/// Labels in the order of the table's axes; the learner for a setting without axes.
fn row_labels(
    report: &Report,
    roles: &Roles,
    comparison: &Comparison,
    setting: usize,
    axes: &[usize],
) -> Vec<RowLabel> {
    let result = &report.settings[setting];
    let label = |text: String, has_chip, is_baseline| {
        let is_long = text.chars().count() > LONG;
        RowLabel { text, is_long, has_chip, is_baseline }
    };
    if axes.is_empty() {
        return vec![label(result.method.clone(), true, false)];
    }
    let with_chip = roles.series.first().or(axes.first());
    let baseline = comparison.baseline.as_ref().filter(|_| comparison.partner.contains(&Some(setting)));
    let of_axis = |axis: &usize| {
        let text = result.labels[*axis].clone().unwrap_or_else(|| "–".into());
        label(text, with_chip == Some(axis), baseline.is_some_and(|(of, _)| of == axis))
    };
    axes.iter().map(of_axis).collect()
}

fn column(report: &Report, roles: &Roles, comparison: &Comparison, measure: usize) -> Vec<Option<ResultCell>> {
    let verdicts = comparison.verdicts(report, measure);
    let estimates: Vec<_> = report.settings.iter().map(|setting| setting.estimate(measure)).collect();
    let place = |setting: usize| {
        let labels = &report.settings[setting].labels;
        [roles.columns, roles.rows].map(|axis| axis.and_then(|axis| labels[axis].as_deref()))
    };
    let less_is_better = report.measures[measure].less_is_better;
    let is_best = |setting: usize, mean: f64| {
        let mut rivals = (0..estimates.len()).filter(|&other| other != setting && place(other) == place(setting));
        let is_no_better = |other: f64| if less_is_better { other >= mean } else { other <= mean };
        let best = |other: usize| estimates[other].is_none_or(|estimate| is_no_better(estimate.mean));
        rivals.clone().next().is_some() && rivals.all(best)
    };
    let largest = estimates.iter().flatten().map(|estimate| estimate.mean.abs()).fold(0.0, f64::max);
    let cell = |setting: usize| {
        let estimate = estimates[setting]?;
        let half = estimate.confidence_interval_95.map(|_| with_digits_of(largest, estimate.half_width()));
        Some(ResultCell {
            mean: with_digits_of(largest, estimate.mean),
            half_width: half.unwrap_or_default(),
            sort: estimate.mean,
            is_best: is_best(setting, estimate.mean),
            mark: verdicts[setting].as_ref().map(Verdict::mark).unwrap_or_default().symbol(),
            told: verdicts[setting].as_ref().map_or_else(String::new, Verdict::in_words),
        })
    };
    (0..report.settings.len()).map(cell).collect()
}

/// A number with as many digits as are read in a column whose largest is `scale`: four decimals below 10, fewer above.
pub fn with_digits_of(scale: f64, value: f64) -> String {
    match scale.abs() {
        size if size >= 1000.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
