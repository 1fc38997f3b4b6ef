//! Can two groups of scores be told apart? The area under the ROC curve with a bootstrap interval.

use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;

const RESAMPLES: usize = 2000;

/// How likely a score of the first group is above one of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Auc {
    /// .5 if they cannot be told apart.
    pub value: f64,
    /// 95 % bootstrap interval: percentiles over resamples of both groups.
    pub interval: (f64, f64),
}

impl Auc {
    /// Of two groups; none if one of them is empty. Equal scores count half.
    pub fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.is_empty() || second.is_empty() {
            return None;
        }
        // Always the same resamples: an interval does not change from one call to the next.
        let mut rng = Streams::new(1).open(Purpose::Data, 0, 0);
        let mut resampled: Vec<f64> = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            let mut again = |group: &[f64]| group.iter().map(|_| group[rng.random_range(0..group.len())]).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = (again(first), again(second));
            resampled.push(area(&a, &b));
        }
        resampled.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| resampled[(share * (RESAMPLES - 1) as f64).round() as usize];
        Some(Self { value: area(first, second), interval: (at(0.025), at(0.975)) })
    }

    pub fn is_chance(&self) -> bool {
        self.interval.0 <= 0.5 && 0.5 <= self.interval.1
    }
}

fn area(first: &[f64], second: &[f64]) -> f64 {
    let above = |a: f64, b: f64| if a > b { 1.0 } else { f64::from(u8::from(a == b)) / 2.0 };
    let sum: f64 = first.iter().flat_map(|&a| second.iter().map(move |&b| above(a, b))).sum();
    sum / (first.len() * second.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_by_hand() {
        assert_eq!(area(&[3.0, 1.0], &[2.0, 0.0]), 0.75);
        assert_eq!(area(&[1.0], &[1.0]), 0.5);
        assert_eq!(Auc::of(&[], &[1.0]), None);
    }

    #[test]
    fn groups_apart_differ_and_equal_ones_do_not() {
        let low: Vec<f64> = (0..12).map(f64::from).collect();
        let high: Vec<f64> = low.iter().map(|value| value + 100.0).collect();
        let apart = Auc::of(&high, &low).expect("two groups");
        assert_eq!((apart.value, apart.interval, apart.is_chance()), (1.0, (1.0, 1.0), false));
        let same = Auc::of(&low, &low).expect("two groups");
        assert_eq!(same.value, 0.5);
        assert!(same.is_chance() && same.interval.0 < 0.4 && same.interval.1 > 0.6, "{same:?}");
    }
}
