//! Ordinary least squares of label on features: the MSE baseline.
//!
//! `KO19`, baseline "MSE"; spec section 17. Fitted with an intercept, which is then dropped: it moves all scores alike.
//! Features that are constant or depend on each other leave many solutions; this is the one of least norm.
//!
//! Deviation: which features depend on each other is decided after scaling each to length 1, and to the precision that
//! features are stored with (f32). The usual cut-off, eps of f64 times the largest singular value, takes the rounding
//! of stored features for information: on MSLR, scaled to `[0, 1]`, it finds weights of two million that cancel out.
//!
//! The matrix is reduced to a triangle block by block (each block is stacked under the triangle of those before it), so
//! that the memory needed does not grow with the number of documents.

use foltr_rank::{Params, row_stride};
use foltr_simulation::dataset::Dataset;
use nalgebra::{DMatrix, DVector, DVectorView};

const BLOCK_ROWS: usize = 2_048;

/// Features are stored as f32: smaller differences, relative to their size, say nothing.
const STORED_PRECISION: f64 = f32::EPSILON as f64;

/// Weights that predict the labels of all documents best, in the mean square; of several such the shortest.
///
/// Without documents all weights are zero.
pub fn least_squares(data: &Dataset) -> Params {
    if data.n_docs() == 0 {
        return vec![0.0; data.n_features()];
    }
    let (feature_means, label_mean) = means(data);
    let triangle = triangle_of_centred(data, &feature_means, label_mean);
    let (scaled, lengths) = columns_of_length_one(&triangle, &feature_means, data.n_docs());
    let target = triangle.column(data.n_features());
    let weights = shortest_solution(scaled, &lengths, target);
    weights.iter().map(|&weight| weight as f32).collect()
}

/// R of the QR factorisation of `[features | label]`, each column less its mean.
fn triangle_of_centred(data: &Dataset, feature_means: &[f64], label_mean: f64) -> DMatrix<f64> {
    let (n_features, stride) = (data.n_features(), row_stride(data.n_features()));
    let n_columns = n_features + 1;
    let mut triangle = DMatrix::zeros(n_columns, n_columns);
    for (rows, labels) in data.rows().chunks(BLOCK_ROWS * stride).zip(data.all_labels().chunks(BLOCK_ROWS)) {
        let stacked = DMatrix::from_fn(n_columns + labels.len(), n_columns, |row, column| {
            if row < n_columns {
                triangle[(row, column)]
            } else if column < n_features {
                f64::from(rows[(row - n_columns) * stride + column]) - feature_means[column]
            } else {
                f64::from(labels[row - n_columns]) - label_mean
            }
        });
        triangle = stacked.qr().unpack_r();
    }
    triangle
}

fn means(data: &Dataset) -> (Vec<f64>, f64) {
    let n_docs = data.n_docs() as f64;
    let mut sums = vec![0.0; data.n_features()];
    for row in data.rows().chunks_exact(row_stride(data.n_features())) {
        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    let label_sum: f64 = data.all_labels().iter().map(|&label| f64::from(label)).sum();
    (sums.iter().map(|sum| sum / n_docs).collect(), label_sum / n_docs)
}

/// The feature columns of the triangle, scaled to length 1, and the lengths they had.
///
/// A feature that varies by no more than its own rounding is constant: its column becomes zero.
fn columns_of_length_one(triangle: &DMatrix<f64>, means: &[f64], n_docs: usize) -> (DMatrix<f64>, Vec<f64>) {
    let n_features = means.len();
    let lengths: Vec<f64> = (0..n_features)
        .map(|feature| {
            let length = triangle.column(feature).norm();
            let rounding = STORED_PRECISION * means[feature].abs() * (n_docs as f64).sqrt();
            if length > rounding { length } else { f64::INFINITY }
        })
        .collect();
    let scaled = DMatrix::from_fn(n_features, n_features, |row, feature| triangle[(row, feature)] / lengths[feature]);
    (scaled, lengths)
}

/// The shortest w whose prediction A w is nearest to the target, A being the scaled matrix times the lengths.
///
/// One solution is the sum over singular values s above the cut-off of v (u . target) / s, divided by the lengths; the
/// shortest has no part along the directions that the cut-off left free.
fn shortest_solution(scaled: DMatrix<f64>, lengths: &[f64], target: DVectorView<'_, f64>) -> Vec<f64> {
    let n_features = lengths.len();
    let svd = scaled.svd(true, true);
    let (u, v) = (svd.u.expect("asked for"), svd.v_t.expect("asked for").transpose());
    let s = svd.singular_values;
    let cut_off = STORED_PRECISION * (n_features as f64).sqrt() * s[0];
    let rank = s.iter().filter(|&&value| value > cut_off).count();
    let along = u.columns(0, rank).tr_mul(&target.rows(0, n_features)).component_div(&s.rows(0, rank));
    let solution = (v.columns(0, rank) * along).component_div(&DVector::from_column_slice(lengths));
    if rank == n_features {
        return solution.as_slice().to_vec();
    }
    let free = DMatrix::from_fn(n_features, n_features - rank, |feature, k| {
        // A constant feature was never scaled; its weight is free by itself.
        v[(feature, rank + k)] / if lengths[feature].is_finite() { lengths[feature] } else { 1.0 }
    });
    let free = free.qr().q();
    let shortest = &solution - &free * free.tr_mul(&solution);
    shortest.as_slice().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::test_data::dataset;

    fn assert_close(weights: &[f32], expected: &[f32]) {
        assert_eq!(weights.len(), expected.len());
        for (a, b) in weights.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{weights:?} instead of {expected:?}");
        }
    }

    #[test]
    fn small_problems_have_the_solutions_of_textbooks() {
        // Points (0, 0), (1, 2), (2, 1): slope = sum (x - 1)(y - 1) / sum (x - 1)^2 = 1 / 2.
        let line = dataset(1, &[0.0, 1.0, 2.0], &[&[0, 2], &[1]]);
        // Label = x1 - 2 x2 + 2, exactly: the intercept is dropped.
        let plane = dataset(2, &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 1.0, 1.0], &[&[2, 3, 0], &[4, 1]]);
        // Columns x, x, .1 (constant, and no sum of it is exact): slope 1/2 is shared.
        let repeated = dataset(3, &[0.0, 0.0, 0.1, 1.0, 1.0, 0.1, 2.0, 2.0, 0.1], &[&[0, 2, 1]]);
        // One difference (3, 4) with labels 0 and 1: the shortest fit is w = (3, 4) / 25.
        let few = dataset(2, &[1.0, 1.0, 4.0, 5.0], &[&[0, 1]]);
        let equal = dataset(2, &[1.0, 2.0, 1.0, 2.0], &[&[0, 1]]);
        let cases: [(Dataset, &[f32]); 6] = [
            (line, &[0.5]),
            (plane, &[1.0, -2.0]),
            (repeated, &[0.25, 0.25, 0.0]),
            (few, &[0.12, 0.16]),
            (equal, &[0.0, 0.0]),
            (dataset(2, &[], &[]), &[0.0, 0.0]),
        ];
        cases.iter().for_each(|(data, expected)| assert_close(&least_squares(data), expected));
    }

    #[test]
    fn rounding_of_stored_features_is_not_learned_from() {
        // x3 = x1 + x2 up to rounding, label = 3 x1: of (3, 0, 0) + t (1, 1, -1) the shortest is (2, -1, 1). The units
        // of a feature do not matter for what depends on what, only for which solution is shortest.
        let features: Vec<f32> = (0..64_u16)
            .flat_map(|i| {
                let (x1, x2) = (f32::from(i % 5) / 3.0, f32::from(i * 13 % 64) / 7.0);
                [x1, x2, x1 + x2, 1e6 * x2]
            })
            .collect();
        let labels: Vec<u8> = (0..64).map(|i| i % 5).collect();
        let first_three: Vec<f32> = features.chunks_exact(4).flat_map(|x| x[..3].to_vec()).collect();
        assert_close(&least_squares(&dataset(3, &first_three, &[&labels])), &[2.0, -1.0, 1.0]);
        // With x2 also in small units, the weight of x2 costs nothing: (3 - t, 0, t, -t / 1e6), shortest at t = 3 / 2.
        assert_close(&least_squares(&dataset(4, &features, &[&labels])), &[1.5, 0.0, 1.5, -1.5e-6]);
    }

    #[test]
    fn several_blocks_give_the_same_line() {
        // A noisy staircase; slope = covariance / variance.
        let n_docs = 2 * BLOCK_ROWS + 77;
        let features: Vec<f32> = (0..n_docs).map(|x| x as f32 / 1_000.0).collect();
        let labels: Vec<u8> = (0..n_docs).map(|x| (x / 1_000) as u8 + (x % 3 == 0) as u8).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n_docs as f64;
        let xs = || features.iter().map(|&x| f64::from(x));
        let ys = || labels.iter().map(|&y| f64::from(y));
        let (x_mean, y_mean) = (mean(&mut xs()), mean(&mut ys()));
        let covariance: f64 = xs().zip(ys()).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
        let variance: f64 = xs().map(|x| (x - x_mean).powi(2)).sum();
        let data = dataset(1, &features, &[&labels]);
        assert_close(&least_squares(&data), &[(covariance / variance) as f32]);
    }
}
