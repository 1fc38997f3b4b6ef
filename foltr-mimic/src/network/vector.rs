//! Loops over rows of numbers that must be fast, each with one order of its sums.

use foltr_rank::simd::two_widths;

/// Partial sums of a dot product: their number is part of the result.
const LANES: usize = 16;

two_widths! {
    /// `out` = the sum of some rows of a matrix, each times its coefficient.
    pub(crate) fn weighted_sum(out: &mut [f32], matrix: &[f32], rows: &[u32], coefficients: &[f32]) {
        assert_eq!(rows.len(), coefficients.len(), "a coefficient for each row");
        let width = out.len();
        let row = |number: u32| &matrix[number as usize * width..][..width];
        out.fill(0.0);
        // Four rows at a time, so that the sum is not loaded and stored for each of them.
        let (fours, rest) = rows.as_chunks::<4>();
        let (scales, rest_scales) = coefficients.as_chunks::<4>();
        for (&four, scale) in fours.iter().zip(scales) {
            let [a, b, c, d] = four.map(row);
            for i in 0..width {
                out[i] += (scale[0] * a[i] + scale[1] * b[i]) + (scale[2] * c[i] + scale[3] * d[i]);
            }
        }
        for (&number, scale) in rest.iter().zip(rest_scales) {
            for (sum, value) in out.iter_mut().zip(row(number)) {
                *sum += scale * value;
            }
        }
    }
}

two_widths! {
    pub(crate) fn add(out: &mut [f32], row: &[f32]) {
        for (sum, value) in out.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

two_widths! {
    /// `out` += the element-wise product of two rows.
    pub(crate) fn add_product(out: &mut [f32], left: &[f32], right: &[f32]) {
        for ((sum, left), right) in out.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
}

two_widths! {
    pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
        let mut sums = [0.0_f32; LANES];
        let (left, left_rest) = left.as_chunks::<LANES>();
        let (right, right_rest) = right.as_chunks::<LANES>();
        for (left, right) in left.iter().zip(right) {
            for lane in 0..LANES {
                sums[lane] += left[lane] * right[lane];
            }
        }
        let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
        sums.iter().sum::<f32>() + rest
    }
}

two_widths! {
    /// ReLU of a row plus its bias.
    pub(crate) fn rectify(row: &mut [f32], bias: &[f32]) {
        for (value, bias) in row.iter_mut().zip(bias) {
            *value = (*value + bias).max(0.0);
        }
    }
}

two_widths! {
    /// ReLU of a row plus its bias, of which only units whose noise reaches the threshold remain, and are scaled.
    pub(crate) fn rectify_with_dropout(row: &mut [f32], bias: &[f32], noise: &[u16], threshold: u16, scale: f32) {
        for ((value, bias), &noise) in row.iter_mut().zip(bias).zip(noise) {
            let factor = if u16::from_le(noise) >= threshold { scale } else { 0.0 };
            *value = (*value + bias).max(0.0) * factor;
        }
    }
}

two_widths! {
    /// The gradient of what [`rectify`] or [`rectify_with_dropout`] was given, from that of what it returned.
    pub(crate) fn gate(gradient: &mut [f32], returned: &[f32], scale: f32) {
        for (gradient, &returned) in gradient.iter_mut().zip(returned) {
            *gradient *= if returned > 0.0 { scale } else { 0.0 };
        }
    }
}

/// Small whole numbers: sums are exact, so any order gives the same.
#[cfg(test)]
pub(crate) fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 + seed * 11) % 19) as f32 - 9.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_definitions() {
        for width in [1, 7, 16, 33, 100] {
            for n in 0..10 {
                let matrix = numbers(12 * width, 1);
                let rows: Vec<u32> = (0..n).map(|i| i * 5 % 12).collect();
                let coefficients = numbers(n as usize, 2);
                let mut out = vec![f32::NAN; width];
                weighted_sum(&mut out, &matrix, &rows, &coefficients);
                for (i, sum) in out.iter().enumerate() {
                    let terms = rows.iter().zip(&coefficients).map(|(&row, c)| c * matrix[row as usize * width + i]);
                    assert_eq!(*sum, terms.sum::<f32>());
                }
            }
            let (left, right) = (numbers(width, 3), numbers(width, 4));
            assert_eq!(dot(&left, &right), left.iter().zip(&right).map(|(a, b)| a * b).sum::<f32>());
            let mut sum = left.clone();
            add(&mut sum, &right);
            add_product(&mut sum, &left, &right);
            assert!((0..width).all(|i| sum[i] == left[i] + right[i] + left[i] * right[i]));
        }
    }

    #[test]
    fn only_positive_and_remaining_units_pass() {
        let mut row = [1.0, -3.0, 2.0, 0.0];
        let bias = [1.0, 1.0, 1.0, 0.0];
        rectify_with_dropout(&mut row, &bias, &[7, 7, 6, 9], 7, 2.0);
        assert_eq!(row, [4.0, 0.0, 0.0, 0.0]);
        let mut gradient = [10.0; 4];
        gate(&mut gradient, &row, 2.0);
        assert_eq!(gradient, [20.0, 0.0, 0.0, 0.0]);
        let mut row = [1.0, -3.0, 2.0, 0.0];
        rectify(&mut row, &bias);
        assert_eq!(row, [2.0, 0.0, 3.0, 0.0]);
    }
}
