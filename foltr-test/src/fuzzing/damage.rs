//! Ways to damage a document.

use super::json::Json;

/// How, where, and by what.
pub(super) type Damage = (u8, u32, u32);

/// What a document is made of.
pub enum Form {
    /// Numbers in little-endian bytes, and their lengths.
    Binary,
    Json(Json),
}

/// Numbers that decoders trip over: the ends of the integers, zero, NaNs, infinities, small and large lengths.
const WORDS: [u32; 10] =
    [0, 1, u32::MAX, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0x7F80_0001, 0x0100_0000, 100];
const LONG_WORDS: [u64; 8] = [0, 1, u64::MAX, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 1 << 32];

impl Form {
    pub(super) fn damage(&self, bytes: &mut Vec<u8>, (how, at, word): Damage) {
        match self {
            Self::Json(json) if how >= 64 => json.damage(bytes, (how, at, word)),
            _ => damage_bytes(bytes, (how, at as usize, word)),
        }
    }
}

fn damage_bytes(bytes: &mut Vec<u8>, (how, at, word): (u8, usize, u32)) {
    let place = at % bytes.len().max(1);
    match how % 10 {
        0 if !bytes.is_empty() => bytes[place] ^= 1 << (word % 8),
        1 if !bytes.is_empty() => bytes[place] = word as u8,
        2 => bytes.truncate(place),
        3 => bytes.extend(&word.to_le_bytes()[..1 + at % 4]),
        4 => overwrite(bytes, place, &WORDS[word as usize % WORDS.len()].to_le_bytes()),
        5 => overwrite(bytes, place, &LONG_WORDS[word as usize % LONG_WORDS.len()].to_le_bytes()),
        6 if !bytes.is_empty() => drop(bytes.remove(place)),
        // One more or one less.
        7 if !bytes.is_empty() => bytes[place] = bytes[place].wrapping_add(if word % 2 == 0 { 1 } else { u8::MAX }),
        // What stands elsewhere.
        8 if !bytes.is_empty() => {
            let from = word as usize % bytes.len();
            let copied = bytes[from..(from + 1 + at % 8).min(bytes.len())].to_vec();
            overwrite(bytes, place, &copied);
        }
        _ => bytes.insert(place, word as u8),
    }
}

fn overwrite(bytes: &mut [u8], place: usize, new: &[u8]) {
    bytes.iter_mut().skip(place).zip(new).for_each(|(byte, &new)| *byte = new);
}
