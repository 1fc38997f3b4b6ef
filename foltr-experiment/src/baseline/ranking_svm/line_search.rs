//! How far to go along a descent direction of the smoothed objective.
//!
//! Along a line the objective is convex, so its slope rises and has one zero: bracket it, then close in by false
//! position with the Illinois weights (`DJ71` Dowell, Jarratt: *A Modified Regula Falsi Method*, 1971). No feature is
//! read: scores along the line are linear in the step.

/// Slopes this much smaller than at the start are good enough: the next Newton step does the rest.
const SLOPE_SHARE: f64 = 0.1;

const MAX_EVALUATIONS: usize = 60;

/// A step near the lowest point of a line with this slope at each step; none if the line does not descend at 0.
pub(super) fn best_step(slope: impl Fn(f64) -> f64, slope_at_zero: f64) -> Option<f64> {
    if slope_at_zero.is_nan() || slope_at_zero >= 0.0 {
        return None;
    }
    let is_flat = |value: f64| value.abs() <= SLOPE_SHARE * slope_at_zero.abs();
    let (mut low, mut low_slope) = (0.0, slope_at_zero);
    let (mut high, mut high_slope) = (1.0, slope(1.0));
    let mut last_moved_low = None;
    for _ in 0..MAX_EVALUATIONS {
        if is_flat(high_slope) {
            return Some(high);
        }
        if high_slope < 0.0 {
            // Still downhill: the lowest point is further out.
            (low, low_slope) = (high, high_slope);
            high *= 2.0;
            high_slope = slope(high);
            continue;
        }
        let step = low + (high - low) * low_slope / (low_slope - high_slope);
        let value = slope(step);
        if is_flat(value) {
            return Some(step);
        }
        let moves_low = value < 0.0;
        if moves_low {
            (low, low_slope) = (step, value);
        } else {
            (high, high_slope) = (step, value);
        }
        // The end that stays a second time counts half, or it would stay for ever.
        if last_moved_low == Some(moves_low) {
            if moves_low { high_slope /= 2.0 } else { low_slope /= 2.0 }
        }
        last_moved_low = Some(moves_low);
    }
    (low > 0.0).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_as_long_as_the_line_descends() {
        // One, where it is good.
        assert_eq!(best_step(|step| step - 1.0, -1.0), Some(1.0));
        assert_eq!(best_step(|step| step - 1.05, -1.05), Some(1.0));
        let far = best_step(|step| step - 6.0, -6.0).expect("descends");
        assert!((far - 6.0).abs() <= 0.6, "{far}");
        // Flat, then steep: false position alone would creep.
        let slope = |step| if step < 0.01 { -1.0 } else { 1e4 * (step - 0.01) - 1.0 };
        let near = best_step(slope, -1.0).expect("descends");
        assert!((near - 0.0101).abs() <= 1e-5, "{near}");
        assert_eq!([0.0, f64::NAN].map(|uphill| best_step(|_| 1.0, uphill)), [None, None]);
    }
}
