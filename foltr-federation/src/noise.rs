//! Where the randomness comes from that protects people.
//!
//! Whoever can draw the same numbers again subtracts the noise. So the numbers of a simulation, which follow from a seed,
//! and those of the operating system have types of their own, and one cannot be passed for the other by mistake: a
//! program that protects real people names the type that it draws from.

use rand::Rng;

/// Randomness that protects: the noise of a message or of a sum, the coins of a randomised response.
///
/// It must be fresh for every message and every round: equal numbers give the difference of what they hide away.
pub trait NoiseSource: Rng {
    /// Whether the numbers follow from a seed. Such noise protects nobody, and is for plans that say so.
    fn is_simulated(&self) -> bool;
}

/// Noise of the unit tests.
#[cfg(test)]
pub(crate) mod seeded {
    use std::convert::Infallible;

    use foltr_rank::rng::{Purpose, Stream, Streams};
    use rand::TryRng;

    use super::NoiseSource;

    #[derive(Debug)]
    pub(crate) struct SeededNoise(Stream);

    pub(crate) fn seeded(seed: u64, purpose: Purpose, client: u32, round: u32) -> SeededNoise {
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
}
