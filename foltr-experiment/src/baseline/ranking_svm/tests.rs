//! Small problems whose solution is known or can be bounded pair by pair.

use super::*;
use crate::baseline::test_data::dataset;

fn assert_close(weights: &[f64], expected: &[f64]) {
    assert_eq!(weights.len(), expected.len());
    for (a, b) in weights.iter().zip(expected) {
        assert!((a - b).abs() < 1e-4, "{weights:?} instead of {expected:?}");
    }
}

fn objective_by_definition(data: &Dataset, c: f64, weights: &[f64]) -> f64 {
    let pair_weight = c / data.n_queries() as f64;
    let mut objective = squared_norm(weights) / 2.0;
    for query_idx in 0..data.n_queries() {
        let (query, labels) = (data.query(query_idx), data.labels(query_idx));
        let score = |doc: usize| weights.iter().zip(query.row(doc)).map(|(w, &x)| w * f64::from(x)).sum::<f64>();
        for i in 0..labels.len() {
            for j in (0..labels.len()).filter(|&j| labels[i] > labels[j]) {
                objective += pair_weight * (1.0 - (score(i) - score(j))).max(0.0);
            }
        }
    }
    objective
}

/// Queries of twelve documents with five features and noisy labels of three grades.
fn noisy(n_queries: usize) -> Dataset {
    let mut state = 7_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let features: Vec<f32> = (0..n_queries * 12 * 5).map(|_| next()).collect();
    let labels: Vec<u8> = features
        .chunks_exact(5)
        .map(|x| (2.0 * (x[0] - x[1] + 0.5 * x[2]) + next() - 0.5).clamp(0.0, 2.0).round() as u8)
        .collect();
    dataset(5, &features, &labels.chunks_exact(12).collect::<Vec<_>>())
}

#[test]
fn small_problems_have_known_solutions() {
    let pair = |label| dataset(2, &[1.0, 1.0, 4.0, 5.0], &[&[0, label]]);
    let features = [0.0, 2.0, 1.0, 0.0, 5.0, 5.0];
    let cases: [(Dataset, f64, &[f64], f64); 4] = [
        // Difference d = (3, 4): w = d / |d|^2, P = 1 / (2 |d|^2).
        (pair(1), 1.0, &[0.12, 0.16], 0.02),
        // A small C leaves the margin violated: w = C d, P = C^2 |d|^2 / 2 + C (1 - C |d|^2).
        (pair(2), 0.01, &[0.03, 0.04], 0.00875),
        // Differences 2 and -1, C = .5 for two queries: w^2 / 2 + (1 - 2 w) / 4 + (1 + w) / 4 is least at w = .25.
        (dataset(1, &features[..4], &[&[0, 1], &[0, 1]]), 0.5, &[0.25], 0.46875),
        // Two more queries without pairs halve the weight of a pair, and w.
        (dataset(1, &features, &[&[0, 1], &[0, 1], &[1], &[0]]), 0.5, &[0.125], 0.2421875),
    ];
    for (data, c, weights, objective) in cases {
        let solution = solve(&data, c, 1e-9);
        assert_close(&solution.weights, weights);
        assert!((solution.objective - objective).abs() < 1e-8, "{solution:?}");
        assert!(solution.duality_gap <= 1e-9 * solution.objective);
    }
}

#[test]
fn the_reported_objective_and_gap_hold_pair_by_pair() {
    let data = noisy(8);
    for c in [0.1, 10.0, 1_000.0] {
        let solution = solve(&data, c, 1e-9);
        let objective = objective_by_definition(&data, c, &solution.weights);
        assert!((objective - solution.objective).abs() < 1e-9 * objective);
        assert!(solution.duality_gap <= 1e-9 * objective, "{solution:?}");
        // Nowhere around is the objective lower than the gap allows.
        for feature in 0..5 {
            for step in [-0.1, -1e-3, 1e-3, 0.1] {
                let mut moved = solution.weights.clone();
                moved[feature] += step;
                assert!(objective_by_definition(&data, c, &moved) >= objective - solution.duality_gap);
            }
        }
    }
}

#[test]
fn a_wide_gap_is_reported_as_such() {
    let data = noisy(8);
    let (rough, exact) = (solve(&data, 10.0, 0.3), solve(&data, 10.0, 1e-10));
    assert!(rough.n_steps < exact.n_steps && rough.duality_gap > exact.duality_gap);
    assert!(rough.objective - rough.duality_gap <= exact.objective);
}

#[test]
fn the_number_of_threads_does_not_show() {
    let data = noisy(100);
    let with = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
        pool.install(|| solve(&data, 1_000.0, 1e-6))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn data_without_pairs_give_zero() {
    assert_eq!(ranking_svm(&dataset(1, &[1.0, 2.0], &[&[1, 1]]), PUBLISHED_C), [0.0]);
    assert_eq!(ranking_svm(&dataset(2, &[], &[]), PUBLISHED_C), [0.0, 0.0]);
    // A pair of equal documents costs what it costs.
    assert_eq!(ranking_svm(&dataset(1, &[1.0, 1.0], &[&[0, 1]]), PUBLISHED_C), [0.0]);
}

#[test]
#[should_panic(expected = "C must be a positive number, not NaN")]
fn a_c_that_is_no_number_is_refused() {
    solve(&noisy(1), f64::NAN, 1e-6);
}
