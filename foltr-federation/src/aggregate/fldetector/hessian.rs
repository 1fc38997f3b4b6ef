//! The change of the gradient along a movement of the model, from earlier movements: L-BFGS.
//!
//! `ZCJG22` Zhang, Cao, Jia, Gong: *FLDetector*, KDD 2022, Algorithm 1; the direct (not inverse) approximation,
//! unrolled pair by pair: B <- B - (Bs)(Bs)' / (s'Bs) + yy' / (y's), from B = (y's / s's) I of the newest pair.

use std::collections::VecDeque;

use crate::aggregate::geometry::dot;

/// Least cosine between a movement and the bend along it: below, a pair says nothing but noise.
const LEAST_COSINE: f64 = 1e-8;

/// Movements of the model and how the gradient changed along them.
#[derive(Clone, Debug, Default)]
pub(super) struct Hessian {
    pub(super) pairs: VecDeque<(Vec<f64>, Vec<f64>)>,
}

impl Hessian {
    /// Remembers a pair, and no more than `window` of them.
    pub(super) fn add(&mut self, moved: Vec<f64>, bend: Vec<f64>, window: usize) {
        let cosine = dot(&moved, &bend) / (dot(&moved, &moved) * dot(&bend, &bend)).sqrt();
        // Not a number where nothing moved.
        if cosine >= LEAST_COSINE {
            self.pairs.push_back((moved, bend));
        }
        if self.pairs.len() > window {
            self.pairs.pop_front();
        }
    }

    /// How the gradient changes along a movement; not at all where nothing is known, or beyond all measure.
    pub(super) fn times(&self, moved: &[f64]) -> Vec<f64> {
        // B s of every pair, each from those before it.
        let mut images: Vec<Vec<f64>> = Vec::new();
        for (movement, _) in &self.pairs {
            images.push(self.apply(&images, movement));
        }
        let change = self.apply(&images, moved);
        let is_sound = dot(&change, &change) < f64::MAX.sqrt();
        if is_sound { change } else { vec![0.0; moved.len()] }
    }

    /// B v, with B made of as many pairs as have images.
    fn apply(&self, images: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
        let scale = self.pairs.back().map_or(0.0, |(s, y)| dot(y, s) / dot(s, s));
        let mut result: Vec<f64> = v.iter().map(|value| scale * value).collect();
        for ((s, y), image) in self.pairs.iter().zip(images) {
            let (away, towards) = (dot(image, v) / dot(s, image), dot(y, v) / dot(y, s));
            for ((value, image), y) in result.iter_mut().zip(image).zip(y) {
                *value += towards * y - away * image;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_close;

    #[test]
    fn a_quadratic_valley_is_known_after_as_many_pairs_as_it_has_directions() {
        // Gradient changes are A s, with A = diag(1, 2, 4); conjugate movements make the approximation exact.
        let bend = |s: &[f64]| vec![s[0], 2.0 * s[1], 4.0 * s[2]];
        let mut hessian = Hessian::default();
        assert_eq!(hessian.times(&[1.0, 1.0, 1.0]), [0.0; 3]);
        for moved in [vec![1.0, 0.0, 0.0], vec![0.0, 0.5, 0.0], vec![0.0, 0.0, -3.0]] {
            let bend = bend(&moved);
            hessian.add(moved, bend, 3);
        }
        let change = hessian.times(&[1.0, -1.0, 0.25]);
        assert_close(&change, &[1.0, -2.0, 1.0], 1e-12);
        // The secant condition holds for the newest pair of any series.
        let moved = vec![0.3, -0.2, 0.9];
        hessian.add(moved.clone(), bend(&moved), 3);
        assert_close(&hessian.times(&moved), &bend(&moved), 1e-12);
    }

    #[test]
    fn pairs_without_curvature_are_not_taken() {
        let mut hessian = Hessian::default();
        hessian.add(vec![1.0, 0.0], vec![-1.0, 5.0], 3);
        hessian.add(vec![0.0, 0.0], vec![1.0, 5.0], 3);
        assert_eq!(hessian.times(&[1.0, 1.0]), [0.0; 2]);
    }
}
