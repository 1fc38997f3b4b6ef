//! Smoothed learning curves, as the papers draw them: a plain moving average without padding (spec section 3).
//!
//! `KO19` says "sliding average over four measurements", and `WLZZ21` draws with its released script. The mean of a
//! window stands at its last measurement, so that no point of a curve knows what came after it.

/// Whose smoothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothing {
    /// Every measurement as it is.
    None,
    /// `KO19` Figures 1, 3, 4 and 5: four measurements.
    FoltrEs,
    /// `KO19` Figure 2: 8, 4 and 2 measurements for messages of 2, 4 and 8 interactions, none for larger messages.
    FoltrEsFigure2 {
        /// Interactions a message, B.
        interactions: usize,
    },
    /// The plot script of `WLZZ21`: ten measurements.
    Fpdgd,
    /// Any other number of measurements.
    Window(usize),
}

impl Smoothing {
    /// How many measurements are averaged, at least 1.
    pub fn window(self) -> usize {
        match self {
            Self::None => 1,
            Self::FoltrEs => 4,
            // All windows of Figure 2 span 16 interactions of a client.
            Self::FoltrEsFigure2 { interactions } => (16 / interactions.max(1)).clamp(1, 8),
            Self::Fpdgd => 10,
            Self::Window(window) => window.max(1),
        }
    }

    /// A smoothed course of `(x, value)`: shorter by `window - 1` points, and empty when shorter than a window.
    pub fn smooth(self, course: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mean = |window: &[(f64, f64)]| {
            let sum: f64 = window.iter().map(|(_, value)| value).sum();
            (window[window.len() - 1].0, sum / window.len() as f64)
        };
        course.windows(self.window()).map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_measurements_by_hand() {
        let course: Vec<(f64, f64)> = (1..).map(f64::from).zip([1.0, 3.0, 2.0, 6.0, 5.0]).collect();
        // (1 + 3 + 2 + 6) / 4 and (3 + 2 + 6 + 5) / 4, at the last of each four.
        assert_eq!(Smoothing::FoltrEs.smooth(&course), [(4.0, 3.0), (5.0, 4.0)]);
        assert_eq!(Smoothing::None.smooth(&course), course);
        assert_eq!(Smoothing::Window(0).smooth(&course), course);
        assert_eq!(Smoothing::Fpdgd.smooth(&course), []);
    }

    #[test]
    fn windows_are_those_of_the_papers() {
        let figure_2 = [2, 4, 8, 16, 32].map(|interactions| Smoothing::FoltrEsFigure2 { interactions }.window());
        assert_eq!(figure_2, [8, 4, 2, 1, 1]);
        assert_eq!((Smoothing::FoltrEs.window(), Smoothing::Fpdgd.window()), (4, 10));
    }
}
