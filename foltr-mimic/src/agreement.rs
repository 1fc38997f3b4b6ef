//! How much does a network agree with what it should learn? And how does it score many queries?

use std::borrow::{Borrow, Cow};

use rayon::prelude::*;

use crate::network::{Network, Scorer};
use crate::{Candidates, Inputs, Pair, Supervision};

/// Candidates with the scores of a network.
pub fn scored(network: &Network, inputs: &Inputs, lists: &[impl Borrow<Candidates> + Sync]) -> Vec<Candidates> {
    let score = |scorer: &mut Scorer<'_>, list: &_| {
        let list: &Candidates = Borrow::borrow(list);
        let mut scores = vec![0.0; list.documents.len()];
        scorer.score(inputs, list.query, &list.documents, &mut scores);
        Candidates { query: list.query, documents: list.documents.clone(), scores }
    };
    lists.par_iter().map_init(|| Scorer::new(network), score).collect()
}

/// Share of preferences that a network has as well, a tie being half a share; of scores the mean over queries of the
/// share of pairs with different scores.
pub fn agreement(network: &Network, inputs: &Inputs, supervision: &Supervision) -> f64 {
    let of_pair = |&Pair { query, better, worse }: &Pair| Candidates {
        query,
        documents: vec![better, worse],
        scores: vec![1.0, 0.0],
    };
    let lists: Cow<'_, [Candidates]> = match supervision {
        Supervision::Scores(lists) => lists.into(),
        Supervision::Pairs(pairs) => pairs.iter().map(of_pair).collect(),
    };
    let ours = scored(network, inputs, &lists);
    let shares: Vec<f64> =
        lists.iter().zip(&ours).filter_map(|(list, ours)| share(&list.scores, &ours.scores)).collect();
    if shares.is_empty() { 0.0 } else { shares.iter().sum::<f64>() / shares.len() as f64 }
}

/// Share of the pairs that the first distinguishes which the second orders alike; none if there is no such pair.
fn share(expected: &[f32], ours: &[f32]) -> Option<f64> {
    let (mut n_pairs, mut n_alike) = (0_u64, 0.0);
    for (i, (expected_i, ours_i)) in expected.iter().zip(ours).enumerate() {
        for (expected_j, ours_j) in expected[..i].iter().zip(ours) {
            if expected_i != expected_j {
                n_pairs += 1;
                let alike = (expected_i > expected_j) == (ours_i > ours_j);
                n_alike += if ours_i == ours_j { 0.5 } else { f64::from(u8::from(alike)) };
            }
        }
    }
    (n_pairs > 0).then(|| n_alike / n_pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_once_and_ties_by_half() {
        assert_eq!(share(&[3.0, 2.0, 1.0], &[0.3, 0.2, 0.1]), Some(1.0));
        assert_eq!(share(&[3.0, 2.0, 1.0], &[0.1, 0.2, 0.3]), Some(0.0));
        // Of (0, 1), (0, 2) and (1, 2), the first is a tie, the second is right, the third wrong.
        assert_eq!(share(&[3.0, 2.0, 1.0], &[0.2, 0.2, 0.1]), Some(2.5 / 3.0));
        assert_eq!(share(&[1.0, 1.0], &[0.2, 0.1]), None, "equal scores prefer nothing");
    }
}
