//! Noise of a seed.

use std::convert::Infallible;

use foltr_federation::NoiseSource;
use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::TryRng;

#[derive(Debug)]
pub struct SeededNoise {
    stream: Stream,
    is_simulated: bool,
}

pub fn seeded(seed: u64, purpose: Purpose, client: u32, round: u32) -> SeededNoise {
    SeededNoise { stream: Streams::new(seed).open(purpose, client, round), is_simulated: true }
}

/// What passes for the operating system's, in tests of plans for people.
pub fn as_if_real() -> SeededNoise {
    SeededNoise { is_simulated: false, ..seeded(1, Purpose::Noise, 0, 0) }
}

impl TryRng for SeededNoise {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.stream.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.stream.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.stream.try_fill_bytes(bytes)
    }
}

impl NoiseSource for SeededNoise {
    fn is_simulated(&self) -> bool {
        self.is_simulated
    }
}
