//! Products of matrices that lie in slices, in blocks of rows that do not depend on the number of threads.

use gemm::{Parallelism, gemm};
use rayon::prelude::*;

/// Rows of a product that one thread computes at a time.
///
/// The blocks are part of the result: another size would round differently, another number of threads does not.
const BLOCK_ROWS: usize = 128;

/// A matrix in a slice: row-major, or its transpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    values: &'a [f32],
    n_rows: usize,
    n_columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> View<'a> {
    pub fn new(values: &'a [f32], n_columns: usize) -> Self {
        Self { values, n_rows: values.len() / n_columns, n_columns, row_stride: n_columns, column_stride: 1 }
    }

    pub fn transposed(self) -> Self {
        let Self { values, n_rows, n_columns, row_stride, column_stride } = self;
        Self { values, n_rows: n_columns, n_columns: n_rows, row_stride: column_stride, column_stride: row_stride }
    }

    fn rows(self, first: usize, n_rows: usize) -> Self {
        assert!(first + n_rows <= self.n_rows, "rows {first} and {n_rows} more of {}", self.n_rows);
        Self { values: &self.values[first * self.row_stride..], n_rows, ..self }
    }

    fn reaches(&self) -> usize {
        match (self.n_rows, self.n_columns) {
            (0, _) | (_, 0) => 0,
            (n_rows, n_columns) => (n_rows - 1) * self.row_stride + (n_columns - 1) * self.column_stride + 1,
        }
    }
}

/// `out` = `left` times `right`, on one thread; with `is_added` the product is added to what is there.
pub(crate) fn multiply(out: &mut [f32], is_added: bool, left: View<'_>, right: View<'_>) {
    let (n_rows, n_columns, n_inner) = (left.n_rows, right.n_columns, left.n_columns);
    assert_eq!(n_inner, right.n_rows, "columns of the left and rows of the right factor");
    assert_eq!(out.len(), n_rows * n_columns, "a product of {n_rows} x {n_columns}");
    assert!(left.reaches() <= left.values.len() && right.reaches() <= right.values.len(), "a matrix in its slice");
    let share_of_out = if is_added { 1.0 } else { 0.0 };
    // SAFETY: the crate has no interface by slices. All elements that the sizes and strides reach are in the slices,
    // as just asserted, and `out` is borrowed exclusively, so it overlaps neither factor.
    unsafe {
        gemm(
            n_rows,
            n_columns,
            n_inner,
            out.as_mut_ptr(),
            1,
            n_columns as isize,
            is_added,
            left.values.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            share_of_out,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// `out` = `left` times `right`, in blocks of rows on all threads; `then` changes each row by its number.
pub(crate) fn multiply_then(out: &mut [f32], left: View<'_>, right: View<'_>, then: impl Fn(usize, &mut [f32]) + Sync) {
    assert_eq!(out.len(), left.n_rows * right.n_columns, "a product of {} x {}", left.n_rows, right.n_columns);
    out.par_chunks_mut(BLOCK_ROWS * right.n_columns).enumerate().for_each(|(block, out)| {
        let first = block * BLOCK_ROWS;
        multiply(out, false, left.rows(first, out.len() / right.n_columns), right);
        for (row, values) in out.chunks_exact_mut(right.n_columns).enumerate() {
            then(first + row, values);
        }
    });
}

/// `out` = `left` times `right`, in blocks of rows on all threads.
pub(crate) fn multiply_blocks(out: &mut [f32], left: View<'_>, right: View<'_>) {
    multiply_then(out, left, right, |_, _| ());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::vector::numbers;

    #[test]
    fn products_are_those_of_the_definition() {
        for (n_rows, n_inner, n_columns) in [(1, 1, 1), (3, 5, 2), (130, 17, 9), (257, 3, 1)] {
            let (left, right) = (numbers(n_rows * n_inner, 1), numbers(n_inner * n_columns, 2));
            let cell = |row: usize, column: usize| -> f32 {
                (0..n_inner).map(|i| left[row * n_inner + i] * right[i * n_columns + column]).sum()
            };
            let expected: Vec<f32> = (0..n_rows * n_columns).map(|i| cell(i / n_columns, i % n_columns)).collect();
            let (left, right) = (View::new(&left, n_inner), View::new(&right, n_columns));
            let mut out = vec![f32::NAN; n_rows * n_columns];
            multiply_blocks(&mut out, left, right);
            assert_eq!(out, expected);
            multiply(&mut out, true, left, right);
            assert_eq!(out, expected.iter().map(|value| 2.0 * value).collect::<Vec<_>>());
            // (A B)' = B' A'.
            multiply_blocks(&mut out, right.transposed(), left.transposed());
            for (i, value) in out.iter().enumerate() {
                assert_eq!(*value, expected[i % n_rows * n_columns + i / n_rows]);
            }
        }
    }

    #[test]
    #[should_panic(expected = "columns of the left and rows of the right factor")]
    fn factors_that_do_not_fit_are_refused() {
        multiply(&mut [0.0; 4], false, View::new(&[0.0; 4], 2), View::new(&[0.0; 6], 2));
    }
}
