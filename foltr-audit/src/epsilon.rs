//! How large is epsilon at least? Black-box bounds from samples of a mechanism's output on two neighbouring inputs.
//!
//! `JUO20` Jagielski, Ullman, Oprea: *Auditing Differentially Private Machine Learning: How Private is Private SGD?*,
//! NeurIPS 2020, section 3. Half of the samples choose an event, the other half bound its probabilities P and Q on the
//! two inputs by Clopper and Pearson: epsilon >= ln((P_low - delta)/Q_high), but for an error of probability `ALPHA`.
//!
//! Deviation: the event is chosen among all half-lines of a one-dimensional statistic, in both directions and for both
//! orders of the inputs, by approximate limits.

use foltr_federation::accountant::Guarantee;
use foltr_rank::rng::{Stream, Streams};
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::sampling::{Scratch, sample};
use super::{AuditBudget, Expected, Finding, Part, Verdict, lower_limit, upper_limit};

/// Probability that the bound of a case is wrong; half of it for each of the two limits.
pub(super) const ALPHA: f64 = 0.001;
/// The normal quantile that belongs to half of [`ALPHA`].
const Z: f64 = 3.290_527;
/// Thresholds tried between the extremes of each half sample.
const N_THRESHOLDS: usize = 400;

/// One sample of a statistic of the mechanism's output on one of two neighbouring inputs, 0 and 1.
pub(super) type Draw = Box<dyn Fn(usize, &mut Stream, &mut Scratch) -> f64 + Send + Sync>;

/// A mechanism with a label and a worst pair of inputs.
pub struct Case {
    pub(super) mechanism: String,
    /// On which inputs, by which statistic.
    pub(super) what: String,
    pub(super) claimed: f64,
    pub(super) delta: f64,
    pub(super) expected: Expected,
    /// Of each input.
    pub(super) n_samples: usize,
    pub(super) draw: Draw,
}

impl Case {
    pub(super) fn new(
        mechanism: &str,
        what: String,
        Guarantee { epsilon, delta }: Guarantee,
        expected: Expected,
        n_samples: usize,
        draw: impl Fn(usize, &mut Stream, &mut Scratch) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { mechanism: mechanism.into(), what, claimed: epsilon, delta, expected, n_samples, draw: Box::new(draw) }
    }

    #[must_use]
    pub fn labelled(self, Guarantee { epsilon, delta }: Guarantee) -> Self {
        Self { claimed: epsilon, delta, ..self }
    }
}

/// Bounds epsilon from below and judges the label. `number` is the case's place in the audit: cases share no stream.
pub fn certify(case: &Case, streams: &Streams, number: u32, budget: AuditBudget, bar: &ProgressBar) -> Finding {
    let n = budget.share_of(case.n_samples);
    let of = |input, number| sample(n, streams, number, bar, |stream, scratch| (case.draw)(input, stream, scratch));
    let samples = [of(0, 2 * number), of(1, 2 * number + 1)];
    let lower_bound = bound(&samples, case.delta);
    Finding {
        mechanism: case.mechanism.clone(),
        claimed: case.claimed,
        lower_bound,
        expected: case.expected,
        verdict: Verdict::of(case.expected, case.claimed, lower_bound),
        part: Part::Epsilon,
        what: case.what.clone(),
        unit: if case.delta > 0.0 { format!("epsilon at delta = {:e}", case.delta) } else { "epsilon".into() },
        samples: 2 * n as u64,
    }
}

/// A half-line of the statistic, and the input on which it is the more likely one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    threshold: f64,
    is_above: bool,
    likelier: usize,
}

/// A lower bound of epsilon from samples of two inputs; 0 if they cannot be distinguished.
fn bound(samples: &[Vec<f64>; 2], delta: f64) -> f64 {
    let halves = [0, 1].map(|input| samples[input].split_at(samples[input].len() / 2));
    let Some(event) = choose(halves.map(|(first, _)| first), delta) else { return 0.0 };
    let is_in = |value: &&f64| if event.is_above { **value >= event.threshold } else { **value <= event.threshold };
    let count = |sample: &[f64]| (sample.iter().filter(is_in).count() as u64, sample.len() as u64);
    let (k, n) = count(halves[event.likelier].1);
    let (l, m) = count(halves[1 - event.likelier].1);
    let (p_low, q_high) = (lower_limit(k, n, ALPHA / 2.0), upper_limit(l, m, ALPHA / 2.0));
    ((p_low - delta) / q_high).max(1.0).ln()
}

/// The event with the best approximate bound on these samples; none if all are below 0.
fn choose(samples: [&[f64]; 2], delta: f64) -> Option<Event> {
    let sorted = samples.map(|sample| {
        let mut sorted = sample.to_vec();
        sorted.par_sort_unstable_by(f64::total_cmp);
        sorted
    });
    let mut best = (0.0, None);
    for threshold in sorted.iter().flat_map(|sorted| thresholds(sorted)) {
        for is_above in [true, false] {
            let share = |sorted: &[f64]| {
                let is_below = |&value: &f64| if is_above { value < threshold } else { value <= threshold };
                let below = sorted.partition_point(is_below);
                (if is_above { sorted.len() - below } else { below }) as f64 / sorted.len() as f64
            };
            let shares = [share(&sorted[0]), share(&sorted[1])];
            for likelier in [0, 1] {
                let low = wilson(shares[likelier], sorted[likelier].len(), -Z) - delta;
                let value = low / wilson(shares[1 - likelier], sorted[1 - likelier].len(), Z);
                if value > 1.0 && value > best.0 {
                    best = (value, Some(Event { threshold, is_above, likelier }));
                }
            }
        }
    }
    best.1
}

/// Values at even ranks of a sorted sample, and ever closer to its ends.
fn thresholds(sorted: &[f64]) -> impl Iterator<Item = f64> {
    let last = sorted.len().saturating_sub(1);
    let even = (0..=N_THRESHOLDS).map(move |i| i * last / N_THRESHOLDS);
    let near_ends = (0..usize::BITS).map(|power| (1_usize << power) - 1).take_while(move |&rank| rank < last);
    let ranks = even.chain(near_ends.flat_map(move |rank| [rank, last - rank]));
    ranks.filter_map(|rank| sorted.get(rank).copied())
}

/// Wilson's limit of a probability, to compare events by: quick, and close to the exact one.
fn wilson(share: f64, n: usize, z: f64) -> f64 {
    let n = n as f64;
    let half = (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    (share + z * z / (2.0 * n) + z * half) / (1.0 + z * z / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::Purpose;
    use rand::RngExt;

    fn coins(p: f64, q: f64, n: usize) -> [Vec<f64>; 2] {
        let mut stream = Streams::new(3).open(Purpose::Noise, 0, 0);
        [p, q].map(|p| (0..n).map(|_| f64::from(u8::from(stream.random::<f64>() < p))).collect())
    }

    #[test]
    fn the_bound_is_below_the_truth_and_close_to_it() {
        // ln(.75/.25) = 1.0986, by either side of the coin.
        // With delta, ln((.75 - .25)/.25) = ln 2.
        for (p, q, delta, truth) in
            [(0.75, 0.25, 0.0, 3_f64.ln()), (0.25, 0.75, 0.0, 3_f64.ln()), (0.75, 0.25, 0.25, 2_f64.ln())]
        {
            let got = bound(&coins(p, q, 1_000_000), delta);
            assert!(got < truth && got > truth - 0.02, "{got}");
        }
    }

    #[test]
    fn equal_distributions_have_no_bound() {
        assert_eq!(bound(&coins(0.5, 0.5, 100_000), 0.0), 0.0);
        assert_eq!(bound(&[vec![], vec![]], 0.0), 0.0);
    }

    #[test]
    fn certainty_is_bounded_by_the_number_of_samples() {
        // All of 500 against none of 500: P_low = alpha^(1/500) at half of ALPHA, Q_high = 1 - P_low.
        let limit = (0.0005_f64.ln() / 500.0).exp();
        let got = bound(&[vec![1.0; 1000], vec![0.0; 1000]], 0.0);
        assert!((got - (limit / (1.0 - limit)).ln()).abs() < 1e-9, "{got}");
    }
}
