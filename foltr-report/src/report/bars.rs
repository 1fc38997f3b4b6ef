//! Final values as bars with intervals: one group a panel, one bar a series. All bars start at zero.

use super::curves::place_title;
use super::roles::Roles;
use super::{MeasureOf, Report};
use crate::plot::axis::Axis;
use crate::statistics::Estimate;

/// Bars of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// Name of the measure.
    pub measure: String,
    /// One a panel.
    pub groups: Vec<BarGroup>,
}

/// Bars that are compared with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct BarGroup {
    /// Labels of its row and column.
    pub title: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One setting's bar; lengths are percentages of the field.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Index of the series.
    pub series: usize,
    /// Colour of the series.
    pub class: String,
    /// Name of the series.
    pub name: String,
    /// From 0 to the mean.
    pub length: String,
    /// Where the interval begins, and how long it is; none for a single run.
    pub interval: Option<(String, String)>,
    /// The mean as text.
    pub value: String,
    /// What the runs say.
    pub estimate: Estimate,
}

/// Bars of every measure of the final ranker that is not negative.
pub fn bar_charts(report: &Report, roles: &Roles) -> Vec<BarChart> {
    let is_final = |&measure: &usize| report.measures[measure].of == MeasureOf::FinalRanker;
    (0..report.measures.len()).filter(is_final).filter_map(|measure| bar_chart(report, roles, measure)).collect()
}

fn bar_chart(report: &Report, roles: &Roles, measure: usize) -> Option<BarChart> {
    let estimates: Vec<_> = report.settings.iter().map(|setting| setting.estimate(measure)).collect();
    let all = || estimates.iter().flatten();
    if all().count() < 2 || all().any(|estimate| !estimate.mean.is_finite() || estimate.mean < 0.0) {
        return None;
    }
    let ends = all().map(|estimate| estimate.confidence_interval_95.map_or(estimate.mean, |(_, high)| high));
    let axis = Axis::around(ends.chain([0.0]), 5);
    let percent = |value: f64| format!("{:.2}", 100.0 * (value / axis.high).clamp(0.0, 1.0));
    let bar = |setting: usize| {
        let estimate = estimates[setting]?;
        let series = roles.series_of[setting];
        let interval = estimate.confidence_interval_95.map(|(low, high)| {
            let (low, high) = (low.max(0.0), high.max(0.0));
            (percent(low), percent(high - low))
        });
        Some(Bar {
            series,
            class: super::panel::class(series),
            name: roles.names[series].clone(),
            length: percent(estimate.mean),
            interval,
            value: super::tables::with_digits_of(axis.high, estimate.mean),
            estimate,
        })
    };
    let places = Roles::places(report, roles.rows)
        .into_iter()
        .flat_map(|row| Roles::places(report, roles.columns).into_iter().map(move |column| (row, column)));
    let groups = places.map(|(row, column)| {
        let titles = [place_title(report, roles.rows, row), place_title(report, roles.columns, column)];
        let title = titles.into_iter().filter(|title| !title.is_empty()).collect::<Vec<_>>().join(" · ");
        BarGroup { title, bars: roles.panel(report, column, row).into_iter().filter_map(bar).collect() }
    });
    let groups = groups.filter(|group| !group.bars.is_empty()).collect();
    Some(BarChart { measure: report.measures[measure].name.clone(), groups })
}
