//! Learning curves of an entry: one column a kind of users, one row a collection or a stream, one look a method.

use anyhow::Result;

use super::course::{USERS, points, select};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Sharing};
use crate::results::Results;
use crate::rows::MetricName;
use crate::statistics::Smoothing;

/// One line of a figure: a grid's settings that differ in their users only.
pub(super) struct Line<'a> {
    /// Name in the legend.
    pub name: String,
    /// Where its runs are.
    pub results: &'a Results,
    /// Labels of its settings, apart from the users.
    pub labels: Vec<(&'a str, &'a str)>,
    /// How it is smoothed.
    pub smoothing: Smoothing,
}

impl Line<'_> {
    /// Its setting under these users.
    pub(super) fn setting(&self, users: &str) -> Result<usize> {
        let mut labels = self.labels.clone();
        labels.push(("users.preset", users));
        select(self.results, &labels)
    }

    fn curve(&self, users: &str, metric: MetricName, method: usize) -> Result<Curve> {
        Ok(Curve { method, points: points(self.results, self.setting(users)?, metric, self.smoothing, None) })
    }
}

/// A row of panels, one a kind of users. All rows have the same methods in the same order.
pub(super) fn row(title: &str, metric: MetricName, lines: &[Line<'_>]) -> Result<PanelRow> {
    let panel = |users: &str| -> Result<Panel> {
        let curves = lines.iter().enumerate().map(|(method, line)| line.curve(users, metric, method));
        Ok(Panel { curves: curves.collect::<Result<_>>()?, references: Vec::new() })
    };
    Ok(PanelRow { title: title.into(), panels: USERS.map(panel).into_iter().collect::<Result<_>>()? })
}

/// The figure of some rows; every panel has its own axes, as in the papers.
pub(super) fn sheet(
    title: &str,
    subtitle: String,
    measure: &str,
    methods: Vec<String>,
    rows: Vec<PanelRow>,
) -> CurveFigure {
    CurveFigure {
        title: title.into(),
        subtitle,
        x_label: "interactions of all clients together".into(),
        y_label: measure.into(),
        methods,
        columns: USERS.map(|users| format!("{users} users")).to_vec(),
        rows,
        x_sharing: Sharing::Row,
        y_sharing: Sharing::Panel,
        ..CurveFigure::default()
    }
}

/// Names of lines, for the legend.
pub(super) fn names(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(|line| line.name.clone()).collect()
}
