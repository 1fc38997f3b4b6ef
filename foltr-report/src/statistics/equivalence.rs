//! Are two settings the same, up to a bound? Two one-sided t-tests of paired differences.
//!
//! A large p of a test for a difference shows nothing: few runs have one too. Here a small p says that the difference is
//! inside the bound.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::mean;

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
