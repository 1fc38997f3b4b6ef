//! What is wrong with an expectation is found before anything runs.

use foltr_experiment::collection::Collection;
use foltr_experiment::grid::is_same_label;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::Problem;
use foltr_experiment::study::{COLLECTION_AXIS, Study, no_such};

use super::read::{Along, Expectation};
use super::select::{FOLD, Labels, METRIC, Selection, own_value, own_values};

/// Everything that an expectation or figure may name.
pub struct Scope<'a> {
    study: &'a Study,
    axes: Vec<String>,
    /// Of all settings, with and without a small budget.
    own: Vec<serde_json::Value>,
}

impl<'a> Scope<'a> {
    pub fn of(study: &'a Study) -> Self {
        let chosen = |axis: &String| study.choose.as_ref().is_some_and(|choose| choose.axes.contains(axis));
        let axes = study.whole.axes().into_iter().filter(|axis| !chosen(axis)).collect();
        let settings = study.whole.settings.iter().chain(study.grid.settings.iter().filter(|_| study.is_quick));
        Self { study, axes, own: settings.map(own_values).collect() }
    }

    pub fn check(&self, expectation: &Expectation, place: &str, problems: &mut Vec<Problem>) {
        self.check_names(&expectation.entry.0, &expectation.only_on.0, place, problems);
        check_predicate(expectation, place, problems);
        if !expectation.is_about(self.study) {
            return;
        }
        let named = [
            ("where", Some(&expectation.fixed)),
            ("for_each", Some(&expectation.for_each)),
            ("mean_over", Some(&expectation.mean_over)),
            ("left", expectation.left.as_ref()),
            ("right", expectation.right.as_ref()),
            ("gap_closed.from", expectation.gap_closed.as_ref().map(|gap| &gap.from)),
            ("gap_closed.to", expectation.gap_closed.as_ref().map(|gap| &gap.to)),
        ];
        let mut has_metric = !expectation.metric.0.is_empty();
        for metric in &expectation.metric.0 {
            self.check_metric(metric, &format!("{place}.metric"), problems);
        }
        for (name, selection) in named.into_iter().filter_map(|(name, selection)| Some((name, selection?))) {
            has_metric |= selection.get(METRIC).is_some();
            self.check_selection(selection, &format!("{place}.{name}"), problems);
        }
        has_metric |= expectation.axes_along().contains(&METRIC);
        if !has_metric {
            problems.push(Problem::new(format!("{place}.metric"), "missing; every expectation needs a metric"));
        }
        for (name, along) in [("rises", &expectation.rises), ("falls", &expectation.falls)] {
            if let Some(Along { along, order, .. }) = along {
                self.check_axis(along, &format!("{place}.{name}.along"), problems);
                let labels = order.iter().flatten().flat_map(|group| &group.0);
                self.check_labels(along, labels, &format!("{place}.{name}.order"), problems);
            }
        }
        if let Some(spread) = &expectation.spread {
            self.check_axis(&spread.along, &format!("{place}.spread.along"), problems);
        }
        if let Some(printed) = &expectation.printed {
            for (name, axis) in [("rows", &printed.rows), ("columns", &printed.columns)] {
                if let Some(axis) = axis {
                    self.check_axis(axis, &format!("{place}.printed.{name}"), problems);
                }
            }
            if let Some(axis) = &printed.columns {
                let labels = printed.order.iter().flat_map(|group| &group.0);
                self.check_labels(axis, labels, &format!("{place}.printed.order"), problems);
            }
            self.check_printed_rows(expectation, place, problems);
        }
    }

    fn check_printed_rows(&self, expectation: &Expectation, place: &str, problems: &mut Vec<Problem>) {
        let Some(printed) = &expectation.printed else { return };
        let key = format!("{place}.printed.values");
        for (row, values) in printed.values.rows() {
            let n_columns = if printed.columns.is_some() { printed.order.len() } else { 1 };
            if values.len() != n_columns {
                let of = row.map_or_else(String::new, |row| format!(" of row {row}"));
                let message =
                    format!("{} numbers{of} for {n_columns} columns; `order` names the columns", values.len());
                problems.push(Problem::new(key.clone(), message));
            }
            match (&printed.rows, row) {
                (Some(axis), Some(row)) => {
                    self.check_labels(axis, [&row.to_owned()], &format!("{key}.{row}"), problems)
                }
                (None, None) => {}
                (Some(_), None) => problems.push(Problem::new(key.clone(), "expected one list of numbers a row")),
                (None, Some(_)) => problems.push(Problem::new(key.clone(), "`rows` must name the axis of these rows")),
            }
        }
    }

    /// `entry` and `only_on`.
    pub fn check_names(&self, entries: &[String], on: &[String], place: &str, problems: &mut Vec<Problem>) {
        let known: Vec<&str> = self.study.entry_ids.iter().map(String::as_str).collect();
        for name in entries.iter().filter(|name| !known.contains(&name.as_str())) {
            problems.push(Problem::new(format!("{place}.entry"), no_such("entry", name, &known)));
        }
        let known = Collection::keys();
        for name in on.iter().filter(|name| !known.contains(&name.as_str())) {
            problems.push(Problem::new(format!("{place}.only_on"), no_such("collection", name, &known)));
        }
    }

    pub fn check_metric(&self, name: &str, key: &str, problems: &mut Vec<Problem>) {
        match name.parse::<MetricName>() {
            Err(error) => problems.push(Problem::new(key, error.to_string())),
            Ok(MetricName::Offline(split, metric)) => {
                let measures = |experiment: &foltr_experiment::spec::Experiment| {
                    experiment.metrics.offline.contains(&metric) && experiment.metrics.evaluate_on.contains(&split)
                };
                let settings = &self.study.whole.settings;
                if settings.iter().all(|setting| setting.training().is_ok_and(|experiment| !measures(experiment))) {
                    problems.push(Problem::new(key, "no setting measures it: see metrics.offline and evaluate_on"));
                }
            }
            Ok(_) => {}
        }
    }

    pub fn check_selection(&self, selection: &Selection, place: &str, problems: &mut Vec<Problem>) {
        for (axis, labels) in selection.iter() {
            let key = format!("{place}.{axis}");
            if axis == METRIC {
                let Labels::These(metrics) = labels else { continue };
                metrics.iter().for_each(|metric| self.check_metric(metric, &key, problems));
                continue;
            }
            self.check_axis(axis, &key, problems);
            if let Labels::These(labels) = labels {
                self.check_labels(axis, labels, &key, problems);
            }
        }
    }

    fn knows_axis(&self, axis: &str) -> bool {
        [COLLECTION_AXIS, METRIC, FOLD].contains(&axis)
            || self.axes.iter().any(|known| known == axis)
            || self.own.iter().any(|values| own_value(values, axis).is_some())
    }

    pub fn check_axis(&self, axis: &str, key: &str, problems: &mut Vec<Problem>) {
        if !self.knows_axis(axis) {
            let mut known: Vec<&str> = self.axes.iter().map(String::as_str).collect();
            if !known.contains(&COLLECTION_AXIS) {
                known.push(COLLECTION_AXIS);
            }
            problems.push(Problem::new(key, no_such("axis", axis, &known)));
        }
    }

    fn check_labels<'l>(
        &self,
        axis: &str,
        labels: impl IntoIterator<Item = &'l String>,
        key: &str,
        problems: &mut Vec<Problem>,
    ) {
        if !self.knows_axis(axis) {
            return;
        }
        if axis == METRIC {
            labels.into_iter().for_each(|metric| self.check_metric(metric, key, problems));
            return;
        }
        if axis == FOLD {
            return;
        }
        let known = self.labels(axis);
        for label in labels.into_iter().filter(|label| !known.iter().any(|known| is_same_label(known, label))) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            problems.push(Problem::new(key, no_such("label", label, &known)));
        }
    }

    /// All labels of an axis, or values of a key.
    fn labels(&self, axis: &str) -> Vec<String> {
        if axis == COLLECTION_AXIS {
            return Collection::keys().into_iter().map(str::to_owned).collect();
        }
        let grids = [&self.study.whole, &self.study.grid];
        let of_grid = grids.iter().flat_map(|grid| &grid.settings).filter_map(|it| it.label(axis).map(str::to_owned));
        let mut labels: Vec<String> = Vec::new();
        for label in of_grid.chain(self.own.iter().filter_map(|values| own_value(values, axis))) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }
}

/// Exactly one predicate, and what belongs to it.
fn check_predicate(expectation: &Expectation, place: &str, problems: &mut Vec<Problem>) {
    let Expectation {
        at_least,
        at_most,
        test,
        equivalent,
        clients_below,
        rises,
        falls,
        gap_closed,
        spread,
        printed,
        ..
    } = expectation;
    let predicates = [
        ("at_least", at_least.is_some()),
        ("at_most", at_most.is_some()),
        ("equivalent", equivalent.is_some()),
        ("clients_below", clients_below.is_some()),
        ("rises", rises.is_some()),
        ("falls", falls.is_some()),
        ("gap_closed", gap_closed.is_some()),
        ("spread", spread.is_some()),
        ("printed", printed.is_some()),
    ];
    let there: Vec<&str> = predicates.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
    let is_range = there == ["at_least", "at_most"];
    if there.is_empty() {
        let all = predicates.map(|(name, _)| name).join(", ");
        problems.push(Problem::new(place, format!("a predicate is missing; expected one of {all}")));
    } else if there.len() > 1 && !is_range {
        problems.push(Problem::new(place, format!("exactly one predicate is allowed, not {}", there.join(" and "))));
    }
    if test.is_some() && at_least.is_none() && at_most.is_none() {
        problems.push(Problem::new(format!("{place}.test"), "requires at_least or at_most"));
    }
    if test.is_some() && expectation.left.is_none() && expectation.right.is_none() {
        problems.push(Problem::new(format!("{place}.test"), "a paired test requires `left` or `right`"));
    }
    let tolerances = [expectation.within, expectation.within_percent].iter().flatten().count();
    if printed.is_some() != (tolerances == 1) {
        let message = "printed numbers need either `within` or `within_percent`, and nothing else does";
        problems.push(Problem::new(format!("{place}.within"), message));
    }
    let unbounded = |low: Option<f64>, high: Option<f64>| low.is_none() && high.is_none();
    if spread.as_ref().is_some_and(|it| unbounded(it.at_least, it.at_most)) {
        problems.push(Problem::new(format!("{place}.spread"), "requires at_least or at_most"));
    }
    if gap_closed.as_ref().is_some_and(|it| unbounded(it.at_least, it.at_most)) {
        problems.push(Problem::new(format!("{place}.gap_closed"), "requires at_least or at_most"));
    }
    let collections = Collection::keys();
    let reasons: Vec<&str> = collections.into_iter().chain(["quick", "any"]).collect();
    for key in expectation.because.keys().filter(|key| !reasons.contains(&key.as_str())) {
        problems.push(Problem::new(format!("{place}.because.{key}"), no_such("key", key, &reasons)));
    }
}
