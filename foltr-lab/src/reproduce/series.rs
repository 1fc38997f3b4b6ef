//! Series of runs: a curve in every panel of a row, one number a run for what is judged, and both as figure and table.

use std::ops::Range;

use anyhow::Result;

use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Sharing};
use crate::reproduce::Study;
use crate::reproduce::course::{USERS, over, points, select};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};
use crate::statistics::{Estimate, Smoothing};
use crate::table::table;

/// nDCG@10 on test queries.
pub const TEST: MetricName = MetricName::Offline(Split::Test, Metric::Ndcg(10));
/// The same while clients are being forgotten.
pub const UNLEARNING: MetricName = MetricName::Unlearning(Split::Test, Metric::Ndcg(10));
/// nDCG@10 on the training queries: the intent-change collection has no others.
pub const TRAIN: MetricName = MetricName::Offline(Split::Train, Metric::Ndcg(10));

/// The part of a course that is judged. With a few clients and steps of .1 a single ranker says little.
const LATE: Range<f64> = 0.8..1.0;

/// What the columns of a figure are: labels of an axis.
pub struct Columns {
    pub axis: &'static str,
    pub labels: &'static [&'static str],
    /// Behind a label, in the title.
    pub title: &'static str,
}

/// One column a kind of users.
pub const BY_USERS: Columns = Columns { axis: "users.preset", labels: &USERS, title: " users" };

/// Settings of a grid that differ in the axis of the columns only.
pub struct Series<'a> {
    /// In the legend; series of different rows with the same name look the same.
    pub name: String,
    pub results: &'a Results,
    pub labels: Vec<(&'a str, &'a str)>,
    pub metric: MetricName,
}

impl<'a> Series<'a> {
    pub fn new(name: &str, results: &'a Results, labels: &[(&'a str, &'a str)], metric: MetricName) -> Self {
        Self { name: name.into(), results, labels: labels.to_vec(), metric }
    }

    fn setting(&self, columns: &Columns, column: &str) -> Result<usize> {
        let labels: Vec<(&str, &str)> = self.labels.iter().copied().chain([(columns.axis, column)]).collect();
        select(self.results, &labels)
    }

    /// How good late rankers are, one number a run.
    pub fn late(&self, columns: &Columns, column: &str) -> Result<Vec<f64>> {
        Ok(over(self.results, self.setting(columns, column)?, self.metric, LATE))
    }

    /// How good the last ranker is, one number a run.
    pub fn last(&self, columns: &Columns, column: &str) -> Result<Vec<f64>> {
        Ok(self.results.final_values(self.setting(columns, column)?, self.metric))
    }

    /// The discounted online value, one a run.
    pub fn online(&self, users: &str) -> Result<Vec<f64>> {
        Ok(self.results.online(self.setting(&BY_USERS, users)?))
    }

    /// Its course over rounds, as in the thesis: clients with more interactions in a round have as many rounds.
    pub fn points(&self, columns: &Columns, column: &str) -> Result<Vec<Point>> {
        let setting = self.setting(columns, column)?;
        let schedule = self.results.grid.settings[setting].experiment.schedule();
        let per_round = schedule.map_or(1, |it| it.interactions_per_round()).max(1) as f64;
        let points = points(self.results, setting, self.metric, Smoothing::None, None);
        Ok(points.into_iter().map(|point| Point { x: point.x / per_round, ..point }).collect())
    }
}

/// Series side by side.
pub struct Row<'a> {
    pub title: String,
    pub series: Vec<Series<'a>>,
}

/// A figure of rows of panels.
pub struct Sheet<'a> {
    /// Of its files.
    pub file: &'a str,
    pub title: &'a str,
    pub subtitle: String,
    pub measure: &'a str,
    pub columns: &'a Columns,
    /// Rows of different collections have scales of their own.
    pub y_sharing: Sharing,
    /// Confidence bands of many noisy series hide all of them.
    pub has_bands: bool,
}

impl Sheet<'_> {
    /// Draws it, and tells the late values of all series.
    pub fn show(self, study: &mut Study<'_>, rows: &[Row<'_>]) -> Result<()> {
        let mut methods: Vec<String> = Vec::new();
        for series in rows.iter().flat_map(|row| &row.series) {
            if !methods.contains(&series.name) {
                methods.push(series.name.clone());
            }
        }
        let columns = self.columns;
        let panel_rows = rows.iter().map(|row| self.row(row, &methods)).collect::<Result<_>>()?;
        let told = told(columns, rows)?;
        let figure = CurveFigure {
            title: self.title.into(),
            subtitle: self.subtitle,
            x_label: "rounds".into(),
            y_label: self.measure.into(),
            methods,
            columns: columns.labels.iter().map(|label| format!("{label}{}", columns.title)).collect(),
            rows: panel_rows,
            x_sharing: Sharing::Row,
            y_sharing: self.y_sharing,
            ..CurveFigure::default()
        };
        study.figure(self.file, figure)?;
        study.table(&format!("{}, mean over the last fifth of the rounds", self.measure), &told);
        Ok(())
    }

    fn row(&self, row: &Row<'_>, methods: &[String]) -> Result<PanelRow> {
        let panel = |&column: &&str| -> Result<Panel> {
            let curve = |series: &Series<'_>| -> Result<Curve> {
                let method = methods.iter().position(|name| *name == series.name).unwrap_or(0);
                let mut points = series.points(self.columns, column)?;
                if !self.has_bands {
                    points.iter_mut().for_each(|point| (point.low, point.high) = (point.mean, point.mean));
                }
                Ok(Curve { method, points })
            };
            Ok(Panel { curves: row.series.iter().map(curve).collect::<Result<_>>()?, references: Vec::new() })
        };
        let panels = self.columns.labels.iter().map(panel).collect::<Result<_>>()?;
        Ok(PanelRow { title: row.title.clone(), panels })
    }
}

fn told(columns: &Columns, rows: &[Row<'_>]) -> Result<String> {
    let mut lines = Vec::new();
    for row in rows {
        for series in &row.series {
            let mut line = vec![row.title.clone(), series.name.clone()];
            for column in columns.labels {
                line.push(in_words(&series.late(columns, column)?, 4));
            }
            lines.push(line);
        }
    }
    let header: Vec<&str> = ["", "curve"].into_iter().chain(columns.labels.iter().copied()).collect();
    Ok(table(&header, 2, lines))
}

/// A mean with its confidence interval.
pub fn in_words(runs: &[f64], digits: usize) -> String {
    match Estimate::of(runs) {
        None => "-".into(),
        Some(estimate) => format!("{:.digits$} ± {:.digits$}", estimate.mean, estimate.half_width()),
    }
}
