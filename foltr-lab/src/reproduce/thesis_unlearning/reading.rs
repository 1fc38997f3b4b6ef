//! Findings 22 to 25 of spec section 19, judged from one number a run: nDCG@10 on test queries. What the thesis's words
//! mean in numbers stands here, written down before any run. Runs pair up by fold and seed, so a difference of means is
//! the mean of paired differences.

use super::super::course::difference;
use super::super::study::mean;
use super::super::tally::{Judged, Tally};
use super::{INTERVALS, STEPS};
use crate::statistics::Estimate;

/// nDCG@10 that nobody would notice ("indistinguishable").
pub const SAME: f64 = 0.005;
/// nDCG@10 that everybody would notice ("sensibly reduces").
pub const CLEARLY: f64 = 0.02;
/// The largest distance to retraining in the thesis's table, with four steps and an interval of 5.
pub const NEAR: f64 = 0.010;
/// The same with three steps.
pub const NEAR_WITH_THREE: f64 = 0.012;
/// Share of what the marked client had taken away that must come back.
pub const CLOSED: f64 = 0.8;

/// Figure 6.2 under one kind of users: means over the last fifth of the rounds.
pub struct Configured {
    pub users: &'static str,
    /// 9H-1M.
    pub marked: Vec<f64>,
    /// 10H-0M.
    pub honest: Vec<f64>,
    /// 9H-0M.
    pub without: Vec<f64>,
}

/// Finding 22, first part: one honest client of ten is not missed. Within .005, or a 95 % interval with 0 in it.
pub fn one_client_is_not_missed(all: &[Configured]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let (gap, told) = difference(&case.honest, &case.without);
        let pairs: Vec<f64> = case.honest.iter().zip(&case.without).map(|(a, b)| a - b).collect();
        let interval = Estimate::of(&pairs).and_then(|estimate| estimate.confidence_interval_95);
        let is_chance = interval.is_some_and(|(low, high)| low <= 0.0 && 0.0 <= high);
        tally.count(gap.abs() <= SAME || is_chance);
        tally.parts.push(format!("{} {told}", case.users));
    }
    tally.judged("10H-0M minus 9H-0M within .005 or within chance")
}

/// Finding 22, second part: the marked client is seen.
pub fn marked_client_is_seen(all: &[Configured]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let (gap, told) = difference(&case.marked, &case.without);
        tally.count(gap <= -CLEARLY);
        tally.parts.push(format!("{} {told}", case.users));
    }
    tally.judged("9H-1M minus 9H-0M at most -.02")
}

/// Runs by steps ([`STEPS`]) and interval ([`INTERVALS`]).
pub type BySetting = [[Vec<f64>; 3]; 4];

/// Table 6.2 under one kind of users: last rankers.
pub struct Unlearnt {
    pub users: &'static str,
    /// 9H-1M.
    pub marked: Vec<f64>,
    /// 9H-0M.
    pub retrained: Vec<f64>,
    /// U(9H-1M).
    pub by_setting: BySetting,
}

impl Unlearnt {
    /// The mean over runs.
    pub fn value(&self, steps: usize, interval: usize) -> f64 {
        mean(&self.by_setting[steps][interval])
    }

    /// The share of the way from 9H-1M to 9H-0M that unlearning went.
    pub fn closed(&self, steps: usize, interval: usize) -> f64 {
        let (marked, retrained) = (mean(&self.marked), mean(&self.retrained));
        (self.value(steps, interval) - marked) / (retrained - marked)
    }
}

/// Finding 23, first part: with an interval of 5, four steps come within .010 of retraining and three within .012.
pub fn near_retraining(all: &[Unlearnt]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        for (steps, near) in [(0, NEAR), (1, NEAR_WITH_THREE)] {
            let (gap, told) = difference(&case.by_setting[steps][0], &case.retrained);
            tally.count(gap.abs() <= near);
            tally.parts.push(format!("{}, {} steps {told}", case.users, STEPS[steps]));
        }
    }
    tally.judged("interval 5: U(9H-1M) minus 9H-0M within .010 with 4 steps and .012 with 3")
}

/// Finding 23, second part: four steps and an interval of 5 win back four fifths of what the marked client took.
pub fn gap_is_closed(all: &[Unlearnt]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let closed = case.closed(0, 0);
        tally.count(closed >= CLOSED);
        tally.parts.push(format!("{} {:.0} %", case.users, 100.0 * closed));
    }
    tally.judged("interval 5, 4 steps: at least 80 % of the gap between 9H-1M and 9H-0M is closed")
}

/// Finding 24: larger intervals and fewer steps are worse, from one end to the other; mean over users and the other
/// setting ("in most cases").
pub fn falls(all: &[Unlearnt]) -> Judged {
    let over = |settings: &[(usize, usize)]| {
        let of_case = |case: &Unlearnt| mean(&settings.iter().map(|&(s, i)| case.value(s, i)).collect::<Vec<_>>());
        mean(&all.iter().map(of_case).collect::<Vec<_>>())
    };
    let by_interval = [0, 1, 2].map(|interval| over(&[0, 1, 2, 3].map(|steps| (steps, interval))));
    let by_steps = [0, 1, 2, 3].map(|steps| over(&[0, 1, 2].map(|interval| (steps, interval))));
    let listed = |values: &[f64]| values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(", ");
    let mut tally = Tally::new();
    tally.count(by_interval[0] > by_interval[2]);
    tally.count(by_steps[0] > by_steps[3]);
    tally.parts.push(format!("interval 5, 10, 20: {}", listed(&by_interval)));
    tally.parts.push(format!("4, 3, 2, 1 steps: {}", listed(&by_steps)));
    tally.judged("mean over users falls from interval 5 to 20 and from 4 steps to 1")
}

/// Finding 25: unlearning is better than the marked client, in every cell.
pub fn better_than_before(all: &[Unlearnt]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let marked = mean(&case.marked);
        let mut least = f64::INFINITY;
        for (steps, interval) in (0..STEPS.len()).flat_map(|s| (0..INTERVALS.len()).map(move |i| (s, i))) {
            let gain = case.value(steps, interval) - marked;
            tally.count(gain > 0.0);
            least = least.min(gain);
        }
        tally.parts.push(format!("{} least {least:+.4}", case.users));
    }
    tally.judged("U(9H-1M) above 9H-1M")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(marked: f64, honest: [f64; 3], without: [f64; 3]) -> Configured {
        Configured { users: "perfect", marked: vec![marked; 3], honest: honest.to_vec(), without: without.to_vec() }
    }

    #[test]
    fn a_client_is_not_missed_within_a_margin_or_within_chance() {
        let small = configured(0.3, [0.5; 3], [0.496; 3]);
        let noisy = configured(0.3, [0.5, 0.52, 0.54], [0.52, 0.5, 0.5]);
        let missed = configured(0.3, [0.5, 0.51, 0.52], [0.49, 0.50, 0.51]);
        for (case, holds) in [(small, true), (noisy, true), (missed, false)] {
            assert_eq!(one_client_is_not_missed(&[case]).holds, holds);
        }
        assert!(!one_client_is_not_missed(&[]).holds, "nothing was shown");
    }

    #[test]
    fn a_marked_client_must_be_seen_clearly() {
        for (marked, holds) in [(0.48, true), (0.49, false), (0.55, false)] {
            let judged = marked_client_is_seen(&[configured(marked, [0.51; 3], [0.505; 3])]);
            assert_eq!(judged.holds, holds, "{marked}: {}", judged.evidence);
        }
    }

    /// .4 before, .5 retrained, and `best` with four steps and an interval of 5; a step or stride costs `fall`.
    fn unlearnt(best: f64, fall: f64) -> Unlearnt {
        let cell = |steps: usize, interval: usize| vec![best - fall * (steps + interval) as f64; 2];
        let by_setting = std::array::from_fn(|steps| std::array::from_fn(|interval| cell(steps, interval)));
        Unlearnt { users: "perfect", marked: vec![0.4; 2], retrained: vec![0.5; 2], by_setting }
    }

    #[test]
    fn findings_of_the_table_hold_on_the_thesiss_pattern_and_only_there() {
        let judged = |case: Unlearnt| {
            let all = [case];
            [near_retraining(&all), gap_is_closed(&all), falls(&all), better_than_before(&all)].map(|it| it.holds)
        };
        assert_eq!(judged(unlearnt(0.495, 0.005)), [true; 4]);
        // Too far from retraining, but most of the way.
        assert_eq!(judged(unlearnt(0.485, 0.005)), [false, true, true, true]);
        // Nothing was done: 9H-1M everywhere.
        assert_eq!(judged(unlearnt(0.4, 0.0)), [false; 4]);
        // It rises instead of falling.
        assert_eq!(judged(unlearnt(0.5, -0.001)), [true, true, false, true]);
    }
}
