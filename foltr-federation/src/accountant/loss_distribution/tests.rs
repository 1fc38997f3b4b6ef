//! Never below the truth, and close to it: closed forms, sums over all outcomes, and another program's numbers.

use super::super::{PrivacyCost, gaussian, quick_bounds, total};
use super::*;

fn sampled(probability: f64, noise_multiplier: f64) -> PrivacyCost {
    PrivacyCost::Subsampled { probability, noise_multiplier }
}

fn answers(probability: f64, n_outcomes: u32) -> PrivacyCost {
    PrivacyCost::Response { probability, n_outcomes, n_answers: 1 }
}

fn pure(epsilon: f64) -> PrivacyCost {
    PrivacyCost::Pure { epsilon }
}

/// By the law of losses alone.
fn by_losses(costs: &[(PrivacyCost, u32)], delta: f64) -> f64 {
    epsilon(costs, delta, quick_bounds(costs, delta).1)
}

#[test]
fn gaussian_noise_in_one_round_or_in_many_is_the_exact_one() {
    for mu in [0.05, 0.3, 1.0, 5.0, 50.0_f64] {
        for delta in [1e-3, 1e-5, 1e-9, 1e-30] {
            let (_, known) = quick_bounds(&[(PrivacyCost::Gaussian { mu }, 1)], delta);
            let exact = gaussian::epsilon(mu, delta);
            for n in [1, 3, 1000_u32] {
                let loss = Loss::Sampled { probability: 1.0, mu: mu / f64::from(n).sqrt() };
                for direction in [Direction::Removed, Direction::Added] {
                    let ours = in_direction(&[(loss.clone(), n.into())], direction, delta, known);
                    assert!(ours >= exact && ours <= exact * 1.0002, "{mu}, {delta}, {n}: {ours}, not {exact}");
                }
            }
        }
    }
}

/// Loss and probability of every sequence of outcomes of these rounds.
fn all_outcomes(rounds: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    rounds.iter().fold(vec![(0.0, 1.0)], |all, round| {
        all.iter().flat_map(|(loss, p)| round.iter().map(move |(own, q)| (loss + own, p * q))).collect()
    })
}

fn delta_of(outcomes: &[(f64, f64)], epsilon: f64) -> f64 {
    outcomes.iter().map(|(loss, p)| p * (1.0 - (epsilon - loss).exp()).max(0.0)).sum()
}

#[test]
fn few_rounds_agree_with_the_sum_over_all_outcomes() {
    let coin = |epsilon: f64| vec![(epsilon, 1.0 / (1.0 + (-epsilon).exp())), (-epsilon, 1.0 / (1.0 + epsilon.exp()))];
    let answer = |p: f64, n: u32| {
        let q = (1.0 - p) / f64::from(n - 1);
        vec![((p / q).ln(), p), (0.0, f64::from(n - 2) * q), ((q / p).ln(), q)]
    };
    for (costs, rounds, close) in [
        (vec![(pure(0.7), 9)], vec![coin(0.7); 9], 1e-7),
        (vec![(answers(0.25, 11), 8)], vec![answer(0.25, 11); 8], 1e-7),
        (vec![(answers(0.5, 4), 8)], vec![answer(0.5, 4); 8], 1e-7),
        (
            vec![(pure(0.31), 4), (answers(0.4, 5), 4), (pure(0.9), 2)],
            [vec![coin(0.31); 4], vec![answer(0.4, 5); 4], vec![coin(0.9); 2]].concat(),
            1e-3,
        ),
    ] {
        let outcomes = all_outcomes(&rounds);
        for delta in [0.1, 1e-2, 1e-3, 1e-5] {
            let ours = by_losses(&costs, delta);
            assert!(delta_of(&outcomes, ours) <= delta, "{costs:?}, {delta}: {ours} is too little");
            assert!(delta_of(&outcomes, ours * (1.0 - close)) > delta, "{costs:?}, {delta}: {ours} is too much");
        }
    }
}

/// References: the binomial law with 50 digits.
#[test]
fn many_coins_have_the_exact_epsilon() {
    for (each, n, exact) in [(1.2, 50, 57.265_812_667_993_91), (0.1, 1000, 17.787_128_449_700_92)] {
        let ours = by_losses(&[(pure(each), n)], 1e-5);
        assert!(ours >= exact && ours <= exact * (1.0 + 1e-7), "{each}, {n}: {ours}, not {exact}");
    }
}

/// delta of one round, by the places where one density is e^epsilon times the other.
fn one_round(q: f64, z: f64, epsilon: f64, direction: Direction) -> f64 {
    let (mu, upper) = (z.recip(), gaussian::upper);
    let mixture = |at: f64| (1.0 - q) * upper(at) + q * upper(at - mu);
    match direction {
        Direction::Removed => {
            let at = ((epsilon.exp() - 1.0 + q) / q).ln() / mu + mu / 2.0;
            mixture(at) - epsilon.exp() * upper(at)
        }
        Direction::Added => {
            // The loss is largest where the client's noise is never seen: -ln(1 - q).
            let ratio = ((-epsilon).exp() - 1.0 + q) / q;
            let at = if ratio > 0.0 { ratio.ln() / mu + mu / 2.0 } else { f64::NEG_INFINITY };
            (1.0 - upper(at)) - epsilon.exp() * (1.0 - mixture(at))
        }
    }
}

#[test]
fn one_round_by_coins_has_its_closed_form_in_both_directions() {
    for (q, z) in [(0.5, 1.0), (0.1, 0.7), (0.9, 2.0), (0.02, 0.5)] {
        for delta in [1e-3, 1e-5] {
            let costs = [(sampled(q, z), 1)];
            let (_, known) = quick_bounds(&costs, delta);
            let loss = Loss::Sampled { probability: q, mu: z.recip() };
            let [removed, added] = [Direction::Removed, Direction::Added].map(|direction| {
                let ours = in_direction(&[(loss.clone(), 1)], direction, delta, known);
                assert!(one_round(q, z, ours, direction) <= delta * (1.0 + 1e-9), "{q}, {z}, {direction:?}: {ours}");
                ours
            });
            // Grid and tilt are those of the direction that costs more.
            let below = removed * (1.0 - 5e-4);
            assert!(one_round(q, z, below, Direction::Removed) > delta, "{q}, {z}: {removed} is too much");
            assert!(added < removed, "{q}, {z}: {added}, {removed}");
            let both = [Direction::Removed, Direction::Added].map(|it| one_round(q, z, by_losses(&costs, delta), it));
            assert!(both.iter().all(|own| *own <= delta * (1.0 + 1e-9)), "{q}, {z}: {both:?}");
        }
    }
}

/// The truth is in the interval that `tests/compare_with_dp_accounting.py` prints; its upper end is closer to it. Ours
/// stays above the lower end, and at most a thousandth above the upper one.
#[test]
fn compositions_agree_with_another_accountant() {
    let mixture = [(sampled(0.02, 1.0), 500), (PrivacyCost::Gaussian { mu: 0.2 }, 10), (answers(0.25, 11), 5)];
    for (costs, delta, by_renyi, low, high) in [
        (vec![(sampled(0.01, 0.747), 1000)], 1e-5, 4.4826, 3.807_501, 3.812_501),
        (vec![(sampled(0.01, 1.0), 10_000)], 1e-5, 6.7123, 6.137_713, 6.187_713),
        (vec![(sampled(0.1, 2.0), 1000)], 1e-5, 8.9438, 8.274_291, 8.279_291),
        (vec![(sampled(0.1, 1.0), 100)], 1e-5, 7.8992, 7.045_603, 7.046_603),
        (vec![(sampled(0.5, 3.0), 200)], 1e-5, 13.6780, 12.728_005, 12.730_005),
        (vec![(sampled(0.001, 0.6), 10_000)], 1e-5, 3.3210, 2.406_223, 2.456_146),
        (vec![(sampled(0.1, 2.0), 1000)], 1e-10, 12.7538, 12.181_325, 12.186_322),
        (vec![(sampled(0.9, 10.0), 200)], 1e-5, 6.2650, 5.810_393, 5.811_394),
        (vec![(answers(0.25, 11), 200)], 1e-5, 84.7729, 80.759_035, 80.759_037),
        (vec![(answers(0.5, 11), 200)], 1e-5, 293.6088, 285.163_268, 285.468_673),
        (vec![(answers(0.01, 1024), 200)], 1e-5, 25.9474, 23.181_064, 23.204_608),
        (mixture.to_vec(), 1e-5, 8.4765, 8.024_210, 8.026_807),
    ] {
        let (quick, known) = quick_bounds(&costs, delta);
        let ours = epsilon(&costs, delta, known);
        assert!((quick[1].epsilon - by_renyi).abs() < 1e-3, "{costs:?}: {}", quick[1].epsilon);
        assert!(ours >= low && ours <= high * 1.001, "{costs:?}: {ours} is not between {low} and {high}");
        assert_eq!(total(&costs, delta).epsilon, ours, "{costs:?}");
    }
}

#[test]
fn a_law_on_the_grid_lacks_nothing_under_either_hypothesis() {
    for (q, z) in [(1.0, 1.0), (0.3, 0.4), (0.001, 0.6), (0.05, 20.0)] {
        for direction in [Direction::Removed, Direction::Added] {
            for step in [1e-3, 0.05] {
                let law = Loss::Sampled { probability: q, mu: f64::recip(z) }.on_grid(direction, step, 1e-12);
                let here: f64 = law.points.iter().map(|(_, ln)| ln.exp()).sum();
                let there: f64 = law.points.iter().map(|(index, ln)| (ln - *index as f64 * step).exp()).sum();
                assert!(here + law.beyond >= 1.0 && here < 1.0 + 1e-10, "{q}, {z}, {step}: {here}");
                // Of the other hypothesis, only what was raised from below the grid is missing.
                assert!(there < 1.0 + 1e-9 && there > 1.0 - 1e-6, "{q}, {z}, {step}: {there}");
            }
        }
    }
}

#[test]
fn what_has_no_law_of_its_loss_is_left_to_other_bounds() {
    for costs in [
        vec![(PrivacyCost::Unbounded, 1)],
        vec![(PrivacyCost::Laplace { scale: 1.0, shift: 1.0, n_params: 3 }, 10), (pure(0.1), 3)],
        vec![(PrivacyCost::Gaussian { mu: 0.1 }, 10)],
        vec![(pure(f64::INFINITY), 1)],
        vec![(answers(1.0, 11), 1)],
        vec![(sampled(0.1, 1e-9), 3)],
        vec![(pure(0.0), 10)],
        vec![],
        (0..40).map(|i| (pure(0.1 + 1e-3 * f64::from(i)), 1)).collect(),
    ] {
        assert_eq!(by_losses(&costs, 1e-5), f64::INFINITY, "{costs:?}");
        assert_eq!(by_losses(&costs, 0.0), f64::INFINITY, "{costs:?}");
    }
    // Nothing breaks at the largest numbers.
    for (cost, n) in [(answers(0.1, 11), u32::MAX), (pure(1e-9), u32::MAX), (pure(700.0), 3), (sampled(1e-9, 0.4), 1)] {
        let whole = total(&[(cost, n)], 1e-5).epsilon;
        assert!(whole >= 0.0, "{cost:?}: {whole}");
    }
}

#[test]
fn discrete_shares_beside_coins_cost_their_slack_twice() {
    let shares = |slack| (PrivacyCost::DiscreteGaussian { rho: 0.02, mu: 0.2, slack }, 10);
    let without = by_losses(&[(sampled(0.1, 2.0), 100), shares(0.0)], 1e-5);
    let with = by_losses(&[(sampled(0.1, 2.0), 100), shares(1e-3)], 1e-5);
    assert!(with > without + 0.02 && with < without + 0.025, "{with}, {without}");
}
