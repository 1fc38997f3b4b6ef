//! Which pairs of public documents are the teachers asked about? Drawn without a look at any score.
//!
//! Were questions chosen by what teachers think, the choice itself would reveal something about private data. Each
//! question is paid for, so none is asked twice, and queries get equal shares: long lists do not take them all.

use foltr_rank::rng::Stream;
use rand::RngExt;
use rand::seq::{SliceRandom, index};

use crate::Candidates;

/// Which of two documents of a public query is better?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Question {
    pub list: usize,
    /// Positions of the documents within it.
    pub first: usize,
    pub second: usize,
}

/// Draws this many different pairs, or all if there are fewer: of each list about as many, in either order.
///
/// Scores of the lists are not looked at.
pub fn draw_questions(lists: &[Candidates], n_questions: usize, stream: &mut Stream) -> Vec<Question> {
    let capacities: Vec<usize> = lists.iter().map(|list| n_pairs(list.documents.len())).collect();
    let shares = equal_shares(&capacities, n_questions, stream);
    let mut questions = Vec::with_capacity(shares.iter().sum());
    for (list, (capacity, share)) in capacities.into_iter().zip(shares).enumerate() {
        for number in index::sample(stream, capacity, share) {
            let (low, high) = pair_of_number(number);
            let (first, second) = if stream.random() { (low, high) } else { (high, low) };
            questions.push(Question { list, first, second });
        }
    }
    questions
}

fn n_pairs(n_docs: usize) -> usize {
    n_docs * n_docs.saturating_sub(1) / 2
}

/// The pairs (0, 1), (0, 2), (1, 2), (0, 3) and so on, by their numbers.
fn pair_of_number(number: usize) -> (usize, usize) {
    let high = (1 + 8 * number).isqrt().div_ceil(2);
    (number - n_pairs(high), high)
}

/// As equal as capacities allow; who gets one more is drawn.
fn equal_shares(capacities: &[usize], n_questions: usize, stream: &mut Stream) -> Vec<usize> {
    let mut shares = vec![0; capacities.len()];
    let mut n_left = n_questions.min(capacities.iter().sum());
    while n_left > 0 {
        let mut open: Vec<usize> = (0..shares.len()).filter(|&i| shares[i] < capacities[i]).collect();
        let each = (n_left / open.len()).max(1);
        if n_left < open.len() {
            open.shuffle(stream);
            open.truncate(n_left);
        }
        for i in open {
            let more = each.min(capacities[i] - shares[i]);
            shares[i] += more;
            n_left -= more;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervision::candidates;
    use foltr_rank::rng::{Purpose, Streams};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn lists(sizes: &[usize], score: f32) -> Vec<Candidates> {
        (0..).zip(sizes).map(|(query, &n)| candidates(query, &vec![score; n])).collect()
    }

    fn draw(lists: &[Candidates], n: usize, seed: u64) -> Vec<Question> {
        draw_questions(lists, n, &mut Streams::new(seed).open(Purpose::Data, 0, 0))
    }

    #[test]
    fn numbers_are_pairs() {
        let all: Vec<(usize, usize)> = (0..6).map(pair_of_number).collect();
        assert_eq!(all, [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]);
        assert_eq!(pair_of_number(n_pairs(1_000_000) - 1), (999_998, 999_999));
    }

    proptest! {
        #[test]
        fn questions_differ_and_are_shared_equally(
            sizes in prop::collection::vec(0_usize..8, 0..12), n_asked in 0_usize..300, seed: u64,
        ) {
            let questions = draw(&lists(&sizes, 0.0), n_asked, seed);
            let capacities: Vec<usize> = sizes.iter().map(|&n| n_pairs(n)).collect();
            prop_assert_eq!(questions.len(), n_asked.min(capacities.iter().sum()));
            let sorted: BTreeSet<_> =
                questions.iter().map(|q| (q.list, q.first.min(q.second), q.first.max(q.second))).collect();
            prop_assert_eq!(sorted.len(), questions.len());
            prop_assert!(questions.iter().all(|q| q.first != q.second && q.first.max(q.second) < sizes[q.list]));
            // A list with room left has at most one less than any other one.
            let share = |list: usize| questions.iter().filter(|q| q.list == list).count();
            let most = (0..sizes.len()).map(share).max().unwrap_or(0);
            prop_assert!((0..sizes.len()).all(|list| share(list) == capacities[list] || share(list) + 1 >= most));
        }
    }

    #[test]
    fn scores_do_not_matter_and_the_stream_does() {
        let sizes = [5, 9, 4];
        assert_eq!(draw(&lists(&sizes, 0.0), 12, 1), draw(&lists(&sizes, 7.0), 12, 1));
        assert_ne!(draw(&lists(&sizes, 0.0), 12, 1), draw(&lists(&sizes, 0.0), 12, 2));
    }

    #[test]
    fn either_document_may_come_first() {
        let questions = draw(&lists(&[100], 0.0), 4_000, 3);
        let n_swapped = questions.iter().filter(|q| q.first > q.second).count() as f64;
        // Five standard errors.
        assert!((n_swapped - 2_000.0).abs() < 5.0 * 1_000.0_f64.sqrt(), "{n_swapped} of 4000");
    }
}
