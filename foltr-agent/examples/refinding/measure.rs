//! Means over people, with standard errors, and paired differences.

/// Of Student's t with 1, 2, ... degrees of freedom: the value that 2.5 % exceed.
const T: [f64; 11] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201];

/// Searches from and to (excluded).
pub const WINDOWS: [(usize, usize); 4] = [(0, 20), (20, 100), (100, 200), (400, 500)];
pub const ALL: (usize, usize) = (0, 500);
pub const LATER: (usize, usize) = (100, 500);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub mean: f64,
    /// Of the mean.
    pub error: f64,
    pub n: usize,
}

impl Mean {
    pub fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n.max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = if n > 1 { (squares / (n - 1) as f64 / n as f64).sqrt() } else { f64::NAN };
        Self { mean, error, n }
    }

    /// Half of the interval that has the mean with 95 %.
    pub fn half_interval(self) -> f64 {
        self.error * T.get(self.n.wrapping_sub(2)).copied().unwrap_or(2.0)
    }
}

/// The mean of a window, as far as there are values.
pub fn window(values: &[f64], (from, to): (usize, usize)) -> f64 {
    let values = &values[from.min(values.len())..to.min(values.len())];
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub fn differences(of: &[f64], from: &[f64]) -> Vec<f64> {
    of.iter().zip(from).map(|(a, b)| a - b).collect()
}
