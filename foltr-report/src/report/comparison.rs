//! Everything against a baseline: which setting is compared with which, by which test, and with which outcome.
//!
//! Runs of the same folds and seeds pair up and get the paired t-test; others get Welch's. p-values are multiplied by the
//! number of tests of the same measure (Bonferroni).

use super::Results;
use super::measures::Measure;
use super::roles::{ChoiceError, Choices, Roles, check_axis, labels};
use crate::statistics::{TTest, Test};
use foltr_experiment::grid::Setting;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Axis and label of the baseline; none where there is nothing to compare.
    pub baseline: Option<(String, String)>,
    /// Index of its baseline for every setting that has one.
    pub partner: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    test: Test,
    result: TTest,
    corrected_p: f64,
}

impl Comparison {
    /// With the chosen baseline, else with the first label of the axis of methods.
    pub fn of(results: &Results, roles: &Roles, choices: &Choices) -> Result<Self, ChoiceError> {
        let known = |axis: &str| labels(results, axis).into_iter().flatten();
        if let Some((axis, label)) = &choices.baseline {
            check_axis(results, axis)?;
            if !known(axis).any(|known| known == label) {
                let (axis, label, known) = (axis.clone(), label.clone(), known(axis).collect::<Vec<_>>().join(", "));
                return Err(ChoiceError::Label { axis, label, known });
            }
        }
        let first = || roles.method_axis().and_then(|axis| Some((axis.clone(), known(axis).next()?.to_owned())));
        let baseline = choices.baseline.clone().or_else(first);
        let settings = &results.grid.settings;
        let partner = |setting| baseline.as_ref().and_then(|(axis, label)| partner(settings, setting, axis, label));
        Ok(Self { partner: settings.iter().map(partner).collect(), baseline })
    }

    pub fn tests(&self, results: &Results, measure: &Measure) -> Vec<Option<Tested>> {
        let runs = |setting| results.runs_of(setting).map(|run| (run.fold, run.seed));
        let test = |(setting, partner): (usize, &Option<usize>)| {
            let partner = (*partner)?;
            let test = if runs(setting).eq(runs(partner)) { Test::Paired } else { Test::Welch };
            Some((test, test.compare(&measure.values(results, setting), &measure.values(results, partner)).ok()?))
        };
        let tests: Vec<Option<(Test, TTest)>> = self.partner.iter().enumerate().map(test).collect();
        let n_tests = tests.iter().flatten().count();
        let corrected = |(test, result): (Test, TTest)| {
            let corrected_p = bonferroni(result.p, n_tests);
            Tested { test, result, corrected_p }
        };
        tests.into_iter().map(|tested| tested.map(corrected)).collect()
    }
}

impl Tested {
    pub fn mark(&self) -> &'static str {
        mark(self.result.difference, self.corrected_p)
    }

    pub fn description(&self) -> String {
        let name = match self.test {
            Test::Paired => "paired t-test",
            Test::Welch => "Welch's t-test",
        };
        let p = self.corrected_p;
        let p = if p < 0.0001 { "p < 0.0001".into() } else { format!("p = {p:.4}") };
        format!("{:+.4} against the baseline, {p} ({name}, Bonferroni-corrected)", self.result.difference)
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

/// Bonferroni's correction: p times the number of comparisons, at most 1.
fn bonferroni(p: f64, n_comparisons: usize) -> f64 {
    (p * n_comparisons.max(1) as f64).min(1.0)
}

/// The mark beside a value that exceeds the baseline by `difference`, as in `WLZZ21` Table 2 and `W24` Table 3.1: △ ▽ for
/// gains and losses at p < 0.05, ▲ ▼ at p < 0.01. No paper says how many comparisons it corrects for.
fn mark(difference: f64, corrected_p: f64) -> &'static str {
    match (corrected_p, difference > 0.0) {
        (p, true) if p < 0.01 => "▲",
        (p, false) if p < 0.01 => "▼",
        (p, true) if p < 0.05 => "△",
        (p, false) if p < 0.05 => "▽",
        _ => "",
    }
}

#[test]
fn levels_and_symbols_are_those_of_the_tables() {
    assert_eq!([mark(1.0, 0.04), mark(-1.0, 0.04), mark(1.0, 0.009), mark(-1.0, 0.0)], ["△", "▽", "▲", "▼"]);
    assert_eq!([mark(1.0, 0.05), mark(1.0, 0.01)], ["", "△"]);
    assert_eq!([bonferroni(0.25, 3), bonferroni(0.4, 3)], [0.75, 1.0]);
}
