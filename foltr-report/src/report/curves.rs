//! Learning curves of all settings: panels side by side and below each other, and their numbers for the page's script.

use serde::Serialize;

use super::panel::{self, Axes, Line, LinePoint};
use super::roles::{Roles, in_words};
use super::{Report, SettingResult};
use crate::plot::axis::Axis;
use crate::plot::text::escape;

/// Points of one curve at most; more cannot be told apart on a screen.
const MOST_POINTS: usize = 500;
/// Points of the whole page at most, so that it opens at once.
const MOST_POINTS_OF_PAGE: usize = 60_000;
/// Points that every curve may have, however many curves there are.
const FEWEST_POINTS: usize = 40;

/// All panels of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name of the metric.
    pub metric: String,
    /// What x counts.
    pub x_label: &'static str,
    /// Whether it is shown at once.
    pub is_open: bool,
    /// From top to bottom.
    pub rows: Vec<PanelRow>,
}

/// Panels side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelRow {
    /// Label of the row; empty without an axis for rows.
    pub title: String,
    /// From left to right.
    pub panels: Vec<PanelView>,
}

/// One panel with its heading.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelView {
    /// Label of the column.
    pub title: String,
    /// As SVG.
    pub svg: String,
    /// The curves.
    pub lines: Vec<Line>,
}

/// A panel's numbers for the script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PanelData {
    x: [f64; 2],
    y: [f64; 2],
    x_label: &'static str,
    curves: Vec<CurveData>,
}

/// A curve's numbers, as columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct CurveData {
    series: usize,
    round: Vec<usize>,
    x: Vec<f64>,
    mean: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    n: Vec<usize>,
}

/// Points that each of so many curves may have.
pub fn most_points(n_curves: usize) -> usize {
    (MOST_POINTS_OF_PAGE / n_curves.max(1)).clamp(FEWEST_POINTS, MOST_POINTS)
}

/// At most `most` of the points, evenly spread, with the first and the last.
pub fn thinned<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let n = all.len();
    if n <= most.max(2) {
        return all;
    }
    let steps = most.max(2) - 1;
    let mut wanted = (0..=steps).map(|step| (step * (n - 1) + steps / 2) / steps).peekable();
    all.into_iter().enumerate().filter(|(idx, _)| wanted.next_if_eq(idx).is_some()).map(|(_, point)| point).collect()
}

/// Charts of all metrics that have a course, and the numbers of their panels.
pub fn charts(report: &Report, roles: &Roles) -> (Vec<Chart>, Vec<PanelData>) {
    let has_course = |&metric: &usize| report.settings.iter().any(|setting| course(setting, metric).len() > 1);
    let metrics: Vec<usize> = (0..report.metrics.len()).filter(has_course).collect();
    let most = most_points(metrics.len() * report.settings.len());
    let mut numbers = Vec::new();
    let mut charts: Vec<Chart> =
        metrics.iter().map(|&metric| chart(report, roles, metric, most, &mut numbers)).collect();
    // The first of the final ranker and the first of what users saw.
    let first_online = charts.iter().position(|chart| chart.metric.starts_with("online"));
    for idx in [Some(0), first_online].into_iter().flatten() {
        if let Some(chart) = charts.get_mut(idx) {
            chart.is_open = true;
        }
    }
    (charts, numbers)
}

fn course(setting: &SettingResult, metric: usize) -> &[(usize, crate::statistics::Estimate)] {
    setting.courses.get(metric).map_or(&[], Vec::as_slice)
}

fn chart(report: &Report, roles: &Roles, metric: usize, most: usize, numbers: &mut Vec<PanelData>) -> Chart {
    let by_interactions = report
        .settings
        .iter()
        .all(|setting| setting.interactions_per_round.is_some() || course(setting, metric).len() < 2);
    let line = |setting: usize| {
        let result = &report.settings[setting];
        let per_round = if by_interactions { result.interactions_per_round.unwrap_or(0) } else { 1 };
        let points = course(result, metric).iter().map(|(round, estimate)| {
            let (low, high) = estimate.confidence_interval_95.unwrap_or((estimate.mean, estimate.mean));
            LinePoint { round: *round, x: (round * per_round) as f64, mean: estimate.mean, low, high, n: estimate.n }
        });
        let points = thinned(points.filter(|point| point.mean.is_finite()).collect(), most);
        Line { series: roles.series_of[setting], points }
    };
    let lines: Vec<Line> = (0..report.settings.len()).map(line).collect();
    let x_label = if by_interactions { "interactions" } else { "rounds" };
    let courses = lines.iter().filter(|line| line.points.len() > 1);
    let x = from_zero(courses.flat_map(|line| &line.points).map(|point| point.x));
    let rows = Roles::places(report, roles.rows).into_iter().map(|row| {
        let columns = Roles::places(report, roles.columns).into_iter();
        let here: Vec<(String, Vec<&Line>)> = columns
            .map(|column| {
                let settings = roles.panel(report, column, row).into_iter();
                let lines = settings.map(|setting| &lines[setting]).filter(|line| !line.points.is_empty());
                (place_title(report, roles.columns, column), lines.collect())
            })
            .filter(|(_, lines): &(_, Vec<&Line>)| !lines.is_empty())
            .collect();
        let points = here.iter().flat_map(|(_, lines)| lines).flat_map(|line| &line.points);
        let axes = Axes {
            x: x.clone(),
            y: Axis::around(points.flat_map(|point| [point.low, point.mean, point.high]), 5),
            x_label,
            y_label: escape(&report.metrics[metric]),
        };
        let title = place_title(report, roles.rows, row);
        let panels = here.into_iter().map(|(column, lines)| {
            let lines: Vec<Line> = lines.into_iter().cloned().collect();
            numbers.push(panel_data(&axes, &lines));
            let told = escape([&report.metrics[metric], &title, &column].map(String::as_str).join(" ").trim());
            PanelView { svg: panel::svg(numbers.len() - 1, &axes, &lines, &told), title: column, lines }
        });
        PanelRow { panels: panels.collect(), title }
    });
    let rows = rows.filter(|row| !row.panels.is_empty()).collect();
    Chart { metric: report.metrics[metric].clone(), x_label, is_open: false, rows }
}

/// An axis from 0 to the last value: curves end at the edge, not at the next round number.
fn from_zero(values: impl Iterator<Item = f64>) -> Axis {
    let last = values.fold(0.0, f64::max);
    let mut axis = Axis::around([0.0, last].into_iter(), 4);
    if last > 0.0 {
        axis.high = last;
        axis.ticks.retain(|&tick| tick <= last * (1.0 + 1e-9));
    }
    axis
}

/// The heading of a column or row; empty without an axis.
pub fn place_title(report: &Report, axis: Option<usize>, label: Option<&str>) -> String {
    axis.zip(label).map_or_else(String::new, |(axis, label)| in_words(&report.axes[axis], label))
}

fn panel_data(axes: &Axes, lines: &[Line]) -> PanelData {
    // Seven digits are more than anyone reads.
    let short = |value: f64| format!("{value:.6e}").parse::<f64>().unwrap_or(value);
    let curve = |line: &Line| {
        let column = |of: fn(&LinePoint) -> f64| line.points.iter().map(|point| short(of(point))).collect();
        CurveData {
            series: line.series,
            round: line.points.iter().map(|point| point.round).collect(),
            x: column(|point| point.x),
            mean: column(|point| point.mean),
            low: column(|point| point.low),
            high: column(|point| point.high),
            n: line.points.iter().map(|point| point.n).collect(),
        }
    };
    PanelData {
        x: [axes.x.low, axes.x.high],
        y: [axes.y.low, axes.y.high],
        x_label: axes.x_label,
        curves: lines.iter().map(curve).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends_and_even_steps() {
        assert_eq!(thinned((0..=100).collect(), 5), [0, 25, 50, 75, 100]);
        assert_eq!(thinned(vec![1, 2, 3], 5), [1, 2, 3]);
        let many = thinned((0..100_000).collect::<Vec<usize>>(), 500);
        assert_eq!((many.len(), many[0], many[499]), (500, 0, 99_999));
        assert_eq!([most_points(0), most_points(12), most_points(600), most_points(10_000)], [500, 500, 100, 40]);
    }
}
