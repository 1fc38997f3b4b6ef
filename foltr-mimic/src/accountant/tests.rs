//! Guarantees against the original's, against brute force, and against each other.

use super::*;

fn votes(noise: VoteNoise, n_teachers: u32, n_first: u32, n_labels: usize) -> Votes {
    Votes::new(noise, n_teachers, vec![n_first; n_labels])
}

const LAPLACE: VoteNoise = VoteNoise::Laplace { gamma: 0.05 };

#[test]
fn the_original_stands_beside_it_with_the_numbers_of_the_specification() {
    let spent = spent(&votes(LAPLACE, 250, 250, 1000), 1e-5);
    let original = spent.original.expect("Laplace noise");
    assert!((original.data_dependent_private.for_the_data_owner() - 1.442_605_9).abs() < 1e-6);
    assert!((original.data_independent - 20.756_462_7).abs() < 1e-6);
}

#[test]
fn exact_laws_cost_less_than_the_original_bounds() {
    for (n_teachers, n_first) in [(3, 3), (10, 6), (250, 250), (250, 200), (250, 130)] {
        for n_labels in [1, 100, 1000, 100_000] {
            let spent = spent(&votes(LAPLACE, n_teachers, n_first, n_labels), 1e-5);
            let original = spent.original.expect("Laplace noise");
            let dependent = spent.data_dependent_private.for_the_data_owner();
            assert!(spent.data_independent < original.data_independent, "{spent:?}");
            assert!(dependent <= spent.data_independent, "{spent:?}");
            assert!(dependent < original.data_dependent_private.for_the_data_owner(), "{spent:?}");
        }
    }
}

/// The smallest delta at this epsilon for n coins with probabilities p against r, by all numbers of heads.
fn exact_delta(n: u32, p: f64, r: f64, epsilon: f64) -> f64 {
    let mut ln_choose = 0.0;
    let mut outcome = |k: u32| {
        let ln_law = |p: f64| ln_choose + f64::from(k) * p.ln() + f64::from(n - k) * (-p).ln_1p();
        let excess = (ln_law(p).exp() - (epsilon + ln_law(r)).exp()).max(0.0);
        ln_choose += (f64::from(n - k) / f64::from(k + 1)).ln();
        excess
    };
    (0..=n).map(&mut outcome).sum()
}

#[test]
fn the_guarantee_holds_for_every_pair_of_neighbours_by_brute_force() {
    let delta = 1e-5;
    for noise in [VoteNoise::Laplace { gamma: 0.3 }, VoteNoise::Gaussian { sigma: 2.0 }] {
        for n_labels in [1, 20, 200] {
            let epsilon = data_independent(noise, 7, n_labels as usize, delta);
            let at_worst = |epsilon: f64| {
                let laws = (0..7).map(|n_first| (noise.law(n_first, 7)[0], noise.law(n_first + 1, 7)[0]));
                let both = laws.flat_map(|(p, r)| [(p, r), (r, p)]);
                both.map(|(p, r)| exact_delta(n_labels, p, r, epsilon)).fold(0.0, f64::max)
            };
            assert!(at_worst(epsilon) <= delta, "{noise:?} {n_labels}: {}", at_worst(epsilon));
            // And it is not much too large: with a tenth less, one pair of counts, repeated, is distinguished.
            assert!(at_worst(epsilon / 1.1) > delta, "{noise:?} {n_labels}: {epsilon}");
        }
    }
}

#[test]
fn gaussian_votes_cost_no_more_than_their_noisy_counts() {
    for n_labels in [1, 100, 10_000] {
        let noise = VoteNoise::Gaussian { sigma: 40.0 };
        let ours = data_independent(noise, 250, n_labels, 1e-5);
        let counts = gaussian::epsilon((n_labels as f64).sqrt() / 40.0, 1e-5);
        assert!(ours <= counts && ours > 0.5 * counts, "{n_labels}: {ours}, {counts}");
        assert!(spent(&votes(noise, 250, 180, n_labels), 1e-5).original.is_none());
    }
}

#[test]
fn unanimous_votes_cost_less_than_close_ones() {
    for noise in [LAPLACE, VoteNoise::Gaussian { sigma: 20.0 }] {
        let at = |n_first| spent(&votes(noise, 250, n_first, 1000), 1e-5).data_dependent_private.for_the_data_owner();
        assert!(at(250) < at(200) && at(200) < at(130), "{noise:?}");
        assert!((at(250) - at(0)).abs() < 1e-9, "which document is first does not matter");
    }
}

#[test]
fn without_noise_nothing_is_guaranteed_and_without_labels_nothing_is_spent() {
    let naked = spent(&votes(VoteNoise::None, 3, 3, 10), 1e-5);
    assert_eq!(naked.data_independent, f64::INFINITY);
    assert_eq!(naked.data_dependent_private.for_the_data_owner(), f64::INFINITY);
    let silent = spent(&votes(LAPLACE, 3, 3, 0), 1e-5);
    assert_eq!((silent.data_independent, silent.data_dependent_private.for_the_data_owner()), (0.0, 0.0));
    assert_eq!(data_independent(VoteNoise::None, 3, 0, 1e-5), 0.0);
}

#[test]
fn at_delta_zero_epsilons_add_up() {
    let one = data_independent(LAPLACE, 10, 1, 0.0);
    let ten = data_independent(LAPLACE, 10, 10, 0.0);
    assert!((ten - 10.0 * one).abs() < 1e-9 && one <= 0.1);
}

#[test]
fn noise_for_an_epsilon_is_enough_and_no_more() {
    let kinds: [fn(f64) -> VoteNoise; 2] =
        [|size| VoteNoise::Gaussian { sigma: size }, |size| VoteNoise::Laplace { gamma: 1.0 / size }];
    for kind in kinds {
        let size = least_noise(kind, 50, 2000, 1e-5, 4.0);
        assert!(data_independent(kind(size), 50, 2000, 1e-5) <= 4.0);
        assert!(data_independent(kind(size * 0.9998), 50, 2000, 1e-5) > 4.0);
    }
}

/// What the documentation says, beside the smallest value that it could be: one pair of counts for all labels, exactly.
#[test]
fn guarantees_are_those_of_the_documentation() {
    for (noise, n_labels, expected) in [
        (LAPLACE, 100, 1.98),
        (LAPLACE, 1000, 7.52),
        (LAPLACE, 10_000, 33.2),
        (VoteNoise::Gaussian { sigma: 20.0 }, 1000, 5.79),
    ] {
        let ours = data_independent(noise, 250, n_labels, 1e-5);
        let digits = if expected > 10.0 { 10.0 } else { 100.0 };
        assert_eq!((ours * digits).round() / digits, expected, "{noise:?} {n_labels}: {ours}");
        let pairs = (100..150).map(|n_first| (noise.law(n_first, 250)[0], noise.law(n_first + 1, 250)[0]));
        let delta = |epsilon: f64| pairs.clone().map(move |(p, r)| exact_delta(n_labels as u32, p, r, epsilon));
        assert!(delta(ours).all(|delta| delta <= 1e-5), "{noise:?} {n_labels}: {ours}");
        assert!(delta(ours / 1.01).any(|delta| delta > 1e-5), "{noise:?} {n_labels}: {ours}");
    }
}

#[test]
fn the_most_steps_are_found_whatever_the_line_looks_like() {
    for root in [0_u32, 1, 777, 2047, 2048, 5000, 8191] {
        for bend in [0.2, 1.0, 3.0] {
            let n_asked = std::cell::Cell::new(0);
            let found = most_without_excess(|n: u32| {
                n_asked.set(n_asked.get() + 1);
                let far = (f64::from(n) - f64::from(root)) / PARTS;
                far.abs().powf(bend).copysign(far)
            });
            assert_eq!(found, root);
            assert!(n_asked.get() < 40, "{root} {bend}: {}", n_asked.get());
        }
    }
}
