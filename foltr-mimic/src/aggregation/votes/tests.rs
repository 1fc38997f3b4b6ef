//! Votes by hand, flips against their law, and more teachers against fewer.

use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::aggregation::draw_questions;

fn one_list(scores: &[f32]) -> Vec<Candidates> {
    let documents = (0..scores.len() as u32).map(|doc| 100 + doc).collect();
    vec![Candidates { query: 5, documents, scores: scores.to_vec() }]
}

const QUESTION: Question = Question { list: 0, first: 0, second: 1 };

#[test]
fn winners_are_those_of_the_specification() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/vectors/pate_vectors.json")).expect("JSON");
    let examples = file["vote_examples"].as_array().expect("a list");
    assert_eq!(examples.len(), 2);
    for example in examples {
        let votes: Vec<u64> = serde_json::from_value(example["teacher_prefers_d1"].clone()).expect("votes");
        let noise: [f64; 2] = serde_json::from_value(example["noise"].clone()).expect("two numbers");
        let n_first = votes.iter().sum::<u64>() as u32;
        let counts = [n_first, votes.len() as u32 - n_first];
        assert_eq!(winner(counts, noise), example["winner"].as_u64().expect("an index") as usize, "{example}");
    }
    assert_eq!(winner([2, 2], [0.0, 0.0]), 0, "ties go to the lowest index");
}

#[test]
fn teachers_vote_by_their_scores_and_a_tie_is_for_the_first() {
    let lists = one_list(&[0.0, 0.0]);
    let mut ballot = Ballot::new(&lists, vec![QUESTION, Question { first: 1, second: 0, ..QUESTION }]);
    for scores in [[0.3, 0.1], [0.1, 0.3], [0.2, 0.2], [0.9, 0.1]] {
        ballot.cast(&one_list(&scores)).expect("the same documents");
    }
    let labels = ballot.label(VoteNoise::None, &Streams::new(1)).expect("votes");
    // 3 against 1; asked the other way round the tied teacher changes sides: 2 against 2, and the first one wins.
    assert_eq!(labels.votes, Votes::new(VoteNoise::None, 4, vec![3, 2]));
    let pair = |better, worse| Pair { query: 5, better, worse };
    assert_eq!(labels.pairs, [pair(100, 101), pair(101, 100)]);
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let lists = one_list(&[0.0, 0.0]);
    let mut ballot = Ballot::new(&lists, vec![QUESTION]);
    let refused = |ballot: &Ballot, noise| ballot.label(noise, &Streams::new(1)).unwrap_err().to_string();
    assert_eq!(refused(&ballot, VoteNoise::None), "0 teachers; expected 1 or more");
    let error = ballot.cast(&one_list(&[1.0])).unwrap_err().to_string();
    assert_eq!(error, "teacher 0 scored other documents of list 0; expected the same lists by all teachers");
    ballot.cast(&lists).expect("the same documents");
    for noise in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for noise in [VoteNoise::Laplace { gamma: noise }, VoteNoise::Gaussian { sigma: noise }] {
            assert!(refused(&ballot, noise).contains("no size of noise"));
        }
    }
}

/// How often the minority wins, of `n` questions with these counts.
fn flip_frequency(noise: VoteNoise, counts: [u32; 2], n: usize) -> f64 {
    let lists = one_list(&[0.0, 0.0]);
    let mut ballot = Ballot::new(&lists, vec![QUESTION; n]);
    for teacher in 0..counts[0] + counts[1] {
        let prefers_first = teacher < counts[0];
        ballot.cast(&one_list(&if prefers_first { [1.0, 0.0] } else { [0.0, 1.0] })).expect("the same documents");
    }
    let labels = ballot.label(noise, &Streams::new(17)).expect("votes");
    labels.pairs.iter().filter(|pair| pair.better == 101).count() as f64 / n as f64
}

#[test]
fn flips_are_as_frequent_as_their_law_says() {
    let n = 100_000;
    let laplace = |gamma| VoteNoise::Laplace { gamma };
    let gaussian = |sigma| VoteNoise::Gaussian { sigma };
    for (noise, counts, known) in [
        // (2 + g) / (4 e^g) with g = gamma times the gap.
        (laplace(0.05), [3, 0], 0.462_630_5),
        (laplace(0.05), [2, 1], 0.487_505_1),
        (laplace(1.0), [3, 0], 0.062_233_8),
        (laplace(0.5), [7, 3], 4.0 / (4.0 * 2.0_f64.exp())),
        // Phi(-gap / (2 sigma)).
        (gaussian(2.0), [6, 2], 0.158_655_3),
        (gaussian(1.0), [7, 3], 0.022_750_1),
        (gaussian(40.0), [2, 2], 0.5),
    ] {
        assert!((noise.law(counts[0], counts[0] + counts[1])[1] - known).abs() < 1e-7, "{noise:?} {counts:?}");
        let frequency = flip_frequency(noise, counts, n);
        let error = (known * (1.0 - known) / n as f64).sqrt();
        assert!((frequency - known).abs() < 4.0 * error, "{noise:?} {counts:?}: {frequency}, not {known}");
    }
}

#[test]
fn a_law_is_symmetric_and_sums_to_one() {
    for noise in [VoteNoise::Laplace { gamma: 0.3 }, VoteNoise::Gaussian { sigma: 1.5 }] {
        for n_first in 0..=9 {
            let [first, second] = noise.law(n_first, 9);
            assert_eq!([second, first], noise.law(9 - n_first, 9));
            assert!((first + second - 1.0).abs() < 1e-15);
        }
    }
    assert_eq!(VoteNoise::None.law(2, 4), [1.0, 0.0]);
}

/// The share of right labels by teachers whose linear models are the true one with errors of their own.
fn share_of_right_labels(n_teachers: u32, noise: VoteNoise) -> f64 {
    const N_FEATURES: usize = 8;
    let streams = Streams::new(3);
    let mut data = streams.open(Purpose::Data, 0, 0);
    let truth = [1.0; N_FEATURES];
    let rows: Vec<[f64; N_FEATURES]> = (0..60).map(|_| std::array::from_fn(|_| data.random())).collect();
    let score = |weights: &[f64; N_FEATURES], row: &[f64; N_FEATURES]| -> f32 {
        weights.iter().zip(row).map(|(weight, feature)| weight * feature).sum::<f64>() as f32
    };
    let scored_by = |weights| one_list(&rows.iter().map(|row| score(&weights, row)).collect::<Vec<_>>());
    let true_lists = scored_by(truth);
    let questions = draw_questions(&true_lists, 1_500, &mut data);
    let mut ballot = Ballot::new(&true_lists, questions);
    for teacher in 0..n_teachers {
        let mut errors = streams.open(Purpose::Initialisation, teacher, 0);
        let weights = truth.map(|weight| {
            let error: f64 = StandardNormal.sample(&mut errors);
            weight + 0.7 * error
        });
        ballot.cast(&scored_by(weights)).expect("the same documents");
    }
    let labels = ballot.label(noise, &streams).expect("votes");
    let true_score = |document: u32| true_lists[0].scores[document as usize - 100];
    let is_right = |pair: &&Pair| true_score(pair.better) > true_score(pair.worse);
    labels.pairs.iter().filter(is_right).count() as f64 / labels.pairs.len() as f64
}

#[test]
fn more_teachers_label_better_at_the_same_noise() {
    for noise in [VoteNoise::Laplace { gamma: 0.05 }, VoteNoise::Gaussian { sigma: 20.0 }] {
        let shares = [3, 10, 50, 250].map(|n_teachers| share_of_right_labels(n_teachers, noise));
        assert!(shares.is_sorted(), "{noise:?}: {shares:?}");
        assert!((0.44..0.60).contains(&shares[0]), "nearly a coin: {shares:?}");
        assert!(shares[3] > 0.85, "{noise:?}: {shares:?}");
        assert!(share_of_right_labels(250, VoteNoise::None) >= shares[3]);
    }
}
