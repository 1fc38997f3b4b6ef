//! Teachers on disjoint parts, their noisy votes, and a student who sees nothing else: does it learn to rank?

use foltr_mimic::aggregation::{Ballot, VoteNoise, draw_questions};
use foltr_mimic::agreement::{agreement, scored};
use foltr_mimic::guarantee::Guarantee;
use foltr_mimic::partitions::partitions;
use foltr_mimic::supervision::score_rows;
use foltr_mimic::training::Training;
use foltr_mimic::{Candidates, InitialTerms, Inputs, Network, NetworkSettings, Supervision};
use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;

const N_FEATURES: usize = 6;
const N_DOCS: usize = 10;
/// Private, then public, then held-out queries.
const PRIVATE: usize = 150;
const PUBLIC: usize = 60;
const HELD_OUT: usize = 60;

/// Rows at random, and labels 0 to 2 by a hidden linear function of them.
fn collection(streams: &Streams) -> (Inputs, Vec<Candidates>) {
    let mut stream = streams.open(Purpose::Data, 0, 0);
    let n_rows = (PRIVATE + PUBLIC + HELD_OUT) * N_DOCS;
    let rows: Vec<f32> = (0..n_rows * N_FEATURES).map(|_| stream.random_range(-1.0..1.0)).collect();
    let label = |row: &[f32]| match row[0] + row[1] - row[2] {
        utility if utility > 0.8 => 2,
        utility if utility > 0.0 => 1,
        _ => 0,
    };
    let labels: Vec<u8> = rows.chunks_exact(N_FEATURES).map(label).collect();
    let query_start: Vec<usize> = (0..=n_rows).step_by(N_DOCS).collect();
    (Inputs::Features { n_features: N_FEATURES, rows }, score_rows(&query_start, |row| f32::from(labels[row])))
}

fn train(inputs: &Inputs, supervision: Supervision, seed: u64) -> Network {
    let student = NetworkSettings::student();
    let settings = NetworkSettings { hidden: vec![16], dropout: 0.0, batch: 32, learning_rate: 0.01, ..student };
    let shape = settings.feature_shape(N_FEATURES);
    let network = Network::new(shape, InitialTerms::default(), &Streams::new(seed)).expect("a small network");
    let mut training = Training::new(network, settings, seed).expect("sound settings");
    training.advance(inputs, &supervision.pairs().expect("pairs to learn from"), 150);
    training.into_best()
}

/// The share of held-out pairs that a student of these teachers orders rightly, half by chance, and what its labels guarantee.
fn student(n_teachers: usize, noise: VoteNoise, n_labels: usize, seed: u64) -> (f64, Guarantee) {
    let streams = Streams::new(seed);
    let (inputs, judged) = collection(&streams);
    let (private, rest) = judged.split_at(PRIVATE);
    let (public, held_out) = rest.split_at(PUBLIC);
    let parts = partitions(PRIVATE, n_teachers, &mut streams.open(Purpose::Training, 0, 0)).expect("queries for all");
    let questions = draw_questions(public, n_labels, &mut streams.open(Purpose::Training, 1, 0));
    let mut ballot = Ballot::new(public, questions);
    for (teacher, part) in parts.iter().enumerate() {
        let own = part.iter().map(|&query| private[query as usize].clone()).collect();
        let network = train(&inputs, Supervision::Scores(own), 100 * seed + teacher as u64);
        ballot.cast(&scored(&network, &inputs, public)).expect("the public lists");
    }
    let (pairs, votes) = ballot.label(noise, &streams).expect("votes");
    let network = train(&inputs, Supervision::Pairs(pairs), seed);
    (agreement(&network, &inputs, &Supervision::Scores(held_out.to_vec())), Guarantee::of_votes(&votes, 1e-5))
}

/// The mean over three seeds.
fn mean_share(n_teachers: usize, noise: VoteNoise, n_labels: usize) -> f64 {
    (1..=3).map(|seed| student(n_teachers, noise, n_labels, seed).0).sum::<f64>() / 3.0
}

#[test]
fn a_student_of_noisy_votes_ranks_and_one_of_coins_does_not() {
    let n_labels = 200;
    let quiet = mean_share(3, VoteNoise::None, n_labels);
    let many = mean_share(30, VoteNoise::Laplace { gamma: 0.2 }, n_labels);
    let gaussian = mean_share(30, VoteNoise::Gaussian { sigma: 5.0 }, n_labels);
    // Spec section 16.3: even three teachers who agree are overruled with probability .4626.
    let coins = mean_share(3, VoteNoise::Laplace { gamma: 0.05 }, n_labels);
    println!("quiet {quiet:.3}, 30 teachers {many:.3}, Gaussian {gaussian:.3}, coins {coins:.3}");
    assert!(quiet > 0.9, "{quiet}");
    assert!(many > 0.9 && gaussian > 0.9, "{many}, {gaussian}");
    assert!((0.35..0.65).contains(&coins), "{coins}");
}

#[test]
fn the_same_seed_gives_the_same_student_and_only_noise_gives_a_guarantee() {
    let noise = VoteNoise::Laplace { gamma: 0.02 };
    let once = student(5, noise, 50, 9);
    assert_eq!(once, student(5, noise, 50, 9));
    assert!(once.1.is_meaningful(), "{:?}", once.1.epsilon);
    assert_eq!(student(5, VoteNoise::None, 50, 9).1.epsilon, f64::INFINITY);
}
