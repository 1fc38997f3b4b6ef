//! Does a sample have the law that it should have? Distances, and the limits that they pass by chance only.
//!
//! `K33` Kolmogorov: *Sulla determinazione empirica di una legge di distribuzione*, Giornale dell'Istituto Italiano degli
//! Attuari 1933; `P00` Pearson: *On the Criterion that a Given System of Deviations ...*, Philosophical Magazine 1900.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Probability that a sampler which is right passes a limit.
pub const ERROR: f64 = 1e-5;
/// Its normal quantile, two-sided.
pub const Z_LIMIT: f64 = 4.417_173;
/// Its Kolmogorov quantile, sqrt(ln(2/ERROR)/2): the first term of the series.
const K_LIMIT: f64 = 2.470_432;

/// Greatest distance between a sample's distribution function and a continuous law's.
pub fn ks_distance(mut sample: Vec<f64>, law: impl Fn(f64) -> f64) -> f64 {
    sample.sort_unstable_by(f64::total_cmp);
    let n = sample.len() as f64;
    let gaps = sample.iter().enumerate().map(|(rank, &x)| (law(x) - (rank as f64 + 0.5) / n).abs());
    gaps.fold(0.0, f64::max) + 0.5 / n
}

/// What [`ks_distance`] passes with probability [`ERROR`].
pub fn ks_limit(n: usize) -> f64 {
    K_LIMIT / (n as f64).sqrt()
}

/// How many standard errors a sample's mean square is from what it should be; `kurtosis` is that of the law.
pub fn z_of_variance(sample: &[f64], variance: f64, kurtosis: f64) -> f64 {
    let n = sample.len() as f64;
    let mean_square = sample.iter().map(|x| x * x).sum::<f64>() / n;
    (mean_square / variance - 1.0) / ((kurtosis - 1.0) / n).sqrt()
}

/// How many standard errors a sample's mean is from what it should be.
pub fn z_of_mean(sample: &[f64], mean: f64, variance: f64) -> f64 {
    let n = sample.len() as f64;
    (sample.iter().sum::<f64>() / n - mean) / (variance / n).sqrt()
}

/// Pearson's chi-square of counts against probabilities, all positive.
pub fn chi_square(counts: &[u64], probabilities: &[f64]) -> f64 {
    let n = counts.iter().sum::<u64>() as f64;
    counts.iter().zip(probabilities).map(|(&count, p)| (count as f64 - n * p).powi(2) / (n * p)).sum()
}

/// What [`chi_square`] of so many classes passes with probability [`ERROR`].
pub fn chi_square_limit(n_classes: usize) -> f64 {
    ChiSquared::new(n_classes as f64 - 1.0).map_or(f64::INFINITY, |law| law.inverse_cdf(1.0 - ERROR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_sample_has_the_least_distance() {
        // Quantiles (i + 1/2)/n of the uniform law: 1/(2n) everywhere.
        let sample: Vec<f64> = (0..100).map(|i| (f64::from(i) + 0.5) / 100.0).collect();
        assert!((ks_distance(sample.clone(), |x| x) - 0.005).abs() < 1e-12);
        // The square root is furthest from the diagonal at 1/4, by 1/4.
        assert!((ks_distance(sample, f64::sqrt) - 0.25).abs() < 0.006);
    }

    #[test]
    fn limits_are_the_tabulated_quantiles() {
        // Two-sided 1e-5 of the normal law; chi-square of one degree is its square.
        assert!((chi_square_limit(2).sqrt() - Z_LIMIT).abs() < 1e-4, "{}", chi_square_limit(2));
        assert!((ks_limit(1) - ((2.0 / ERROR).ln() / 2.0).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn moments_by_hand() {
        // Mean square 1 against 2, kurtosis 3, n = 2: -1/2 over sqrt(2/2).
        assert!((z_of_variance(&[1.0, -1.0], 2.0, 3.0) + 0.5).abs() < 1e-12);
        // Mean 2 against 1 with variance 2, n = 2.
        assert!((z_of_mean(&[1.0, 3.0], 1.0, 2.0) - 1.0).abs() < 1e-12);
        // (6 - 5)^2/5 twice.
        assert!((chi_square(&[6, 4], &[0.5, 0.5]) - 0.4).abs() < 1e-12);
    }
}
