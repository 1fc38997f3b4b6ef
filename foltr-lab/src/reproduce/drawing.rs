//! Learning curves of an entry: one panel a kind of users, one line a method, whichever grid its runs are in.

use anyhow::Result;

use super::course::{USERS, curve, select};
use crate::plot::{Figure, Panel};
use crate::results::Results;
use crate::rows::MetricName;

/// One line of a figure: a grid's settings that differ in their users only.
pub(super) struct Line<'a> {
    /// Name in the legend.
    pub name: String,
    /// Where its runs are.
    pub results: &'a Results,
    /// Labels of its settings, apart from the users.
    pub labels: Vec<(&'a str, &'a str)>,
}

impl Line<'_> {
    /// Its setting under these users.
    pub(super) fn setting(&self, users: &str) -> Result<usize> {
        let mut labels = self.labels.clone();
        labels.push(("users.preset", users));
        select(self.results, &labels)
    }
}

/// Words and measure of a figure.
pub(super) struct Sheet<'a> {
    /// Above the panels.
    pub title: &'a str,
    /// Data, stream, runs.
    pub subtitle: String,
    /// What is measured, in words.
    pub measure: &'a str,
    /// What is measured.
    pub metric: MetricName,
    /// Values of the moving average.
    pub window: usize,
}

impl Sheet<'_> {
    /// The figure with these lines.
    pub(super) fn figure(&self, lines: &[Line<'_>]) -> Result<Figure> {
        let panel = |users: &str| -> Result<Panel> {
            let curve_of = |(method, line): (usize, &Line<'_>)| {
                Ok(curve(line.results, line.setting(users)?, self.metric, self.window, method))
            };
            let curves = lines.iter().enumerate().map(curve_of).collect::<Result<_>>()?;
            Ok(Panel { title: format!("{users} users"), curves })
        };
        Ok(Figure {
            title: self.title.into(),
            subtitle: self.subtitle.clone(),
            x_label: "interactions of all clients together".into(),
            y_label: self.measure.into(),
            methods: lines.iter().map(|line| line.name.clone()).collect(),
            panels: USERS.map(panel).into_iter().collect::<Result<_>>()?,
        })
    }
}
