//! How likely is an event that came k times in n trials? Exact one-sided limits.
//!
//! `CP34` Clopper, Pearson: *The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial*,
//! Biometrika 1934. The lower limit is the p with P(X >= k) = alpha, the upper one that with P(X <= k) = alpha.
//!
//! The tail is summed term by term: continued fractions of fixed length fail for millions of trials.

use statrs::function::factorial::ln_binomial;

/// Halvings of the interval in which the limit lies: more than a double has bits.
const HALVINGS: u32 = 60;

/// The probability is above this, but for an error of probability `alpha`.
pub(super) fn lower_limit(successes: u64, trials: u64, alpha: f64) -> f64 {
    assert!(successes <= trials, "{successes} successes in {trials} trials");
    assert!(alpha > 0.0 && alpha < 0.5, "an error probability of {alpha} is not between 0 and 1/2");
    if successes == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, successes as f64 / trials as f64);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if upper_tail(successes, trials, middle) < alpha { low = middle } else { high = middle }
    }
    low
}

/// The probability is below this, but for an error of probability `alpha`.
pub(super) fn upper_limit(successes: u64, trials: u64, alpha: f64) -> f64 {
    assert!(successes <= trials, "{successes} successes in {trials} trials");
    1.0 - lower_limit(trials - successes, trials, alpha)
}

/// P(X >= k) of a binomial X; 1 where it is at least 1/2, which is all that a limit asks.
fn upper_tail(k: u64, n: u64, p: f64) -> f64 {
    if k as f64 <= n as f64 * p {
        return 1.0;
    }
    let first = (ln_binomial(n, k) + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()).exp();
    let odds = p / (1.0 - p);
    let (mut term, mut sum) = (1.0, 1.0);
    for i in k..n {
        term *= (n - i) as f64 / (i + 1) as f64 * odds;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    first * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_small_samples_are_the_published_ones() {
        // Two-sided 95 % intervals.
        for (successes, trials, low, high) in
            [(5, 10, 0.187_086_0, 0.812_914_0), (1, 20, 0.001_265_1, 0.248_732_8), (15, 15, 0.781_981_0, 1.0)]
        {
            let got = (lower_limit(successes, trials, 0.025), upper_limit(successes, trials, 0.025));
            assert!((got.0 - low).abs() < 1e-6 && (got.1 - high).abs() < 1e-6, "{successes}/{trials}: {got:?}");
        }
    }

    #[test]
    fn limits_of_no_success_and_of_many_trials_have_closed_forms() {
        // No success: (1 - p)^n = alpha.
        for trials in [1, 50, 5_000_000_u64] {
            let exact = -(0.001_f64.ln() / trials as f64).exp_m1();
            let got = upper_limit(0, trials, 0.001);
            assert!((got / exact - 1.0).abs() < 1e-6, "{trials}: {got} is not {exact}");
            assert_eq!((lower_limit(0, trials, 0.001), upper_limit(trials, trials, 0.001)), (0.0, 1.0));
        }
        // z = 3.290527 for .0005; the correction of Clopper and Pearson is of order 1/n.
        let (successes, trials) = (1_500_000_u64, 5_000_000_u64);
        let half = 3.290_527 * (0.3 * 0.7 / trials as f64).sqrt();
        assert!((lower_limit(successes, trials, 0.0005) - (0.3 - half)).abs() < 1e-6);
        assert!((upper_limit(successes, trials, 0.0005) - (0.3 + half)).abs() < 1e-6);
    }
}
