//! Which values are in the middle? Means of the inner values of every coordinate, and the middle of a list.
//!
//! A small round is sorted by a network of comparisons, in all coordinates at once; of a large one only the two ends of
//! the inner values are selected.
//!
//! `B68` Batcher: *Sorting Networks and Their Applications*, AFIPS Spring Joint Computer Conference 1968: the odd-even
//! merge sort, in the form that takes any number of values.

use foltr_rank::simd::two_widths;

use crate::aggregate::Contributions;

/// Rounds of more contributions are selected from, not sorted.
const SORTED: usize = 32;
/// Coordinates that are sorted or turned into columns at a time.
const LANES: usize = 16;

type Lanes = [f32; LANES];

/// The mean of what is left of every coordinate without its `cut` smallest and `cut` largest values.
/// The caller makes sure that something is left. `scratch` is memory that is kept between rounds.
pub(super) fn inner_means(contributions: &Contributions, cut: usize, scratch: &mut Columns, means: &mut [f64]) {
    if contributions.len() <= SORTED {
        sorted_means(contributions.values(), contributions.len(), cut, means);
    } else {
        selected_means(contributions, cut, scratch, means);
    }
}

two_widths! {
    fn sorted_means(values: &[f32], n: usize, cut: usize, means: &mut [f64]) {
        let (n_params, count) = (means.len(), (n - 2 * cut) as f64);
        let mut rows = [[0.0; LANES]; SORTED];
        for (block, means) in means.chunks_mut(LANES).enumerate() {
            for (row, values) in rows.iter_mut().zip(values.chunks_exact(n_params)) {
                let values = &values[block * LANES..][..means.len()];
                match <&Lanes>::try_from(values) {
                    Ok(values) => *row = *values,
                    Err(_) => row[..values.len()].copy_from_slice(values),
                }
            }
            sort(&mut rows, n);
            let mut sums = [0.0; LANES];
            for row in &rows[cut..n - cut] {
                sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
            }
            means.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = sum / count);
        }
    }
}

/// Sorts the first `n` values of every lane.
#[inline(always)]
fn sort(rows: &mut [Lanes; SORTED], n: usize) {
    // Sorted lists of 2^merged values become lists of twice as many.
    for merged in 0..SORTED.ilog2() {
        if 1 << merged >= n {
            break;
        }
        for distance in (0..=merged).rev().map(|half| 1 << half) {
            let first = if distance == 1 << merged { 0 } else { distance };
            for start in (first..n.saturating_sub(distance)).step_by(2 * distance) {
                for low in start..(start + distance).min(n - distance) {
                    let high = low + distance;
                    // Only inside one of the longer lists.
                    if low >> (merged + 1) == high >> (merged + 1) {
                        compare_exchange(rows, low, high);
                    }
                }
            }
        }
    }
}

/// Puts the smaller of two values first, in every lane.
#[inline(always)]
fn compare_exchange(rows: &mut [Lanes; SORTED], low: usize, high: usize) {
    let (a, b) = (rows[low], rows[high]);
    for lane in 0..LANES {
        let is_sorted = a[lane] < b[lane];
        rows[low][lane] = if is_sorted { a[lane] } else { b[lane] };
        rows[high][lane] = if is_sorted { b[lane] } else { a[lane] };
    }
}

/// Some coordinates of all contributions, and one of them to select from.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    values: Vec<f32>,
    keys: Vec<i32>,
}

/// An integer with the order of a number, and back.
const fn flip(bits: i32) -> i32 {
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

fn selected_means(contributions: &Contributions, cut: usize, columns: &mut Columns, means: &mut [f64]) {
    let n = contributions.len();
    columns.values.resize(LANES * n, 0.0);
    for (block, means) in means.chunks_mut(LANES).enumerate() {
        for (row, values) in contributions.rows().enumerate() {
            let values = &values[block * LANES..][..means.len()];
            values.iter().enumerate().for_each(|(lane, &value)| columns.values[lane * n + row] = value);
        }
        for (column, mean) in columns.values.chunks_exact(n).zip(means) {
            columns.keys.clear();
            columns.keys.extend(column.iter().map(|value| flip(value.to_bits() as i32)));
            *mean = inner_mean(column, &mut columns.keys, cut);
        }
    }
}

/// The mean of the inner values of a column, whose keys are selected from.
fn inner_mean(column: &[f32], keys: &mut [i32], cut: usize) -> f64 {
    let n_inner = column.len() - 2 * cut;
    let value = |key: i32| f32::from_bits(flip(key) as u32);
    let (_, &mut low, above) = keys.select_nth_unstable(cut);
    let high = if n_inner == 1 { low } else { *above.select_nth_unstable(n_inner - 2).1 };
    let (low, high) = (value(low), value(high));
    // What is cut off counts as the nearer end, and is taken away again. The values are added in client order: how the
    // selection leaves the keys does not matter.
    let cut_off = (f64::from(low) + f64::from(high)) * cut as f64;
    (clamped_sum(column, low, high) - cut_off) / n_inner as f64
}

two_widths! {
    /// The sum of values of which none counts as less or more than these two.
    fn clamped_sum(column: &[f32], low: f32, high: f32) -> f64 {
        let mut sums = [0.0; LANES];
        let (whole, rest) = column.as_chunks();
        for values in whole {
            add_clamped(values, low, high, &mut sums);
        }
        let rest = rest.iter().map(|&value| f64::from(clamp(value, low, high))).sum::<f64>();
        sums.iter().sum::<f64>() + rest
    }
}

#[inline(always)]
fn add_clamped(values: &Lanes, low: f32, high: f32, sums: &mut [f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] += f64::from(clamp(values[lane], low, high));
    }
}

/// Written as two instructions.
#[inline(always)]
fn clamp(value: f32, low: f32, high: f32) -> f32 {
    let value = if value > low { value } else { low };
    if value < high { value } else { high }
}

/// The middle of a list, the lower one of two; at most half of the values are below it, and at most half above.
pub(super) fn lower_middle(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn inner_means_are_those_of_sorted_columns(
            n in 1_usize..80, n_params in 1_usize..40, cut in 0_usize..40, seed in 0_u64..1000, n_values in 1_u64..200,
        ) {
            let cut = cut.min((n - 1) / 2);
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 33) % n_values) as f32 - 7.0
            };
            let mut round = Contributions::new(n_params);
            for client in 0..n {
                round.push(client as u32, 1.0, &(0..n_params).map(|_| next()).collect::<Vec<_>>());
            }
            let (mut means, mut scratch) = (vec![0.0; n_params], Columns::default());
            inner_means(&round, cut, &mut scratch, &mut means);
            for (i, mean) in means.iter().enumerate() {
                let mut column: Vec<f64> = round.rows().map(|row| f64::from(row[i])).collect();
                column.sort_by(f64::total_cmp);
                let inner = &column[cut..n - cut];
                let want = inner.iter().sum::<f64>() / inner.len() as f64;
                prop_assert!((mean - want).abs() < 1e-9, "{} is not {}", mean, want);
            }
        }
    }

    #[test]
    fn every_list_of_zeros_and_ones_is_sorted() {
        // A network that sorts these sorts everything (Knuth's zero-one principle).
        for n in 1..=12 {
            for bits in 0..1_u32 << n {
                let mut rows = [[0.0; LANES]; SORTED];
                (0..n).for_each(|row| rows[row] = [(bits >> row & 1) as f32; LANES]);
                sort(&mut rows, n);
                assert!(rows[..n].is_sorted_by(|a, b| a[0] <= b[0]), "{bits:b} of {n}");
                assert_eq!(rows[..n].iter().map(|row| row[3]).sum::<f32>(), bits.count_ones() as f32);
            }
        }
    }

    #[test]
    fn the_middle_of_a_list() {
        assert_eq!(lower_middle(&mut []), None);
        assert_eq!(lower_middle(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(lower_middle(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.0));
    }
}
