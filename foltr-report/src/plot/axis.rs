//! Axes: round numbers as ticks, and where a value lies between them.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    #[default]
    Linear,
    /// Round 0 has a place of its own left of all others; negative values are left out.
    Logarithmic,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<f64>,
    pub scale: Scale,
    /// Where a logarithmic axis begins, as a share of it: what lies left of it is the place of 0. 0 if there is none.
    pub start: f64,
    step: f64,
}

const PLACE_OF_ZERO: f64 = 0.1;

impl Axis {
    /// From the least to the largest value.
    pub fn of(scale: Scale, values: impl Iterator<Item = f64>, n_ticks: usize) -> Self {
        match scale {
            Scale::Linear => Self::between(values, 0.0, n_ticks),
            Scale::Logarithmic => Self::logarithmic(values),
        }
    }

    /// From the least to the largest value and a little more on both sides, as a share of what lies between; ticks are
    /// within.
    pub fn between(values: impl Iterator<Item = f64>, more: f64, n_ticks: usize) -> Self {
        let values: Vec<f64> = values.collect();
        let around = Self::around(values.iter().copied(), n_ticks);
        let (low, high) = ends(values.into_iter()).unwrap_or((around.low, around.high));
        if high - low <= 1e-9 * low.abs().max(high.abs()) {
            return around;
        }
        let (low, high) = (low - more * (high - low), high + more * (high - low));
        let room = 1e-9 * (high - low);
        let ticks: Vec<f64> =
            around.ticks.iter().copied().filter(|tick| (low - room..=high + room).contains(tick)).collect();
        if ticks.len() < 2 { around } else { Self { low, high, ticks, ..around } }
    }

    /// An axis whose ends are ticks, around all values, with about `n_ticks` ticks.
    pub fn around(values: impl Iterator<Item = f64>, n_ticks: usize) -> Self {
        let (mut low, mut high) = ends(values).unwrap_or((0.0, 1.0));
        // What does not vary, but for rounding, gets an axis of its own size.
        let least = 1e-9 * low.abs().max(high.abs());
        if high - low <= least {
            let half = if low == 0.0 { 0.05 } else { (0.1 * low.abs()).max(1e-300) };
            (low, high) = (low - half, high + half);
        }
        let step = round_step((high - low) / n_ticks as f64);
        // A hair's breadth of tolerance: 0.6 / 0.2 is 2.9999999999999996.
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let ticks = (0..=(last - first) as usize).map(|tick| (first + tick as f64) * step).collect();
        Self { low: first * step, high: last * step, ticks, scale: Scale::Linear, start: 0.0, step }
    }

    /// From the least to the largest positive value. Ticks are powers of ten, with 2 and 5 times them where these are
    /// few.
    fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let has_zero = values.contains(&0.0);
        let (mut low, mut high) = ends(values.into_iter().filter(|&value| value > 0.0)).unwrap_or((1.0, 10.0));
        if high <= low * (1.0 + 1e-9) {
            (low, high) = (low / 2.0, high * 2.0);
        }
        let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let within = |multiples: &[f64]| -> Vec<f64> {
            let all = powers.clone().flat_map(|power| multiples.iter().map(move |times| times * 10_f64.powi(power)));
            all.filter(|tick| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(tick)).collect()
        };
        let (few, more) = (within(&[1.0]), within(&[1.0, 2.0, 5.0]));
        let ticks = match (few.len(), more.len()) {
            (3.., _) => few,
            (_, 2..) => more,
            _ => vec![low, high],
        };
        let ticks = has_zero.then_some(0.0).into_iter().chain(ticks).collect();
        let start = if has_zero { PLACE_OF_ZERO } else { 0.0 };
        Self { low, high, ticks, scale: Scale::Logarithmic, start, step: 0.0 }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end. None for what cannot be shown.
    pub fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic if value == 0.0 && self.start > 0.0 => 0.0,
            Scale::Logarithmic => {
                self.start + (1.0 - self.start) * (value / self.low).ln() / (self.high / self.low).ln()
            }
        };
        share.is_finite().then_some(share)
    }

    /// A tick's label: as many digits as the step needs; thousands as k, millions as M.
    pub fn label(&self, tick: f64) -> String {
        match self.scale {
            Scale::Logarithmic => logarithmic_label(tick),
            Scale::Linear => self.linear_label(tick),
        }
    }

    fn linear_label(&self, tick: f64) -> String {
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
            shifted >= 1.0 - 1e-6 && (shifted - shifted.round()).abs() < 1e-6 * shifted
        };
        match (0..9).find(is_exact) {
            Some(digits) => format!("{:.digits$}{unit}", tick / scale),
            None => format!("{tick:.2e}"),
        }
        .replace('-', "\u{2212}")
    }
}

fn logarithmic_label(tick: f64) -> String {
    if tick == 0.0 {
        return "0".into();
    }
    let (scale, unit) = match tick {
        tick if tick >= 1e6 => (1e6, "M"),
        tick if tick >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    // Three digits that count.
    let shown = tick / scale;
    let digits = (2 - shown.log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{shown:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    (low <= high).then_some((low, high))
}

/// Every k-th label where neighbours would otherwise come closer than `gap`: the least k that helps. `at` and `widths`
/// are the labels' middles and widths in units of the figure.
pub fn thinning(at: &[f64], widths: &[f64], gap: f64) -> usize {
    let is_clear = |every: &usize| {
        let shown: Vec<usize> = (0..at.len()).step_by(*every).collect();
        shown
            .windows(2)
            .all(|pair| (at[pair[1]] - at[pair[0]]).abs() >= (widths[pair[0]] + widths[pair[1]]) / 2.0 + gap)
    };
    (1..=at.len()).find(is_clear).unwrap_or(1)
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

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|&tick| axis.label(tick)).collect()
    }

    #[test]
    fn ticks_are_round_numbers_around_the_values() {
        let axis = Axis::around([0.43, 0.79].into_iter(), 5);
        assert_eq!((axis.low, axis.high), (0.4, 0.8));
        assert_eq!(labels(&axis), ["0.4", "0.5", "0.6", "0.7", "0.8"]);
        assert!((axis.share(0.5).expect("a place") - 0.25).abs() < 1e-12);
        assert_eq!(axis.share(f64::NAN), None);
    }

    #[test]
    fn labels_have_the_digits_of_their_step() {
        let fortieth = Axis::around([0.68, 0.82].into_iter(), 6);
        assert_eq!(labels(&fortieth)[..3], ["0.675", "0.700", "0.725"]);
        let tiny = Axis::around([0.7312, 0.7319].into_iter(), 5);
        assert_eq!(labels(&tiny), ["0.7312", "0.7314", "0.7316", "0.7318", "0.7320"]);
        let negative = Axis::around([-0.2, 0.1].into_iter(), 3);
        assert_eq!(labels(&negative), ["−0.2", "−0.1", "0.0", "0.1"]);
        assert_eq!(labels(&Axis::around([0.0, 4e5].into_iter(), 4)), ["0", "100k", "200k", "300k", "400k"]);
    }

    #[test]
    fn a_logarithmic_axis_has_decades_or_what_lies_between() {
        let wide = Axis::of(Scale::Logarithmic, [-1.0, 100.0, 2e5].into_iter(), 4);
        assert_eq!(labels(&wide), ["100", "1k", "10k", "100k"]);
        assert!((wide.share(100.0).expect("a place")).abs() < 1e-12 && wide.share(0.0).is_none());
        let narrow = Axis::of(Scale::Logarithmic, [2000.0, 4e4].into_iter(), 4);
        assert_eq!(labels(&narrow), ["2k", "5k", "10k", "20k"]);
        assert_eq!(labels(&Axis::of(Scale::Logarithmic, [1100.0, 1234.0].into_iter(), 4)), ["1.1k", "1.23k"]);
    }

    #[test]
    fn a_constant_and_nothing_at_all_still_have_an_axis() {
        for constant in [0.5, -3e5, 0.0, 1e-12] {
            let axis = Axis::around([constant].into_iter(), 4);
            assert!(axis.low < constant && axis.high > constant && axis.ticks.len() < 9, "{axis:?}");
        }
        let axis = Axis::around(std::iter::empty(), 4);
        assert_eq!((axis.low, axis.high), (0.0, 1.0));
        assert!(Axis::of(Scale::Logarithmic, [5.0].into_iter(), 4).ticks.len() > 1);
    }

    #[test]
    fn labels_are_thinned_until_they_are_clear() {
        let at: Vec<f64> = (0..5).map(|tick| f64::from(tick) * 20.0).collect();
        assert_eq!(thinning(&at, &[10.0; 5], 8.0), 1);
        assert_eq!(thinning(&at, &[30.0; 5], 8.0), 2);
        assert_eq!(thinning(&at, &[70.0; 5], 8.0), 4);
    }

    #[test]
    fn round_0_has_its_place_left_of_a_logarithmic_axis() {
        let with = Axis::of(Scale::Logarithmic, [0.0, 1.0, 10.0, 100.0].into_iter(), 4);
        assert_eq!(labels(&with), ["0", "1", "10", "100"]);
        let places = [0.0, 1.0, 10.0, 100.0].map(|value| with.share(value).expect("a place"));
        assert_eq!((places[0], places[1], places[3]), (0.0, 0.1, 1.0));
        assert!((places[2] - 0.55).abs() < 1e-12);
        let without = Axis::of(Scale::Logarithmic, [1.0, 100.0].into_iter(), 4);
        assert_eq!((without.share(1.0), without.share(0.0), without.share(-1.0)), (Some(0.0), None, None));
    }

    #[test]
    fn an_axis_between_values_ends_near_them() {
        let axis = Axis::between([0.5, 0.82].into_iter(), 0.05, 5);
        assert!((axis.low - 0.484).abs() < 1e-12 && (axis.high - 0.836).abs() < 1e-12, "{axis:?}");
        assert_eq!(labels(&axis), ["0.5", "0.6", "0.7", "0.8"]);
        assert_eq!(Axis::between([0.7, 0.7].into_iter(), 0.05, 5), Axis::around([0.7, 0.7].into_iter(), 5));
        let rounds = Axis::of(Scale::Linear, [0.0, 2400.0].into_iter(), 4);
        assert_eq!((rounds.low, rounds.high, labels(&rounds).len()), (0.0, 2400.0, 3));
    }
}
