//! How large is epsilon at least? Black-box bounds from samples of a mechanism's output on two neighbouring inputs.
//!
//! `JUO20` Jagielski, Ullman, Oprea: *Auditing Differentially Private Machine Learning: How Private is Private SGD?*,
//! NeurIPS 2020, section 3. Half of the samples choose an event, the other half bound its probabilities P and Q on the
//! two inputs by Clopper and Pearson: epsilon >= ln((P_low - delta)/Q_high), but for an error of probability `ALPHA`.
//!
//! Deviation: the event is chosen among all half-lines of a one-dimensional statistic (`statistic.rs`), in both directions
//! and for both orders of the inputs, by how surely it refutes the label. Outputs that are finitely many are ordered by their
//! likelihood ratio, as the first half of the samples has it. A label that holds at every delta is tried at several, of
//! which the same half chooses one.

use std::collections::BTreeMap;

use foltr_federation::accountant::Guarantee;
use foltr_rank::rng::Streams;
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::federation::{Federation, Run, sample};
use super::neighbours::Neighbours;
use super::statistic::Statistic;
use super::{AuditBudget, Measured, lower_limit, upper_limit};

/// Probability that the bound of a case is wrong; half of it for each of the two limits.
pub(super) const ALPHA: f64 = 0.001;
/// The normal quantile that belongs to half of [`ALPHA`].
const Z: f64 = 3.290_527;
/// Thresholds tried between the extremes of each half sample.
const N_THRESHOLDS: usize = 400;

/// A federation with a label, and a pair of inputs.
pub struct Case {
    pub(super) federation: Federation,
    /// Round after round.
    pub(super) rounds: Vec<Neighbours>,
    /// Whether the client in question is heard in every round that it is in: a label that holds against those who see who
    /// takes part holds for every such round.
    pub(super) is_heard: bool,
    /// The unit of steps, unless the round says to which norm they are clipped.
    pub(super) clip: f64,
    pub(super) statistic: Statistic,
    /// What is promised, at one delta or at several: any of them may be refuted.
    pub(super) labels: Vec<Guarantee>,
    /// Of each input.
    pub(super) n_samples: usize,
}

impl Case {
    #[must_use]
    pub(super) fn labelled(self, labels: Vec<Guarantee>) -> Self {
        Self { labels, ..self }
    }

    /// One sample of the statistic on one of the inputs.
    fn draw(&self, input: usize, run: &mut Run, streams: &Streams, place: u32) -> f64 {
        let seen = (place * self.rounds.len() as u32..).zip(&self.rounds).map(|(key, neighbours)| {
            let clip = Federation::clip_norm(run).unwrap_or(self.clip as f32);
            neighbours.with_updates(input, clip, |updates| {
                let is_there = self.is_heard && neighbours.target[input].is_some();
                let of_last = || self.federation.key_of_last(streams, key, updates.len() as u32);
                self.federation.round(run, streams, if is_there { of_last() } else { key }, updates)
            })
        });
        let seen: Vec<_> = seen.collect();
        self.statistic.value(&seen)
    }

    /// Bounds epsilon from below. `number` is the case's place in the audit: cases share no stream.
    pub fn measure(&self, streams: &Streams, number: u32, budget: AuditBudget, bar: &ProgressBar) -> Measured {
        let n = budget.share_of(self.n_samples);
        let of = |input, number| {
            let draw = |run: &mut Run, streams: &Streams, place| [self.draw(input, run, streams, place)];
            sample(n, &self.federation, streams, number, bar, draw)
        };
        let mut samples = [of(0, 2 * number), of(1, 2 * number + 1)];
        if self.statistic.is_discrete() {
            score(&mut samples);
        }
        let (Guarantee { epsilon, delta }, lower_bound) = bound(&samples, &self.labels);
        Measured {
            claimed: epsilon,
            lower_bound,
            what: self.statistic.words().into(),
            unit: if delta > 0.0 { format!("epsilon at delta = {delta:e}") } else { "epsilon".into() },
            samples: 2 * n as u64,
        }
    }
}

/// Replaces values that are mere names by how much likelier the first half of the samples makes them on the first input.
pub(super) fn score(samples: &mut [Vec<f64>; 2]) {
    let mut counts: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
    for (input, sample) in samples.iter().enumerate() {
        for value in &sample[..sample.len() / 2] {
            counts.entry(value.to_bits()).or_default()[input] += 1.0;
        }
    }
    let score =
        |value: &f64| counts.get(&value.to_bits()).map_or(0.0, |[one, other]| ((one + 0.5) / (other + 0.5)).ln());
    samples.iter_mut().for_each(|sample| sample.iter_mut().for_each(|value| *value = score(value)));
}

/// A half-line of the statistic, the input on which it is the more likely one, and the label that it speaks about.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    threshold: f64,
    is_above: bool,
    likelier: usize,
    label: Guarantee,
}

/// The label that is the most in doubt, and a lower bound of its epsilon from samples of two inputs; 0 if they cannot be
/// distinguished.
pub(super) fn bound(samples: &[Vec<f64>; 2], labels: &[Guarantee]) -> (Guarantee, f64) {
    let halves = [0, 1].map(|input| samples[input].split_at(samples[input].len() / 2));
    let Some(event) = choose(halves.map(|(first, _)| first), labels) else { return (labels[0], 0.0) };
    let is_in = |value: &&f64| if event.is_above { **value >= event.threshold } else { **value <= event.threshold };
    let count = |sample: &[f64]| (sample.iter().filter(is_in).count() as u64, sample.len() as u64);
    let (k, n) = count(halves[event.likelier].1);
    let (l, m) = count(halves[1 - event.likelier].1);
    let (p_low, q_high) = (lower_limit(k, n, ALPHA / 2.0), upper_limit(l, m, ALPHA / 2.0));
    (event.label, ((p_low - event.label.delta) / q_high).max(1.0).ln())
}

/// The event that refutes one of the labels most surely on these samples. If none does, that with the best approximate
/// bound beside its label; none if all bounds are below 0.
fn choose(samples: [&[f64]; 2], labels: &[Guarantee]) -> Option<Event> {
    let sorted = samples.map(|sample| {
        let mut sorted = sample.to_vec();
        sorted.par_sort_unstable_by(f64::total_cmp);
        sorted
    });
    let (mut surest, mut closest) = ((Z, None), (f64::NEG_INFINITY, None));
    for threshold in sorted.iter().flat_map(|sorted| thresholds(sorted)) {
        for is_above in [true, false] {
            let share = |sorted: &[f64]| {
                let is_below = |&value: &f64| if is_above { value < threshold } else { value <= threshold };
                let below = sorted.partition_point(is_below);
                let n_in = if is_above { sorted.len() - below } else { below };
                Share::new(n_in, sorted.len())
            };
            let shares = [share(&sorted[0]), share(&sorted[1])];
            for likelier in [0, 1] {
                for &label in labels {
                    let (p, q) = (shares[likelier], shares[1 - likelier]);
                    let event = Some(Event { threshold, is_above, likelier, label });
                    let better = |best: &mut (f64, Option<Event>), value: f64| {
                        if value > best.0 {
                            *best = (value, event);
                        }
                    };
                    better(&mut surest, sureness(p, q, label));
                    let ratio = (p.limit(-Z) - label.delta) / q.limit(Z);
                    if ratio > 1.0 {
                        better(&mut closest, ratio.ln() - label.epsilon);
                    }
                }
            }
        }
    }
    surest.1.or(closest.1)
}

/// How often an event came, as if it had come or not half a time more: nothing is impossible or certain.
#[derive(Clone, Copy)]
struct Share {
    share: f64,
    variance: f64,
}

impl Share {
    fn new(n_in: usize, n: usize) -> Self {
        let share = (n_in as f64 + 0.5) / (n as f64 + 1.0);
        Self { share, variance: share * (1.0 - share) / n as f64 }
    }

    /// So many standard errors away.
    fn limit(self, z: f64) -> f64 {
        self.share + z * self.variance.sqrt()
    }
}

/// How many standard errors P - e^epsilon Q - delta is above 0, which is what a label allows.
fn sureness(p: Share, q: Share, Guarantee { epsilon, delta }: Guarantee) -> f64 {
    let factor = epsilon.exp();
    (p.share - delta - factor * q.share) / (p.variance + factor * factor * q.variance).sqrt()
}

/// Values at even ranks of a sorted sample, and ever closer to its ends.
fn thresholds(sorted: &[f64]) -> impl Iterator<Item = f64> {
    let last = sorted.len().saturating_sub(1);
    let even = (0..=N_THRESHOLDS).map(move |i| i * last / N_THRESHOLDS);
    let near_ends = (0..usize::BITS).map(|power| (1_usize << power) - 1).take_while(move |&rank| rank < last);
    let ranks = even.chain(near_ends.flat_map(move |rank| [rank, last - rank]));
    ranks.filter_map(|rank| sorted.get(rank).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};
    use rand::RngExt;

    fn coins(p: f64, q: f64, n: usize) -> [Vec<f64>; 2] {
        let mut stream = Streams::new(3).open(Purpose::Noise, 0, 0);
        [p, q].map(|p| (0..n).map(|_| f64::from(u8::from(stream.random::<f64>() < p))).collect())
    }

    fn at(epsilon: f64, delta: f64) -> Guarantee {
        Guarantee { epsilon, delta }
    }

    #[test]
    fn the_bound_is_below_the_truth_and_close_to_it() {
        // ln(.75/.25) = 1.0986, by either side of the coin.
        // With delta, ln((.75 - .25)/.25) = ln 2.
        for (p, q, delta, truth) in
            [(0.75, 0.25, 0.0, 3_f64.ln()), (0.25, 0.75, 0.0, 3_f64.ln()), (0.75, 0.25, 0.25, 2_f64.ln())]
        {
            let (_, got) = bound(&coins(p, q, 1_000_000), &[at(1.0, delta)]);
            assert!(got < truth && got > truth - 0.02, "{got}");
        }
    }

    #[test]
    fn of_several_labels_the_wrong_one_is_refuted() {
        let (label, got) = bound(&coins(0.75, 0.25, 1_000_000), &[at(1.2, 0.0), at(0.6, 0.25), at(0.0, 0.6)]);
        assert!(label == at(0.6, 0.25) && got > 0.6, "{label:?}: {got}");
    }

    #[test]
    fn equal_distributions_have_no_bound() {
        assert_eq!(bound(&coins(0.5, 0.5, 100_000), &[at(1.0, 0.0)]).1, 0.0);
        assert_eq!(bound(&[vec![], vec![]], &[at(1.0, 0.0)]).1, 0.0);
    }

    #[test]
    fn outputs_without_an_order_are_ordered_by_their_likelihood() {
        // An output in the middle that only one of the inputs has: no half-line finds it, its likelihood ratio does.
        let mut samples = [[0.0, 1.0, 2.0].repeat(1000), [0.0, 2.0].repeat(1500)];
        assert!(bound(&samples, &[at(0.0, 0.0)]).1 < 1.0);
        score(&mut samples);
        assert!(bound(&samples, &[at(0.0, 0.0)]).1 > 3.0);
    }

    #[test]
    fn certainty_is_bounded_by_the_number_of_samples() {
        // All of 500 against none of 500: P_low = alpha^(1/500) at half of ALPHA, Q_high = 1 - P_low.
        let limit = (0.0005_f64.ln() / 500.0).exp();
        let (_, got) = bound(&[vec![1.0; 1000], vec![0.0; 1000]], &[at(0.0, 0.0)]);
        assert!((got - (limit / (1.0 - limit)).ln()).abs() < 1e-9, "{got}");
    }
}
