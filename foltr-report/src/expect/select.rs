//! Which runs a value comes from: settings by their labels, averaged by fold and seed.

use std::collections::{BTreeMap, BTreeSet};

use foltr_experiment::grid::is_same_label;
use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::MetricName;
use foltr_experiment::study::COLLECTION_AXIS;
use serde::Deserialize;
use toml::{Table, Value};

use super::reduce::At;
use crate::distinct;
use crate::statistics::{GapRun, mean};

pub const METRIC: &str = "metric";
pub const FOLD: &str = "fold";
const AT: &str = "at";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labels {
    All,
    /// An empty list selects settings that lack the axis.
    These(Vec<String>),
}

/// Axis or key -> labels, in the order of the file; also `metric` and `at`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Table")]
pub struct Selection {
    labels: Vec<(String, Labels)>,
    pub(super) at: Option<At>,
}

impl TryFrom<Table> for Selection {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, String> {
        let at = table.remove(AT).map(At::try_from).transpose()?;
        let labels = |value: &Value| match value {
            Value::String(word) if word == "all" => Ok(Labels::All),
            Value::Array(labels) if !labels.is_empty() => Ok(Labels::These(labels.iter().map(label).collect())),
            Value::Table(_) | Value::Array(_) => Err("expected a label, a list of labels, or \"all\"".to_owned()),
            one => Ok(Labels::These(vec![label(one)])),
        };
        let labels = table.iter().map(|(axis, value)| Ok((axis.clone(), labels(value)?)));
        Ok(Self { labels: labels.collect::<Result<_, String>>()?, at })
    }
}

/// A value as the label that a grid makes of it.
pub fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Selection {
    pub fn get(&self, axis: &str) -> Option<&Labels> {
        self.labels.iter().find(|(name, _)| name == axis).map(|(_, labels)| labels)
    }

    /// The label of an axis, if there is exactly one.
    pub fn one(&self, axis: &str) -> Option<&str> {
        match self.get(axis) {
            Some(Labels::These(labels)) if labels.len() == 1 => Some(&labels[0]),
            _ => None,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Labels)> {
        self.labels.iter().map(|(axis, labels)| (axis.as_str(), labels))
    }

    pub fn put(&mut self, axis: &str, labels: Labels) {
        match self.labels.iter_mut().find(|(name, _)| name == axis) {
            Some((_, known)) => *known = labels,
            None => self.labels.push((axis.into(), labels)),
        }
    }

    #[must_use]
    pub fn with(&self, axis: &str, label: &str) -> Self {
        self.with_labels(axis, &[label.to_owned()])
    }

    #[must_use]
    pub fn with_labels(&self, axis: &str, labels: &[String]) -> Self {
        let mut with = self.clone();
        with.put(axis, Labels::These(labels.to_vec()));
        with
    }

    #[must_use]
    pub fn with_at(&self, at: &At) -> Self {
        Self { at: Some(at.clone()), ..self.clone() }
    }

    /// With what the other selects in place of what this one does.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        let is_every_metric = |axis: &str, labels: &Labels| axis == METRIC && *labels == Labels::All;
        for (axis, labels) in other.iter().filter(|(axis, labels)| !is_every_metric(axis, labels)) {
            both.put(axis, labels.clone());
        }
        both.at = other.at.clone().or(both.at);
        both
    }

    pub fn metrics(&self) -> Vec<MetricName> {
        let Some(Labels::These(names)) = self.get(METRIC) else { return Vec::new() };
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Axis -> label, where there is exactly one.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.labels.iter().filter_map(|(axis, _)| Some((axis.clone(), self.one(axis)?.to_owned()))).collect()
    }
}

/// (fold, seed) -> value.
pub type Sample = BTreeMap<(usize, u64), f64>;

/// (number of the setting within its selection, fold, seed, client) -> value.
pub type ClientSample = BTreeMap<(usize, usize, u64, u32), f64>;

pub struct Selector<'a> {
    pub results: &'a Results,
    /// Where there is no axis of collections.
    collection: Option<&'a str>,
    /// All values of a setting, for keys that are no axis.
    own: Vec<serde_json::Value>,
}

impl<'a> Selector<'a> {
    pub fn of(results: &'a Results, collection: Option<&'a str>) -> Self {
        Self { results, collection, own: results.grid.settings.iter().map(own_values).collect() }
    }

    pub fn has_axis(&self, axis: &str) -> bool {
        self.results.grid.settings.iter().any(|setting| setting.label(axis).is_some())
    }

    /// The label of a setting on an axis, or its own value of a key.
    pub fn label(&self, setting: usize, axis: &str) -> Option<String> {
        if let Some(label) = self.results.grid.settings[setting].label(axis) {
            return Some(label.to_owned());
        }
        if axis == COLLECTION_AXIS {
            return self.collection.map(str::to_owned);
        }
        own_value(&self.own[setting], axis)
    }

    /// Labels of an axis among the settings of a selection, in the order of the grid.
    pub fn labels_of(&self, axis: &str, selection: &Selection) -> Vec<String> {
        if axis == FOLD {
            return self.folds(selection);
        }
        distinct(self.settings(selection).into_iter().filter_map(|setting| self.label(setting, axis)))
    }

    /// Combinations of labels that settings of a selection have; one empty combination without axes. Settings that lack
    /// an axis have combinations of their own if they are asked for, else none.
    pub fn combinations(&self, axes: &[String], selection: &Selection, with_unlabelled: bool) -> Vec<Selection> {
        if let Some(place) = axes.iter().position(|axis| axis == FOLD) {
            let others = [&axes[..place], &axes[place + 1..]].concat();
            let of_others = self.combinations(&others, selection, with_unlabelled);
            let folds = self.folds(selection);
            return of_others.iter().flat_map(|one| folds.iter().map(move |fold| one.with(FOLD, fold))).collect();
        }
        let combination = |setting: usize| {
            let mut combination = Selection::default();
            for axis in axes {
                let label = self.label(setting, axis);
                if label.is_none() && !with_unlabelled {
                    return None;
                }
                combination.put(axis, Labels::These(label.into_iter().collect()));
            }
            Some(combination)
        };
        let mut combinations = distinct(self.settings(selection).into_iter().filter_map(combination));
        // The first axis changes slowest.
        let orders: Vec<Vec<String>> = axes.iter().map(|axis| self.labels_of(axis, selection)).collect();
        let place = |one: &Selection| -> Vec<usize> {
            let of_axis = |(axis, order): (&String, &Vec<String>)| {
                order.iter().position(|label| one.one(axis) == Some(label)).unwrap_or(order.len())
            };
            axes.iter().zip(&orders).map(of_axis).collect()
        };
        combinations.sort_by_cached_key(place);
        combinations
    }

    fn folds(&self, selection: &Selection) -> Vec<String> {
        let runs = self.settings(selection).into_iter().flat_map(|setting| self.results.runs_of(setting));
        let folds: BTreeSet<usize> = runs.map(|run| run.fold).collect();
        folds.iter().map(ToString::to_string).collect()
    }

    /// Runs of a setting, of the folds of a selection.
    pub fn runs(&self, setting: usize, selection: &Selection) -> impl Iterator<Item = &'a Run> {
        let folds = match selection.get(FOLD) {
            Some(Labels::These(folds)) => Some(folds.clone()),
            _ => None,
        };
        let is_asked = move |run: &&Run| folds.as_ref().is_none_or(|folds| folds.contains(&run.fold.to_string()));
        self.results.runs_of(setting).filter(is_asked)
    }

    pub fn settings(&self, selection: &Selection) -> Vec<usize> {
        (0..self.own.len()).filter(|&setting| self.is_selected(setting, selection)).collect()
    }

    pub fn is_selected(&self, setting: usize, selection: &Selection) -> bool {
        selection.iter().filter(|(axis, _)| ![METRIC, FOLD].contains(axis)).all(|(axis, labels)| {
            let Labels::These(selected) = labels else { return true };
            match self.label(setting, axis) {
                Some(label) => selected.iter().any(|selected| is_same_label(selected, &label)),
                // A setting without the axis belongs to all its labels.
                None => true,
            }
        })
    }

    /// One number a fold and seed: the mean over the selected settings and metrics.
    pub fn sample(&self, selection: &Selection) -> Sample {
        let at = selection.at.clone().unwrap_or_default();
        let mut parts: Vec<Sample> = Vec::new();
        for metric in selection.metrics() {
            for setting in self.settings(selection) {
                let runs = self.runs(setting, selection);
                let values = runs.filter_map(|run| Some(((run.fold, run.seed), at.of(run, metric)?)));
                let part: Sample = values.collect();
                if !part.is_empty() {
                    parts.push(part);
                }
            }
        }
        let keys: BTreeSet<(usize, u64)> = parts.iter().flat_map(|part| part.keys().copied()).collect();
        let value = |key: (usize, u64)| {
            let values: Option<Vec<f64>> = parts.iter().map(|part| value_for(part, key)).collect();
            values.map(|values| (key, mean(&values)))
        };
        keys.into_iter().filter_map(value).collect()
    }

    /// What each client's ranker is worth to it.
    pub fn clients(&self, selection: &Selection) -> ClientSample {
        let mut sample = ClientSample::new();
        for metric in selection.metrics() {
            for (idx, setting) in self.settings(selection).into_iter().enumerate() {
                for run in self.results.runs_of(setting) {
                    let of_metric = run.clients.iter().filter(|one| one.metric == metric);
                    sample.extend(of_metric.map(|one| ((idx, run.fold, run.seed, one.client), one.value)));
                }
            }
        }
        sample
    }
}

/// The value of a fold and seed. What draws nothing at random has one seed, which stands for all.
fn value_for(sample: &Sample, (fold, seed): (usize, u64)) -> Option<f64> {
    if let Some(&value) = sample.get(&(fold, seed)) {
        return Some(value);
    }
    let mut of_fold = sample.range((fold, 0)..=(fold, u64::MAX));
    let (_, &first) = of_fold.next()?;
    of_fold.next().is_none().then_some(first)
}

/// Values of both samples that belong together.
pub fn pairs(left: &Sample, right: &Sample) -> Vec<(f64, f64)> {
    by_run([left, right]).into_values().map(|[left, right]| (left, right)).collect()
}

/// Differences of values that belong together.
pub fn differences(left: &Sample, right: &Sample) -> Sample {
    by_run([left, right]).into_iter().map(|(run, [left, right])| (run, left - right)).collect()
}

/// What runs of the same fold and seed say about a gap.
pub fn gap_runs(value: &Sample, from: &Sample, to: &Sample) -> Vec<GapRun> {
    by_run([value, from, to]).into_values().map(|[value, from, to]| GapRun { value, from, to }).collect()
}

/// Values of all samples by fold and seed, where all have one.
fn by_run<const N: usize>(samples: [&Sample; N]) -> BTreeMap<(usize, u64), [f64; N]> {
    let keys: BTreeSet<(usize, u64)> = samples.iter().flat_map(|sample| sample.keys().copied()).collect();
    let of_run = |key: (usize, u64)| {
        let values: Option<Vec<f64>> = samples.iter().map(|sample| value_for(sample, key)).collect();
        Some((key, values?.try_into().ok()?))
    };
    keys.into_iter().filter_map(of_run).collect()
}

/// All values of a setting as JSON: through text, where a 32-bit float is 0.1 and not the 64-bit float next to it.
pub fn own_values(setting: &foltr_experiment::grid::Setting) -> serde_json::Value {
    let text = serde_json::to_string(&setting.experiment).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The value of a dotted key as a label.
pub fn own_value(values: &serde_json::Value, key: &str) -> Option<String> {
    let value = key.split('.').try_fold(values, |value, name| value.get(name))?;
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Null => None,
        serde_json::Value::Object(table) => table.get("kind").and_then(|kind| kind.as_str()).map(str::to_owned),
        other => Some(other.to_string()),
    }
}
