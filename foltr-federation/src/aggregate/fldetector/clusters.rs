//! Do scores fall into two groups? The gap statistic, and the best cut of sorted numbers in two.
//!
//! `TWH01` Tibshirani, Walther, Hastie: *Estimating the Number of Clusters in a Data Set via the Gap Statistic*,
//! Journal of the Royal Statistical Society B 63(2), 2001, section 3: more than one cluster where Gap(1) < Gap(2) -
//! s(2), Gap(k) = E log W*(k) - log W(k), W* of uniform numbers.
//!
//! Deviation: two-means is solved exactly, which is easy for numbers on a line.

use foltr_rank::rng::{Purpose, Streams};
use rand::Rng;

/// Uniform samples that scores are compared with.
const N_REFERENCES: u32 = 20;
/// Fewer numbers have no clusters.
const LEAST: usize = 3;

/// The gap statistic, and its reference for the last number of scores.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters {
    n: usize,
    /// By how much log W falls from one cluster to two in uniform samples, with the allowance for their scatter.
    expected_fall: f64,
}

impl Clusters {
    /// The highest score of the lower cluster, if there are two clusters.
    pub(super) fn split(&mut self, scores: &[f64]) -> Option<f64> {
        let mut sorted = scores.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&[low, ..], &[.., high]) = (sorted.as_slice(), sorted.as_slice()) else { return None };
        if sorted.len() < LEAST || low == high {
            return None;
        }
        if self.n != sorted.len() {
            (self.n, self.expected_fall) = (sorted.len(), expected_fall(sorted.len()));
        }
        // Gap(1) < Gap(2) - s(2), sorted by what is measured and what is expected.
        let (whole, halves, last) = scatter(&sorted);
        (whole.ln() - halves.ln() > self.expected_fall).then_some(sorted[last])
    }
}

/// Scatter of one cluster and of the best two, and where the lower one ends, in sorted numbers.
fn scatter(sorted: &[f64]) -> (f64, f64, usize) {
    let within = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>()
    };
    let cuts = (1..sorted.len()).map(|cut| (within(&sorted[..cut]) + within(&sorted[cut..]), cut - 1));
    let (halves, last) = cuts.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0));
    (within(sorted), halves, last)
}

/// E log W*(1) - E log W*(2) + s(2) of so many uniform numbers.
fn expected_fall(n: usize) -> f64 {
    // Always the same numbers: a rule has no seed.
    let mut stream = Streams::new(0).open(Purpose::Data, 0, 0);
    let n_references = f64::from(N_REFERENCES);
    let mut falls = 0.0;
    let mut logarithms = Vec::new();
    for _ in 0..N_REFERENCES {
        let mut sample: Vec<f64> = (0..n).map(|_| f64::from(stream.next_u32()) / f64::from(u32::MAX)).collect();
        sample.sort_unstable_by(f64::total_cmp);
        let (whole, halves, _) = scatter(&sample);
        falls += whole.ln() - halves.ln();
        logarithms.push(halves.ln());
    }
    let mean = logarithms.iter().sum::<f64>() / n_references;
    let variance = logarithms.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n_references;
    falls / n_references + (variance * (1.0 + 1.0 / n_references)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_are_told_from_one() {
        let mut clusters = Clusters::default();
        let apart = [0.11, 0.1, 0.5, 0.12, 0.52, 0.09, 0.1, 0.51];
        assert_eq!(clusters.split(&apart), Some(0.12));
        let even: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(clusters.split(&even), None);
        for few in [&[][..], &[1.0], &[1.0, 2.0], &[1.0, 1.0, 1.0, 1.0]] {
            assert_eq!(clusters.split(few), None);
        }
    }

    #[test]
    fn the_best_cut_by_hand() {
        // {0, 1} and {5}: 0.5 within; {0} and {1, 5}: 8.
        assert_eq!(scatter(&[0.0, 1.0, 5.0]), (14.0, 0.5, 1));
    }
}
