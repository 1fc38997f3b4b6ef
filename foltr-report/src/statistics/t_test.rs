//! Student's t-tests of two settings: paired `S08`, or with unequal variances `W47`. Both are two-tailed.
//!
//! Deviation: values that do not vary have no t. Then the answer is exact: p = 1 where the means are equal, else p = 0,
//! with an infinite t and an interval of no width. Spreads of a few rounding errors count as none.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::mean;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Differences of runs that belong together: same fold, same seed.
    Paired,
    /// Two independent samples with variances of their own.
    Welch,
}

/// What a test says about `mean(first) - mean(second)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TTest {
    /// Difference of means over its standard error; infinite where nothing varies.
    pub t: f64,
    /// Of Student's t; not a whole number in Welch's test.
    pub degrees_of_freedom: f64,
    /// Two-tailed, not corrected.
    pub p: f64,
    pub difference: f64,
    pub interval_95: (f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TTestError {
    #[error("a t-test needs at least 2 values on each side, not {first} and {second}")]
    TooFew { first: usize, second: usize },
    #[error(
        "a paired t-test needs as many values on both sides, not {first} and {second}: run both with the same folds and seeds"
    )]
    UnequalLengths { first: usize, second: usize },
    #[error("value {} of the {} sample is {value}; all must be finite", idx + 1, if *is_first { "first" } else { "second" })]
    NotFinite { is_first: bool, idx: usize, value: f64 },
}

impl Test {
    pub fn compare(self, first: &[f64], second: &[f64]) -> Result<TTest, TTestError> {
        for (values, is_first) in [(first, true), (second, false)] {
            if let Some(idx) = values.iter().position(|value| !value.is_finite()) {
                return Err(TTestError::NotFinite { is_first, idx, value: values[idx] });
            }
        }
        let (n_first, n_second) = (first.len(), second.len());
        if self == Self::Paired && n_first != n_second {
            return Err(TTestError::UnequalLengths { first: n_first, second: n_second });
        }
        if n_first < 2 || n_second < 2 {
            return Err(TTestError::TooFew { first: n_first, second: n_second });
        }
        let largest = first.iter().chain(second).fold(0.0_f64, |largest, value| largest.max(value.abs()));
        Ok(match self {
            Self::Paired => paired(first, second, largest),
            Self::Welch => welch(first, second, largest),
        })
    }
}

fn paired(first: &[f64], second: &[f64], largest: f64) -> TTest {
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| first - second).collect();
    let sample = Sample::of(&differences, largest);
    judge(sample.mean, sample.squared_error, sample.n - 1.0, largest)
}

fn welch(first: &[f64], second: &[f64], largest: f64) -> TTest {
    let (a, b) = (Sample::of(first, largest), Sample::of(second, largest));
    let squared_error = a.squared_error + b.squared_error;
    // Welch-Satterthwaite: (s1 + s2)^2 / (s1^2 / (n1 - 1) + s2^2 / (n2 - 1)) with s = variance / n.
    let shares = a.squared_error.powi(2) / (a.n - 1.0) + b.squared_error.powi(2) / (b.n - 1.0);
    let degrees = if shares > 0.0 { squared_error.powi(2) / shares } else { a.n + b.n - 2.0 };
    judge(a.mean - b.mean, squared_error, degrees, largest)
}

struct Sample {
    n: f64,
    mean: f64,
    squared_error: f64,
}

impl Sample {
    fn of(values: &[f64], largest: f64) -> Self {
        let (n, mean) = (values.len() as f64, mean(values));
        let spread = values.iter().fold(0.0_f64, |spread, value| spread.max((value - values[0]).abs()));
        if spread <= rounding(largest) {
            return Self { n, mean, squared_error: 0.0 };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self { n, mean, squared_error: variance / n }
    }
}

/// What a few roundings of numbers of this size may add up to: 0.3 - 0.2 is not 0.2 - 0.1.
fn rounding(largest: f64) -> f64 {
    8.0 * f64::EPSILON * largest
}

fn judge(difference: f64, squared_error: f64, degrees_of_freedom: f64, largest: f64) -> TTest {
    let student = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok().filter(|_| squared_error > 0.0);
    let Some(student) = student else {
        let is_zero = difference.abs() <= rounding(largest);
        let difference = if is_zero { 0.0 } else { difference };
        let (t, p) = if is_zero { (0.0, 1.0) } else { (f64::INFINITY.copysign(difference), 0.0) };
        return TTest { t, degrees_of_freedom, p, difference, interval_95: (difference, difference) };
    };
    let error = squared_error.sqrt();
    let t = difference / error;
    let half = student.inverse_cdf(0.975) * error;
    let p = (2.0 * student.sf(t.abs())).min(1.0);
    TTest { t, degrees_of_freedom, p, difference, interval_95: (difference - half, difference + half) }
}

/// Are two settings the same, up to a bound? Two one-sided tests of paired differences: a small p says that the
/// difference is inside the bound. (A large p of a test for a difference shows nothing: few runs have one too.)
///
/// The larger p of the tests for "difference <= -bound" and "difference >= bound". Differences that do not vary are
/// judged exactly. 1 for fewer than two differences, or if one is not finite.
pub fn equivalence_p(differences: &[f64], bound: f64) -> f64 {
    let n = differences.len() as f64;
    if differences.len() < 2 || differences.iter().any(|difference| !difference.is_finite()) {
        return 1.0;
    }
    let mean = mean(differences);
    let variance = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    let Ok(student) = StudentsT::new(0.0, 1.0, n - 1.0) else { return 1.0 };
    if error <= f64::EPSILON * bound {
        return if mean.abs() < bound { 0.0 } else { 1.0 };
    }
    student.sf((bound - mean.abs()) / error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(ours: f64, reference: f64) {
        assert!((ours - reference).abs() <= 1e-9 * reference.abs(), "{ours} instead of {reference}");
    }

    fn assert_same(ours: &TTest, t: f64, degrees: f64, p: f64, interval: (f64, f64)) {
        assert_near(ours.t, t);
        assert_near(ours.degrees_of_freedom, degrees);
        assert_near(ours.p, p);
        assert_near(ours.interval_95.0, interval.0);
        assert_near(ours.interval_95.1, interval.1);
    }

    // Reference numbers: scipy 1.17.1, ttest_rel and ttest_ind(equal_var=False), with .confidence_interval().
    #[test]
    fn a_paired_test_is_that_of_scipy() {
        let first = [0.512, 0.498, 0.531, 0.507, 0.520];
        let second = [0.501, 0.497, 0.515, 0.509, 0.502];
        let ours = Test::Paired.compare(&first, &second).expect("sound samples");
        let interval = (-0.002_284_937_523_933_005_4, 0.019_884_937_523_933_02);
        assert_same(&ours, 2.204_136_637_936_747, 4.0, 0.092_226_472_685_236_12, interval);
        assert_near(ours.difference, 0.0088);
    }

    #[test]
    fn a_small_p_keeps_its_digits() {
        let (first, second) = ([10.0, 10.1, 9.9, 10.05, 9.95], [1.0, 1.2, 0.9, 1.1, 0.8]);
        let ours = Test::Paired.compare(&first, &second).expect("sound samples");
        let interval = (8.883_852_968_230_741, 9.116_147_031_769_259);
        assert_same(&ours, 215.141_149_680_192_7, 4.0, 2.800_236_807_685_349e-9, interval);
    }

    #[test]
    fn a_welch_test_is_that_of_scipy() {
        let (first, second) = ([0.41, 0.45, 0.39, 0.47], [0.52, 0.50, 0.55, 0.49, 0.53, 0.51]);
        let ours = Test::Welch.compare(&first, &second).expect("sound samples");
        let interval = (-0.140_917_714_022_232_9, -0.032_415_619_311_100_305);
        assert_same(&ours, -4.274_373_669_939_287, 4.418_979_987_088_447, 0.010_392_975_733_838_523, interval);
    }

    #[test]
    fn without_variance_the_answer_is_exact() {
        let same = Test::Paired.compare(&[0.1, 0.7], &[0.1, 0.7]).expect("sound samples");
        assert_eq!((same.t, same.p, same.interval_95), (0.0, 1.0, (0.0, 0.0)));
        // Differences of 0.1 each, up to rounding.
        let better = Test::Paired.compare(&[0.3, 0.2, 0.7], &[0.2, 0.1, 0.6]).expect("sound samples");
        assert_eq!((better.t, better.p), (f64::INFINITY, 0.0));
        let worse = Test::Welch.compare(&[0.1, 0.1], &[0.2, 0.2, 0.2]).expect("sound samples");
        assert_eq!((worse.t, worse.p, worse.degrees_of_freedom), (f64::NEG_INFINITY, 0.0, 3.0));
    }

    #[test]
    fn what_cannot_be_tested_is_refused() {
        let refusal = |test: Test, first: &[f64], second: &[f64]| test.compare(first, second).expect_err("refused");
        let unequal = refusal(Test::Paired, &[1.0, 2.0], &[1.0, 2.0, 3.0]);
        assert_eq!(unequal, TTestError::UnequalLengths { first: 2, second: 3 });
        assert_eq!(refusal(Test::Welch, &[1.0], &[1.0, 2.0]), TTestError::TooFew { first: 1, second: 2 });
        assert_eq!(refusal(Test::Paired, &[], &[]), TTestError::TooFew { first: 0, second: 0 });
        let infinite = refusal(Test::Welch, &[1.0, 2.0], &[1.0, f64::INFINITY]);
        assert_eq!(infinite.to_string(), "value 2 of the second sample is inf; all must be finite");
    }

    #[test]
    fn three_differences_by_hand() {
        // Mean 0.01, deviation 0.01, standard error 0.01 / sqrt(3); t = (0.05 - 0.01) * sqrt(3) / 0.01 = 6.928203. With
        // two degrees of freedom the upper tail is 1/2 - t / (2 sqrt(2 + t^2)) = 1/2 - 6.928203 / (2 sqrt(50)) = 0.010102.
        let p = equivalence_p(&[0.0, 0.01, 0.02], 0.05);
        assert!((p - 0.010_102_051).abs() < 1e-7, "{p}");
        // The same on the other side.
        assert!((equivalence_p(&[0.0, -0.01, -0.02], 0.05) - p).abs() < 1e-12);
        // On the bound itself both are equally likely, beyond it p is above a half.
        assert!((equivalence_p(&[0.0, 0.01, 0.02], 0.01) - 0.5).abs() < 1e-9);
        assert!(equivalence_p(&[0.0, 0.01, 0.02], 0.005) > 0.5);
    }

    #[test]
    fn few_or_broken_differences_show_nothing() {
        assert_eq!(equivalence_p(&[0.0], 1.0), 1.0);
        assert_eq!(equivalence_p(&[0.0, f64::NAN, 0.0], 1.0), 1.0);
        assert_eq!((equivalence_p(&[0.5, 0.5], 1.0), equivalence_p(&[1.0, 1.0], 1.0)), (0.0, 1.0));
    }
}
