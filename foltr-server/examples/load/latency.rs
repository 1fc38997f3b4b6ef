//! How long answers took.

use std::fmt;
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn sorted(mut self) -> Self {
        self.0.sort_unstable();
        self
    }

    /// The time below which this share of the answers came; of sorted ones.
    pub fn quantile(&self, share: f64) -> Duration {
        let place = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(place.clamp(1, self.0.len().max(1)) - 1).copied().unwrap_or_default()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |share| self.quantile(share).as_secs_f64() * 1e3;
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
            write!(f, "{name} {:.1} ms, ", milliseconds(share))?;
        }
        write!(f, "longest {:.1} ms", milliseconds(1.0))
    }
}
