//! The page's figures as files, for papers and slides: SVG and PNG.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::bars::bar_charts;
use super::curves::{Chart, charts};
use super::heat_map::heat_maps;
use super::page::PageError;
use super::panel::{Line, LinePoint};
use super::roles::{Choices, Roles};
use super::{Report, bars, heat_map, spread};
use crate::plot::{
    self, Bar, BarFigure, BarGroup, Cell, Curve, CurveFigure, HeatMap, Panel, PanelRow, Point, Reference, Sharing,
};
use crate::statistics::Mark;

/// Writes all figures of a report into a folder; returns their paths.
///
/// # Errors
/// If a choice names what the results do not have, or a file cannot be written.
pub fn write(report: &Report, choices: &Choices, folder: &Path) -> Result<Vec<PathBuf>, PageError> {
    let roles = Roles::of(report, choices)?;
    let curves = charts(report, &roles).0.into_iter();
    let curves = curves.map(|chart| (file_name("curves", &chart.metric), curve_figure(&roles, chart).svg()));
    let bars = bar_charts(report, &roles).into_iter();
    let bars = bars.map(|chart| (file_name("final", &chart.measure), bar_figure(&roles, chart).svg()));
    let maps = heat_maps(report, &roles).into_iter();
    let maps = maps.map(|map| (file_name("heat-map", &map.measure), heat_map_figure(map).svg()));
    let spreads = spread::figures(report, &roles).into_iter();
    let spreads = spreads.map(|(metric, figure)| (file_name("clients", &metric), figure.svg()));
    let all: Vec<(String, String)> = curves.chain(bars).chain(maps).chain(spreads).collect();
    let write = |(name, svg): &(String, String)| plot::write(svg, &folder.join(name)).map(<[PathBuf; 2]>::from);
    let written: Vec<[PathBuf; 2]> = all.par_iter().map(write).collect::<Result<_, _>>()?;
    Ok(written.into_iter().flatten().collect())
}

/// A name without anything that a file system or a shell minds: `curves-test-ndcg-10`.
fn file_name(kind: &str, of: &str) -> String {
    let words = of.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    [kind].into_iter().chain(words).collect::<Vec<_>>().join("-").to_lowercase()
}

fn curve_figure(roles: &Roles, chart: Chart) -> CurveFigure {
    let place = |point: &LinePoint| Point { x: point.x, mean: point.mean, low: point.low, high: point.high };
    let panel = |lines: &[Line]| {
        let (levels, courses): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| line.points.len() == 1);
        let curve = |line: &Line| Curve { method: line.series, points: line.points.iter().map(place).collect() };
        let level = |line: &Line| Reference { method: line.series, value: line.points[0].mean };
        Panel { curves: courses.into_iter().map(curve).collect(), references: levels.into_iter().map(level).collect() }
    };
    // A grid with holes still has all columns: panels are found by their title.
    let mut columns: Vec<String> = Vec::new();
    for title in chart.rows.iter().flat_map(|row| &row.panels).map(|panel| &panel.title) {
        if !columns.contains(title) {
            columns.push(title.clone());
        }
    }
    let rows = chart.rows.iter().map(|row| {
        let found = |title: &String| row.panels.iter().find(|panel| panel.title == *title);
        let panels = columns.iter().map(|title| found(title).map_or_else(Panel::default, |found| panel(&found.lines)));
        PanelRow { title: row.title.clone(), panels: panels.collect() }
    });
    CurveFigure {
        title: format!("Learning curves: {}", chart.metric),
        subtitle: "mean over runs with 95 % confidence bands".into(),
        x_label: chart.x_label.into(),
        y_label: chart.metric.clone(),
        methods: roles.names.clone(),
        rows: rows.collect(),
        y_sharing: Sharing::Row,
        columns,
        ..CurveFigure::default()
    }
}

fn bar_figure(roles: &Roles, chart: bars::BarChart) -> BarFigure {
    let group = |group: bars::BarGroup| BarGroup {
        name: group.title,
        bars: group
            .bars
            .into_iter()
            .map(|bar| {
                let (low, high) = bar.estimate.confidence_interval_95.unwrap_or((bar.estimate.mean, bar.estimate.mean));
                Bar { method: bar.series, value: bar.estimate.mean, low, high }
            })
            .collect(),
    };
    BarFigure {
        title: format!("Final ranker: {}", chart.measure),
        subtitle: "mean over runs with 95 % confidence intervals".into(),
        y_label: chart.measure,
        methods: roles.names.clone(),
        groups: chart.groups.into_iter().map(group).collect(),
        digits: Some(3),
    }
}

fn heat_map_figure(map: heat_map::HeatMap) -> HeatMap {
    let cell = |cell: &Option<heat_map::HeatCell>| Cell {
        value: cell.as_ref().map_or(f64::NAN, |cell| cell.mean),
        mark: Mark::None,
    };
    HeatMap {
        title: map.measure,
        subtitle: format!("mean over runs; columns: {}", map.across),
        columns: map.columns,
        cells: map.rows.iter().map(|row| row.cells.iter().map(cell).collect()).collect(),
        rows: map.rows.into_iter().map(|row| row.name).collect(),
        digits: 4,
        ..HeatMap::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("curves", "test-ndcg@10"), "curves-test-ndcg-10");
        assert_eq!(file_name("heat-map", "../online nDCG, discounted sum"), "heat-map-online-ndcg-discounted-sum");
    }
}
