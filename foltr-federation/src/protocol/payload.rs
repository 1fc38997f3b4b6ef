//! The content of a contribution, as `docs/protocol.md` lays it out: one length for each kind and model.

use crate::message::{Expected, Kind, Payload, PayloadError, Share};
use foltr_rank::bytes::Writer;

pub(super) fn write(payload: &Payload, out: &mut Writer) {
    match payload {
        Payload::Step { n_interactions, delta } => {
            out.u32(*n_interactions).f32s(delta);
        }
        Payload::Evolution { seed, plus, minus } => {
            out.u32(*seed).f32s(&[*plus]).f32s(minus.as_slice());
        }
        Payload::Clipped { within, delta } => {
            out.u8(u8::from(*within)).f32s(delta);
        }
        Payload::Share(share) => share.values().iter().for_each(|&value| {
            out.u64(value.cast_unsigned());
        }),
    }
}

/// Reads a payload of the expected kind. The caller has compared the length with [`Kind::content_len`].
pub(super) fn read(content: &[u8], expected: &Expected) -> Result<Payload, PayloadError> {
    let payload = match expected.kind {
        Kind::Step => Payload::Step { n_interactions: word(content, 0), delta: floats(&content[4..]) },
        kind @ (Kind::Evolution | Kind::EvolutionAntithetic) => Payload::Evolution {
            seed: word(content, 0),
            plus: f32::from_bits(word(content, 1)),
            minus: (kind == Kind::EvolutionAntithetic).then(|| f32::from_bits(word(content, 2))),
        },
        Kind::Clipped => Payload::Clipped {
            within: match content[0] {
                0 => false,
                1 => true,
                got => return Err(PayloadError::Within { got }),
            },
            delta: floats(&content[1..]),
        },
        Kind::Share => {
            Payload::Share(Share::new(content.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()))
        }
    };
    expected.check(&payload)?;
    Ok(payload)
}

fn word(bytes: &[u8], index: usize) -> u32 {
    u32::from_le_bytes(bytes.as_chunks().0[index])
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
