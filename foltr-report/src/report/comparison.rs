//! Everything against a baseline: which setting is compared with which, by which test, and what it says.
//!
//! Runs of the same folds and seeds pair up and get the paired t-test; others get Welch's. p-values are multiplied by the
//! number of tests of the same measure (Bonferroni).

use super::roles::{ChoiceError, Choices, Roles, axis_index, labels};
use super::{Report, SettingResult};
use crate::statistics::{Mark, Marks, TTest, Test, bonferroni};

/// What each setting is compared with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Axis and label of the baseline; none where there is nothing to compare.
    pub baseline: Option<(usize, String)>,
    /// Index of its baseline for every setting that has one.
    pub partner: Vec<Option<usize>>,
}

/// What a test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Which test.
    pub test: Test,
    /// Its numbers.
    pub result: TTest,
    /// p, corrected for the number of tests.
    pub p: f64,
}

impl Comparison {
    /// With the chosen baseline, else with the first label of the axis of methods.
    pub fn of(report: &Report, roles: &Roles, choices: &Choices) -> Result<Self, ChoiceError> {
        let baseline = match &choices.baseline {
            Some((axis_name, label)) => {
                let axis = axis_index(report, axis_name)?;
                let known: Vec<&str> = labels(report, axis).into_iter().flatten().collect();
                if !known.contains(&label.as_str()) {
                    let (axis, label, known) = (axis_name.clone(), label.clone(), known.join(", "));
                    return Err(ChoiceError::Label { axis, label, known });
                }
                Some((axis, label.clone()))
            }
            None => roles.method_axis(report).and_then(|axis| {
                let first = labels(report, axis).into_iter().flatten().next()?;
                Some((axis, first.to_owned()))
            }),
        };
        let partner = (0..report.settings.len())
            .map(|setting| baseline.as_ref().and_then(|(axis, label)| partner(report, setting, *axis, label)));
        Ok(Self { partner: partner.collect(), baseline })
    }

    /// One verdict a setting that can be tested.
    pub fn verdicts(&self, report: &Report, measure: usize) -> Vec<Option<Verdict>> {
        let test = |(setting, partner): (&SettingResult, &Option<usize>)| {
            let partner = &report.settings[(*partner)?];
            let test = if setting.runs == partner.runs { Test::Paired } else { Test::Welch };
            let result = test.compare(setting.values.get(measure)?, partner.values.get(measure)?).ok()?;
            Some((test, result))
        };
        let tests: Vec<Option<(Test, TTest)>> = report.settings.iter().zip(&self.partner).map(test).collect();
        let n_tests = tests.iter().flatten().count();
        let corrected = |(test, result): (Test, TTest)| Verdict { test, result, p: bonferroni(result.p, n_tests) };
        tests.into_iter().map(|tested| tested.map(corrected)).collect()
    }
}

impl Verdict {
    /// As in the tables of `WLZZ21`: gains and losses at two levels.
    pub fn mark(&self) -> Mark {
        Marks::FpdgdTable2.mark(self.result.difference, self.p, 0)
    }

    /// In words, for whoever asks for more than the mark.
    pub fn in_words(&self) -> String {
        let name = match self.test {
            Test::Paired => "paired t-test",
            Test::Welch => "Welch's t-test",
        };
        let p = if self.p < 0.0001 { "p < 0.0001".into() } else { format!("p = {:.4}", self.p) };
        format!("{:+.4} against the baseline, {p} ({name}, corrected)", self.result.difference)
    }
}

/// The one setting with the baseline's label that agrees on every other axis that both have.
fn partner(report: &Report, setting: usize, axis: usize, label: &str) -> Option<usize> {
    let own = &report.settings[setting].labels;
    if own[axis].as_deref() == Some(label) {
        return None;
    }
    let agrees = |other: &SettingResult| {
        let pairs = own.iter().zip(&other.labels).enumerate().filter(|(place, _)| *place != axis);
        other.labels[axis].as_deref() == Some(label)
            && pairs.into_iter().all(|(_, (own, other))| own.is_none() || other.is_none() || own == other)
    };
    let mut found = (0..report.settings.len()).filter(|&other| agrees(&report.settings[other]));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
