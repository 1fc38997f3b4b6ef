use std::collections::HashMap;

use proptest::prelude::*;

use super::by_definition::{lists, log_probability, problems, ranks};
use super::*;
use crate::query::MAX_SHOWN;
use crate::rng::{Purpose, Stream, Streams};

fn stream(number: u32) -> Stream {
    Streams::new(12).open(Purpose::Interaction, number, 0)
}

fn buffer(scores: &[f32]) -> ScoreBuffer {
    let mut buffer = ScoreBuffer::default();
    buffer.reset(scores.len()).copy_from_slice(scores);
    buffer
}

fn drawn(scores: &[f64], n_shown: usize, k: usize, n: usize) -> Vec<Vec<u32>> {
    let scores: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
    let (mut scores, mut stream, mut ranking) = (buffer(&scores), stream(0), Ranking::default());
    let mut sampler = BoundedSampler::new(k);
    let draw = |_| {
        sampler.sample(&mut scores, n_shown, &mut stream, &mut ranking, |_| {});
        ranking.docs().to_vec()
    };
    (0..n).map(draw).collect()
}

/// Every list comes as often as its law says, and none that is impossible.
fn assert_law(scores: &[f64], n_shown: usize, k: usize) {
    const N: usize = 20_000;
    let mut counts: HashMap<Vec<u32>, usize> = HashMap::new();
    drawn(scores, n_shown, k, N).into_iter().for_each(|list| *counts.entry(list).or_default() += 1);
    let mut total = 0.0;
    for list in lists(scores.len() as u32, n_shown) {
        let expected = log_probability(scores, k, &list).map_or(0.0, f64::exp);
        let seen = counts.remove(&list).unwrap_or(0) as f64 / N as f64;
        let error = 5.0 * (expected * (1.0 - expected) / N as f64).sqrt() + 1e-12;
        assert!((seen - expected).abs() <= error, "{list:?} of {scores:?}, {k}: {seen} instead of {expected}");
        total += expected;
    }
    assert!((total - 1.0).abs() < 1e-9 && counts.is_empty(), "{total} of {scores:?}, {k}: {counts:?}");
}

#[test]
fn lists_come_as_often_as_the_law_says() {
    problems().iter().for_each(|(scores, n_shown, k)| assert_law(scores, *n_shown, *k));
}

#[test]
fn three_documents_worked_by_hand() {
    // e^score 3 : 2 : 1 and k = 1. The first is 0 or 1, never 2. After 1, document 0 is due; after 0 and 2, document 1 is.
    let scores = [3_f64.ln(), 2_f64.ln(), 0.0];
    let probability = |list: [u32; 3]| log_probability(&scores, 1, &list).map_or(0.0, f64::exp);
    for (list, expected) in [([0, 1, 2], 0.4), ([0, 2, 1], 0.2), ([1, 0, 2], 0.4), ([2, 0, 1], 0.0), ([1, 2, 0], 0.0)] {
        assert!((probability(list) - expected).abs() < 1e-12, "{list:?}");
    }
    let n = 100_000;
    let lists = drawn(&scores, 3, 1, n);
    for (list, expected) in [([0, 1, 2], 0.4), ([0, 2, 1], 0.2), ([1, 0, 2], 0.4)] {
        let share = lists.iter().filter(|drawn| **drawn == list).count() as f64 / n as f64;
        assert!((share - expected).abs() < 0.01, "{list:?}: {share}");
    }
}

#[test]
fn a_bound_beyond_all_documents_is_plackett_luce() {
    let scores = [0.25_f64, 1.5, -2.0, 0.75, 0.0];
    for k in [5, 6, MAX_DISPLACEMENT] {
        for list in lists(5, 3) {
            let mut left: Vec<u32> = (0..5).collect();
            let mut plain = 1.0;
            for &doc in &list {
                plain *= scores[doc as usize].exp() / left.iter().map(|&doc| scores[doc as usize].exp()).sum::<f64>();
                left.retain(|&other| other != doc);
            }
            let ours = log_probability(&scores, k, &list).expect("every list is possible").exp();
            assert!((ours - plain).abs() < 1e-12);
        }
        assert_law(&scores, 3, k);
    }
}

#[test]
fn without_displacement_lists_are_by_score() {
    assert!(drawn(&[1.0, 2.0, 2.0, 0.0], 3, 0, 50).iter().all(|list| list == &[2, 1, 0]));
}

#[test]
fn lists_depend_on_the_stream_alone_and_not_on_a_constant() {
    let scores: Vec<f64> = (0..30).map(|doc| f64::from(doc * 37 % 11) / 4.0).collect();
    let shifted: Vec<f64> = scores.iter().map(|score| score + 64.0).collect();
    let lists = drawn(&scores, 10, 3, 100);
    assert_eq!(lists, drawn(&scores, 10, 3, 100));
    assert_eq!(lists, drawn(&shifted, 10, 3, 100));
    assert!(lists.iter().any(|list| *list != lists[0]));
}

#[test]
fn scores_that_are_no_numbers_make_some_list() {
    for scores in [[f64::NAN; 3], [f64::INFINITY, 0.0, f64::INFINITY], [f64::NAN, 1.0, f64::NEG_INFINITY]] {
        for mut list in drawn(&scores, 3, 1, 20) {
            list.sort_unstable();
            assert_eq!(list, [0, 1, 2]);
        }
    }
}

proptest! {
    #[test]
    fn no_document_is_further_from_its_rank_than_the_bound(
        scores in prop::collection::vec(prop_oneof![3 => -3.0_f64..3.0, 1 => Just(0.5), 1 => -1e6..1e6], 1..150),
        n_shown in 1_usize..=MAX_SHOWN,
        k in 0_usize..=MAX_DISPLACEMENT,
    ) {
        let scores: Vec<f64> = scores.into_iter().map(|score| f64::from(score as f32)).collect();
        let ranks = ranks(&scores);
        for list in drawn(&scores, n_shown, k, 3) {
            prop_assert_eq!(list.len(), n_shown.min(scores.len()));
            for (place, &doc) in list.iter().enumerate() {
                prop_assert!(ranks[doc as usize].abs_diff(place) <= k, "document {} at {}", doc, place);
                prop_assert!(!list[..place].contains(&doc));
            }
            // Who is not shown could have come behind the list.
            let is_hidden = |doc: &usize| !list.contains(&(*doc as u32));
            prop_assert!((0..scores.len()).filter(is_hidden).all(|doc| ranks[doc] + k >= list.len()));
        }
    }
}
