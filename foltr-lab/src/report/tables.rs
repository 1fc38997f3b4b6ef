//! The tables: every setting with mean, interval, number of runs, and how it compares with the baseline.

use super::comparison::{Comparison, Verdict};
use super::roles::Roles;
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
    pub labels: Vec<String>,
    /// Colour of its series.
    pub class: String,
    /// Under [`ResultTable::measures`]; none where it was not measured.
    pub cells: Vec<Option<ResultCell>>,
    /// Finished runs.
    pub n: usize,
    /// Whether others are compared with it.
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

/// A table of the measures of this kind; none where there are none.
pub fn table(report: &Report, roles: &Roles, comparison: &Comparison, of: MeasureOf) -> Option<ResultTable> {
    let measures: Vec<usize> = (0..report.measures.len()).filter(|&idx| report.measures[idx].of == of).collect();
    let columns: Vec<Vec<Option<ResultCell>>> =
        measures.iter().map(|&measure| column(report, roles, comparison, measure)).collect();
    let rows: Vec<ResultRow> = (0..report.settings.len())
        .filter(|&setting| columns.iter().any(|column| column[setting].is_some()))
        .map(|setting| {
            let result = &report.settings[setting];
            let labels = result.labels.iter().map(|label| label.clone().unwrap_or_else(|| "–".into()));
            let is_named = report.axes.is_empty();
            ResultRow {
                labels: labels.chain(is_named.then(|| result.method.clone())).collect(),
                class: super::panel::class(roles.series_of[setting]),
                cells: columns.iter().map(|column| column[setting].clone()).collect(),
                n: result.runs.len(),
                is_baseline: comparison.partner.contains(&Some(setting)),
            }
        })
        .collect();
    let axes = if report.axes.is_empty() { vec!["learner".into()] } else { report.axes.clone() };
    let measures = measures.into_iter().map(|measure| report.measures[measure].name.clone()).collect();
    (!rows.is_empty()).then_some(ResultTable { axes, measures, rows })
}

fn column(report: &Report, roles: &Roles, comparison: &Comparison, measure: usize) -> Vec<Option<ResultCell>> {
    let verdicts = comparison.verdicts(report, measure);
    let estimates: Vec<_> = report.settings.iter().map(|setting| setting.estimate(measure)).collect();
    let place = |setting: usize| {
        let labels = &report.settings[setting].labels;
        [roles.columns, roles.rows].map(|axis| axis.and_then(|axis| labels[axis].as_deref()))
    };
    let is_best = |setting: usize, mean: f64| {
        let mut rivals = (0..estimates.len()).filter(|&other| other != setting && place(other) == place(setting));
        let best = |other: usize| estimates[other].is_none_or(|estimate| estimate.mean <= mean);
        rivals.clone().next().is_some() && rivals.all(best)
    };
    let cell = |setting: usize| {
        let estimate = estimates[setting]?;
        let half = estimate.confidence_interval_95.map(|_| with_digits_of(estimate.mean, estimate.half_width()));
        Some(ResultCell {
            mean: number(estimate.mean),
            half_width: half.unwrap_or_default(),
            sort: estimate.mean,
            is_best: is_best(setting, estimate.mean),
            mark: verdicts[setting].as_ref().map(Verdict::mark).unwrap_or_default().symbol(),
            told: verdicts[setting].as_ref().map_or_else(String::new, Verdict::in_words),
        })
    };
    (0..report.settings.len()).map(cell).collect()
}

/// A number with as many digits as are read: four decimals below 10, fewer above.
pub fn number(value: f64) -> String {
    with_digits_of(value, value)
}

/// A number with the digits of another: an interval is as exact as its mean.
fn with_digits_of(scale: f64, value: f64) -> String {
    match scale.abs() {
        size if size >= 1000.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
