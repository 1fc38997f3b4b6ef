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
        Kind::Step => Payload::Step { n_interactions: word(content, 0), delta: floats(&content[4..]) },
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
            delta: floats(&content[1..]),
        },
        Kind::Share => {
            Payload::Share(Share::new(content.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()))
        }
    };
    expected.check(&payload)?;
    let round = word(&header[2..], 0);
    Ok(Message { round, start: round, client: word(&header[2..], 1), payload })
}

/// The `index`-th little-endian word. The caller has checked the length.
fn word(bytes: &[u8], index: usize) -> u32 {
    u32::from_le_bytes(bytes.as_chunks().0[index])
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(kind: Kind) -> Expected {
        Expected { n_params: 2, kind, max_interactions: 4 }
    }

    fn bytes_of(payload: Payload) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&Message { round: 258, start: 258, client: 3, payload }, &mut bytes);
        bytes
    }

    fn step(n_interactions: u32, delta: [f32; 2]) -> Vec<u8> {
        bytes_of(Payload::Step { n_interactions, delta: delta.to_vec() })
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
            let bytes = bytes_of(payload.clone());
            assert_eq!(bytes, [&[1, kind, 2, 1, 0, 0, 3, 0, 0, 0], content].concat());
            assert_eq!(decode(&bytes, &expected(payload.kind())).map(|message| message.payload), Ok(payload));
        }
        assert_eq!(format!("{:?}", share([258, -2])), "Share(Share(2 sealed values))");
    }

    #[test]
    fn every_class_of_bad_bytes_has_its_own_error() {
        let (good, mut clipped) =
            (step(4, [1.0, -2.0]), bytes_of(Payload::Clipped { within: true, delta: vec![0.0; 2] }));
        clipped[10] = 2;
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let evolution = |plus, minus| bytes_of(Payload::Evolution { seed: 1, plus, minus });
        let not_finite = |index| PayloadError::NotFinite { index }.into();
        for (bytes, kind, error) in [
            (good[..9].to_vec(), Kind::Step, DecodeError::Truncated { needed: 10, got: 9 }),
            (good[..21].to_vec(), Kind::Step, DecodeError::Truncated { needed: 22, got: 21 }),
            ([good.as_slice(), &[0]].concat(), Kind::Step, DecodeError::TrailingBytes { expected: 22, got: 23 }),
            (with(0, 2), Kind::Step, DecodeError::Version { got: 2 }),
            (with(1, 9), Kind::Step, DecodeError::UnknownKind { got: 9 }),
            (with(1, 2), Kind::Step, PayloadError::Kind { expected: Kind::Step, got: Kind::Evolution }.into()),
            (with(10, 0), Kind::Step, PayloadError::Interactions { max: 4, got: 0 }.into()),
            (with(10, 5), Kind::Step, PayloadError::Interactions { max: 4, got: 5 }.into()),
            (step(4, [0.0, f32::NAN]), Kind::Step, not_finite(1)),
            (step(4, [0.0, f32::INFINITY]), Kind::Step, not_finite(1)),
            (step(4, [f32::NEG_INFINITY, 0.0]), Kind::Step, not_finite(0)),
            (evolution(f32::INFINITY, None), Kind::Evolution, not_finite(0)),
            (evolution(0.5, Some(f32::NAN)), Kind::EvolutionAntithetic, not_finite(1)),
            (clipped, Kind::Clipped, PayloadError::Within { got: 2 }.into()),
            (bytes_of(share([0, i64::MIN])), Kind::Share, PayloadError::Share { index: 1 }.into()),
        ] {
            assert_eq!(decode(&bytes, &expected(kind)), Err(error));
        }
    }

    #[test]
    fn a_claim_of_a_large_model_in_few_bytes_is_refused_by_length() {
        let refused = decode(&step(4, [1.0, 2.0]), &Expected { n_params: 1 << 30, ..expected(Kind::Step) });
        assert_eq!(refused, Err(DecodeError::Truncated { needed: 14 + (1 << 32), got: 22 }));
    }
}
