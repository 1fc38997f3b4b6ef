//! `[[expect]]` as a file writes it.

use std::collections::BTreeMap;

use foltr_experiment::collection::ResolvedCollection;
use foltr_experiment::study::{COLLECTION_AXIS, Names, Study};
use serde::Deserialize;
use toml::Value;

use super::reduce::At;
use super::select::{Labels, METRIC, Selection, Selector, label};
use crate::statistics;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    pub finding: Option<u32>,
    pub says: String,
    #[serde(default)]
    pub entry: Names,
    #[serde(default)]
    pub only_on: Names,
    pub data: Option<DataLevel>,
    #[serde(default)]
    pub quick: QuickMode,
    /// One case a metric.
    #[serde(default)]
    pub metric: Names,
    #[serde(default)]
    pub at: At,
    #[serde(default, rename = "where")]
    pub fixed: Selection,
    #[serde(default)]
    pub for_each: Selection,
    #[serde(default)]
    pub mean_over: Selection,
    pub left: Option<Selection>,
    pub right: Option<Selection>,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    pub test: Option<Test>,
    pub equivalent: Option<f64>,
    pub clients_below: Option<f64>,
    pub rises: Option<Along>,
    pub falls: Option<Along>,
    pub gap_closed: Option<GapClosed>,
    pub spread: Option<Spread>,
    pub printed: Option<Printed>,
    pub within: Option<f64>,
    pub within_percent: Option<f64>,
    /// Which cells of a table are marked as significant differences between left and right.
    pub marks: Option<Printed>,
    /// For how many tests marks are corrected; all cells when absent.
    pub n_tests: Option<usize>,
    #[serde(default)]
    pub because: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataLevel {
    /// The paper's own.
    Paper,
    /// Samples as well.
    Real,
    Any,
}

impl DataLevel {
    /// Why data is not good enough.
    pub fn refuses(self, data: &ResolvedCollection) -> Option<String> {
        let is_enough = match self {
            Self::Paper => data.is_the_papers,
            Self::Real => data.is_real,
            Self::Any => true,
        };
        (!is_enough).then(|| format!("not the paper's data: {}", data.name))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuickMode {
    #[default]
    Judge,
    /// The number only.
    Report,
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    Paired,
    /// Of two independent samples; for marks only.
    Welch,
}

impl From<Test> for statistics::Test {
    fn from(test: Test) -> Self {
        match test {
            Test::Paired => Self::Paired,
            Test::Welch => Self::Welch,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    pub along: String,
    pub order: Option<Vec<Group>>,
    #[serde(default)]
    pub slack: f64,
    /// First and last only.
    #[serde(default)]
    pub ends: bool,
}

/// Labels without an order among themselves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Value")]
pub struct Group(pub Vec<String>);

impl From<Value> for Group {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(labels) => Self(labels.iter().map(label).collect()),
            one => Self(vec![label(&one)]),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GapClosed {
    pub from: Selection,
    pub to: Selection,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    pub along: String,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

/// An axis that a predicate names, with its key and the labels that it orders.
pub struct PredicateAxis<'a> {
    pub key: &'static str,
    pub axis: &'a str,
    pub order: &'a [Group],
}

/// A table of a paper: its numbers or its marks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    pub rows: Option<String>,
    pub columns: Option<String>,
    #[serde(default)]
    pub order: Vec<Group>,
    pub values: PrintedValues,
}

/// One list, or one a row; numbers that are not printed are `nan`, marks that cannot be read are `"?"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a list, or a table of lists by row")]
pub enum PrintedValues {
    One(Vec<Value>),
    ByRow(toml::map::Map<String, Value>),
}

impl PrintedValues {
    pub fn rows(&self) -> Vec<(Option<&str>, &[Value])> {
        match self {
            Self::One(values) => vec![(None, values)],
            Self::ByRow(rows) => rows
                .iter()
                .map(|(row, values)| (Some(row.as_str()), values.as_array().map_or(&[][..], Vec::as_slice)))
                .collect(),
        }
    }
}

/// A printed number as a file writes it.
pub fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

impl Printed {
    /// Every cell: where it is, and what the file says about it.
    pub fn cells(&self) -> Vec<(Selection, &Value)> {
        let mut cells = Vec::new();
        for (row, values) in self.values.rows() {
            for (i, value) in values.iter().enumerate() {
                let mut place = Selection::default();
                if let (Some(axis), Some(row)) = (&self.rows, row) {
                    place = place.with(axis, row);
                }
                if let (Some(axis), Some(group)) = (&self.columns, self.order.get(i)) {
                    place = place.with_labels(axis, &group.0);
                }
                cells.push((place, value));
            }
        }
        cells
    }
}

impl Expectation {
    /// Whether it is to be judged: its entries, and not skipped with a small budget.
    pub fn is_about(&self, study: &Study) -> bool {
        let is_skipped = study.is_quick && self.quick == QuickMode::Skip;
        !is_skipped && super::is_about(&self.entry, &self.only_on, study)
    }

    /// Whether it compares with what a paper printed, cell by cell.
    pub fn is_of_a_table(&self) -> bool {
        self.printed.is_some() || self.marks.is_some()
    }

    pub fn level(&self) -> DataLevel {
        self.data.unwrap_or(if self.is_of_a_table() { DataLevel::Paper } else { DataLevel::Any })
    }

    /// Why a failure was to be expected.
    pub fn because(&self, collection: Option<&str>, is_quick: bool) -> Option<&str> {
        let quick = is_quick.then_some("quick");
        [collection, quick, Some("any")].into_iter().flatten().find_map(|key| self.because.get(key)).map(String::as_str)
    }

    /// One selection a case; collections are cases of their own unless the expectation names them.
    pub fn cases(&self, selector: &Selector<'_>) -> Vec<Selection> {
        let mut axes = self.for_each.clone();
        if self.metric.0.len() > 1 {
            axes.put(METRIC, Labels::These(self.metric.0.clone()));
        }
        let of_gap = |name: &str| name.starts_with("gap_closed");
        let mut selections = self.selections().into_iter().filter(|(name, _)| !of_gap(name));
        let is_named = selections.any(|(_, selection)| selection.get(COLLECTION_AXIS).is_some())
            || self.predicate_axes().iter().any(|it| it.axis == COLLECTION_AXIS);
        if !is_named && selector.has_axis(COLLECTION_AXIS) {
            axes.put(COLLECTION_AXIS, Labels::All);
        }
        let mut cases = vec![Selection::default()];
        for (axis, labels) in axes.iter() {
            let known = match labels {
                Labels::These(labels) => labels.clone(),
                Labels::All => selector.labels_of(axis, &self.fixed),
            };
            cases = cases.iter().flat_map(|case| known.iter().map(move |label| case.with(axis, label))).collect();
        }
        cases
    }

    pub fn selections(&self) -> Vec<(&'static str, &Selection)> {
        let all = [
            ("where", Some(&self.fixed)),
            ("for_each", Some(&self.for_each)),
            ("mean_over", Some(&self.mean_over)),
            ("left", self.left.as_ref()),
            ("right", self.right.as_ref()),
            ("gap_closed.from", self.gap_closed.as_ref().map(|gap| &gap.from)),
            ("gap_closed.to", self.gap_closed.as_ref().map(|gap| &gap.to)),
        ];
        all.into_iter().filter_map(|(name, selection)| Some((name, selection?))).collect()
    }

    pub fn predicate_axes<'a>(&'a self) -> Vec<PredicateAxis<'a>> {
        let along = |it: &'a Along| (&it.along, it.order.as_deref().unwrap_or_default());
        let (printed, marks) = (self.printed.as_ref(), self.marks.as_ref());
        let rows = |table: &'a Printed| Some((table.rows.as_ref()?, &[][..]));
        let columns = |table: &'a Printed| Some((table.columns.as_ref()?, &table.order[..]));
        let all = [
            ("rises.along", self.rises.as_ref().map(along)),
            ("falls.along", self.falls.as_ref().map(along)),
            ("spread.along", self.spread.as_ref().map(|spread| (&spread.along, &[][..]))),
            ("printed.rows", printed.and_then(rows)),
            ("printed.columns", printed.and_then(columns)),
            ("marks.rows", marks.and_then(rows)),
            ("marks.columns", marks.and_then(columns)),
        ];
        let axis = |(key, it): (_, Option<(&'a String, &'a [Group])>)| {
            it.map(|(axis, order)| PredicateAxis { key, axis, order })
        };
        all.into_iter().filter_map(axis).collect()
    }

    pub fn query(&self, case: &Selection) -> Selection {
        let start = Selection::default().with_labels(METRIC, &self.metric.0).with_at(&self.at);
        start.and(&self.fixed).and(&self.mean_over).and(case)
    }
}
