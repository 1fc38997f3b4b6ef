//! Where does a monotone condition change, and where is a curve with one valley lowest?

/// Orders minus 1 between which [`lowest`] looks. Smaller ones would need a divergence of 10^10 to be of use, larger
/// ones one of 10^-10.
const ORDERS: (f64, f64) = (1e-10, 1e5);
/// Divides the interval by 10^13: beyond that, rounding decides.
const N_GOLDEN: usize = 62;
/// As many halvings as there are floating-point numbers between two that are 2^140 apart.
const N_HALVINGS: usize = 192;

/// The last number found for which `is_fine`, between one for which it is and one for which it is not.
pub(super) fn boundary(fine: f64, not_fine: f64, is_fine: impl Fn(f64) -> bool) -> f64 {
    let (mut fine, mut not_fine) = (fine, not_fine);
    for _ in 0..N_HALVINGS {
        let middle = fine + (not_fine - fine) / 2.0;
        if middle == fine || middle == not_fine {
            break;
        }
        *(if is_fine(middle) { &mut fine } else { &mut not_fine }) = middle;
    }
    fine
}

/// The largest number at which `delta_of` stays within delta; it grows with the number, from 0 at 0.
pub(super) fn largest_within(epsilon: f64, delta: f64, delta_of: impl Fn(f64) -> f64) -> f64 {
    if delta >= 1.0 || epsilon == f64::INFINITY {
        return f64::INFINITY;
    }
    if delta <= 0.0 || delta.is_nan() {
        return 0.0;
    }
    let fits = |number: f64| delta_of(number) <= delta;
    let mut too_much = 1.0;
    while fits(too_much) {
        too_much *= 2.0;
    }
    boundary(0.0, too_much, fits)
}

/// The lowest value of a function of the order minus 1, and where it is, by golden sections of its logarithm.
/// Finds the bottom of the only valley; whatever is returned is a value of the function, hence never below its infimum.
pub(super) fn lowest(value: impl Fn(f64) -> f64) -> (f64, f64) {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let at = |ln_t: f64| value(ln_t.exp());
    let (mut low, mut high) = (ORDERS.0.ln(), ORDERS.1.ln());
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut of_left, mut of_right) = (at(left), at(right));
    for _ in 0..N_GOLDEN {
        // Large orders may overflow: between two infinities, the valley is on the left.
        if of_left <= of_right {
            (high, right, of_right) = (right, left, of_left);
            left = high - ratio * (high - low);
            of_left = at(left);
        } else {
            (low, left, of_left) = (left, right, of_right);
            right = low + ratio * (high - low);
            of_right = at(right);
        }
    }
    if of_left <= of_right { (left.exp(), of_left) } else { (right.exp(), of_right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_found_to_the_last_digit_and_on_the_fine_side() {
        for target in [1e-9, 0.3, 7.0, 1e9] {
            let found = boundary(0.0, 1e12, |x| x <= target);
            assert_eq!(found, target);
            let found = boundary(1e12, 0.0, |x| x > target);
            assert!(found > target && found <= target * (1.0 + 1e-15));
        }
    }

    #[test]
    fn the_bottom_of_a_valley_is_found() {
        for bottom in [1e-7_f64, 0.02, 3.0, 4e3] {
            let (at, found) = lowest(|t| 5.0 + (t.ln() - bottom.ln()).powi(2));
            assert!((5.0..5.0 + 1e-12).contains(&found), "{bottom}: {found}");
            assert!((at / bottom - 1.0).abs() < 1e-6, "{bottom}: at {at}");
        }
        let (_, overflowing) = lowest(|t| if t > 2.0 { f64::INFINITY } else { 1.0 / t });
        assert!((0.5..0.5 + 1e-9).contains(&overflowing), "{overflowing}");
    }
}
