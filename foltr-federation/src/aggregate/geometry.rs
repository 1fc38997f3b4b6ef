//! How far apart are the contributions of a round? Lengths, products and distances, in f64.
//!
//! An attacker may send anything up to the largest f32, whose square only f64 can hold. Differences of updates are
//! squared as they are; |a|^2 + |b|^2 - 2ab would lose all digits of contributions that are close together (spec
//! section 14). Every sum has a fixed order: the same bits on every machine.

use foltr_rank::simd::two_widths;

use crate::aggregate::Contributions;

/// Numbers that are added side by side.
const LANES: usize = 4;
/// Contributions whose numbers lie side by side when all pairs are measured.
const TILE: usize = 4;

type Lanes = [f64; LANES];

#[inline(always)]
fn total(lanes: Lanes) -> f64 {
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// Sums `term` of all pairs of numbers.
#[inline(always)]
fn sum_of<A: Copy, B: Copy>(a: &[A], b: &[B], term: impl Fn(A, B) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += term(a[lane], b[lane]);
        }
    }
    for (lane, (&a, &b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += term(a, b);
    }
    total(lanes)
}

two_widths! {
    pub(super) fn product(a: &[f32], b: &[f32]) -> f64 {
        sum_of(a, b, |a, b| f64::from(a) * f64::from(b))
    }
}

two_widths! {
    pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
        sum_of(a, b, |a, b| a * b)
    }
}

two_widths! {
    pub(super) fn squared_distance(a: &[f32], b: &[f64]) -> f64 {
        sum_of(a, b, |a, b| (f64::from(a) - b) * (f64::from(a) - b))
    }
}

two_widths! {
    pub(super) fn add_scaled(sum: &mut [f64], row: &[f32], factor: f64) {
        for (sum, &value) in sum.iter_mut().zip(row) {
            *sum += f64::from(value) * factor;
        }
    }
}

pub(super) fn length(row: &[f32]) -> f64 {
    product(row, row).sqrt()
}

#[derive(Clone, Debug, Default)]
pub(super) struct Distances {
    n: usize,
    values: Vec<f64>,
    /// Contributions in groups of four, in each coordinate after coordinate; the last group is filled up with zeros.
    tiles: Vec<[f32; TILE]>,
}

impl Distances {
    /// Measures every pair, squared.
    pub(super) fn measure(&mut self, contributions: &Contributions) {
        let n_params = contributions.n_params();
        self.n = contributions.len();
        self.tiles.clear();
        self.tiles.resize(self.n.div_ceil(TILE) * n_params, [0.0; TILE]);
        for (row, values) in contributions.rows().enumerate() {
            let tile = &mut self.tiles[row / TILE * n_params..][..n_params];
            tile.iter_mut().zip(values).for_each(|(numbers, &value)| numbers[row % TILE] = value);
        }
        // Every place is written below.
        self.values.resize(self.n * self.n, 0.0);
        measure_tiles(&self.tiles, n_params.max(1), self.n, &mut self.values);
    }

    /// Squared distances of one contribution from all, itself among them; plain ones after [`Self::take_roots`].
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n..][..self.n]
    }

    pub(super) fn take_roots(&mut self) {
        take_roots(&mut self.values);
    }
}

two_widths! {
    fn take_roots(squared: &mut [f64]) {
        squared.iter_mut().for_each(|value| *value = value.sqrt());
    }
}

two_widths! {
    /// Squared distances between all contributions, four by four.
    fn measure_tiles(tiles: &[[f32; TILE]], n_params: usize, n: usize, squared: &mut [f64]) {
        for (a, tile_a) in tiles.chunks_exact(n_params).enumerate() {
            for (b, tile_b) in tiles.chunks_exact(n_params).enumerate().skip(a) {
                let distances = measure_tile(tile_a, tile_b);
                for (i, row) in (a * TILE..n).zip(distances) {
                    for (j, distance) in (b * TILE..n).zip(row) {
                        squared[i * n + j] = distance;
                        squared[j * n + i] = distance;
                    }
                }
            }
        }
    }
}

/// Squared distances between four contributions and four others.
#[inline(always)]
fn measure_tile(a: &[[f32; TILE]], b: &[[f32; TILE]]) -> [[f64; TILE]; TILE] {
    let mut sums = [[0.0; TILE]; TILE];
    for (a, b) in a.iter().zip(b) {
        for i in 0..TILE {
            for j in 0..TILE {
                let difference = f64::from(a[i]) - f64::from(b[j]);
                sums[i][j] = difference.mul_add(difference, sums[i][j]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_plain_loops() {
        for (n, n_params) in [(0, 3), (1, 5), (2, 1), (3, 4), (7, 46), (10, 3), (13, 9)] {
            let mut round = Contributions::new(n_params);
            for client in 0..n {
                let row: Vec<f32> = (0..n_params).map(|i| ((client * 7 + i * 3) % 11) as f32 - 4.5).collect();
                round.push(client as u32, 1.0, &row);
            }
            let mut distances = Distances::default();
            distances.measure(&round);
            for (i, a) in round.rows().enumerate() {
                for (j, b) in round.rows().enumerate() {
                    let plain: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum();
                    assert_eq!(distances.row(i)[j], plain, "{i} and {j} of {n}, {n_params} numbers");
                }
            }
        }
    }

    #[test]
    fn the_largest_numbers_have_lengths_and_distances() {
        let mut round = Contributions::new(2);
        round.push(0, 1.0, &[f32::MAX; 2]);
        round.push(1, 1.0, &[f32::MIN; 2]);
        let mut distances = Distances::default();
        distances.measure(&round);
        distances.take_roots();
        let long = f64::from(f32::MAX) * 2.0_f64.sqrt();
        assert!((distances.row(0)[1] / (2.0 * long) - 1.0).abs() < 1e-12);
        assert!((length(round.row(0)) / long - 1.0).abs() < 1e-12);
        assert!((squared_distance(round.row(1), &[0.0; 2]).sqrt() / long - 1.0).abs() < 1e-12);
        assert_eq!(product(round.row(0), round.row(1)), -product(round.row(0), round.row(0)));
    }
}
