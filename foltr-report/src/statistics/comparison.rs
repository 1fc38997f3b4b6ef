//! Settings against a baseline: differences, tests, corrected p and marks, as rows of a table.

use serde::Serialize;

use super::marks::{Mark, Marks};
use super::t_test::{TTest, TTestError};
use crate::table;

/// One number a run of one setting, in the same order of folds and seeds for all settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What the setting is called.
    pub name: String,
    /// One a run.
    pub values: Vec<f64>,
}

/// One setting against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The setting.
    pub name: String,
    /// Its mean.
    pub mean: f64,
    /// The test of `setting - baseline`.
    pub test: TTest,
    /// As the convention corrects it.
    pub corrected_p: f64,
    /// What stands beside the setting's value. In [`Marks::UnlearningTable6_2`] it stands beside the baseline's value.
    #[serde(skip)]
    pub mark: Mark,
}

/// A setting that cannot be compared with the baseline.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{name}` cannot be compared with `{baseline}`: {source} (`{name}` is the first sample)")]
pub struct ComparisonError {
    /// The setting.
    pub name: String,
    /// What it was to be compared with.
    pub baseline: String,
    /// Why not.
    pub source: TTestError,
}

/// Compares every setting with the baseline. Corrections count `n_comparisons`, or all settings given when it is none:
/// a table with several baselines makes more comparisons than one call can see.
///
/// # Errors
/// If a sample is too short, not finite, or lacks partners in a paired test.
pub fn compare(
    baseline: &Sample,
    settings: &[Sample],
    marks: Marks,
    n_comparisons: Option<usize>,
) -> Result<Vec<Comparison>, ComparisonError> {
    let n_comparisons = n_comparisons.unwrap_or(settings.len());
    let one = |(row, setting): (usize, &Sample)| {
        let test = marks.test().compare(&setting.values, &baseline.values).map_err(|source| ComparisonError {
            name: setting.name.clone(),
            baseline: baseline.name.clone(),
            source,
        })?;
        let corrected_p = marks.corrected(test.p, n_comparisons);
        // This table marks the baseline where it is better, all others the setting.
        let gain = if marks == Marks::UnlearningTable6_2 { -test.difference } else { test.difference };
        let mark = marks.mark(gain, corrected_p, row);
        let mean = setting.values.iter().sum::<f64>() / setting.values.len() as f64;
        Ok(Comparison { name: setting.name.clone(), mean, test, corrected_p, mark })
    };
    settings.iter().enumerate().map(one).collect()
}

/// Comparisons as a table of text.
pub fn comparison_table(comparisons: &[Comparison]) -> String {
    let row = |comparison: &Comparison| {
        let TTest { difference, interval_95: (low, high), p, .. } = comparison.test;
        vec![
            comparison.name.clone(),
            format!("{:.4}", comparison.mean),
            format!("{difference:+.4}"),
            format!("[{low:+.4}, {high:+.4}]"),
            p_in_words(p),
            p_in_words(comparison.corrected_p),
            comparison.mark.symbol(),
        ]
    };
    let header = ["setting", "mean", "difference", "95 % interval", "p", "corrected p", "mark"];
    table::table(&header, 1, comparisons.iter().map(row).collect())
}

/// Three digits; smaller ones as a power of ten.
fn p_in_words(p: f64) -> String {
    if p == 0.0 || p >= 0.001 { format!("{p:.3}") } else { format!("{p:.0e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, values: &[f64]) -> Sample {
        Sample { name: name.into(), values: values.to_vec() }
    }

    fn baseline() -> Sample {
        sample("old", &[0.57, 0.59, 0.575])
    }

    #[test]
    fn three_pairs_by_hand() {
        // Differences 0.03, 0.02, 0.03: mean 0.08/3, deviation sqrt(1/3)/100, t = 8, and p(2 degrees) = 1 - 8/sqrt(66).
        let settings = [sample("new", &[0.60, 0.61, 0.605]), sample("same", &baseline().values)];
        let comparisons = compare(&baseline(), &settings, Marks::FoltrEsTable3, None).expect("sound samples");
        let p = 1.0 - 8.0 / 66_f64.sqrt();
        assert!((comparisons[0].test.t - 8.0).abs() < 1e-9 && (comparisons[0].test.p - p).abs() < 1e-12);
        assert!((comparisons[0].mean - 0.605).abs() < 1e-12);
        assert_eq!((comparisons[0].mark, comparisons[1].mark), (Mark::Bold, Mark::None));
        assert_eq!(comparisons[1].test.p, 1.0);
    }

    #[test]
    fn corrections_count_all_settings_or_what_is_said() {
        let settings = [sample("x", &[0.60, 0.61, 0.605]), sample("y", &[0.50, 0.51, 0.505])];
        let two = compare(&baseline(), &settings, Marks::FpdgdTable2, None).expect("sound samples");
        let ten = compare(&baseline(), &settings, Marks::FpdgdTable2, Some(10)).expect("sound samples");
        assert_eq!(two[0].corrected_p, 2.0 * two[0].test.p);
        assert_eq!(ten[0].corrected_p, 10.0 * two[0].test.p);
        assert_eq!(two[1].mark, Mark::StrongLoss);
    }

    #[test]
    fn letters_mark_the_rows_that_are_worse() {
        let settings = [sample("better", &[0.60, 0.61, 0.605]), sample("worse", &[0.50, 0.515, 0.505])];
        let told = compare(&baseline(), &settings, Marks::UnlearningTable6_2, None).expect("sound samples");
        assert_eq!((told[0].mark, told[1].mark), (Mark::None, Mark::Letter('b')));
    }

    #[test]
    fn errors_name_both_settings_and_tables_all_numbers() {
        let short = compare(&baseline(), &[sample("new", &[0.1])], Marks::FoltrEsTable3, None).expect_err("refused");
        let message = short.to_string();
        assert!(
            message.starts_with("`new` cannot be compared with `old`: ") && message.contains("1 and 3"),
            "{message}"
        );
        let settings = [sample("new", &[0.60, 0.61, 0.605])];
        let told = compare(&baseline(), &settings, Marks::FoltrEsTable3, None).expect("sound samples");
        let text = comparison_table(&told);
        for number in ["0.6050", "+0.0267", "0.015", "*"] {
            assert!(text.contains(number), "{number} is not in\n{text}");
        }
    }
}
