//! Everything against a baseline: which setting is compared with which, by which test, and with which outcome.
//!
//! Runs of the same folds and seeds pair up and get the paired t-test; others get Welch's. Beside it stands the paired
//! t-test over queries, of means over seeds. p-values are multiplied by the number of tests of the same measure and kind
//! (Bonferroni). Numbers that depend on the length of a run are compared only where lengths agree.

use super::by_query::{QueryMeans, QueryTest};
use super::measures::Measure;
use super::roles::{ChoiceError, Choices, Roles, find_axis, labels};
use super::{Report, Results};
use crate::expect::{At, Basis};
use crate::names::axis_name;
use crate::statistics::{TTest, Test, bonferroni, mark};
use foltr_experiment::grid::Setting;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Axis and label of the baseline; none where there is nothing to compare.
    pub baseline: Option<(String, String)>,
    /// Index of its baseline for every setting that has one.
    pub partner: Vec<Option<usize>>,
    /// What tells the data of settings apart.
    data: Vec<String>,
}

/// How a setting compares with its baseline. Tests that cannot be made are missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    by_run: Option<RunTest>,
    by_query: Option<(QueryTest, f64)>,
    /// Why there is no test.
    refusal: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct RunTest {
    test: Test,
    result: TTest,
    corrected_p: f64,
}

impl Comparison {
    /// With the chosen baseline, else with the first label of the axis of methods.
    pub fn of(report: &Report, roles: &Roles, choices: &Choices) -> Result<Self, ChoiceError> {
        let results = &report.results;
        let known = |axis: &str| labels(results, axis).into_iter().flatten();
        let find = |(axis, label): &(String, String)| {
            let axis = find_axis(results, axis)?;
            if !known(&axis).any(|known| known == label) {
                let known = known(&axis).collect::<Vec<_>>().join(", ");
                return Err(ChoiceError::Label { axis, label: label.clone(), known });
            }
            Ok((axis, label.clone()))
        };
        let chosen = choices.baseline.as_ref().map(find).transpose()?;
        let first = || roles.method_axis().and_then(|axis| Some((axis.clone(), known(axis).next()?.to_owned())));
        let baseline = chosen.or_else(first);
        let settings = &results.grid.settings;
        let partner = |setting| baseline.as_ref().and_then(|(axis, label)| partner(settings, setting, axis, label));
        Ok(Self { partner: settings.iter().map(partner).collect(), baseline, data: report.data.clone() })
    }

    /// The baseline as people write it.
    pub fn name(&self) -> Option<String> {
        self.baseline.as_ref().map(|(axis, label)| format!("{}: {label}", axis_name(axis)))
    }

    /// Whether numbers of both settings mean the same: they are of the same data, and of runs of the same length where
    /// that matters.
    pub fn is_comparable(&self, results: &Results, measure: &Measure, settings: [usize; 2]) -> bool {
        let [one, other] = settings;
        self.data.get(one) == self.data.get(other) && measure.basis(results, one) == measure.basis(results, other)
    }

    /// Of every setting that has a baseline.
    pub fn tests(&self, results: &Results, queries: &QueryMeans, measure: &Measure) -> Vec<Option<Compared>> {
        let compare = |(setting, partner): (usize, &Option<usize>)| {
            let partner = (*partner)?;
            if !self.is_comparable(results, measure, [setting, partner]) {
                let is_other_data = self.data.get(setting) != self.data.get(partner);
                let refusal = refusal(is_other_data, [setting, partner].map(|it| measure.basis(results, it)));
                return Some(Compared { refusal: Some(refusal), ..Compared::default() });
            }
            let by_query = queries.compare(measure.metric, setting, partner).filter(|_| measure.at == At::Final);
            let by_run = test_runs(results, measure, setting, partner);
            Some(Compared { by_run, by_query: by_query.map(|test| (test, test.result.p)), refusal: None })
        };
        let mut all: Vec<Option<Compared>> = self.partner.iter().enumerate().map(compare).collect();
        let n_runs = all.iter().flatten().filter(|it| it.by_run.is_some()).count();
        let n_queries = all.iter().flatten().filter(|it| it.by_query.is_some()).count();
        for compared in all.iter_mut().flatten() {
            if let Some(test) = &mut compared.by_run {
                test.corrected_p = bonferroni(test.result.p, n_runs);
            }
            if let Some((test, corrected_p)) = &mut compared.by_query {
                *corrected_p = bonferroni(test.result.p, n_queries);
            }
        }
        all
    }
}

fn test_runs(results: &Results, measure: &Measure, setting: usize, partner: usize) -> Option<RunTest> {
    let runs = |setting| results.runs_of(setting).map(|run| (run.fold, run.seed));
    let test = if runs(setting).eq(runs(partner)) { Test::Paired } else { Test::Welch };
    let result = test.compare(&measure.values(results, setting), &measure.values(results, partner)).ok()?;
    Some(RunTest { test, result, corrected_p: result.p })
}

fn refusal(is_other_data: bool, bases: [Basis; 2]) -> String {
    if is_other_data {
        return "not compared with the baseline, which is of other data".into();
    }
    let [own, other] = bases.map(|basis| basis.describe());
    format!("not compared with the baseline: {own}, there {other}")
}

impl Compared {
    pub fn has_run_test(&self) -> bool {
        self.by_run.is_some()
    }

    pub fn has_query_test(&self) -> bool {
        self.by_query.is_some()
    }

    pub fn mark(&self) -> &'static str {
        self.by_run.map_or("", |test| mark(test.result.difference, test.corrected_p))
    }

    pub fn query_mark(&self) -> &'static str {
        self.by_query.map_or("", |(_, corrected_p)| query_mark(corrected_p))
    }

    /// Every test in words, or why there is none; empty where too few runs are finished.
    pub fn description(&self) -> String {
        let p = |p: f64| if p < 0.0001 { "p < 0.0001".into() } else { format!("p = {p:.4}") };
        let by_run = self.by_run.map(|RunTest { test, result, corrected_p }| {
            let name = match test {
                Test::Paired => "paired t-test over runs",
                Test::Welch => "Welch's t-test over runs",
            };
            format!("{:+.4} against the baseline, {} ({name}, Bonferroni-corrected)", result.difference, p(corrected_p))
        });
        let by_query = self.by_query.map(|(QueryTest { result, n_queries }, corrected_p)| {
            let (difference, p) = (result.difference, p(corrected_p));
            format!(
                "{difference:+.4}, {p} (paired t-test over {n_queries} queries, means over seeds, Bonferroni-corrected)"
            )
        });
        by_run.into_iter().chain(by_query).chain(self.refusal.clone()).collect::<Vec<_>>().join("; ")
    }
}

/// The one setting with the baseline's label that agrees on every other axis that both have.
fn partner(settings: &[Setting], setting: &Setting, axis: &str, label: &str) -> Option<usize> {
    if setting.label(axis) == Some(label) {
        return None;
    }
    let agrees = |other: &Setting| {
        let others = setting.labels.iter().filter(|(name, _)| name != axis);
        other.label(axis) == Some(label)
            && others.into_iter().all(|(name, own)| other.label(name).is_none_or(|label| label == own))
    };
    let mut partners = (0..settings.len()).filter(|&other| agrees(&settings[other]));
    let first = partners.next()?;
    partners.next().is_none().then_some(first)
}

/// The mark of the test over queries, whose direction is that of the means.
fn query_mark(corrected_p: f64) -> &'static str {
    match corrected_p {
        p if p < 0.01 => "‡",
        p if p < 0.05 => "†",
        _ => "",
    }
}

#[test]
fn marks_of_queries_have_two_levels() {
    assert_eq!([query_mark(0.05), query_mark(0.04), query_mark(0.009)], ["", "†", "‡"]);
}
