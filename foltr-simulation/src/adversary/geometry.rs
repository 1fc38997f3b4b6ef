//! What attackers compute of updates: means, deviations, distances. All in f64, in a fixed order.

use rayon::prelude::*;

use crate::adversary::Rows;

/// From so many rows on, their distances are computed side by side; with fewer, threads cost more than they save.
const MANY: usize = 64;

/// Sums of so many lanes are added in a fixed order, which the compiler can turn into vector registers.
const LANES: usize = 8;

/// The mean of some updates; zeros of none.
pub(super) fn mean_of(rows: Rows<'_>) -> Vec<f64> {
    let mut sum = vec![0.0; rows.n_params];
    for row in rows.iter() {
        sum.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    let n_rows = rows.len().max(1) as f64;
    sum.iter_mut().for_each(|sum| *sum /= n_rows);
    sum
}

pub(super) fn mean_of_both(a: Rows<'_>, b: Rows<'_>) -> Vec<f64> {
    let (weight_a, weight_b) = (a.len() as f64, b.len() as f64);
    let total = (weight_a + weight_b).max(1.0);
    mean_of(a).iter().zip(mean_of(b)).map(|(a, b)| (a * weight_a + b * weight_b) / total).collect()
}

/// Standard deviation of every coordinate around `mean`: squares are divided by `divisor`, or all is 0 if that is.
pub(super) fn deviation_of<'a>(rows: impl Iterator<Item = &'a [f32]>, mean: &[f64], divisor: usize) -> Vec<f64> {
    let mut squares = vec![0.0; mean.len()];
    for row in rows {
        for ((square, &mean), &value) in squares.iter_mut().zip(mean).zip(row) {
            *square += (f64::from(value) - mean).powi(2);
        }
    }
    let scale = if divisor == 0 { 0.0 } else { 1.0 / divisor as f64 };
    squares.iter_mut().for_each(|square| *square = (*square * scale).sqrt());
    squares
}

pub(super) fn squared_distance(row: &[f32], point: &[f64]) -> f64 {
    row.iter().zip(point).map(|(&value, &point)| (f64::from(value) - point).powi(2)).sum()
}

/// The middle one of the distances of some updates from a point, the lower one of an even number; 0 of none.
pub(super) fn median_distance(rows: Rows<'_>, point: &[f64]) -> f64 {
    let mut squares: Vec<f64> = rows.iter().map(|row| squared_distance(row, point)).collect();
    squares.sort_unstable_by(f64::total_cmp);
    squares.get(squares.len().saturating_sub(1) / 2).map_or(0.0, |square| square.sqrt())
}

pub(super) fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

pub(super) fn squared_distance_of(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (a, b) = (a.chunks(LANES), b.chunks(LANES));
    for (a, b) in a.zip(b) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(a).zip(b) {
            let difference = f64::from(x) - f64::from(y);
            *lane += difference * difference;
        }
    }
    lanes.iter().sum()
}

/// Squared distances of all pairs, as a square matrix.
pub(super) fn squared_distances(rows: Rows<'_>) -> Vec<f64> {
    let n_rows = rows.len();
    let mut matrix = vec![0.0; n_rows * n_rows];
    let fill = |(i, line): (usize, &mut [f64])| {
        for (j, distance) in line.iter_mut().enumerate().take(i) {
            *distance = squared_distance_of(rows.row(i), rows.row(j));
        }
    };
    if n_rows < MANY {
        matrix.chunks_exact_mut(n_rows.max(1)).enumerate().for_each(fill);
    } else {
        matrix.par_chunks_exact_mut(n_rows).enumerate().for_each(fill);
    }
    for i in 0..n_rows {
        for j in 0..i {
            matrix[j * n_rows + i] = matrix[i * n_rows + j];
        }
    }
    matrix
}

/// The sign of a number, where 0 has none.
pub(super) fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

pub(super) fn to_f32(values: impl IntoIterator<Item = f64>) -> Vec<f32> {
    values.into_iter().map(|value| value as f32).collect()
}
