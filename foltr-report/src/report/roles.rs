//! Which axis becomes columns of panels, which rows of panels, and which tell curves apart.

use super::{Report, SettingResult};

/// More curves than this are not told apart in one panel.
const MOST_SERIES: usize = 12;

/// What whoever asks for a report may choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// What everything is compared with: axis and label.
    pub baseline: Option<(String, String)>,
    /// Axis of the columns of panels.
    pub columns: Option<String>,
    /// Axis of the rows of panels.
    pub rows: Option<String>,
}

/// A choice that the results do not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No such axis.
    #[error("there is no axis `{axis}` in these results (axes: {known})")]
    Axis {
        /// As asked for.
        axis: String,
        /// All that there are.
        known: String,
    },
    /// No such label.
    #[error("the axis `{axis}` has no label `{label}` (labels: {known})")]
    Label {
        /// As asked for.
        axis: String,
        /// As asked for.
        label: String,
        /// All that there are.
        known: String,
    },
    /// One axis, two places.
    #[error("the axis `{0}` cannot be both the columns and the rows")]
    Twice(String),
}

/// Indices of axes by what they do on the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Side by side.
    pub columns: Option<usize>,
    /// Below each other.
    pub rows: Option<usize>,
    /// Told apart by colour.
    pub series: Vec<usize>,
    /// Name of every series, in the order in which they are first met.
    pub names: Vec<String>,
    /// Index of [`Self::names`] for every setting.
    pub series_of: Vec<usize>,
}

impl Roles {
    /// As chosen; else users side by side, data below each other, and everything else as curves.
    pub fn of(report: &Report, choices: &Choices) -> Result<Self, ChoiceError> {
        let chosen = |name: &Option<String>| name.as_deref().map(|name| axis_index(report, name)).transpose();
        let (mut columns, mut rows) = (chosen(&choices.columns)?, chosen(&choices.rows)?);
        if let Some(axis) = columns.filter(|_| columns == rows) {
            return Err(ChoiceError::Twice(report.axes[axis].clone()));
        }
        let swept: Vec<usize> = (0..report.axes.len()).filter(|&axis| labels(report, axis).len() > 1).collect();
        let about = |section: &str, taken: Option<usize>| {
            let is_about = |&&axis: &&usize| section_of(&report.axes[axis]) == section && Some(axis) != taken;
            swept.iter().find(is_about).copied()
        };
        columns = columns.or_else(|| about("users", rows));
        rows = rows.or_else(|| about("data", columns));
        let free = |columns, rows| -> Vec<usize> {
            swept.iter().copied().filter(|&axis| Some(axis) != columns && Some(axis) != rows).collect()
        };
        let n_series = |axes: &[usize]| axes.iter().map(|&axis| labels(report, axis).len()).product::<usize>();
        let mut series = free(columns, rows);
        for place in [&mut columns, &mut rows] {
            if place.is_none() && series.len() > 1 && n_series(&series) > MOST_SERIES {
                *place = series.pop();
            }
        }
        let mut names: Vec<String> = Vec::new();
        let series_of = report.settings.iter().map(|setting| series_name(report, setting, &series)).map(|name| {
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        });
        let series_of = series_of.collect();
        Ok(Self { columns, rows, series, names, series_of })
    }

    /// The axis of methods: what a baseline is one label of.
    pub fn method_axis(&self, report: &Report) -> Option<usize> {
        let is_method = |axis: &&usize| ["method", "learner"].contains(&section_of(&report.axes[**axis]));
        self.series.iter().find(is_method).or(self.series.first()).copied()
    }

    /// Settings of the panel in this column and row, each a label of its axis.
    pub fn panel(&self, report: &Report, column: Option<&str>, row: Option<&str>) -> Vec<usize> {
        let is_at = |setting: &SettingResult, axis: Option<usize>, label: Option<&str>| {
            // What has no label there, such as a baseline without users, belongs everywhere.
            axis.and_then(|axis| setting.labels[axis].as_deref()).is_none_or(|own| Some(own) == label)
        };
        let is_here = |&setting: &usize| {
            let setting = &report.settings[setting];
            is_at(setting, self.columns, column) && is_at(setting, self.rows, row)
        };
        (0..report.settings.len()).filter(is_here).collect()
    }

    /// Labels of an axis; without an axis one place for everything.
    pub fn places(report: &Report, axis: Option<usize>) -> Vec<Option<&str>> {
        let labels =
            axis.map_or_else(Vec::new, |axis| labels(report, axis).into_iter().filter(Option::is_some).collect());
        if labels.is_empty() { vec![None] } else { labels }
    }
}

/// Index of an axis by its name.
pub fn axis_index(report: &Report, name: &str) -> Result<usize, ChoiceError> {
    let known = || if report.axes.is_empty() { "none".into() } else { report.axes.join(", ") };
    let found = report.axes.iter().position(|axis| axis == name);
    found.ok_or_else(|| ChoiceError::Axis { axis: name.into(), known: known() })
}

/// Labels of an axis, in the order in which they are first met.
pub fn labels(report: &Report, axis: usize) -> Vec<Option<&str>> {
    let mut labels: Vec<Option<&str>> = Vec::new();
    for label in report.settings.iter().map(|setting| setting.labels[axis].as_deref()) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// A label as it is read without its axis beside it: a number says what it counts.
pub fn in_words(axis: &str, label: &str) -> String {
    match label.parse::<f64>() {
        Ok(_) => format!("{} {label}", axis.rsplit('.').next().unwrap_or(axis)),
        Err(_) => label.into(),
    }
}

fn section_of(axis: &str) -> &str {
    axis.split('.').next().unwrap_or(axis)
}

fn series_name(report: &Report, setting: &SettingResult, series: &[usize]) -> String {
    let words = |&axis: &usize| Some(in_words(&report.axes[axis], setting.labels[axis].as_deref()?));
    let name = series.iter().filter_map(words).collect::<Vec<_>>().join(" · ");
    if name.is_empty() { setting.method.clone() } else { name }
}
