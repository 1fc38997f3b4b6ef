//! Dot products of many rows with one or more vectors: the hottest loop of the project, and its only intrinsics.
//!
//! A dot product keeps eight partial sums, lane l holding features l, l + 8, ..., each by fused multiply-add, and ends
//! with ((0+1)+(2+3)) + ((4+5)+(6+7)). Every path below does exactly that, so one model scored alone, many models
//! scored together, and the portable version give the same bits.

use crate::query::LANES;

/// Writes `scores[i] = rows[i] . weights`. Rows are `weights.len()` floats long, a whole number of [`LANES`].
pub fn dot_rows(rows: &[f32], weights: &[f32], scores: &mut [f32]) {
    let stride = weights.len();
    assert!(stride > 0 && stride.is_multiple_of(LANES) && rows.len() == stride * scores.len(), "rows and weights fit");
    if scores.is_empty() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::simd::is_wide() {
        // SAFETY: AVX2 and FMA are there, and the lengths were just checked.
        unsafe { wide::dot_rows(rows, weights, scores) };
        return;
    }
    for (row, score) in rows.chunks_exact(stride).zip(scores) {
        *score = dot(row, weights);
    }
}

/// Writes `scores[m * n_docs + i] = rows[i] . weights[m]` for many weight vectors of `stride` floats each.
///
/// One pass over the rows serves all models: memory is read once instead of once a model.
pub fn dot_rows_many(rows: &[f32], stride: usize, weights: &[f32], scores: &mut [f32]) {
    assert!(stride > 0 && stride.is_multiple_of(LANES), "rows are padded");
    let (n_docs, n_models) = (rows.len() / stride, weights.len() / stride);
    assert!(rows.len() == n_docs * stride && weights.len() == n_models * stride && scores.len() == n_docs * n_models);
    if scores.is_empty() {
        return;
    }
    if n_models == 1 {
        return dot_rows(rows, weights, scores);
    }
    #[cfg(target_arch = "x86_64")]
    if crate::simd::is_wide() {
        // SAFETY: AVX2 and FMA are there, and the lengths were just checked.
        unsafe { wide::dot_rows_many(rows, stride, weights, scores) };
        return;
    }
    for (weights, scores) in weights.chunks_exact(stride).zip(scores.chunks_exact_mut(n_docs)) {
        for (row, score) in rows.chunks_exact(stride).zip(scores) {
            *score = dot(row, weights);
        }
    }
}

/// One dot product, in the order that defines the result.
fn dot(row: &[f32], weights: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for (x, w) in row.chunks_exact(LANES).zip(weights.chunks_exact(LANES)) {
        for lane in 0..LANES {
            lanes[lane] = x[lane].mul_add(w[lane], lanes[lane]);
        }
    }
    sum_lanes(&lanes)
}

/// The reduction that every path shares.
#[inline(always)]
pub(super) fn sum_lanes(l: &[f32; LANES]) -> f32 {
    ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::LANES;

    /// # Safety
    /// AVX2 and FMA; `rows.len() == weights.len() * scores.len()`; neither is empty.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn dot_rows(rows: &[f32], weights: &[f32], scores: &mut [f32]) {
        let stride = weights.len();
        let mut groups = rows.chunks_exact(LANES * stride);
        let mut results = scores.chunks_exact_mut(LANES);
        for (group, result) in groups.by_ref().zip(results.by_ref()) {
            // SAFETY: the group has eight rows of `stride` floats, the result eight floats.
            unsafe {
                let row = std::array::from_fn(|i| group.as_ptr().add(i * stride));
                _mm256_storeu_ps(result.as_mut_ptr(), reduce(dot_eight(row, weights)));
            }
        }
        let (rest, result) = (groups.remainder(), results.into_remainder());
        if !result.is_empty() {
            let mut last = [0.0; LANES];
            // SAFETY: the row index is below the number of rows left; a row too many reads the last one again.
            unsafe {
                let row = std::array::from_fn(|i| rest.as_ptr().add(i.min(result.len() - 1) * stride));
                _mm256_storeu_ps(last.as_mut_ptr(), reduce(dot_eight(row, weights)));
            }
            result.iter_mut().zip(last).for_each(|(score, sum)| *score = sum);
        }
    }

    /// Lane sums of eight rows.
    ///
    /// # Safety
    /// AVX2 and FMA; every row has `weights.len()` floats, a multiple of eight.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn dot_eight(row: [*const f32; LANES], weights: &[f32]) -> [__m256; LANES] {
        let mut sums = [_mm256_setzero_ps(); LANES];
        for feature in (0..weights.len()).step_by(LANES) {
            // SAFETY: eight floats are left from `feature` on, in the weights and in every row.
            unsafe {
                let w = _mm256_loadu_ps(weights.as_ptr().add(feature));
                for i in 0..LANES {
                    sums[i] = _mm256_fmadd_ps(_mm256_loadu_ps(row[i].add(feature)), w, sums[i]);
                }
            }
        }
        sums
    }

    /// # Safety
    /// AVX2 and FMA; `rows` and `weights` are whole rows of `stride`, `scores` holds one float for each pair of them.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn dot_rows_many(rows: &[f32], stride: usize, weights: &[f32], scores: &mut [f32]) {
        const ROWS: usize = 4;
        let (n_docs, n_models) = (rows.len() / stride, weights.len() / stride);
        for first in (0..n_docs).step_by(ROWS) {
            let n_valid = (n_docs - first).min(ROWS);
            // SAFETY: the row index is below n_docs.
            let row: [*const f32; ROWS] =
                std::array::from_fn(|i| unsafe { rows.as_ptr().add((first + i.min(n_valid - 1)) * stride) });
            for model in (0..n_models).step_by(2) {
                let other = (model + 1).min(n_models - 1);
                // SAFETY: the model indices are below n_models.
                let (a, b) = unsafe { (weights.as_ptr().add(model * stride), weights.as_ptr().add(other * stride)) };
                // SAFETY: each pointer starts a row of `stride` floats.
                let sums = unsafe { reduce(dot_four_by_two(row, a, b, stride)) };
                let (of_a, of_b) = (_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
                for (model, sums) in [(model, of_a), (other, of_b)] {
                    let target = &mut scores[model * n_docs + first..][..n_valid];
                    if n_valid == ROWS {
                        // SAFETY: the target has four floats.
                        unsafe { _mm_storeu_ps(target.as_mut_ptr(), sums) };
                    } else {
                        let mut last = [0.0; ROWS];
                        // SAFETY: the array has four floats.
                        unsafe { _mm_storeu_ps(last.as_mut_ptr(), sums) };
                        target.iter_mut().zip(last).for_each(|(score, sum)| *score = sum);
                    }
                }
            }
        }
    }

    /// Lane sums of four rows with weights a, then of the same rows with weights b.
    ///
    /// # Safety
    /// AVX2 and FMA; every pointer starts `stride` floats, a multiple of eight.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn dot_four_by_two(row: [*const f32; 4], a: *const f32, b: *const f32, stride: usize) -> [__m256; LANES] {
        let mut sums = [_mm256_setzero_ps(); LANES];
        for feature in (0..stride).step_by(LANES) {
            // SAFETY: eight floats are left from `feature` on in every row and in both weight vectors.
            unsafe {
                let (a, b) = (_mm256_loadu_ps(a.add(feature)), _mm256_loadu_ps(b.add(feature)));
                for i in 0..4 {
                    let x = _mm256_loadu_ps(row[i].add(feature));
                    sums[i] = _mm256_fmadd_ps(x, a, sums[i]);
                    sums[4 + i] = _mm256_fmadd_ps(x, b, sums[4 + i]);
                }
            }
        }
        sums
    }

    /// Eight horizontal sums at once, each in the order of [`super::sum_lanes`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn reduce(s: [__m256; LANES]) -> __m256 {
        let low = _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
        let high = _mm256_hadd_ps(_mm256_hadd_ps(s[4], s[5]), _mm256_hadd_ps(s[6], s[7]));
        _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::random;

    #[test]
    fn every_path_gives_the_bits_of_the_definition() {
        for n_docs in [1, 3, 4, 7, 8, 9, 41, 120] {
            for stride in [8, 48, 136] {
                for n_models in [1, 2, 3, 32] {
                    let (rows, weights) = (random(n_docs * stride, 0), random(n_models * stride, 1));
                    let mut many = vec![0.0; n_docs * n_models];
                    dot_rows_many(&rows, stride, &weights, &mut many);
                    for (weights, many) in weights.chunks_exact(stride).zip(many.chunks_exact(n_docs)) {
                        let mut one = vec![0.0; n_docs];
                        dot_rows(&rows, weights, &mut one);
                        let defined: Vec<f32> = rows.chunks_exact(stride).map(|row| dot(row, weights)).collect();
                        assert_eq!(one, defined);
                        assert_eq!(many, defined);
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_to_score_is_no_error() {
        dot_rows(&[], &[0.0; 8], &mut []);
        dot_rows_many(&[], 8, &[0.0; 8], &mut []);
    }
}
