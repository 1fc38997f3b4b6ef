//! Votes by hand, and flips against their law.

use foltr_rank::rng::Streams;

use super::*;
use crate::aggregation::golden_vectors;
use crate::supervision::candidates;

/// Documents 50 and up.
fn one_list(scores: &[f32]) -> Vec<Candidates> {
    vec![candidates(5, scores)]
}

const QUESTION: Question = Question { list: 0, first: 0, second: 1 };

#[test]
fn winners_are_those_of_the_specification() {
    let golden = golden_vectors();
    let examples = golden["vote_examples"].as_array().expect("a list");
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
    let (pairs, votes) = ballot.label(VoteNoise::None, &Streams::new(1)).expect("votes");
    // 3 against 1; asked the other way round the tied teacher changes sides: 2 against 2, and the first one wins.
    assert_eq!(votes, Votes::new(VoteNoise::None, 4, vec![3, 2]));
    let pair = |better, worse| Pair { query: 5, better, worse };
    assert_eq!(pairs, [pair(50, 51), pair(51, 50)]);
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
    let (pairs, _) = ballot.label(noise, &Streams::new(17)).expect("votes");
    pairs.iter().filter(|pair| pair.better == 51).count() as f64 / n as f64
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
