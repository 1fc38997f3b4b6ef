//! How much of a gap is closed: (value - from) / (to - from) of means over runs that belong together, and its interval.
//!
//! `F54` Fieller: *Some Problems in Interval Estimation*, JRSS B 16(2), 1954. A share r is inside the interval if a paired
//! t-test does not reject that (value - from) - r (to - from) is 0 in the mean. It keeps its level where the gap itself
//! is known badly: the ends are then far apart, and where the gap may be 0 there is no bounded interval.
//!
//! Runs count as independent, as in all intervals here: those of one fold share their queries, so that the interval is
//! about other seeds and such folds, not about other collections.

use super::{mean, student_t_975};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapShare {
    pub share: f64,
    /// Whether there is a gap: to is above from, in the mean.
    pub has_gap: bool,
    pub n: usize,
    /// None for a single run, and where the gap may be 0.
    pub confidence_interval_95: Option<(f64, f64)>,
}

/// What was measured in one run, or in runs of the same fold and seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapRun {
    pub value: f64,
    pub from: f64,
    pub to: f64,
}

impl GapShare {
    /// None without runs.
    pub fn of(runs: &[GapRun]) -> Option<Self> {
        if runs.is_empty() {
            return None;
        }
        let closed: Vec<f64> = runs.iter().map(|run| run.value - run.from).collect();
        let gaps: Vec<f64> = runs.iter().map(|run| run.to - run.from).collect();
        let (share, has_gap) = (mean(&closed) / mean(&gaps), mean(&gaps) > 0.0);
        Some(Self { share, has_gap, n: runs.len(), confidence_interval_95: fieller(&closed, &gaps) })
    }
}

/// The shares r with |mean(a) - r mean(b)| <= t se(a - r b): between the roots of a quadratic equation in r.
fn fieller(closed: &[f64], gaps: &[f64]) -> Option<(f64, f64)> {
    let t = student_t_975(closed.len() - 1)?;
    let (a, b) = (mean(closed), mean(gaps));
    // t^2 times the squared standard errors, and t^2 times the covariance of both means.
    let n = closed.len() as f64;
    let factor = t * t / (n * (n - 1.0));
    let product = |x: &[f64], x_mean: f64, y: &[f64], y_mean: f64| {
        factor * x.iter().zip(y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>()
    };
    let quadratic = b * b - product(gaps, b, gaps, b);
    let linear = a * b - product(closed, a, gaps, b);
    let constant = a * a - product(closed, a, closed, a);
    // quadratic r^2 - 2 linear r + constant <= 0: between two roots, but where the gap may be 0.
    if quadratic.is_nan() || quadratic <= 0.0 {
        return None;
    }
    // Never below 0 but by rounding: the share itself is inside.
    let root = (linear * linear - quadratic * constant).max(0.0).sqrt();
    let ends = ((linear - root) / quadratic, (linear + root) / quadratic);
    (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Test;

    fn runs(values: &[f64], froms: &[f64], tos: &[f64]) -> Vec<GapRun> {
        values.iter().zip(froms).zip(tos).map(|((&value, &from), &to)| GapRun { value, from, to }).collect()
    }

    #[test]
    fn a_gap_without_scatter_only_scales_the_interval() {
        // Values of mean 2 and deviation 1 between 0 and 4: t(2) = 4.30265, half width 2.484138, a quarter of it.
        let share = GapShare::of(&runs(&[1.0, 2.0, 3.0], &[0.0; 3], &[4.0; 3])).expect("three runs");
        let (low, high) = share.confidence_interval_95.expect("three runs");
        assert_eq!((share.share, share.n, share.has_gap), (0.5, 3, true));
        assert!((low - (0.5 - 0.621_034_4)).abs() < 1e-6 && (high - (0.5 + 0.621_034_4)).abs() < 1e-6, "{low}, {high}");
    }

    const VALUES: [f64; 5] = [0.655, 0.690, 0.702, 0.668, 0.681];
    const FROMS: [f64; 5] = [0.421, 0.470, 0.455, 0.439, 0.448];
    /// Share, low and high.
    const REFERENCE: (f64, f64, f64) = (0.9341365461847391, 0.8942508958241617, 0.9811167114976421);
    const TOS: [f64; 5] = [0.672, 0.701, 0.729, 0.671, 0.705];

    #[test]
    fn the_ends_are_where_a_paired_test_begins_to_reject() {
        let share = GapShare::of(&runs(&VALUES, &FROMS, &TOS)).expect("five runs");
        let (low, high) = share.confidence_interval_95.expect("a clear gap");
        assert!(low < share.share && share.share < high);
        for end in [low, high] {
            let part = |i: usize| end * (TOS[i] - FROMS[i]);
            let (closed, parts): (Vec<f64>, Vec<f64>) = (0..5).map(|i| (VALUES[i] - FROMS[i], part(i))).unzip();
            let p = Test::Paired.compare(&closed, &parts).expect("five pairs").p;
            assert!((p - 0.05).abs() < 1e-9, "{p} at {end}");
        }
        // Reference: the same roots by bisection (Python, t = 2.776445105197793).
        assert!((share.share - REFERENCE.0).abs() < 1e-12, "{}", share.share);
        assert!((low - REFERENCE.1).abs() < 1e-9 && (high - REFERENCE.2).abs() < 1e-9, "{low}, {high}");
    }

    /// Mistake: an interval of the quotient of means that takes runs as unpaired is as wide as the folds differ.
    #[test]
    fn what_folds_have_in_common_does_not_widen_the_interval() {
        let folds = [-0.05, 0.0, 0.02, 0.04, -0.01];
        let of = |base: f64| folds.map(|fold| base + fold);
        let share = GapShare::of(&runs(&of(0.68), &of(0.45), &of(0.70))).expect("five runs");
        let (low, high) = share.confidence_interval_95.expect("a clear gap");
        assert!((share.share - 0.92).abs() < 1e-12 && high - low < 1e-6, "{low} to {high}");
    }

    #[test]
    fn without_a_clear_gap_there_is_no_bounded_interval() {
        let unclear = GapShare::of(&runs(&[0.5, 0.6, 0.7], &[0.5, 0.5, 0.5], &[0.4, 0.6, 0.7])).expect("three runs");
        assert_eq!((unclear.confidence_interval_95, unclear.has_gap), (None, true));
        assert_eq!(GapShare::of(&runs(&[0.6], &[0.5], &[0.7])).expect("one run").confidence_interval_95, None);
        let not_a_number = GapShare::of(&runs(&[f64::NAN, 0.6], &[0.5; 2], &[0.7, 0.8])).expect("two runs");
        assert!(not_a_number.share.is_nan() && not_a_number.confidence_interval_95.is_none());
        let closed = GapShare::of(&runs(&[0.6; 2], &[0.5; 2], &[0.5; 2])).expect("two runs");
        assert!(!closed.has_gap && closed.confidence_interval_95.is_none());
        assert_eq!(GapShare::of(&[]), None);
    }
}
