//! A measure over two or more swept axes as a coloured table: the darker, the higher.

use super::roles::{Roles, in_words, labels};
use super::tables::with_digits_of;
use super::{MeasureOf, Report, SettingResult};

/// A table of means.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Name of the measure.
    pub measure: String,
    /// Name of the axis from left to right.
    pub across: String,
    /// Name of what changes from row to row.
    pub down: String,
    /// Labels from left to right.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<HeatRow>,
    /// The smallest and the largest mean.
    pub ends: (String, String),
}

/// One row of means.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatRow {
    /// Labels of all other axes.
    pub name: String,
    /// From left to right; none where there is no setting.
    pub cells: Vec<Option<HeatCell>>,
}

/// One mean.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    /// The mean.
    pub mean: f64,
    /// As text.
    pub value: String,
    /// 0 for the smallest mean of the table, 1 for the largest.
    pub share: String,
}

/// Of the first measure of the final ranker and the first of shown lists; none with fewer than two swept axes.
pub fn heat_maps(report: &Report, roles: &Roles) -> Vec<HeatMap> {
    let mut swept: Vec<usize> = (0..report.axes.len()).filter(|&axis| labels(report, axis).len() > 1).collect();
    if swept.len() < 2 {
        return Vec::new();
    }
    let across = roles.columns.filter(|axis| swept.contains(axis)).unwrap_or(swept[swept.len() - 1]);
    swept.retain(|&axis| axis != across);
    let first = |of: MeasureOf| report.measures.iter().position(|measure| measure.of == of);
    let measures = [first(MeasureOf::FinalRanker), first(MeasureOf::ShownLists)].into_iter().flatten();
    measures.filter_map(|measure| heat_map(report, across, &swept, measure)).collect()
}

fn heat_map(report: &Report, across: usize, down: &[usize], measure: usize) -> Option<HeatMap> {
    let means: Vec<Option<f64>> = report
        .settings
        .iter()
        .map(|setting| setting.estimate(measure).map(|estimate| estimate.mean).filter(|mean| mean.is_finite()))
        .collect();
    let low = means.iter().flatten().copied().reduce(f64::min)?;
    let high = means.iter().flatten().copied().reduce(f64::max)?;
    let number = |value: f64| with_digits_of(low.abs().max(high.abs()), value);
    let name = |setting: &SettingResult| {
        let words = |&axis: &usize| Some(in_words(&report.axes[axis], setting.labels[axis].as_deref()?));
        down.iter().filter_map(words).collect::<Vec<_>>().join(" · ")
    };
    let row_of: Vec<String> = report.settings.iter().map(name).collect();
    let mut names: Vec<String> = Vec::new();
    for name in &row_of {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let columns: Vec<&str> = labels(report, across).into_iter().flatten().collect();
    let cell = |row: &str, column: &str| {
        // A setting without the axis across, such as a baseline without users, is the same everywhere.
        let is_here = |setting: &usize| {
            let label = report.settings[*setting].labels[across].as_deref();
            label.is_none_or(|label| label == column) && row_of[*setting] == row
        };
        let mean = means[(0..means.len()).find(is_here)?]?;
        let share = if high > low { (mean - low) / (high - low) } else { 0.5 };
        Some(HeatCell { mean, value: number(mean), share: format!("{share:.3}") })
    };
    let rows = names.into_iter().map(|name| {
        let cells = columns.iter().map(|column| cell(&name, column)).collect();
        HeatRow { name, cells }
    });
    Some(HeatMap {
        measure: report.measures[measure].name.clone(),
        across: report.axes[across].clone(),
        down: down.iter().map(|&axis| report.axes[axis].as_str()).collect::<Vec<_>>().join(" · "),
        rows: rows.collect(),
        columns: columns.into_iter().map(str::to_owned).collect(),
        ends: (number(low), number(high)),
    })
}
