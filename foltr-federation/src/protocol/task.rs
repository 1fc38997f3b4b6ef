//! What a server asks of devices: the same bytes for all, so that caches can give them out.
//!
//! Signed, although it comes over an authenticated connection: a cache need not be trusted, and a device can show later
//! what it was asked.

use crate::fingerprint::Fingerprint;
use crate::protocol::VERSION;
use crate::protocol::key::DeviceId;
use crate::protocol::release::{ReleaseId, read_fingerprint, read_protocol};
use crate::protocol::signed::Document;
use crate::writer::{WriteFingerprint, Writer};
use foltr_rank::bytes::{BytesError, Reader};

/// An open round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    pub plan: Fingerprint,
    pub round: u32,
    /// Whose clients are asked, in a federation of shards; 0 without shards.
    pub shard: u32,
    /// The newest release. Contributions may start from older ones, as far as the plan allows.
    pub start: ReleaseId,
    /// The norm to which updates of this round are clipped, where it changes from round to round.
    pub clip_norm: Option<f32>,
    /// When the round closes at the latest, in seconds since 1970; a device that is slower waits for the next one.
    pub deadline: u64,
    pub n_wanted: u32,
    /// Who is asked; all devices when absent.
    pub lottery: Option<Lottery>,
}

/// Invites each device with the same probability, by chance that nobody can foresee and everybody can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lottery {
    /// Fresh random bytes, drawn after the devices of the round were enrolled: who knew them could choose a lucky key.
    pub value: [u8; 32],
    /// The probability, times 2^64.
    pub threshold: u64,
}

impl Lottery {
    /// Invites exactly so many of these devices, all of them if there are fewer, each set of them with the same probability:
    /// a sample without replacement, as simulations draw it.
    pub fn drawing(value: [u8; 32], size: usize, devices: &[DeviceId]) -> Self {
        let open = Self { value, threshold: u64::MAX };
        let mut tickets: Vec<u64> = devices.iter().map(|device| open.ticket(device)).collect();
        let threshold = match tickets.len().checked_sub(1).filter(|_| size > 0) {
            None => 0,
            // The first ticket that is not invited.
            Some(_) if size < tickets.len() => *tickets.select_nth_unstable(size).1,
            Some(_) => u64::MAX,
        };
        Self { value, threshold }
    }

    /// The first 8 bytes of the hash of value and id, as a little-endian number.
    fn ticket(&self, device: &DeviceId) -> u64 {
        let hash = Writer::named("foltr lottery").bytes(&self.value).bytes(device.as_bytes()).finish();
        let first: [u8; 8] = std::array::from_fn(|i| hash.as_bytes()[i]);
        u64::from_le_bytes(first)
    }

    /// Whether the device's ticket is below the threshold.
    pub fn invites(&self, device: &DeviceId) -> bool {
        self.ticket(device) < self.threshold
    }

    pub fn probability(&self) -> f64 {
        self.threshold as f64 / 2.0_f64.powi(64)
    }
}

impl Task {
    pub fn invites(&self, device: &DeviceId) -> bool {
        self.lottery.is_none_or(|lottery| lottery.invites(device))
    }
}

impl Document for Task {
    const NAME: &'static str = "foltr task";

    type Error = BytesError;

    fn encode(&self) -> Result<Vec<u8>, BytesError> {
        let Self { plan, round, shard, start, clip_norm, deadline, n_wanted, lottery } = self;
        let mut out = Writer::default();
        out.u8(VERSION).fingerprint(plan).u32(*round).u32(*shard);
        start.write(&mut out);
        out.option(*clip_norm, |out, norm| {
            out.f32s(&[norm]);
        });
        out.u64(*deadline).u32(*n_wanted);
        out.option(lottery.as_ref(), |out, Lottery { value, threshold }| {
            out.bytes(value).u64(*threshold);
        });
        Self::decode(&out.0)?;
        Ok(out.0)
    }

    fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        read_protocol(&mut input)?;
        let task = Self {
            plan: read_fingerprint(&mut input)?,
            round: input.u32()?,
            shard: input.u32()?,
            start: ReleaseId::read(&mut input)?,
            clip_norm: input.option(read_norm)?,
            deadline: input.u64()?,
            n_wanted: input.u32()?,
            lottery: input.option(|input| Ok(Lottery { value: input.array()?, threshold: input.u64()? }))?,
        };
        input.finish()?;
        Ok(task)
    }
}

fn read_norm(input: &mut Reader<'_>) -> Result<f32, BytesError> {
    let norm = f32::from_bits(input.u32()?);
    input.require(norm.is_finite() && norm > 0.0, "a clip norm that is not a positive number")?;
    Ok(norm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::key::SecretKey;
    use crate::protocol::signed::Signed;

    fn task() -> Task {
        Task {
            plan: Fingerprint::of(b"plan"),
            round: 7,
            shard: 0,
            start: ReleaseId { version: 6, hash: Fingerprint::of(b"release") },
            clip_norm: Some(0.5),
            deadline: 1_800_000_000,
            n_wanted: 100,
            lottery: Some(Lottery { value: [3; 32], threshold: 1 << 62 }),
        }
    }

    #[test]
    fn tasks_are_read_as_they_were_signed() {
        let key = SecretKey::from_bytes(&[1; 32]);
        for task in [task(), Task { clip_norm: None, ..task() }, Task { lottery: None, ..task() }] {
            let signed = Signed::sign(task, &key).expect("sound");
            let received = Signed::<Task>::decode(signed.as_bytes()).expect("its own bytes");
            assert_eq!(received.verify(&key.public_key()), Ok(&task));
            let mut altered = signed.as_bytes().to_vec();
            altered[64 + 33] ^= 1;
            let altered = Signed::<Task>::decode(&altered).expect("another round");
            assert_eq!(altered.unverified().round, 6);
            assert!(altered.verify(&key.public_key()).is_err());
        }
        for norm in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(Task { clip_norm: Some(norm), ..task() }.encode().is_err(), "{norm}");
        }
    }

    #[test]
    fn a_lottery_invites_its_share_and_each_value_others() {
        let devices: Vec<DeviceId> =
            (0..20_000_u32).map(|i| DeviceId::from_bytes(*Fingerprint::of(&i.to_le_bytes()).as_bytes())).collect();
        let invited = |value: u8, threshold| {
            let lottery = Lottery { value: [value; 32], threshold };
            devices.iter().map(|device| lottery.invites(device)).collect::<Vec<_>>()
        };
        let count = |invited: &[bool]| invited.iter().filter(|&&is_in| is_in).count();
        let (one, two) = (invited(1, 1 << 62), invited(2, 1 << 62));
        // Binomial(20000, 1/4): five standard deviations are 306.
        assert!(count(&one).abs_diff(5_000) < 306 && count(&two).abs_diff(5_000) < 306);
        let both: Vec<bool> = one.iter().zip(&two).map(|(&one, &two)| one && two).collect();
        assert!(count(&both).abs_diff(1_250) < 171, "independent of each other");
        assert_eq!((count(&invited(1, 0)), Lottery { value: [1; 32], threshold: 1 << 62 }.probability()), (0, 0.25));
        assert!(Task { lottery: None, ..task() }.invites(&devices[0]));
    }

    #[test]
    fn a_drawing_invites_so_many_and_each_device_as_often() {
        let devices: Vec<DeviceId> = (0..20).map(|i| DeviceId::from_bytes([i; 32])).collect();
        let mut counts = [0_u32; 20];
        for i in 0..4_000_u32 {
            let value = *Fingerprint::of(&i.to_le_bytes()).as_bytes();
            let lottery = Lottery::drawing(value, 5, &devices);
            let invited: Vec<usize> = (0..20).filter(|&i| lottery.invites(&devices[i])).collect();
            assert_eq!(invited.len(), 5);
            invited.into_iter().for_each(|i| counts[i] += 1);
        }
        // Binomial(4000, 1/4): five standard deviations are 137.
        assert!(counts.iter().all(|count| count.abs_diff(1_000) < 137), "{counts:?}");
        for (size, invited) in [(0, 0), (1, 1), (20, 20), (21, 20)] {
            let lottery = Lottery::drawing([7; 32], size, &devices);
            assert_eq!(devices.iter().filter(|device| lottery.invites(device)).count(), invited, "{size}");
        }
        assert!(!Lottery::drawing([7; 32], 5, &[]).invites(&devices[0]), "nobody was enrolled");
    }
}
