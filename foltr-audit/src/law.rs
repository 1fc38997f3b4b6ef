//! Does a sample have the law that it should have? Distances, and the limits that they pass by chance only.
//!
//! `K33` Kolmogorov: *Sulla determinazione empirica di una legge di distribuzione*, Giornale dell'Istituto Italiano degli
//! Attuari 1933; `P00` Pearson: *On the Criterion that a Given System of Deviations ...*, Philosophical Magazine 1900.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Probability that a sampler which is right passes a limit.
pub(super) const ERROR: f64 = 1e-5;
/// Its normal quantile, two-sided.
const Z_LIMIT: f64 = 4.417_173;
/// Its Kolmogorov quantile, sqrt(ln(2/ERROR)/2): the first term of the series.
const K_LIMIT: f64 = 2.470_432;

/// What is tested about a law.
pub(super) enum Law {
    Mean {
        mean: f64,
        variance: f64,
    },
    /// About 0.
    Variance {
        variance: f64,
        kurtosis: f64,
    },
    /// Its distribution function.
    Continuous(Box<dyn Fn(f64) -> f64 + Send + Sync>),
    /// Its probabilities, all positive; a draw is the index of a class.
    Classes(Vec<f64>),
}

impl Law {
    /// A mean of zero.
    pub(super) const fn centred(variance: f64) -> Self {
        Self::Mean { mean: 0.0, variance }
    }

    /// What is tested, and in which unit.
    pub(super) const fn labels(&self) -> (&'static str, &'static str) {
        match self {
            Self::Mean { .. } => ("mean", "standard errors from the law: limit, found"),
            Self::Variance { .. } => ("variance", "standard errors from the law: limit, found"),
            Self::Continuous(_) => ("distribution", "Kolmogorov distance to the law: limit, found"),
            Self::Classes(_) => ("frequencies", "chi-square to the law: limit, found"),
        }
    }

    /// What the distance of so many samples passes with probability [`ERROR`], and the distance.
    pub(super) fn examine(&self, mut sample: Vec<f64>) -> (f64, f64) {
        let n = sample.len() as f64;
        match self {
            Self::Mean { mean, variance } => {
                let z = (sample.iter().sum::<f64>() / n - mean) / (variance / n).sqrt();
                (Z_LIMIT, z.abs())
            }
            Self::Variance { variance, kurtosis } => {
                let mean_square = sample.iter().map(|x| x * x).sum::<f64>() / n;
                let z = (mean_square / variance - 1.0) / ((kurtosis - 1.0) / n).sqrt();
                (Z_LIMIT, z.abs())
            }
            Self::Continuous(law) => {
                sample.sort_unstable_by(f64::total_cmp);
                let gaps = sample.iter().enumerate().map(|(rank, &x)| (law(x) - (rank as f64 + 0.5) / n).abs());
                (K_LIMIT / n.sqrt(), gaps.fold(0.0, f64::max) + 0.5 / n)
            }
            Self::Classes(probabilities) => {
                let mut counts = vec![0_u64; probabilities.len()];
                // What is in no class counts as the last one, whose frequency then gives it away.
                let last = probabilities.len() - 1;
                sample.iter().for_each(|&class| counts[(class as usize).min(last)] += 1);
                let terms =
                    counts.iter().zip(probabilities).map(|(&count, p)| (count as f64 - n * p).powi(2) / (n * p));
                let limit = ChiSquared::new(last as f64).map_or(f64::INFINITY, |law| law.inverse_cdf(1.0 - ERROR));
                (limit, terms.sum())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_limits_by_hand() {
        // Quantiles (i + 1/2)/n of the uniform law: 1/(2n) everywhere.
        let sample: Vec<f64> = (0..100).map(|i| (f64::from(i) + 0.5) / 100.0).collect();
        let (limit, distance) = Law::Continuous(Box::new(|x| x)).examine(sample.clone());
        assert!((distance - 0.005).abs() < 1e-12);
        assert!((limit - ((2.0 / ERROR).ln() / 2.0).sqrt() / 10.0).abs() < 1e-6);
        // The square root is furthest from the diagonal at 1/4, by 1/4.
        assert!((Law::Continuous(Box::new(f64::sqrt)).examine(sample).1 - 0.25).abs() < 0.006);
        // Mean square 1 against 2, kurtosis 3, n = 2: -1/2 over sqrt(2/2).
        assert!((Law::Variance { variance: 2.0, kurtosis: 3.0 }.examine(vec![1.0, -1.0]).1 - 0.5).abs() < 1e-12);
        // Mean 2 against 1 with variance 2, n = 2.
        assert!((Law::Mean { mean: 1.0, variance: 2.0 }.examine(vec![1.0, 3.0]).1 - 1.0).abs() < 1e-12);
        // (6 - 5)^2/5 twice; what is in no class counts as the last one. Chi-square of one degree is normal, squared.
        let sample = [vec![0.0; 6], vec![1.0; 3], vec![7.0]].concat();
        let (limit, distance) = Law::Classes(vec![0.5, 0.5]).examine(sample);
        assert!((distance - 0.4).abs() < 1e-12 && (limit.sqrt() - Z_LIMIT).abs() < 1e-4, "{limit}");
    }
}
