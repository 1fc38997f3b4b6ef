use super::statistics::{initial, n_features, n_statistics, weights};
use super::*;
use crate::normal::random;
use crate::query::{Candidates, Clicks};
use crate::rng::{Purpose, Stream, Streams};

const D: usize = 4;
const SETTINGS: PairRankSettings = PairRankSettings { exploration: 1.0, n_shown: 5 };

fn stream(number: u32) -> Stream {
    Streams::new(8).open(Purpose::Interaction, number, 0)
}

fn learner(settings: PairRankSettings) -> PairRank {
    PairRank::new(Shape::Linear { n_features: n_statistics(D) }, settings)
}

/// Ranks a query and learns from a user who clicks what has a large first feature; the list comes back.
fn interact(learner: &mut PairRank, number: u32) -> Vec<u32> {
    let features = random(8 * D, number);
    let candidates = Candidates::new(&features, D).expect("finite");
    let mut ranking = Ranking::default();
    learner.rank(candidates.view(), &mut stream(number), &mut ranking);
    let mut clicks = Clicks::default();
    let wanted = |doc: u32| features[D * doc as usize] > 0.5;
    (0..ranking.len()).filter(|&i| wanted(ranking.docs()[i])).for_each(|i| clicks.click(i));
    learner.observe(&Impression::new(candidates.view(), &ranking, clicks));
    ranking.docs().to_vec()
}

fn step(learner: &mut PairRank) -> Vec<f32> {
    let Update::Step { delta, .. } = learner.finish() else { panic!("a step") };
    delta.to_vec()
}

#[test]
fn sizes_of_statistics_can_be_read_back() {
    assert_eq!((n_statistics(1), n_statistics(46)), (2, 46 + 1_081));
    assert!((1..200).all(|d| n_features(n_statistics(d)) == Some(d)));
    assert_eq!((n_features(3), n_features(0)), (None, None));
}

/// One pair by hand: x = (2, 0), theta = 0, lambda 1. M = diag(1 + 1/4 4, 1) and b = 1/2 x, so theta = (1/2, 0).
#[test]
fn a_pair_by_hand() {
    let mut sums = Sums::new(2);
    let mut fitted = Fitted::new(2);
    let mut statistics = initial(2, 1.0);
    assert_eq!(statistics, [0.0, 0.0, 1.0, 0.0, 1.0]);
    fitted.fit(&statistics);
    sums.add(&fitted, &[2.0, 0.0]);
    let mut delta = [0.0; 5];
    sums.write(&mut delta);
    assert_eq!(delta, [1.0, 0.0, 1.0, 0.0, 0.0]);
    statistics.iter_mut().zip(delta).for_each(|(sum, delta)| *sum += delta);
    assert_eq!(weights(&statistics), [0.5, 0.0]);
}

/// A Newton step with the bound of the curvature: M_(t+1) (theta_(t+1) - theta_t) is the gradient of the round's pairs.
#[test]
fn a_round_is_a_newton_step() {
    let mut learner = learner(SETTINGS);
    let mut statistics = initial(D, 0.5);
    for round in 0..3 {
        let before = weights(&statistics);
        learner.begin(&statistics, &mut stream(0));
        learner.sums.clear();
        let mut gradient = [0.0; D];
        for pair in 0..6 {
            let x: Vec<f64> = random(D, 10 * round + pair).iter().map(|&x| f64::from(x)).collect();
            let margin: f64 = x.iter().zip(&before).map(|(x, &w)| x * f64::from(w)).sum();
            gradient.iter_mut().zip(&x).for_each(|(sum, x)| *sum += (1.0 - 1.0 / (1.0 + (-margin).exp())) * x);
            learner.sums.add(&learner.fitted, &x);
        }
        let delta = step(&mut learner);
        statistics.iter_mut().zip(&delta).for_each(|(sum, delta)| *sum += delta);
        let moved: Vec<f64> =
            weights(&statistics).iter().zip(&before).map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
        for i in 0..D {
            let entry = |j: usize| statistics[D + i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
            let product: f64 = (0..D).map(|j| f64::from(entry(j)) * moved[j]).sum();
            assert!((product - gradient[i]).abs() < 1e-5, "round {round}: {product} is not {}", gradient[i]);
        }
    }
}

/// The same interactions in one place or with three clients: sums to the last digits, so the same ranker.
#[test]
fn clients_add_up_to_one_that_saw_everything() {
    let mut statistics = initial(D, 0.1);
    for round in 0..4 {
        let numbers: Vec<u32> = (0..12).map(|i| 12 * round + i).collect();
        let mut central = learner(SETTINGS);
        central.begin(&statistics, &mut stream(0));
        let lists: Vec<_> = numbers.iter().map(|&number| interact(&mut central, number)).collect();
        let together = step(&mut central);
        let mut sum = vec![0.0_f64; statistics.len()];
        for (client, numbers) in numbers.chunks(4).enumerate() {
            let mut own = learner(SETTINGS);
            own.begin(&statistics, &mut stream(0));
            for (i, &number) in numbers.iter().enumerate() {
                assert_eq!(interact(&mut own, number), lists[4 * client + i]);
            }
            sum.iter_mut().zip(step(&mut own)).for_each(|(sum, delta)| *sum += f64::from(delta));
        }
        for (ours, theirs) in together.iter().zip(&sum) {
            assert!((f64::from(*ours) - theirs).abs() <= 1e-6 * (1.0 + theirs.abs()), "{ours} is not {theirs}");
        }
        assert!(together.iter().any(|&delta| delta != 0.0));
        statistics.iter_mut().zip(&together).for_each(|(sum, delta)| *sum += delta);
    }
}

/// Uncertain components, joined where certain pairs between them go both ways, by brute force; as blocks in score order.
#[test]
fn blocks_are_the_components_of_uncertain_pairs() {
    let mut statistics = initial(D, 0.1);
    let mut learner = learner(PairRankSettings { exploration: 0.4, n_shown: 12 });
    let mut n_blocks = std::collections::BTreeSet::new();
    for number in 0..40 {
        learner.begin(&statistics, &mut stream(0));
        let candidates = Candidates::new(&random(12 * D, 100 + number), D).expect("finite");
        let mut ranking = Ranking::default();
        learner.rank(candidates.view(), &mut stream(number), &mut ranking);
        let blocks = &learner.blocks;
        let distance = |i: usize, j: usize| {
            let of = |doc: usize| blocks.whitened_of(doc, D);
            of(i).iter().zip(of(j).iter()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
        };
        let score = |i: usize| blocks.score_of(i);
        let is_certain = |i: usize, j: usize| {
            1.0 / (1.0 + (score(j) - score(i)).exp()) - 0.4 * distance(i, j) > 0.5 // i before j
        };
        // reaches[i][j]: i is at least as good as j may be; mutual reach is one block.
        let mut reaches: Vec<Vec<bool>> =
            (0..12).map(|i| (0..12).map(|j| i == j || !is_certain(j, i)).collect()).collect();
        for k in 0..12 {
            for i in 0..12 {
                for j in 0..12 {
                    reaches[i][j] |= reaches[i][k] && reaches[k][j];
                }
            }
        }
        let mut numbers = std::collections::BTreeSet::new();
        for (a, &i) in ranking.docs().iter().enumerate() {
            for (b, &j) in ranking.docs().iter().enumerate() {
                let (i, j) = (i as usize, j as usize);
                let together = reaches[i][j] && reaches[j][i];
                assert_eq!(blocks.are_together(a, b), together, "query {number}: documents {i} and {j}");
                assert!(together || a > b || is_certain(i, j), "blocks are in certain order");
            }
            numbers.insert(blocks.number_of(a));
        }
        n_blocks.insert(numbers.len());
        (0..10).for_each(|i| {
            interact(&mut learner, 10 * number + i);
        });
        let delta = step(&mut learner);
        statistics.iter_mut().zip(&delta).for_each(|(sum, delta)| *sum += delta);
    }
    assert!(n_blocks.len() > 3, "one block at first, several later: {n_blocks:?}");
}

#[test]
fn it_learns_what_users_want_and_becomes_certain() {
    let mut learner = learner(SETTINGS);
    let mut statistics = initial(D, 0.1);
    for round in 0..100 {
        learner.begin(&statistics, &mut stream(0));
        (0..20).for_each(|i| {
            interact(&mut learner, 20 * round + i);
        });
        let delta = step(&mut learner);
        statistics.iter_mut().zip(&delta).for_each(|(sum, delta)| *sum += delta);
    }
    let theta = weights(&statistics);
    let length = theta.iter().map(|x| x * x).sum::<f32>().sqrt();
    assert!(theta[0] / length > 0.97, "{theta:?}");
    learner.begin(&statistics, &mut stream(0));
    let (one, two) = (interact(&mut learner, 5_000), {
        let features = random(8 * D, 5_000);
        let candidates = Candidates::new(&features, D).expect("finite");
        let mut ranking = Ranking::default();
        learner.rank(candidates.view(), &mut stream(77), &mut ranking);
        ranking.docs().to_vec()
    });
    assert_eq!(one[0], two[0], "nothing is left to explore about the best document");
}
