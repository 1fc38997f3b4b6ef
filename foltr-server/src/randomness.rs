//! Where the server's random numbers come from.
//!
//! The service is made with a [`Randomness`], so that tests can close rounds with the numbers of a simulation. What is public
//! names [`OsRandomness`] only, and a plan for simulations is refused with it.

use std::convert::Infallible;

use foltr_federation::NoiseSource;
use rand::rngs::SysRng;
use rand::{Rng, RngExt, TryCryptoRng, TryRng};

/// The random numbers of a server.
pub trait Randomness: Send {
    /// The noise with which a round is closed or a client forgotten: fresh, whatever the round.
    fn noise(&mut self, round: u32) -> &mut dyn NoiseSource;

    /// What decides who is invited to a round; nobody can foresee it.
    fn lottery(&mut self, round: u32) -> [u8; 32];
}

/// Noise of the operating system's generator.
#[derive(Debug, Default)]
pub struct OsNoise(SysRng);

/// All numbers of the operating system.
#[derive(Debug, Default)]
pub struct OsRandomness(OsNoise);

impl Randomness for OsRandomness {
    fn noise(&mut self, _: u32) -> &mut dyn NoiseSource {
        &mut self.0
    }

    fn lottery(&mut self, _: u32) -> [u8; 32] {
        secret()
    }
}

/// 32 bytes that nobody can guess.
pub fn secret() -> [u8; 32] {
    let mut bytes = [0; 32];
    OsNoise::default().fill_bytes(&mut bytes);
    bytes
}

/// A wait of about so many seconds, spread so that devices do not come all at once.
pub fn spread(seconds: u32) -> u32 {
    let half = seconds / 2;
    half.saturating_add(OsNoise::default().random_range(0..=seconds.max(1)))
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

/// The operating system's generator is one for secrets.
impl TryCryptoRng for OsNoise {}
