//! What a device sends to a round.

use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::message::{Expected, Kind, Message, Payload, PayloadError, RoundTask};
use crate::protocol::VERSION;
use crate::protocol::key::DeviceId;
use crate::protocol::payload;
use crate::protocol::release::{ReleaseId, read_fingerprint};
use crate::protocol::signed::named;
use crate::writer::{WriteFingerprint, Writer};
use foltr_rank::bytes::{BytesError, Reader};

/// Version, kind, plan, round, start release and device.
pub const HEADER_LEN: usize = 1 + 1 + 32 + 4 + 36 + 32;

/// A payload, and where it belongs. Whoever sends it signs the request that carries it
/// ([`sign_request`](crate::protocol::sign_request)).
///
/// ```
/// use foltr_federation::protocol::{Contribution, ReleaseId, SecretKey};
/// use foltr_federation::{Expected, Fingerprint, Kind, Payload, RoundTask};
///
/// let (plan, device) = (Fingerprint::of(b"the plan"), SecretKey::from_bytes(&[9; 32]).public_key().device_id());
/// let start = ReleaseId { version: 4, hash: Fingerprint::of(b"the release") };
/// let payload = Payload::Step { n_interactions: 4, delta: vec![1.0, -2.0] };
/// let bytes = Contribution { plan, round: 5, start, device, payload }.encode();
///
/// // The server knows what it asked for, and the number that it gave to the device.
/// let expected = Expected { n_params: 2, kind: Kind::Step, max_interactions: 4 };
/// let received = Contribution::decode(&bytes, &plan, &expected)?;
/// assert_eq!(received.device, device);
/// // Round 5 is open; releases 3 and 4 may be started from, and 4 is the newest.
/// let task = RoundTask { round: 5, global: vec![0.0; 2], n_clients: 100, n_interactions: 4, clip_norm: None };
/// let recent = [ReleaseId { version: 3, hash: Fingerprint::of(b"the release before") }, start];
/// let message = received.into_message(17, &task, &recent)?;
/// assert_eq!((message.round, message.start, message.client), (5, 5, 17));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    pub plan: Fingerprint,
    pub round: u32,
    /// The release that the device learnt from.
    pub start: ReleaseId,
    pub device: DeviceId,
    pub payload: Payload,
}

/// Why a byte string is not a contribution to this plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContributionError {
    #[error("a contribution needs {needed} bytes, only {got} came")]
    Truncated { needed: usize, got: usize },
    #[error("a contribution of this kind has {expected} bytes, not {got}")]
    TrailingBytes { expected: usize, got: usize },
    #[error("protocol version {got} is not the supported version {VERSION}")]
    Version { got: u8 },
    #[error("kind byte {got} is unknown; 1 is a step, 2 and 3 are evolution, 4 is a clipped step, 5 a share")]
    UnknownKind { got: u8 },
    #[error("the contribution is to plan {got}, not to {expected}")]
    Plan { expected: Fingerprint, got: Fingerprint },
    #[error(transparent)]
    Content(#[from] PayloadError),
}

/// The contribution did not start from a release that it may start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("release {} ({}) is too old, unknown here, or from before a rollback: begin a round with the newest", .0.version, .0.hash)]
pub struct UnknownStart(pub ReleaseId);

impl Contribution {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(VERSION).u8(self.payload.kind() as u8).fingerprint(&self.plan).u32(self.round);
        self.start.write(&mut out);
        out.bytes(self.device.as_bytes());
        payload::write(&self.payload, &mut out);
        out.0
    }

    /// Reads a contribution and checks everything that needs neither the state of the round nor the device's key.
    pub fn decode(bytes: &[u8], plan: &Fingerprint, expected: &Expected) -> Result<Self, ContributionError> {
        let truncated = ContributionError::Truncated { needed: HEADER_LEN, got: bytes.len() };
        let (header, content) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(truncated)?;
        let [version, kind, rest @ ..] = header;
        if *version != VERSION {
            return Err(ContributionError::Version { got: *version });
        }
        let known = Kind::ALL.into_iter().find(|&known| known as u8 == *kind);
        let kind = known.ok_or(ContributionError::UnknownKind { got: *kind })?;
        let (got, round, start, device) = read_header(rest).map_err(|_| truncated)?;
        if got != *plan {
            return Err(ContributionError::Plan { expected: *plan, got });
        }
        if kind != expected.kind {
            return Err(PayloadError::Kind { expected: expected.kind, got: kind }.into());
        }
        // The length follows from the plan, not from the bytes: nothing that a device claims is allocated.
        let length = HEADER_LEN + kind.content_len(expected.n_params);
        match bytes.len() {
            got if got < length => return Err(ContributionError::Truncated { needed: length, got }),
            got if got > length => return Err(ContributionError::TrailingBytes { expected: length, got }),
            _ => {}
        }
        Ok(Self { plan: got, round, start, device, payload: payload::read(content, expected)? })
    }

    /// The plan that bytes name, whatever else they are: to find what became of a contribution to an earlier plan.
    pub fn plan_of(bytes: &[u8]) -> Option<Fingerprint> {
        let (_, rest) = bytes.split_first_chunk::<2>()?;
        rest.first_chunk().map(|plan| Fingerprint::from_bytes(*plan))
    }

    /// Of its bytes: what a receipt names.
    pub fn hash(&self) -> Fingerprint {
        Self::hash_of(&self.encode())
    }

    /// The hash of a contribution with these bytes, to find a repeated one without reading it.
    pub fn hash_of(bytes: &[u8]) -> Fingerprint {
        named("foltr contribution", bytes).finish()
    }

    /// For the coordinator with this open task, with the number that the server gave to the device.
    ///
    /// `recent` are the releases that a contribution may start from, the newest last: versions of releases and rounds of a
    /// coordinator are counted apart, since a new plan, a new key and a rollback publish releases, too. A release of the same
    /// version and another hash is none of them: who was shown another model than everybody else says so here.
    pub fn into_message(self, client: u32, task: &RoundTask, recent: &[ReleaseId]) -> Result<Message, UnknownStart> {
        let unknown = UnknownStart(self.start);
        let age = recent.iter().rev().position(|release| *release == self.start).ok_or(unknown)?;
        let start = u32::try_from(age).ok().and_then(|age| task.round.checked_sub(age)).ok_or(unknown)?;
        Ok(Message { round: self.round, start, client, payload: self.payload })
    }
}

fn read_header(bytes: &[u8]) -> Result<(Fingerprint, u32, ReleaseId, DeviceId), BytesError> {
    let mut input = Reader::new(bytes);
    let (plan, round) = (read_fingerprint(&mut input)?, input.u32()?);
    Ok((plan, round, ReleaseId::read(&mut input)?, DeviceId::from_bytes(input.array()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Share;

    fn plan() -> Fingerprint {
        Fingerprint::of(b"plan")
    }

    fn expected(kind: Kind) -> Expected {
        Expected { n_params: 2, kind, max_interactions: 4 }
    }

    fn of(payload: Payload) -> Contribution {
        let start = ReleaseId { version: 257, hash: Fingerprint::of(b"release") };
        Contribution { plan: plan(), round: 258, start, device: DeviceId::from_bytes([3; 32]), payload }
    }

    fn step(n_interactions: u32, delta: [f32; 2]) -> Vec<u8> {
        of(Payload::Step { n_interactions, delta: delta.to_vec() }).encode()
    }

    fn share(values: [i64; 2]) -> Payload {
        Payload::Share(Share::new(values.to_vec()))
    }

    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let seed = 0x0102_0304;
        for (payload, kind, content) in [
            (
                Payload::Step { n_interactions: 4, delta: vec![1.0, -2.0] },
                1,
                [4, 0, 0, 0, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0].as_slice(),
            ),
            (Payload::Evolution { seed, plus: 0.5, minus: None }, 2, &[4, 3, 2, 1, 0, 0, 0, 0x3F]),
            (
                Payload::Evolution { seed, plus: 0.5, minus: Some(1.0) },
                3,
                &[4, 3, 2, 1, 0, 0, 0, 0x3F, 0, 0, 0x80, 0x3F],
            ),
            (Payload::Clipped { within: true, delta: vec![1.0, -2.0] }, 4, &[1, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0]),
            (share([258, -2]), 5, &[2, 1, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        ] {
            let contribution = of(payload);
            let bytes = contribution.encode();
            let (plan, hash) = (plan(), contribution.start.hash);
            let header: [&[u8]; 6] =
                [&[2, kind], plan.as_bytes(), &[2, 1, 0, 0], &[1, 1, 0, 0], hash.as_bytes(), &[3; 32]];
            assert_eq!(bytes, [header.concat().as_slice(), content].concat());
            assert_eq!(bytes.len(), HEADER_LEN + content.len());
            assert_eq!(contribution.hash(), Contribution::hash_of(&bytes));
            assert_eq!(Contribution::plan_of(&bytes), Some(plan));
            assert_eq!(Contribution::plan_of(&bytes[..33]), None);
            let expected = expected(contribution.payload.kind());
            assert_eq!(Contribution::decode(&bytes, &plan, &expected), Ok(contribution));
        }
        assert_eq!(format!("{:?}", share([258, -2])), "Share(Share(2 sealed values))");
    }

    #[test]
    fn every_class_of_bad_bytes_has_its_own_error() {
        use ContributionError::{Plan, TrailingBytes, Truncated, UnknownKind, Version};
        let (good, mut clipped) =
            (step(4, [1.0, -2.0]), of(Payload::Clipped { within: true, delta: vec![0.0; 2] }).encode());
        clipped[HEADER_LEN] = 2;
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let evolution = |plus, minus| of(Payload::Evolution { seed: 1, plus, minus }).encode();
        let not_finite = |index| PayloadError::NotFinite { index }.into();
        let other_plan = Fingerprint::from_bytes({
            let mut bytes = *plan().as_bytes();
            bytes[0] = 0xEE;
            bytes
        });
        let length = HEADER_LEN + 12;
        for (bytes, kind, error) in [
            (Vec::new(), Kind::Step, Truncated { needed: HEADER_LEN, got: 0 }),
            (good[..HEADER_LEN - 1].to_vec(), Kind::Step, Truncated { needed: HEADER_LEN, got: HEADER_LEN - 1 }),
            (good[..length - 1].to_vec(), Kind::Step, Truncated { needed: length, got: length - 1 }),
            ([good.as_slice(), &[0]].concat(), Kind::Step, TrailingBytes { expected: length, got: length + 1 }),
            (with(0, 1), Kind::Step, Version { got: 1 }),
            (with(1, 9), Kind::Step, UnknownKind { got: 9 }),
            (with(2, 0xEE), Kind::Step, Plan { expected: plan(), got: other_plan }),
            (with(1, 2), Kind::Step, PayloadError::Kind { expected: Kind::Step, got: Kind::Evolution }.into()),
            (with(HEADER_LEN, 0), Kind::Step, PayloadError::Interactions { max: 4, got: 0 }.into()),
            (with(HEADER_LEN, 5), Kind::Step, PayloadError::Interactions { max: 4, got: 5 }.into()),
            (step(4, [0.0, f32::NAN]), Kind::Step, not_finite(1)),
            (step(4, [0.0, f32::INFINITY]), Kind::Step, not_finite(1)),
            (step(4, [f32::NEG_INFINITY, 0.0]), Kind::Step, not_finite(0)),
            (evolution(f32::INFINITY, None), Kind::Evolution, not_finite(0)),
            (evolution(0.5, Some(f32::NAN)), Kind::EvolutionAntithetic, not_finite(1)),
            (clipped, Kind::Clipped, PayloadError::Within { got: 2 }.into()),
            (of(share([0, i64::MIN])).encode(), Kind::Share, PayloadError::Share { index: 1 }.into()),
        ] {
            assert_eq!(Contribution::decode(&bytes, &plan(), &expected(kind)), Err(error));
        }
    }

    #[test]
    fn the_age_of_a_start_is_counted_in_releases_not_in_numbers() {
        let id = |version: u32| ReleaseId { version, hash: Fingerprint::of(&version.to_le_bytes()) };
        let task = |round| RoundTask { round, global: vec![0.0; 2], n_clients: 9, n_interactions: 4, clip_norm: None };
        let start_of = |start, round, recent: &[ReleaseId]| {
            let contribution = Contribution { start, ..of(Payload::Evolution { seed: 1, plus: 0.5, minus: None }) };
            contribution.into_message(3, &task(round), recent).map(|message| message.start)
        };
        // A plan that was changed after release 56: its first round starts from release 57.
        assert_eq!(start_of(id(57), 0, &[id(57)]), Ok(0));
        assert_eq!(start_of(id(56), 0, &[id(57)]), Err(UnknownStart(id(56))));
        // A release without a round, such as one with a new key, moves numbers apart for good.
        assert_eq!(start_of(id(12), 10, &[id(11), id(12), id(13)]), Ok(9));
        // After a rollback nothing counts that started before it.
        assert_eq!(start_of(id(13), 10, &[id(14)]), Err(UnknownStart(id(13))));
        // Another model under the same number.
        let fork = ReleaseId { hash: Fingerprint::of(b"fork"), ..id(13) };
        assert_eq!(start_of(fork, 10, &[id(12), id(13)]), Err(UnknownStart(fork)));
    }

    #[test]
    fn a_claim_of_a_large_model_in_few_bytes_is_refused_by_length() {
        let large = Expected { n_params: 1 << 30, ..expected(Kind::Step) };
        let refused = Contribution::decode(&step(4, [1.0, 2.0]), &plan(), &large);
        let (needed, got) = (HEADER_LEN + 4 + (1 << 32), HEADER_LEN + 12);
        assert_eq!(refused, Err(ContributionError::Truncated { needed, got }));
    }
}
