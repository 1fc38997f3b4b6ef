//! What is wrong with expectations and figures is said before anything runs.

use foltr_experiment::collection::Collection;
use foltr_experiment::grid::is_same_label;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::{Experiment, Problem};
use foltr_experiment::study::{COLLECTION_AXIS, Names, Study, no_such};
use toml::Value;

use super::marks::MARKS;
use super::read::{Expectation, Printed, Test, number};
use super::select::{FOLD, Labels, METRIC, Selection, own_value, own_values};
use crate::distinct;

/// Everything that an expectation or figure may name, and what is wrong with those that were checked.
pub struct Checker<'a> {
    pub study: &'a Study,
    axes: Vec<String>,
    /// Of all settings, with and without a small budget.
    own: Vec<serde_json::Value>,
    /// What is being checked, such as `expect[2]`.
    pub block: String,
    pub problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    pub fn of(study: &'a Study) -> Self {
        let chosen = |axis: &String| study.choose.as_ref().is_some_and(|choose| choose.axes.contains(axis));
        let axes = study.whole.axes().into_iter().filter(|axis| !chosen(axis)).collect();
        let settings = study.whole.settings.iter().chain(study.grid.settings.iter().filter(|_| study.is_quick));
        let own = settings.map(own_values).collect();
        Self { study, axes, own, block: String::new(), problems: Vec::new() }
    }

    /// A problem of a key of the block; of the block itself without a key.
    pub fn refuse(&mut self, key: &str, message: impl Into<String>) {
        let key = if key.is_empty() { self.block.clone() } else { format!("{}.{key}", self.block) };
        self.problems.push(Problem::new(key, message));
    }

    pub fn check(&mut self, expectation: &Expectation) {
        self.check_names(&expectation.entry, &expectation.only_on);
        self.check_predicate(expectation);
        if !expectation.is_about(self.study) {
            return;
        }
        let selections = expectation.selections();
        let axes = expectation.predicate_axes();
        let has_metric = !expectation.metric.0.is_empty()
            || selections.iter().any(|(_, selection)| selection.get(METRIC).is_some())
            || axes.iter().any(|it| it.axis == METRIC);
        if !has_metric {
            self.refuse("metric", "missing; every expectation needs a metric");
        }
        expectation.metric.0.iter().for_each(|metric| self.check_metric(metric, "metric"));
        selections.iter().for_each(|(name, selection)| self.check_selection(selection, name));
        for it in &axes {
            self.check_axis(it.axis, it.key);
            let order_key = it.key.replace("along", "order").replace("columns", "order");
            self.check_labels(it.axis, it.order.iter().flat_map(|group| &group.0), &order_key);
        }
        if let Some(table) = &expectation.printed {
            self.check_table(table, "printed.values", "numbers", |value| number(value).is_some());
        }
        if let Some(table) = &expectation.marks {
            let is_mark = |value: &Value| value.as_str().is_some_and(|mark| MARKS.contains(&mark));
            self.check_table(table, "marks.values", "marks", is_mark);
        }
    }

    fn check_table(&mut self, table: &Printed, key: &str, kind: &str, is_sound: impl Fn(&Value) -> bool) {
        for (row, values) in table.values.rows() {
            let n_columns = if table.columns.is_some() { table.order.len() } else { 1 };
            let of = row.map_or_else(String::new, |row| format!(" of row {row}"));
            if values.len() != n_columns {
                let n = values.len();
                self.refuse(key, format!("{n} {kind}{of} for {n_columns} columns; `order` names the columns"));
            }
            if let Some(value) = values.iter().find(|value| !is_sound(value)) {
                let allowed = if kind == "marks" { format!("one of {MARKS:?}") } else { "a number".into() };
                self.refuse(key, format!("{value}{of} is not {allowed}"));
            }
            match (&table.rows, row) {
                (Some(axis), Some(row)) => self.check_labels(axis, [&row.to_owned()], &format!("{key}.{row}")),
                (None, None) => {}
                (Some(_), None) => self.refuse(key, format!("expected one list of {kind} a row")),
                (None, Some(_)) => self.refuse(key, "`rows` must name the axis of these rows"),
            }
        }
    }

    pub fn check_names(&mut self, entries: &Names, only_on: &Names) {
        let known: Vec<&str> = self.study.entry_ids.iter().map(String::as_str).collect();
        self.check_known("entry", "entry", entries.0.iter(), &known);
        self.check_known("only_on", "collection", only_on.0.iter(), &Collection::keys());
    }

    fn check_known<'n>(&mut self, key: &str, kind: &str, names: impl Iterator<Item = &'n String>, known: &[&str]) {
        for name in names.filter(|name| !known.contains(&name.as_str())) {
            self.refuse(key, no_such(kind, name, known));
        }
    }

    pub fn check_metric(&mut self, name: &str, key: &str) {
        match name.parse::<MetricName>() {
            Err(error) => self.refuse(key, error.to_string()),
            Ok(MetricName::Offline(split, metric)) => {
                let measures = |experiment: &Experiment| {
                    experiment.metrics.offline.contains(&metric) && experiment.metrics.evaluate_on.contains(&split)
                };
                let settings = &self.study.whole.settings;
                if settings.iter().all(|setting| setting.training().is_ok_and(|experiment| !measures(experiment))) {
                    self.refuse(key, "no setting measures it: see metrics.offline and evaluate_on");
                }
            }
            Ok(_) => {}
        }
    }

    pub fn check_selection(&mut self, selection: &Selection, name: &str) {
        for (axis, labels) in selection.iter() {
            let key = format!("{name}.{axis}");
            self.check_axis(axis, &key);
            if let Labels::These(labels) = labels {
                self.check_labels(axis, labels, &key);
            }
        }
    }

    fn knows_axis(&self, axis: &str) -> bool {
        [COLLECTION_AXIS, METRIC, FOLD].contains(&axis)
            || self.axes.iter().any(|known| known == axis)
            || self.own.iter().any(|values| own_value(values, axis).is_some())
    }

    pub fn check_axis(&mut self, axis: &str, key: &str) {
        if !self.knows_axis(axis) {
            let known = distinct(self.axes.iter().map(String::as_str).chain([COLLECTION_AXIS]));
            let message = no_such("axis", axis, &known);
            self.refuse(key, message);
        }
    }

    fn check_labels<'l>(&mut self, axis: &str, labels: impl IntoIterator<Item = &'l String>, key: &str) {
        match axis {
            METRIC => labels.into_iter().for_each(|metric| self.check_metric(metric, key)),
            FOLD => {}
            axis if !self.knows_axis(axis) => {}
            axis => {
                let all = self.labels(axis);
                let known: Vec<&str> = all.iter().map(String::as_str).collect();
                for label in labels.into_iter().filter(|label| !known.iter().any(|known| is_same_label(known, label))) {
                    self.refuse(key, no_such("label", label, &known));
                }
            }
        }
    }

    /// All labels of an axis, or values of a key.
    fn labels(&self, axis: &str) -> Vec<String> {
        if axis == COLLECTION_AXIS {
            return Collection::keys().into_iter().map(str::to_owned).collect();
        }
        let grids = [&self.study.whole, &self.study.grid];
        let of_grid = grids.iter().flat_map(|grid| &grid.settings).filter_map(|it| it.label(axis).map(str::to_owned));
        distinct(of_grid.chain(self.own.iter().filter_map(|values| own_value(values, axis))))
    }

    fn check_predicate(&mut self, it: &Expectation) {
        let predicates = [
            ("at_least", it.at_least.is_some()),
            ("at_most", it.at_most.is_some()),
            ("equivalent", it.equivalent.is_some()),
            ("clients_below", it.clients_below.is_some()),
            ("rises", it.rises.is_some()),
            ("falls", it.falls.is_some()),
            ("gap_closed", it.gap_closed.is_some()),
            ("spread", it.spread.is_some()),
            ("printed", it.printed.is_some()),
            ("marks", it.marks.is_some()),
        ];
        let there: Vec<&str> = predicates.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
        if there.is_empty() {
            let all = predicates.map(|(name, _)| name).join(", ");
            self.refuse("", format!("a predicate is missing; expected one of {all}"));
        } else if there.len() > 1 && there != ["at_least", "at_most"] {
            self.refuse("", format!("exactly one predicate is allowed, not {}", there.join(" and ")));
        }
        if it.test.is_some() && it.at_least.is_none() && it.at_most.is_none() && it.marks.is_none() {
            self.refuse("test", "requires at_least, at_most or marks");
        }
        if it.test == Some(Test::Welch) && it.marks.is_none() {
            self.refuse("test", "at_least and at_most are tested by \"paired\"");
        }
        if it.test.is_some() && it.left.is_none() && it.right.is_none() {
            self.refuse("test", "a test requires `left` or `right`");
        }
        if it.marks.is_some() && it.test.is_none() {
            self.refuse("marks", "requires `test`: \"paired\" or \"welch\"");
        }
        if it.n_tests.is_some_and(|n_tests| n_tests == 0 || it.marks.is_none()) {
            self.refuse("n_tests", "of marks only; at least 1");
        }
        let n_tolerances = [it.within, it.within_percent].iter().flatten().count();
        if it.printed.is_some() != (n_tolerances == 1) {
            let message = "printed numbers need either `within` or `within_percent`, and nothing else does";
            self.refuse("within", message);
        }
        let spread = it.spread.as_ref().map(|spread| ("spread", spread.at_least.or(spread.at_most)));
        let gap = it.gap_closed.as_ref().map(|gap| ("gap_closed", gap.at_least.or(gap.at_most)));
        for (name, _) in [spread, gap].into_iter().flatten().filter(|(_, bound)| bound.is_none()) {
            self.refuse(name, "requires at_least or at_most");
        }
        let collections = Collection::keys();
        let reasons: Vec<&str> = collections.into_iter().chain(["quick", "any"]).collect();
        for key in it.because.keys().filter(|key| !reasons.contains(&key.as_str())) {
            self.refuse(&format!("because.{key}"), no_such("key", key, &reasons));
        }
    }
}
