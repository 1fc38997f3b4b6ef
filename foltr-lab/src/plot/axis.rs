//! Axes: round numbers as ticks, and where a value lies between them.

/// One axis: the values it spans, with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// First value.
    pub low: f64,
    /// Last value.
    pub high: f64,
    /// Values with a label.
    pub ticks: Vec<f64>,
    step: f64,
}

impl Axis {
    /// An axis whose ends are ticks, around all values, with about `n_ticks` ticks.
    pub fn around(values: impl Iterator<Item = f64>, n_ticks: usize) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low < 1e-9 {
            (low, high) = (low - 0.05, high + 0.05);
        }
        let step = round_step((high - low) / n_ticks as f64);
        // A hair's breadth of tolerance: 0.6 / 0.2 is 2.9999999999999996.
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let ticks = (first as i64..=last as i64).map(|tick| tick as f64 * step).collect();
        Self { low: first * step, high: last * step, ticks, step }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end.
    pub fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// A tick's label: as many digits as the step needs; thousands as k, millions as M.
    pub fn label(&self, tick: f64) -> String {
        if tick == 0.0 && self.step >= 1.0 {
            return "0".into();
        }
        let (scale, unit) = match self.high.abs().max(self.low.abs()) {
            largest if largest >= 1e6 => (1e6, "M"),
            largest if largest >= 1e4 => (1e3, "k"),
            _ => (1.0, ""),
        };
        // The fewest digits that write the step exactly: .025 needs three.
        let is_exact = |digits: &usize| {
            let shifted = self.step / scale * 10_f64.powi(*digits as i32);
            (shifted - shifted.round()).abs() < 1e-6 * shifted
        };
        let digits = (0..9).find(is_exact).unwrap_or(9);
        format!("{:.digits$}{unit}", tick / scale)
    }
}

/// The nearest of 1, 2, 2.5, 5 times a power of ten that is not smaller.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * power >= rough * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_around_the_values() {
        let axis = Axis::around([0.43, 0.79].into_iter(), 5);
        assert_eq!((axis.low, axis.high), (0.4, 0.8));
        let labels: Vec<String> = axis.ticks.iter().map(|&tick| axis.label(tick)).collect();
        assert_eq!(labels, ["0.4", "0.5", "0.6", "0.7", "0.8"]);
        assert!((axis.share(0.5) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_step_of_a_fortieth_keeps_its_three_digits() {
        let axis = Axis::around([0.68, 0.82].into_iter(), 6);
        let labels: Vec<String> = axis.ticks.iter().map(|&tick| axis.label(tick)).collect();
        assert_eq!(labels[..3], ["0.675", "0.700", "0.725"]);
    }

    #[test]
    fn interactions_are_counted_in_thousands() {
        let axis = Axis::around([0.0, 4e5].into_iter(), 4);
        let labels: Vec<String> = axis.ticks.iter().map(|&tick| axis.label(tick)).collect();
        assert_eq!(labels, ["0", "100k", "200k", "300k", "400k"]);
    }

    #[test]
    fn a_constant_and_nothing_at_all_still_have_an_axis() {
        let axis = Axis::around([0.5].into_iter(), 4);
        assert!(axis.low < 0.5 && axis.high > 0.5);
        let axis = Axis::around(std::iter::empty(), 4);
        assert_eq!((axis.low, axis.high), (0.0, 1.0));
    }
}
