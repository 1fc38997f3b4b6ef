//! Noise that follows from a seed, so that a run can be repeated. It protects nobody.

use std::convert::Infallible;

use foltr_federation::NoiseSource;
use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::TryRng;

/// A named stream of a run, as a source of noise.
#[derive(Debug)]
pub struct SimulatedNoise(Stream);

impl SimulatedNoise {
    pub fn open(streams: &Streams, purpose: Purpose, client: u32, round: u32) -> Self {
        Self(streams.open(purpose, client, round))
    }

    /// See [`Streams::rewind`].
    #[inline]
    pub fn rewind(&mut self, purpose: Purpose, client: u32, round: u32) {
        Streams::rewind(&mut self.0, purpose, client, round);
    }
}

impl From<Stream> for SimulatedNoise {
    fn from(stream: Stream) -> Self {
        Self(stream)
    }
}

impl TryRng for SimulatedNoise {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

impl NoiseSource for SimulatedNoise {
    fn is_simulated(&self) -> bool {
        true
    }
}
