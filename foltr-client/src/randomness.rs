//! Where a device's random numbers come from.
//!
//! The core takes them as an argument, and the shell is generic over them, so that tests can run a device with the numbers
//! of a simulation. What is public names [`OsRandomness`] only, and a plan for simulations is refused with it.

use std::convert::Infallible;

use foltr_federation::NoiseSource;
use rand::rngs::{ChaCha8Rng, SysRng};
use rand::{Rng, SeedableRng, TryRng};

/// The three kinds of random numbers that a device needs. They must be independent of each other.
pub trait Randomness: Send {
    /// For lists and waiting times. Never leaves the device.
    fn private(&mut self) -> &mut dyn Rng;

    /// For what is transmitted: the seed of a perturbation.
    fn public(&mut self) -> &mut dyn Rng;

    /// For what protects: noise, coins, keys.
    fn noise(&mut self) -> &mut dyn NoiseSource;
}

/// Noise of the operating system's generator.
#[derive(Debug, Default)]
pub struct OsNoise(SysRng);

/// All numbers of the operating system: noise and keys directly, lists by a generator that it seeds.
#[derive(Debug)]
pub struct OsRandomness {
    lists: ChaCha8Rng,
    public: OsNoise,
    noise: OsNoise,
}

impl OsRandomness {
    pub fn new() -> Self {
        let mut noise = OsNoise::default();
        Self { lists: ChaCha8Rng::from_rng(&mut noise), public: OsNoise::default(), noise }
    }
}

impl Default for OsRandomness {
    fn default() -> Self {
        Self::new()
    }
}

impl Randomness for OsRandomness {
    fn private(&mut self) -> &mut dyn Rng {
        &mut self.lists
    }

    fn public(&mut self) -> &mut dyn Rng {
        &mut self.public
    }

    fn noise(&mut self) -> &mut dyn NoiseSource {
        &mut self.noise
    }
}

/// What a generator starts from.
pub(crate) type Seed = [u8; 32];

pub(crate) fn seed(random: &mut dyn Rng) -> Seed {
    let mut seed = Seed::default();
    random.fill_bytes(&mut seed);
    seed
}

/// Lists are drawn from a seed; all else is that of another source.
pub(crate) struct Repeated<'a> {
    lists: ChaCha8Rng,
    source: &'a mut dyn Randomness,
}

impl<'a> Repeated<'a> {
    pub fn new(source: &'a mut dyn Randomness, seed: Seed) -> Self {
        Self { lists: ChaCha8Rng::from_seed(seed), source }
    }
}

impl Randomness for Repeated<'_> {
    fn private(&mut self) -> &mut dyn Rng {
        &mut self.lists
    }

    fn public(&mut self) -> &mut dyn Rng {
        self.source.public()
    }

    fn noise(&mut self) -> &mut dyn NoiseSource {
        self.source.noise()
    }
}

impl NoiseSource for OsNoise {
    fn is_simulated(&self) -> bool {
        false
    }
}

/// Panics if the operating system has no random numbers: there is nothing safe to go on with.
impl TryRng for OsNoise {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.try_next_u32().expect("the operating system has random numbers"))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.try_next_u64().expect("the operating system has random numbers"))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes).expect("the operating system has random numbers");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_devices_draw_other_numbers_of_every_kind() {
        let [mut one, mut two] = [OsRandomness::new(), OsRandomness::new()];
        let draw = |it: &mut OsRandomness| [it.private().next_u64(), it.public().next_u64(), it.noise().next_u64()];
        let drawn = [draw(&mut one), draw(&mut two)].concat();
        let distinct: std::collections::BTreeSet<_> = drawn.iter().collect();
        assert_eq!(distinct.len(), 6, "{drawn:?}");
        assert!(!one.noise().is_simulated());
    }
}
