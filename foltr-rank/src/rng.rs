//! Named random streams: one ChaCha8 key a run, one stream for each (purpose, client, round).
//!
//! `B08` Bernstein: *ChaCha, a Variant of Salsa20*, 2008, with eight rounds.
//!
//! Streams never overlap, so results do not depend on thread count, arrival order or on what else was drawn.
//! A seed that goes on the wire (FOLtR-ES) comes from its own stream and drives nothing private.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

/// A stream of random numbers. Draw from it through the `rand` traits.
pub type Stream = ChaCha8Rng;

/// What a stream is for. Two purposes never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Which queries a client issues, which lists it shows, and where its user clicks.
    Interaction = 2,
    /// The seed of a FOLtR-ES perturbation: the only stream whose output is transmitted.
    PerturbationSeed = 3,
    /// Randomised response on a metric value.
    RandomisedResponse = 4,
    Noise = 5,
    Initialisation = 6,
    Cohort = 7,
    Data = 8,
    Attack = 9,
    /// Which pairs of documents a mimic network learns from, and which of its units drop out.
    Training = 10,
    /// Who is slow, how long a client takes, and whose message is lost when nobody waits.
    Pace = 12,
    /// What happens while clients are forgotten, where it must not be what happened in training.
    Unlearning = 13,
    /// Salts of what a history commits to.
    Salt = 14,
}

/// Rounds of a run are numbered below this, for a stream's number to hold purpose, round and client.
pub const MAX_ROUNDS: u32 = 1 << 28;

#[derive(Clone, Debug)]
pub struct Streams {
    key: [u8; 32],
}

impl Streams {
    /// All streams of the run with this seed.
    pub fn new(seed: u64) -> Self {
        Self { key: Stream::seed_from_u64(seed).get_seed() }
    }

    /// The stream of one purpose, client and round, from its beginning.
    pub fn open(&self, purpose: Purpose, client: u32, round: u32) -> Stream {
        let mut stream = Stream::from_seed(self.key);
        Self::rewind(&mut stream, purpose, client, round);
        stream
    }

    /// The streams of a run within this run: all of them, with a key of their own.
    pub fn branch(&self, purpose: Purpose, client: u32, round: u32) -> Self {
        let mut key = [0; 32];
        self.open(purpose, client, round).fill_bytes(&mut key);
        Self { key }
    }

    /// Turns a stream that [`Self::open`] of the same run returned into another one, without a copy.
    #[inline]
    pub fn rewind(stream: &mut Stream, purpose: Purpose, client: u32, round: u32) {
        assert!(round < MAX_ROUNDS, "a stream id has 28 bits for the round, {round} needs more");
        stream.set_stream((purpose as u64) << 60 | u64::from(round) << 32 | u64::from(client));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_distinct_and_rewound() {
        let streams = Streams::new(7);
        let first = |purpose, client, round| streams.open(purpose, client, round).next_u64();
        assert_eq!(first(Purpose::Noise, 3, 4), first(Purpose::Noise, 3, 4));
        assert_ne!(first(Purpose::Noise, 3, 4), first(Purpose::Interaction, 3, 4));
        assert_ne!(first(Purpose::Noise, 3, 4), first(Purpose::Noise, 4, 3));
        assert_ne!(first(Purpose::Noise, 3, 4), Streams::new(8).open(Purpose::Noise, 3, 4).next_u64());
        let mut stream = streams.open(Purpose::Noise, 1, 1);
        stream.next_u32();
        Streams::rewind(&mut stream, Purpose::Interaction, 5, 6);
        assert_eq!(stream.next_u64(), first(Purpose::Interaction, 5, 6));
    }

    #[test]
    fn a_branch_is_another_run() {
        let streams = Streams::new(7);
        let first = |streams: &Streams| streams.open(Purpose::Interaction, 3, 4).next_u64();
        let branch = streams.branch(Purpose::Unlearning, 0, 1);
        assert_eq!(first(&branch), first(&streams.branch(Purpose::Unlearning, 0, 1)));
        assert_ne!(first(&branch), first(&streams));
        assert_ne!(first(&branch), first(&streams.branch(Purpose::Unlearning, 0, 2)));
    }
}
