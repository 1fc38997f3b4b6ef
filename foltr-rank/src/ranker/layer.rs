//! The hidden layer's two matrix products: forward, and the gradient of its weights.
//!
//! A tile of six documents and sixteen units lives in twelve vector registers; each feature costs two loads of
//! weights, six broadcasts and twelve fused multiply-adds. A general matrix library was measured equal at 136 x 64 and
//! slower at 46 x 10, where packing its operands costs more than the product.

use crate::query::{MAX_SHOWN, QueryView, SHORT_LIST};

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

/// W1 += sum over the shown documents of x (outer) signal, b1 += sum of signal.
///
/// `signals` has a row of `b1.len()` units for each of `docs`, `w1` one for each feature.
pub(super) fn add_hidden_gradient(query: QueryView<'_>, docs: &[u32], signals: &[f32], w1: &mut [f32], b1: &mut [f32]) {
    if docs.len() <= SHORT_LIST {
        add_hidden_gradient_of::<SHORT_LIST>(query, docs, signals, w1, b1);
    } else {
        add_hidden_gradient_of::<MAX_SHOWN>(query, docs, signals, w1, b1);
    }
}

/// The same for at most `N` documents.
fn add_hidden_gradient_of<const N: usize>(
    query: QueryView<'_>,
    docs: &[u32],
    signals: &[f32],
    w1: &mut [f32],
    b1: &mut [f32],
) {
    let n_units = b1.len();
    let n_features = w1.len() / n_units;
    assert!(
        n_units.is_multiple_of(TILE_UNITS) && n_features <= query.n_features() && signals.len() >= docs.len() * n_units
    );
    let mut shown: [&[f32]; N] = [&[]; N];
    for (row, &doc) in shown.iter_mut().zip(docs) {
        *row = query.row(doc as usize);
    }
    let shown = &shown[..docs.len()];
    for signal in signals.chunks_exact(n_units).take(docs.len()) {
        b1.iter_mut().zip(signal).for_each(|(b, s)| *b += s);
    }
    for unit in (0..n_units).step_by(TILE_UNITS) {
        let mut feature = 0;
        while feature < n_features {
            #[cfg(target_arch = "x86_64")]
            if crate::simd::is_wide() {
                // SAFETY: AVX2 and FMA are there; features and units of the tile lie inside, by the asserts above.
                feature += unsafe { wide::gradient_tile(shown, signals, n_units, unit, feature, w1) };
                continue;
            }
            portable_gradient(shown, signals, n_units, unit, feature, w1);
            feature += 1;
        }
    }
}

/// One feature's gradient for a tile of units: the definition.
fn portable_gradient(shown: &[&[f32]], signals: &[f32], n_units: usize, unit: usize, feature: usize, w1: &mut [f32]) {
    let target = &mut w1[feature * n_units + unit..][..TILE_UNITS];
    for (row, signal) in shown.iter().zip(signals.chunks_exact(n_units)) {
        for (w, &s) in target.iter_mut().zip(&signal[unit..]) {
            *w = row[feature].mul_add(s, *w);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{TILE_DOCS, TILE_UNITS};

    /// Adds the gradient of as many features as a tile takes, and says how many those were.
    ///
    /// # Safety
    /// AVX2 and FMA; `feature` is a row of `w1`; `unit + 16 <= n_units`; every shown row has as many floats as `w1` has
    /// rows of `n_units`; `signals` has a row of `n_units` for each shown document.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn gradient_tile(
        shown: &[&[f32]],
        signals: &[f32],
        n_units: usize,
        unit: usize,
        feature: usize,
        w1: &mut [f32],
    ) -> usize {
        let n_left = w1.len() / n_units - feature;
        let corner = feature * n_units + unit;
        // SAFETY: the caller's contract, and the number of features left.
        unsafe {
            let target = w1.as_mut_ptr().add(corner);
            match n_left {
                6.. => gradient_rows::<6>(shown, signals, n_units, unit, feature, target),
                2.. => gradient_rows::<2>(shown, signals, n_units, unit, feature, target),
                _ => gradient_rows::<1>(shown, signals, n_units, unit, feature, target),
            }
        }
    }

    /// # Safety
    /// As [`gradient_tile`], with at least `FEATURES` features left.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn gradient_rows<const FEATURES: usize>(
        shown: &[&[f32]],
        signals: &[f32],
        n_units: usize,
        unit: usize,
        feature: usize,
        target: *mut f32,
    ) -> usize {
        // SAFETY: all offsets are inside by the contract.
        unsafe {
            let mut left = [_mm256_setzero_ps(); FEATURES];
            let mut right = [_mm256_setzero_ps(); FEATURES];
            for row in 0..FEATURES {
                left[row] = _mm256_loadu_ps(target.add(row * n_units));
                right[row] = _mm256_loadu_ps(target.add(row * n_units + 8));
            }
            for (doc, features) in shown.iter().enumerate() {
                let signal = signals.as_ptr().add(doc * n_units + unit);
                let (a, b) = (_mm256_loadu_ps(signal), _mm256_loadu_ps(signal.add(8)));
                for row in 0..FEATURES {
                    let x = _mm256_broadcast_ss(features.get_unchecked(feature + row));
                    left[row] = _mm256_fmadd_ps(x, a, left[row]);
                    right[row] = _mm256_fmadd_ps(x, b, right[row]);
                }
            }
            for row in 0..FEATURES {
                _mm256_storeu_ps(target.add(row * n_units), left[row]);
                _mm256_storeu_ps(target.add(row * n_units + 8), right[row]);
            }
        }
        FEATURES
    }

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
    use crate::normal::random;

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

    #[test]
    fn both_paths_of_the_gradient_give_the_bits_of_the_definition() {
        for (n_features, n_units) in [(1, 16), (5, 32), (46, 64), (136, 16)] {
            let stride = crate::query::row_stride(n_features);
            let rows = random(20 * stride, 0);
            let query = QueryView::new(&rows, n_features);
            let (docs, signals) = ([3_u32, 19, 0, 7], random(4 * n_units, 1));
            let mut w1 = random(n_features * n_units, 2);
            let mut portable = w1.clone();
            add_hidden_gradient(query, &docs, &signals, &mut w1, &mut vec![0.0; n_units]);
            let shown = docs.map(|doc| query.row(doc as usize));
            for unit in (0..n_units).step_by(TILE_UNITS) {
                for feature in 0..n_features {
                    portable_gradient(&shown, &signals, n_units, unit, feature, &mut portable);
                }
            }
            assert_eq!(w1, portable);
        }
    }
}
