//! Per-query min-max normalisation of features (spec section 1.3): the same bits on a device as in the lab.
//!
//! `x' = (x - min) / (max - min)` over the documents of one query; 0 where all documents agree.
//!
//! Deviation from the ielab code, as the spec recommends: a query with one document becomes 0 instead of staying raw.

/// Normalises the padded rows of one query's documents; at least one. Padding is constant and so stays 0.
pub fn normalise_rows(from: &[f32], to: &mut [f32], stride: usize) {
    let (mut min, mut max) = (from[..stride].to_vec(), from[..stride].to_vec());
    for row in from.chunks_exact(stride) {
        for ((min, max), &value) in min.iter_mut().zip(&mut max).zip(row) {
            *min = min.min(value);
            *max = max.max(value);
        }
    }
    for (to, from) in to.chunks_exact_mut(stride).zip(from.chunks_exact(stride)) {
        for (((to, &value), &min), &max) in to.iter_mut().zip(from).zip(&min).zip(&max) {
            // f64: the range of two finite f32s can exceed the largest f32.
            let range = f64::from(max) - f64::from(min);
            let scaled = (f64::from(value) - f64::from(min)) / range;
            *to = if range > 0.0 { scaled as f32 } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_scaled_to_its_range_among_the_documents() {
        let rows = [2.0, 5.0, -3.4e38, 4.0, 5.0, 3.4e38, 3.0, 5.0, 0.0];
        let mut scaled = [9.0; 9];
        normalise_rows(&rows, &mut scaled, 3);
        assert_eq!(scaled, [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.5, 0.0, 0.5]);
        normalise_rows(&rows[..3], &mut scaled[..3], 3);
        assert_eq!(scaled[..3], [0.0; 3], "a single document");
    }
}
