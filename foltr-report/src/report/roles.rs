//! Which axis becomes columns of panels, which rows of panels, and which tell lines apart.

use super::Results;
use crate::distinct;
use crate::names::axis_name;
use foltr_experiment::study::COLLECTION_AXIS;

/// More lines than this cannot be told apart in one panel.
const MOST_LINES: usize = 12;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// What everything is compared with: axis and label.
    pub baseline: Option<(String, String)>,
    pub columns: Option<String>,
    pub rows: Option<String>,
    /// Names of vertical axes: metric and text.
    pub y_labels: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("--label names {n_labels} of {n_folders} folders; expected one for each, in the same order")]
    FolderLabels { n_labels: usize, n_folders: usize },
    #[error("two folders are called `{0}`; tell them apart by --label")]
    SameLabel(String),
    #[error("the report of several folders needs a place: --out DIR or --paper DIR")]
    NoPlace,
    #[error("these results have no metric `{metric}` (metrics: {known})")]
    Metric { metric: String, known: String },
    #[error("there is no axis `{axis}` in these results (axes: {known})")]
    Axis { axis: String, known: String },
    #[error("the axis `{axis}` has no label `{label}` (labels: {known})")]
    Label { axis: String, label: String, known: String },
    #[error("the axis `{0}` cannot be both the columns and the rows")]
    Twice(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    pub columns: Option<String>,
    pub rows: Option<String>,
    pub lines: Vec<String>,
}

impl Roles {
    /// As chosen; else users side by side, data below each other, and everything else as lines.
    pub fn of(results: &Results, choices: &Choices) -> Result<Self, ChoiceError> {
        let known = |axis: &Option<String>| axis.as_ref().map(|axis| find_axis(results, axis)).transpose();
        let (mut columns, mut rows) = (known(&choices.columns)?, known(&choices.rows)?);
        if let Some(axis) = columns.clone().filter(|_| columns == rows) {
            return Err(ChoiceError::Twice(axis));
        }
        let mut lines = swept(results);
        let is_about = |axis: &str, sections: &[&str]| sections.contains(&section_of(axis));
        let first = |sections: &[&str], taken: &Option<String>| {
            lines.iter().find(|axis| is_about(axis, sections) && Some(*axis) != taken.as_ref()).cloned()
        };
        columns = columns.or_else(|| first(&["users"], &rows));
        rows = rows.or_else(|| first(&["data", COLLECTION_AXIS], &columns));
        lines.retain(|axis| Some(axis) != columns.as_ref() && Some(axis) != rows.as_ref());
        for place in [&mut columns, &mut rows] {
            let n_lines: usize = lines.iter().map(|axis| labels(results, axis).len()).product();
            if place.is_none() && lines.len() > 1 && n_lines > MOST_LINES {
                *place = lines.pop();
            }
        }
        Ok(Self { columns, rows, lines })
    }

    /// The axis of methods: what a baseline is one label of.
    pub fn method_axis(&self) -> Option<&String> {
        let is_method = |axis: &&String| ["method", "learner"].contains(&section_of(axis));
        self.lines.iter().find(is_method).or(self.lines.first())
    }
}

pub fn swept(results: &Results) -> Vec<String> {
    results.grid.axes().into_iter().filter(|axis| labels(results, axis).len() > 1).collect()
}

/// The axis with this key, or with this name in tables and figures.
pub fn find_axis(results: &Results, axis: &str) -> Result<String, ChoiceError> {
    let axes = results.grid.axes();
    let found = axes.iter().find(|key| *key == axis).or_else(|| axes.iter().find(|key| axis_name(key) == axis));
    let known = || if axes.is_empty() { "none".into() } else { axes.join(", ") };
    found.cloned().ok_or_else(|| ChoiceError::Axis { axis: axis.into(), known: known() })
}

/// Labels of an axis in the order of the grid; none is that of settings without the axis.
pub fn labels<'a>(results: &'a Results, axis: &str) -> Vec<Option<&'a str>> {
    distinct(results.grid.settings.iter().map(|setting| setting.label(axis)))
}

fn section_of(axis: &str) -> &str {
    axis.split('.').next().unwrap_or(axis)
}
