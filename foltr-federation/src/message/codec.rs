//! The bytes of a message, as `docs/protocol.md` lays them out.
//!
//! The decoder is total: any byte string gives a message or a named error, nothing is allocated before the length has
//! been compared with the one length that the task allows, and every accepted byte string encodes to itself again.

use thiserror::Error;

use crate::message::{Expected, Kind, Message, Payload, PayloadError, Share};

/// First byte of every message.
pub const VERSION: u8 = 1;
/// Version, kind, round and client.
pub const HEADER_LEN: usize = 10;

/// Why a byte string is not a message of this round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    #[error("a message needs {needed} bytes, only {got} came")]
    Truncated { needed: usize, got: usize },
    #[error("a message of this kind has {expected} bytes, not {got}")]
    TrailingBytes { expected: usize, got: usize },
    #[error("protocol version {got} is not the supported version {VERSION}")]
    Version { got: u8 },
    #[error("kind byte {got} is unknown; 1 is a step, 2 and 3 are evolution, 4 is a clipped step, 5 a share")]
    UnknownKind { got: u8 },
    #[error(transparent)]
    Content(#[from] PayloadError),
}

pub fn encode(message: &Message, bytes: &mut Vec<u8>) {
    bytes.extend([VERSION, message.payload.kind() as u8]);
    bytes.extend(message.round.to_le_bytes());
    bytes.extend(message.client.to_le_bytes());
    match &message.payload {
        Payload::Step { n_interactions, delta } => {
            bytes.extend(n_interactions.to_le_bytes());
            bytes.extend(delta.iter().flat_map(|value| value.to_le_bytes()));
        }
        Payload::Evolution { seed, plus, minus } => {
            bytes.extend(seed.to_le_bytes());
            bytes.extend(plus.to_le_bytes());
            bytes.extend(minus.iter().flat_map(|value| value.to_le_bytes()));
        }
        Payload::Clipped { within, delta } => {
            bytes.push(u8::from(*within));
            bytes.extend(delta.iter().flat_map(|value| value.to_le_bytes()));
        }
        Payload::Share(share) => bytes.extend(share.values().iter().flat_map(|value| value.to_le_bytes())),
    }
}

/// Reads a message and checks everything that does not need the state of the round.
pub fn decode(bytes: &[u8], expected: &Expected) -> Result<Message, DecodeError> {
    if bytes.len() < HEADER_LEN {
        return Err(DecodeError::Truncated { needed: HEADER_LEN, got: bytes.len() });
    }
    let (header, content) = bytes.split_at(HEADER_LEN);
    if header[0] != VERSION {
        return Err(DecodeError::Version { got: header[0] });
    }
    let kind = Kind::ALL.into_iter().find(|&kind| kind as u8 == header[1]);
    let kind = kind.ok_or(DecodeError::UnknownKind { got: header[1] })?;
    if kind != expected.kind {
        return Err(PayloadError::Kind { expected: expected.kind, got: kind }.into());
    }
    // The length follows from the task, not from the message: nothing a client claims can make us allocate.
    let length = HEADER_LEN + kind.content_len(expected.n_params);
    match bytes.len() {
        got if got < length => return Err(DecodeError::Truncated { needed: length, got }),
        got if got > length => return Err(DecodeError::TrailingBytes { expected: length, got }),
        _ => {}
    }
    let payload = match kind {
        Kind::Step => Payload::Step {
            n_interactions: word(content, 0),
            delta: (1..=expected.n_params).map(|index| f32::from_bits(word(content, index))).collect(),
        },
        Kind::Evolution | Kind::EvolutionAntithetic => Payload::Evolution {
            seed: word(content, 0),
            plus: f32::from_bits(word(content, 1)),
            minus: (kind == Kind::EvolutionAntithetic).then(|| f32::from_bits(word(content, 2))),
        },
        Kind::Clipped => Payload::Clipped {
            within: match content[0] {
                0 => false,
                1 => true,
                got => return Err(PayloadError::Within { got }.into()),
            },
            delta: (0..expected.n_params).map(|index| f32::from_bits(word(&content[1..], index))).collect(),
        },
        Kind::Share => Payload::Share(Share::new((0..expected.n_params).map(|index| long(content, index)).collect())),
    };
    expected.check(&payload)?;
    Ok(Message { round: word(&header[2..], 0), client: word(&header[2..], 1), payload })
}

/// The `index`-th little-endian word. The caller has checked the length.
fn word(bytes: &[u8], index: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[4 * index..4 * index + 4]);
    u32::from_le_bytes(word)
}

/// The `index`-th pair of words as a signed number.
fn long(bytes: &[u8], index: usize) -> i64 {
    let (low, high) = (word(bytes, 2 * index), word(bytes, 2 * index + 1));
    (u64::from(high) << 32 | u64::from(low)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Expected = Expected { n_params: 2, kind: Kind::Step, max_interactions: 4 };
    const EVOLUTION: Expected = Expected { n_params: 1_000_000, kind: Kind::Evolution, max_interactions: 4 };

    fn bytes_of(payload: Payload) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&Message { round: 258, client: 3, payload }, &mut bytes);
        bytes
    }

    fn step(n_interactions: u32, delta: [f32; 2]) -> Vec<u8> {
        bytes_of(Payload::Step { n_interactions, delta: delta.to_vec() })
    }

    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let header = [1, 1, 2, 1, 0, 0, 3, 0, 0, 0];
        let content = [4, 0, 0, 0, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0];
        assert_eq!(step(4, [1.0, -2.0]), [header.as_slice(), &content].concat());
        let evolution = bytes_of(Payload::Evolution { seed: 0x0102_0304, plus: 0.5, minus: None });
        assert_eq!(evolution[10..], [4, 3, 2, 1, 0, 0, 0, 0x3F]);
        let antithetic = bytes_of(Payload::Evolution { seed: 0x0102_0304, plus: 0.5, minus: Some(1.0) });
        assert_eq!((antithetic[1], &antithetic[10..]), (3, [4, 3, 2, 1, 0, 0, 0, 0x3F, 0, 0, 0x80, 0x3F].as_slice()));
    }

    #[test]
    fn every_class_of_bad_bytes_has_its_own_error() {
        let good = step(4, [1.0, -2.0]);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            decode(&bytes, &STEP)
        };
        assert!(decode(&good, &STEP).is_ok());
        assert_eq!(decode(&good[..9], &STEP), Err(DecodeError::Truncated { needed: 10, got: 9 }));
        assert_eq!(decode(&good[..21], &STEP), Err(DecodeError::Truncated { needed: 22, got: 21 }));
        let longer = [good.as_slice(), &[0]].concat();
        assert_eq!(decode(&longer, &STEP), Err(DecodeError::TrailingBytes { expected: 22, got: 23 }));
        assert_eq!(with(0, 2), Err(DecodeError::Version { got: 2 }));
        assert_eq!(with(1, 9), Err(DecodeError::UnknownKind { got: 9 }));
        let kind = PayloadError::Kind { expected: Kind::Step, got: Kind::Evolution };
        assert_eq!(with(1, 2), Err(kind.into()));
        assert_eq!(with(10, 0), Err(PayloadError::Interactions { max: 4, got: 0 }.into()));
        assert_eq!(with(10, 5), Err(PayloadError::Interactions { max: 4, got: 5 }.into()));
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let refused = decode(&step(4, [0.0, value]), &STEP);
            assert_eq!(refused, Err(PayloadError::NotFinite { index: 1 }.into()));
        }
    }

    #[test]
    fn clipped_steps_and_shares_have_the_bytes_of_the_protocol() {
        let clipped = Expected { kind: Kind::Clipped, ..STEP };
        let good = bytes_of(Payload::Clipped { within: true, delta: vec![1.0, -2.0] });
        assert_eq!((good[1], &good[10..]), (4, [1, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0].as_slice()));
        assert!(decode(&good, &clipped).is_ok());
        let mut bad = good;
        bad[10] = 2;
        assert_eq!(decode(&bad, &clipped), Err(PayloadError::Within { got: 2 }.into()));
        let shares = Expected { kind: Kind::Share, ..STEP };
        let good = bytes_of(Payload::Share(Share::new(vec![258, -2])));
        assert_eq!((good[1], &good[10..18]), (5, [2, 1, 0, 0, 0, 0, 0, 0].as_slice()));
        assert_eq!(good[18..], [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
        let read = decode(&good, &shares).map(|message| message.payload);
        assert_eq!(read, Ok(Payload::Share(Share::new(vec![258, -2]))));
        let large = bytes_of(Payload::Share(Share::new(vec![0, i64::MIN])));
        assert_eq!(decode(&large, &shares), Err(PayloadError::Share { index: 1 }.into()));
        assert_eq!(format!("{:?}", Share::new(vec![258, -2])), "Share(2 sealed values)");
    }

    #[test]
    fn a_claim_of_a_large_model_in_few_bytes_is_refused_by_length() {
        let expected = Expected { n_params: 1 << 30, kind: Kind::Step, max_interactions: 4 };
        let refused = decode(&step(4, [1.0, 2.0]), &expected);
        assert_eq!(refused, Err(DecodeError::Truncated { needed: 14 + (1 << 32), got: 22 }));
    }

    #[test]
    fn both_rewards_must_be_finite() {
        let good = Payload::Evolution { seed: 1, plus: 0.5, minus: Some(0.25) };
        let expected = Expected { kind: Kind::EvolutionAntithetic, ..EVOLUTION };
        assert_eq!(decode(&bytes_of(good.clone()), &expected).map(|message| message.payload), Ok(good));
        let bad = Payload::Evolution { seed: 1, plus: 0.5, minus: Some(f32::NAN) };
        let refusal = PayloadError::NotFinite { index: 1 };
        assert_eq!(decode(&bytes_of(bad), &expected), Err(refusal.into()));
        let bad = Payload::Evolution { seed: 1, plus: f32::INFINITY, minus: None };
        let refusal = PayloadError::NotFinite { index: 0 };
        assert_eq!(decode(&bytes_of(bad), &EVOLUTION), Err(refusal.into()));
    }
}
