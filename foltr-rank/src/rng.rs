//! Named random streams: one ChaCha8 key a run, one stream for each (purpose, client, round).
//!
//! `B08` Bernstein: *ChaCha, a Variant of Salsa20*, 2008, with eight rounds.
//!
//! Streams never overlap, so results do not depend on thread count, arrival order or on what else was drawn.
//! A seed that goes on the wire (FOLtR-ES) comes from its own stream and drives nothing private.
//!
//! A federation that goes back to an earlier round and comes again without a client has the same people in it, but must
//! not have the same noise: whoever knows the model before and after would subtract it. So streams that protect have a
//! key of their own once somebody was forgotten, which follows from the run's key and from the [`Lineage`].

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
    /// The keys of lineages. (14 was that of salts, which are in old histories for everybody to read.)
    Lineage = 15,
}

impl Purpose {
    /// Whether its numbers hide something, rather than stand for what people and networks do.
    const fn protects(self) -> bool {
        matches!(self, Self::Noise | Self::RandomisedResponse)
    }
}

/// Which requests to forget a run has behind it: a fingerprint of all of them, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lineage(pub [u8; 32]);

impl Lineage {
    /// Nobody was forgotten.
    pub const TRAINING: Self = Self([0; 32]);
}

/// Rounds of a run are numbered below this, for a stream's number to hold purpose, round and client.
pub const MAX_ROUNDS: u32 = 1 << 28;

/// All streams of a run. A simulation draws from them; a device draws from the operating system.
///
/// ```
/// use foltr_rank::rng::{Purpose, Streams};
/// use rand::Rng;
///
/// let streams = Streams::new(1);
/// let first = |client| streams.open(Purpose::Interaction, client, 0).next_u64();
/// assert_eq!(first(3), first(3));
/// assert_ne!(first(3), first(4));
/// ```
#[derive(Clone, Debug)]
pub struct Streams {
    key: [u8; 32],
    /// Of streams that protect.
    protecting: [u8; 32],
}

impl Streams {
    /// All streams of the run with this seed.
    pub fn new(seed: u64) -> Self {
        Self::with_key(Stream::seed_from_u64(seed).get_seed())
    }

    const fn with_key(key: [u8; 32]) -> Self {
        Self { key, protecting: key }
    }

    /// The same streams, but for those that protect: these are of this lineage. Without requests they stay as they are.
    ///
    /// The key is a leaf of a tree (`GGM86` Goldreich, Goldwasser, Micali: *How to Construct Random Functions*, 1986): eight
    /// bytes of the lineage choose the stream whose first bytes are the next key.
    #[must_use]
    pub fn of_lineage(&self, lineage: &Lineage) -> Self {
        if *lineage == Lineage::TRAINING {
            return Self::with_key(self.key);
        }
        let mut protecting = first_bytes(self.open(Purpose::Lineage, 0, 0));
        for chunk in lineage.0.as_chunks().0 {
            let mut stream = Stream::from_seed(protecting);
            stream.set_stream(u64::from_le_bytes(*chunk));
            protecting = first_bytes(stream);
        }
        Self { key: self.key, protecting }
    }

    /// The stream of one purpose, client and round, from its beginning.
    pub fn open(&self, purpose: Purpose, client: u32, round: u32) -> Stream {
        let mut stream = Stream::from_seed(if purpose.protects() { self.protecting } else { self.key });
        Self::rewind(&mut stream, purpose, client, round);
        stream
    }

    /// The streams of a run within this run: all of them, with a key of their own.
    pub fn branch(&self, purpose: Purpose, client: u32, round: u32) -> Self {
        Self::with_key(first_bytes(self.open(purpose, client, round)))
    }

    /// Turns a stream that [`Self::open`] of the same run returned into another one, without a copy. Streams that protect
    /// become others that protect, and no others do.
    #[inline]
    pub fn rewind(stream: &mut Stream, purpose: Purpose, client: u32, round: u32) {
        assert!(round < MAX_ROUNDS, "a stream id has 28 bits for the round, {round} needs more");
        stream.set_stream((purpose as u64) << 60 | u64::from(round) << 32 | u64::from(client));
    }
}

fn first_bytes(mut stream: Stream) -> [u8; 32] {
    let mut bytes = [0; 32];
    stream.fill_bytes(&mut bytes);
    bytes
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

    #[test]
    fn only_streams_that_protect_have_a_lineage() {
        let (training, other) = (Streams::new(7), Streams::new(8));
        let first = |streams: &Streams, purpose| streams.open(purpose, 3, 4).next_u64();
        let kept = training.of_lineage(&Lineage::TRAINING);
        assert_eq!(first(&kept, Purpose::Noise), first(&training, Purpose::Noise));
        let mut all = vec![first(&training, Purpose::Noise), first(&other, Purpose::Noise)];
        // Every byte of a lineage counts, and the run's key.
        for byte in 0..32 {
            let mut lineage = Lineage::TRAINING;
            lineage.0[byte] = 1;
            for streams in [&training, &other] {
                let replayed = streams.of_lineage(&lineage);
                for purpose in [Purpose::Interaction, Purpose::Cohort, Purpose::PerturbationSeed, Purpose::Attack] {
                    assert_eq!(first(&replayed, purpose), first(streams, purpose), "{purpose:?}");
                }
                all.extend([Purpose::Noise, Purpose::RandomisedResponse].map(|purpose| first(&replayed, purpose)));
            }
        }
        let n_streams = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_streams, "two streams that protect begin alike");
        // A lineage takes the place of another one.
        let [one, two] = [1, 2].map(|byte| Lineage([byte; 32]));
        let again = training.of_lineage(&one).of_lineage(&two);
        assert_eq!(first(&again, Purpose::Noise), first(&training.of_lineage(&two), Purpose::Noise));
    }
}
