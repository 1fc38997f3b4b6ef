//! Ordinary least squares of label on features: the MSE baseline.
//!
//! [KO19] section 6.2; spec section 17. Fitted with an intercept, which is then dropped: it moves all scores alike.
//! Features that are constant or repeat each other leave many solutions; this is the one of least norm, with singular
//! values counted as zero below eps * max(documents, features) times the largest, as NumPy's `lstsq` does.
//!
//! The matrix is reduced to a triangle block by block (Golub, Van Loan: *Matrix Computations*, section 5.3), so that the
//! memory needed does not grow with the number of documents.

use faer::{Mat, MatRef};
use foltr_rank::{Params, row_stride};
use foltr_simulation::dataset::Dataset;

/// Documents that are reduced at a time.
const BLOCK_ROWS: usize = 2_048;

/// Weights that predict the labels of all documents best, in the mean square; of several such the shortest.
///
/// Without documents all weights are zero.
///
/// # Panics
/// If a feature is not finite; data read from files always are.
pub fn least_squares(data: &Dataset) -> Params {
    if data.n_docs() == 0 {
        return vec![0.0; data.n_features()];
    }
    let triangle = triangle_of_centred(data);
    let tolerance = f64::EPSILON * data.n_docs().max(data.n_features()) as f64;
    shortest_solution(triangle.as_ref(), tolerance).iter().map(|&weight| weight as f32).collect()
}

/// R of the QR factorisation of `[features | label]`, each column less its mean.
fn triangle_of_centred(data: &Dataset) -> Mat<f64> {
    let (n_features, stride) = (data.n_features(), row_stride(data.n_features()));
    let (feature_means, label_mean) = means(data);
    let n_columns = n_features + 1;
    let mut triangle = Mat::<f64>::zeros(n_columns, n_columns);
    for (rows, labels) in data.rows().chunks(BLOCK_ROWS * stride).zip(data.all_labels().chunks(BLOCK_ROWS)) {
        let stacked = Mat::from_fn(n_columns + labels.len(), n_columns, |row, column| {
            if row < n_columns {
                triangle[(row, column)]
            } else if column < n_features {
                f64::from(rows[(row - n_columns) * stride + column]) - feature_means[column]
            } else {
                f64::from(labels[row - n_columns]) - label_mean
            }
        });
        triangle = stacked.qr().thin_R().to_owned();
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

/// w = sum over singular values s above the cut-off of v (u . y) / s, where `[A | y]` is the triangle.
fn shortest_solution(triangle: MatRef<'_, f64>, tolerance: f64) -> Vec<f64> {
    let n_features = triangle.ncols() - 1;
    let svd = triangle.submatrix(0, 0, n_features, n_features).thin_svd().expect("finite features");
    let (u, v, s) = (svd.U(), svd.V(), svd.S().column_vector());
    let target = triangle.col(n_features);
    let mut weights = vec![0.0; n_features];
    for k in 0..n_features {
        // Not `>=`: where all singular values are zero, so are the weights.
        if s[k] > tolerance * s[0] {
            let along = (0..n_features).map(|row| u[(row, k)] * target[row]).sum::<f64>() / s[k];
            weights.iter_mut().enumerate().for_each(|(feature, weight)| *weight += v[(feature, k)] * along);
        }
    }
    weights
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
    fn the_line_through_three_points_has_the_textbook_slope() {
        // Points (0, 0), (1, 2), (2, 1): slope = sum (x - 1)(y - 1) / sum (x - 1)^2 = 1 / 2.
        let data = dataset(1, &[0.0, 1.0, 2.0], &[&[0, 2], &[1]]);
        assert_close(&least_squares(&data), &[0.5]);
    }

    #[test]
    fn an_intercept_is_fitted_and_dropped() {
        // Label = x1 - 2 x2 + 2, exactly.
        let features = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 1.0, 1.0];
        let data = dataset(2, &features, &[&[2, 3, 0], &[4, 1]]);
        assert_close(&least_squares(&data), &[1.0, -2.0]);
    }

    #[test]
    fn repeated_features_share_their_weight_and_constant_ones_get_none() {
        // Columns x, x, .1 (constant, and no sum of it is exact): slope 1/2 is shared.
        let features = [0.0, 0.0, 0.1, 1.0, 1.0, 0.1, 2.0, 2.0, 0.1];
        let data = dataset(3, &features, &[&[0, 2, 1]]);
        assert_close(&least_squares(&data), &[0.25, 0.25, 0.0]);
    }

    #[test]
    fn fewer_documents_than_features_give_the_shortest_fit() {
        // One difference (3, 4) with labels 0 and 1: w = (3, 4) / 25.
        let data = dataset(2, &[1.0, 1.0, 4.0, 5.0], &[&[0, 1]]);
        assert_close(&least_squares(&data), &[0.12, 0.16]);
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

    #[test]
    fn nothing_to_learn_from_gives_zero() {
        assert_close(&least_squares(&dataset(2, &[], &[])), &[0.0, 0.0]);
        assert_close(&least_squares(&dataset(2, &[1.0, 2.0, 1.0, 2.0], &[&[0, 1]])), &[0.0, 0.0]);
    }
}
