//! What several runs say: mean, standard deviation and Student's 95 % confidence interval; tests.

mod auc;
mod gap_share;
mod mark;
mod t_test;

pub use auc::Auc;
pub use gap_share::{GapRun, GapShare};
pub use mark::{bonferroni, mark, mark_of_one_level};
pub use t_test::{TTest, TTestError, Test, equivalence_p};

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// Of the sample; none for a single run.
    pub standard_deviation: Option<f64>,
    pub n: usize,
    /// Of the mean; none for a single run.
    pub confidence_interval_95: Option<(f64, f64)>,
}

impl Estimate {
    /// Of one number a run; none without runs.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = mean(values);
        let Some(quantile) = student_t_975(n - 1) else {
            return Some(Self { mean, standard_deviation: None, n, confidence_interval_95: None });
        };
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        let half = quantile * (variance / n as f64).sqrt();
        Some(Self {
            mean,
            standard_deviation: Some(variance.sqrt()),
            n,
            confidence_interval_95: Some((mean - half, mean + half)),
        })
    }

    /// Half the width of the confidence interval; 0 for a single run.
    pub fn half_width(&self) -> f64 {
        self.confidence_interval_95.map_or(0.0, |(low, high)| (high - low) / 2.0)
    }

    /// The half width that tables show; none with fewer than three runs, whose interval is as wide as anything.
    pub fn shown_half_width(&self) -> Option<f64> {
        (self.n > 2).then(|| self.half_width())
    }

    /// The ends of a band or error bar: the mean itself with fewer than three runs, whose interval is as wide as anything.
    pub fn band(&self) -> (f64, f64) {
        self.confidence_interval_95.filter(|_| self.n > 2).unwrap_or((self.mean, self.mean))
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The .975 quantile of Student's t; none without a degree of freedom.
fn student_t_975(degrees: usize) -> Option<f64> {
    StudentsT::new(0.0, 1.0, degrees as f64).ok().map(|student| student.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_runs_by_hand() {
        // mean 2, deviation 1, t(2) = 4.30265..., half width 4.30265 / sqrt(3) = 2.48414.
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]).expect("three values");
        assert_eq!((estimate.mean, estimate.standard_deviation, estimate.n), (2.0, Some(1.0), 3));
        assert!((estimate.half_width() - 2.484_137_7).abs() < 1e-6, "{}", estimate.half_width());
        assert_eq!(Some(estimate.band()), estimate.confidence_interval_95);
    }

    #[test]
    fn one_run_has_no_interval_two_have_no_band_and_none_has_no_mean() {
        let single = Estimate::of(&[0.5]).expect("one value");
        assert_eq!((single.mean, single.standard_deviation, single.confidence_interval_95), (0.5, None, None));
        let two = Estimate::of(&[0.5, 0.7]).expect("two values");
        assert!(two.half_width() > 1.0 && two.band() == (two.mean, two.mean));
        assert_eq!(Estimate::of(&[]), None);
    }
}
