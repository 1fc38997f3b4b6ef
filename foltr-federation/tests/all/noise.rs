//! Noise of a seed.

use std::convert::Infallible;

use foltr_federation::NoiseSource;
use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::TryRng;

#[derive(Debug)]
pub struct SeededNoise(Stream);

pub fn seeded(seed: u64, purpose: Purpose, client: u32, round: u32) -> SeededNoise {
    SeededNoise(Streams::new(seed).open(purpose, client, round))
}

impl TryRng for SeededNoise {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

impl NoiseSource for SeededNoise {
    fn is_simulated(&self) -> bool {
        true
    }
}
