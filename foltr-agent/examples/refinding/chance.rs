//! Random numbers that depend on nothing but what they are for: the same person wants the same, whoever ranks.

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand::rngs::ChaCha8Rng;
use xxhash_rust::xxh3::xxh3_64;

/// A stream of a seed, a purpose and a number.
pub fn stream(seed: u64, purpose: &str, number: usize) -> ChaCha8Rng {
    let key = [&seed.to_le_bytes()[..], &(number as u64).to_le_bytes(), purpose.as_bytes()].concat();
    ChaCha8Rng::seed_from_u64(xxh3_64(&key))
}

/// Between 0 and 1.
pub fn uniform(random: &mut ChaCha8Rng) -> f64 {
    random.random()
}

pub fn between(random: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * uniform(random)
}

/// A place, as likely as its weight says; none if all weights are 0.
pub fn draw(random: &mut ChaCha8Rng, weights: impl Iterator<Item = f64> + Clone) -> Option<usize> {
    let mut rest = uniform(random) * weights.clone().sum::<f64>();
    let mut last = None;
    for (at, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
        last = Some(at);
        rest -= weight;
        if rest < 0.0 {
            break;
        }
    }
    last
}

/// One of several with equal chances.
///
/// # Panics
/// If there are none.
pub fn one<'a, T>(random: &mut ChaCha8Rng, of: &'a [T]) -> &'a T {
    &of[random.random_range(0..of.len())]
}
