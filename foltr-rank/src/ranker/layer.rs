//! The hidden layer's matrix product: documents x features times features x units.
//!
//! A tile of six documents and sixteen units lives in twelve vector registers; each feature costs two loads of
//! weights, six broadcasts and twelve fused multiply-adds. A general matrix library was measured equal at 136 x 64 and
//! slower at 46 x 10, where packing its operands costs more than the product.

/// Documents of a tile.
pub(super) const TILE_DOCS: usize = 6;
/// Units of a tile: hidden layers are padded to a multiple of this.
pub(super) const TILE_UNITS: usize = 16;

/// Writes `hidden[d][u] = bias[u] + sum over j of rows[d][j] * w1[j][u]`, summed in the order of j by fused multiply-add.
///
/// `w1` has a row of `bias.len()` units for each feature. `hidden` has room for whole tiles of documents.
pub(super) fn hidden_layer(rows: &[f32], stride: usize, w1: &[f32], bias: &[f32], hidden: &mut [f32]) {
    let (n_docs, n_units) = (rows.len() / stride, bias.len());
    assert!(n_units.is_multiple_of(TILE_UNITS) && w1.len().is_multiple_of(n_units) && w1.len() / n_units <= stride);
    assert!(rows.len() == n_docs * stride && hidden.len() == n_docs.next_multiple_of(TILE_DOCS) * n_units);
    for first in (0..n_docs).step_by(TILE_DOCS) {
        // A last tile of fewer than six documents computes its last document again.
        let starts: [usize; TILE_DOCS] = std::array::from_fn(|i| (first + i).min(n_docs - 1) * stride);
        for unit in (0..n_units).step_by(TILE_UNITS) {
            #[cfg(target_arch = "x86_64")]
            if crate::simd::is_wide() {
                // SAFETY: AVX2 and FMA are there; the asserts above bound every access, as `wide::tile` asks.
                unsafe { wide::tile(rows, starts, w1, bias, unit, &mut hidden[first * n_units..]) };
                continue;
            }
            portable_tile(rows, starts, w1, bias, unit, &mut hidden[first * n_units..]);
        }
    }
}

/// The definition of a tile, used where there is no AVX2.
fn portable_tile(rows: &[f32], starts: [usize; TILE_DOCS], w1: &[f32], bias: &[f32], unit: usize, hidden: &mut [f32]) {
    let n_units = bias.len();
    for (doc, &start) in starts.iter().enumerate() {
        let mut sums: [f32; TILE_UNITS] = std::array::from_fn(|lane| bias[unit + lane]);
        for (weights, &x) in w1.chunks_exact(n_units).zip(&rows[start..]) {
            for (sum, &w) in sums.iter_mut().zip(&weights[unit..]) {
                *sum = x.mul_add(w, *sum);
            }
        }
        hidden[doc * n_units + unit..][..TILE_UNITS].copy_from_slice(&sums);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{TILE_DOCS, TILE_UNITS};

    /// # Safety
    /// AVX2 and FMA; from each start on, `rows` has at least as many floats as `w1` has rows of `bias.len()`;
    /// `unit + 16 <= bias.len()`; `hidden` holds six rows of `bias.len()`.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn tile(
        rows: &[f32],
        starts: [usize; TILE_DOCS],
        w1: &[f32],
        bias: &[f32],
        unit: usize,
        hidden: &mut [f32],
    ) {
        let n_units = bias.len();
        let n_features = w1.len() / n_units;
        debug_assert!(unit + TILE_UNITS <= n_units && hidden.len() >= TILE_DOCS * n_units);
        // SAFETY: all offsets are inside the slices by the contract above.
        unsafe {
            let row = starts.map(|start| rows.as_ptr().add(start));
            let mut left = [_mm256_loadu_ps(bias.as_ptr().add(unit)); TILE_DOCS];
            let mut right = [_mm256_loadu_ps(bias.as_ptr().add(unit + 8)); TILE_DOCS];
            let mut weights = w1.as_ptr().add(unit);
            for feature in 0..n_features {
                let (a, b) = (_mm256_loadu_ps(weights), _mm256_loadu_ps(weights.add(8)));
                for doc in 0..TILE_DOCS {
                    let x = _mm256_broadcast_ss(&*row[doc].add(feature));
                    left[doc] = _mm256_fmadd_ps(x, a, left[doc]);
                    right[doc] = _mm256_fmadd_ps(x, b, right[doc]);
                }
                weights = weights.wrapping_add(n_units);
            }
            for doc in 0..TILE_DOCS {
                let target = hidden.as_mut_ptr().add(doc * n_units + unit);
                _mm256_storeu_ps(target, left[doc]);
                _mm256_storeu_ps(target.add(8), right[doc]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::fill_standard_normal;
    use crate::rng::{Purpose, Streams};

    fn random(n: usize, client: u32) -> Vec<f32> {
        let mut values = vec![0.0; n];
        fill_standard_normal(&mut Streams::new(6).open(Purpose::Data, client, 0), &mut values);
        values
    }

    #[test]
    fn both_paths_give_the_bits_of_the_definition() {
        for (n_docs, n_features, stride, n_units) in [(1, 3, 8, 16), (6, 46, 48, 64), (41, 46, 48, 16), (13, 8, 8, 32)]
        {
            let (rows, w1, bias) = (random(n_docs * stride, 0), random(n_features * n_units, 1), random(n_units, 2));
            let mut hidden = vec![0.0; n_docs.next_multiple_of(TILE_DOCS) * n_units];
            hidden_layer(&rows, stride, &w1, &bias, &mut hidden);
            let mut portable = hidden.clone();
            for first in (0..n_docs).step_by(TILE_DOCS) {
                let starts = std::array::from_fn(|i| (first + i).min(n_docs - 1) * stride);
                for unit in (0..n_units).step_by(TILE_UNITS) {
                    portable_tile(&rows, starts, &w1, &bias, unit, &mut portable[first * n_units..]);
                }
            }
            assert_eq!(hidden, portable);
            let (doc, unit) = (n_docs - 1, n_units - 1);
            let defined =
                (0..n_features).fold(bias[unit], |sum, j| rows[doc * stride + j].mul_add(w1[j * n_units + unit], sum));
            assert_eq!(hidden[doc * n_units + unit], defined);
        }
    }
}
