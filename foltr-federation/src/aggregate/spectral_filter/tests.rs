use super::*;
use crate::aggregate::{Aggregator, TrimmedMean};
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Streams};

fn combined(rule: impl AggregationRule, rows: &[Vec<f32>]) -> Combined {
    let mut combined = Combined::default();
    rule.start().aggregate(&[], &Contributions::of_rows(rows), &mut combined).expect("contributions");
    combined
}

fn filtered(attackers: u32, rows: &[Vec<f32>]) -> Vec<f64> {
    combined(SpectralFilter { attackers }, rows).step
}

fn normal_rows(n: usize, n_params: usize, seed: u32) -> Vec<Vec<f32>> {
    let row = |client: usize| {
        let mut row = vec![0.0; n_params];
        fill_standard_normal(&mut Streams::new(23).open(Purpose::Data, client as u32, seed), &mut row);
        row
    };
    (0..n).map(row).collect()
}

fn wide(row: &[f32]) -> Vec<f64> {
    row.iter().map(|&value| value.into()).collect()
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(values: &[f64]) -> f64 {
    product(values, values).sqrt()
}

fn assert_near(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    got.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() <= tolerance, "{what}: {got}, not {want}"));
}

/// The sum of vectors, each times a number.
fn sum_of(n_params: usize, terms: impl IntoIterator<Item = (f64, Vec<f64>)>) -> Vec<f64> {
    let mut sum = vec![0.0; n_params];
    for (factor, vector) in terms {
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += factor * value);
    }
    sum
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The filter as its module says it, with the centre and all residuals as vectors; slow.
struct Slow {
    rows: Vec<Vec<f64>>,
    weights: Vec<f64>,
    centre: Vec<f64>,
    factors: Vec<f64>,
    out: Vec<f64>,
}

impl Slow {
    fn step(rows: &[Vec<f32>], attackers: u32) -> Vec<f64> {
        let (n, rows) = (rows.len(), rows.iter().map(|row| wide(row)).collect());
        let mut slow = Self { rows, weights: vec![1.0; n], centre: Vec::new(), factors: Vec::new(), out: Vec::new() };
        for _ in 0..8 {
            slow.move_centre();
            slow.measure();
            slow.lose(f64::from(attackers).min(((n - 1) / 2) as f64) / 8.0);
        }
        slow.move_centre();
        slow.centre
    }

    fn move_centre(&mut self) {
        let (n_params, total) = (self.rows[0].len(), self.weights.iter().sum::<f64>());
        let shares: Vec<f64> = self.weights.iter().map(|weight| weight / total).collect();
        let mean = sum_of(n_params, shares.iter().copied().zip(self.rows.iter().cloned()));
        let residuals: Vec<Vec<f64>> = self.rows.iter().map(|row| minus(row, &mean)).collect();
        let mut lengths: Vec<f64> = residuals.iter().map(|residual| length(residual)).collect();
        let own = lengths.clone();
        lengths.sort_by(f64::total_cmp);
        let radius = lengths[(lengths.len() - 1) / 2];
        self.factors = own.iter().map(|&own| if own > radius { radius / own } else { 1.0 }).collect();
        let kept = shares.iter().zip(&self.factors).map(|(share, factor)| share * factor);
        let moved = sum_of(n_params, kept.zip(residuals));
        self.centre = mean.iter().zip(moved).map(|(mean, moved)| mean + moved).collect();
    }

    /// How far each residual is out along the direction of the largest variance, by multiplication with the covariance.
    fn measure(&mut self) {
        let residual = |((row, factor), weight): ((&Vec<f64>, &f64), &f64)| {
            minus(row, &self.centre).iter().map(|value| value * factor * weight.sqrt()).collect::<Vec<f64>>()
        };
        let residuals: Vec<Vec<f64>> = self.rows.iter().zip(&self.factors).zip(&self.weights).map(residual).collect();
        let project = |direction: &[f64]| residuals.iter().map(|own| product(own, direction)).collect::<Vec<f64>>();
        if self.out.is_empty() {
            let longest = residuals.iter().max_by(|a, b| length(a).total_cmp(&length(b))).expect("some");
            self.out = project(longest);
        }
        for _ in 0..20 {
            let size = length(&self.out);
            let parts = self.out.iter().map(|out| out / size).zip(residuals.iter().cloned());
            self.out = project(&sum_of(self.rows[0].len(), parts));
        }
    }

    fn lose(&mut self, amount: f64) {
        let mut left = amount;
        while left > 1e-12 {
            let has_weight = |weight: &f64| f64::from(u8::from(*weight > 0.0));
            let powers: Vec<f64> =
                self.out.iter().zip(&self.weights).map(|(out, weight)| out.powi(4) * has_weight(weight)).collect();
            let (total, asked) = (powers.iter().sum::<f64>(), left);
            for (weight, power) in self.weights.iter_mut().zip(powers) {
                let taken = weight.min(asked * power / total);
                *weight -= taken;
                left -= taken;
            }
        }
    }
}

#[test]
fn the_filter_in_products_is_the_filter_in_vectors() {
    for seed in 0..60 {
        let (n, n_params) = (3 + seed as usize % 12, 1 + seed as usize % 9);
        let mut rows = normal_rows(n, n_params, seed);
        // Some rounds with colluders, and some far from 0.
        let (pull, shift) = ([0.0, 1.5, 20.0][seed as usize % 3], [0.0, 7.0][seed as usize % 2]);
        for (i, row) in rows.iter_mut().enumerate() {
            let pull = if i < n / 3 { pull } else { 0.0 };
            row.iter_mut().for_each(|value| *value += pull + shift);
        }
        for attackers in 0..=n as u32 / 2 {
            assert_near(&filtered(attackers, &rows), &Slow::step(&rows, attackers), 1e-9, "step");
        }
    }
}

/// Without attackers to expect only lengths count. Rows 0, 0, 3: mean 1, lengths 1, 1, 2, middle 1. What is left of the
/// residuals is -1, -1, 1, so the step is 1 - 1/3.
#[test]
fn a_step_by_hand() {
    let combined = combined(SpectralFilter { attackers: 0 }, &[vec![0.0], vec![0.0], vec![3.0]]);
    assert_near(&combined.step, &[2.0 / 3.0], 1e-12, "step");
    assert_near(&combined.shares, &[7.0 / 18.0, 7.0 / 18.0, 4.0 / 18.0], 1e-12, "shares");
}

/// The fourth powers 16, 0 and 1 of 17 ask for .8, 0 and .05. Where the first has only .2, the last pays the other .6.
#[test]
fn who_has_no_weight_left_pays_no_more() {
    let left = |weights: [f64; 3], amount: f64| {
        let (weights, direction) = (weights.to_vec(), vec![2.0, 0.0, -1.0]);
        let mut memory = Memory { n: 3, weights, direction, ..Memory::default() };
        memory.take_weight(amount);
        memory.weights
    };
    assert_near(&left([1.0, 1.0, 1.0], 0.85), &[0.2, 1.0, 0.95], 1e-12, "enough");
    assert_near(&left([0.2, 1.0, 1.0], 0.85), &[0.0, 1.0, 0.35], 1e-12, "not enough");
    assert_near(&left([0.2, 1.0, 1.0], 5.0), &[0.0, 1.0, 0.0], 1e-12, "nothing more along this direction");
}

/// The attack: four of ten add the same vector to updates that scatter like those of the others, less in every coordinate
/// than what a trimmed mean would cut off. With ever more coordinates that moves it ever further.
#[test]
fn colluders_who_pull_together_lose_their_weight() {
    const N_PARAMS: usize = 46;
    let (mut of_filter, mut of_trimmed) = (0.0, 0.0);
    for seed in 0..20 {
        let mut rows = normal_rows(10, N_PARAMS, 100 + seed);
        let honest_mean = sum_of(N_PARAMS, rows[4..].iter().map(|row| (1.0 / 6.0, wide(row))));
        rows[..4].iter_mut().for_each(|row| {
            row.iter_mut().zip(&honest_mean).for_each(|(value, mean)| *value = (mean + 1.0) as f32);
        });
        let moved = |step: &[f64]| minus(step, &honest_mean).iter().sum::<f64>() / (N_PARAMS as f64).sqrt();
        of_filter += moved(&filtered(4, &rows)) / 20.0;
        of_trimmed += moved(&combined(TrimmedMean { attackers: 4 }, &rows).step) / 20.0;
    }
    assert!(of_filter < 0.5 * of_trimmed, "the filter is moved by {of_filter}, the trimmed mean by {of_trimmed}");
}

#[test]
fn the_order_of_clients_and_the_origin_mean_nothing() {
    for seed in 0..20 {
        let rows = normal_rows(9, 6, 300 + seed);
        let at_rest = filtered(4, &rows);
        let mut turned = rows.clone();
        turned.rotate_left(seed as usize % 9);
        turned.swap(1, 7);
        assert_near(&filtered(4, &turned), &at_rest, 1e-9, "another order");
        let shifted: Vec<Vec<f32>> =
            rows.iter().map(|row| row.iter().map(|value| (value + 100.0).clamp(0.0, 200.0)).collect()).collect();
        let back: Vec<f64> = filtered(4, &shifted).iter().map(|value| value - 100.0).collect();
        // Rows are rounded to f32 after the shift.
        assert_near(&back, &at_rest, 1e-3, "another origin");
    }
}

#[test]
fn the_step_is_made_of_its_shares() {
    for seed in 0..20 {
        let n = 1 + seed as usize;
        let rows: Vec<Vec<f32>> = normal_rows(n, 7, 400 + seed);
        let combined = combined(SpectralFilter { attackers: 3 }, &rows);
        let of_shares = sum_of(7, combined.shares.iter().copied().zip(rows.iter().map(|row| wide(row))));
        assert_near(&combined.step, &of_shares, 1e-12, "step");
        assert!((combined.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{combined:?}");
        assert!(combined.shares.iter().all(|&share| share >= 0.0), "{combined:?}");
    }
}

#[test]
fn rounds_in_which_nothing_differs() {
    for n in 1..6 {
        for row in [vec![0.0; 3], vec![1.5, -2.0, 0.25]] {
            let combined = combined(SpectralFilter { attackers: 2 }, &vec![row.clone(); n]);
            assert_near(&combined.step, &wide(&row), 1e-12, "step");
            assert_near(&combined.shares, &vec![1.0 / n as f64; n], 1e-12, "shares");
        }
    }
    // Two alone cannot be judged; of three, the one apart counts less than a third.
    assert_near(&filtered(1, &[vec![0.0], vec![2.0]]), &[1.0], 1e-12, "two");
    let of_three = filtered(1, &[vec![0.0], vec![0.5], vec![9.5]])[0];
    assert!(of_three > 0.0 && of_three < 10.0 / 3.0, "{of_three}");
}

/// Memory from a larger round must not leak into a smaller one, nor from one round into the next.
#[test]
fn a_round_depends_on_its_own_contributions_alone() {
    let rounds = [normal_rows(12, 5, 1), normal_rows(4, 5, 2), normal_rows(9, 3, 3), normal_rows(9, 3, 3)];
    let mut running = SpectralFilter { attackers: 2 }.start();
    for rows in rounds {
        let mut own = Combined::default();
        running.aggregate(&[], &Contributions::of_rows(&rows), &mut own).expect("contributions");
        assert_eq!(own, combined(SpectralFilter { attackers: 2 }, &rows));
    }
}
