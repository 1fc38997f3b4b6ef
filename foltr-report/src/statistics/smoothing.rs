//! Smoothed learning curves, as the papers draw them: a plain moving average without padding (spec section 3).
//!
//! `KO19` averages four measurements, the plot script of `WLZZ21` ten. The mean of a window stands at its last
//! measurement, so that no point of a curve knows what came after it.

/// A smoothed course of `(x, value)`: shorter by `window - 1` points, and empty when shorter than a window.
pub fn smooth(course: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    let mean = |window: &[(f64, f64)]| {
        let sum: f64 = window.iter().map(|(_, value)| value).sum();
        (window[window.len() - 1].0, sum / window.len() as f64)
    };
    course.windows(window.max(1)).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_measurements_by_hand() {
        let course: Vec<(f64, f64)> = (1..).map(f64::from).zip([1.0, 3.0, 2.0, 6.0, 5.0]).collect();
        // (1 + 3 + 2 + 6) / 4 and (3 + 2 + 6 + 5) / 4, at the last of each four.
        assert_eq!(smooth(&course, 4), [(4.0, 3.0), (5.0, 4.0)]);
        assert_eq!(smooth(&course, 0), course);
        assert_eq!(smooth(&course, 10), []);
    }
}
