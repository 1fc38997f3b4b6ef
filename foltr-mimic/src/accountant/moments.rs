//! What does the original moments accountant say of noisy votes?
//!
//! `PAEGT17` Theorems 2 and 3, as spec section 16.3 has them: eps0 = 2 gamma is the epsilon of one label, q bounds the
//! probability that the winner changes, alpha(l) is the smallest of three bounds of the moment l, and epsilon is the
//! smallest (sum of alpha(l) + ln(1/delta))/l. The original looks at l = 1 to 8; larger l would be as valid.

pub const N_MOMENTS: u32 = 8;

/// A bound of the probability that another class than the majority's wins, q. For two classes it is exact.
pub fn probability_of_change(counts: &[u32], gamma: f64) -> f64 {
    let winner = (0..counts.len()).rev().max_by_key(|&class| counts[class]);
    let others = (0..counts.len()).filter(|&class| Some(class) != winner);
    let most = counts.iter().copied().max().unwrap_or(0);
    let loses = |class: usize| {
        let gap = gamma * f64::from(most - counts[class]);
        (2.0 + gap) / (4.0 * gap.exp())
    };
    others.map(loses).sum::<f64>().min(1.0 - 1.0 / counts.len().max(1) as f64)
}

/// The moment l of one label whatever the votes are: min(eps0^2 l(l+1)/2, eps0 l).
pub fn data_independent_moment(gamma: f64, l: u32) -> f64 {
    let (epsilon, l) = (2.0 * gamma, f64::from(l));
    (epsilon * epsilon * l * (l + 1.0) / 2.0).min(epsilon * l)
}

/// The moment l of one label whose winner changes with probability `q`. Private: it depends on the votes.
pub fn moment(q: f64, gamma: f64, l: u32) -> f64 {
    let known = data_independent_moment(gamma, l);
    let (epsilon, l) = (2.0 * gamma, f64::from(l));
    let rest = 1.0 - epsilon.exp() * q;
    if q >= 0.5 || rest <= 0.0 {
        return known;
    }
    // ln[(1-q) ((1-q)/(1 - e^eps0 q))^l + q e^(eps0 l)]
    let stays = (1.0 - q) * ((1.0 - q) / rest).powf(l);
    known.min((stays + q * (epsilon * l).exp()).ln())
}

/// Epsilon and the moment that gives it, of groups of labels with equal counts. Private: it depends on the votes.
pub fn epsilon(groups: impl Iterator<Item = (impl AsRef<[u32]>, u64)>, gamma: f64, delta: f64) -> (f64, u32) {
    let changes: Vec<(f64, f64)> =
        groups.map(|(counts, n)| (probability_of_change(counts.as_ref(), gamma), n as f64)).collect();
    smallest(delta, |l| changes.iter().map(|&(q, n)| n * moment(q, gamma, l)).sum())
}

pub fn data_independent_epsilon(n_labels: u64, gamma: f64, delta: f64) -> f64 {
    smallest(delta, |l| n_labels as f64 * data_independent_moment(gamma, l)).0
}

/// The smallest (alpha(l) + ln(1/delta))/l, and its l.
fn smallest(delta: f64, alpha: impl Fn(u32) -> f64) -> (f64, u32) {
    let at = |l: u32| ((alpha(l) - delta.ln()) / f64::from(l), l);
    let smaller = |best: (f64, u32), next: (f64, u32)| if next.0 < best.0 { next } else { best };
    (1..=N_MOMENTS).map(at).fold((f64::INFINITY, 1), smaller)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn golden(key: &str) -> Vec<Value> {
        crate::aggregation::golden_vectors()[key].as_array().expect("a list").clone()
    }

    fn counts(example: &Value) -> Vec<u32> {
        serde_json::from_value(example["counts"].clone()).expect("counts")
    }

    fn assert_near(ours: f64, known: &Value) {
        let known = known.as_f64().expect("a number");
        assert!((ours / known - 1.0).abs() < 1e-9, "{ours}, not {known}");
    }

    #[test]
    fn probabilities_and_moments_are_those_of_the_specification() {
        let examples = golden("votes");
        assert_eq!(examples.len(), 7);
        for example in examples {
            let gamma = example["gamma"].as_f64().expect("a number");
            let q = probability_of_change(&counts(&example), gamma);
            assert_near(q, &example["prob_winner_changes_bound"]);
            for (l, known) in example["logmgf"].as_object().expect("moments") {
                assert_near(moment(q, gamma, l.parse().expect("a moment")), known);
            }
        }
    }

    #[test]
    fn epsilons_are_those_of_the_specification() {
        let examples = golden("accounting");
        assert_eq!(examples.len(), 4);
        for example in examples {
            let number = |key: &str| example[key].as_f64().expect("a number");
            let (n_labels, gamma, delta) = (number("queries") as u64, number("gamma"), number("delta"));
            let counts = counts(&example);
            let (ours, moment) = epsilon([(&counts[..], n_labels)].into_iter(), gamma, delta);
            assert_near(ours, &example["eps"]);
            assert_eq!(f64::from(moment), number("best_moment"));
            assert_near(data_independent_epsilon(n_labels, gamma, delta), &example["data_independent_eps"]);
        }
    }

    #[test]
    fn votes_never_cost_more_than_the_worst_votes() {
        for n_first in 0..=50 {
            let q = probability_of_change(&[n_first, 50 - n_first], 0.1);
            for l in 1..=N_MOMENTS {
                assert!(moment(q, 0.1, l) <= data_independent_moment(0.1, l));
            }
        }
        assert_eq!(probability_of_change(&[4, 4], 0.1), 0.5);
        assert_eq!(probability_of_change(&[4], 0.1), 0.0);
    }
}
