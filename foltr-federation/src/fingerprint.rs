//! A fingerprint that nobody can choose: SHA-256 (FIPS 180-4), of numbers in little-endian order behind a name that
//! says what they are.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::writer::{WriteFingerprint, Writer};

/// 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Fingerprint(#[serde(with = "hexadecimal")] [u8; 32]);

impl Fingerprint {
    /// Of some bytes, such as a file.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Of a model as it is published.
    pub fn of_model(params: &[f32]) -> Self {
        Writer::named("foltr model").len(params.len()).f32s(params).finish()
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

pub(crate) mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    /// Bytes from exactly as many pairs of lower-case digits.
    pub(crate) fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
        let is_digit = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
        if text.len() != 2 * N || !text.as_bytes().iter().all(is_digit) {
            return None;
        }
        let mut bytes = [0; N];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(bytes)
    }

    pub(crate) fn serialize<const N: usize, S: Serializer>(bytes: &[u8; N], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    pub(crate) fn deserialize<'de, const N: usize, D: Deserializer<'de>>(from: D) -> Result<[u8; N], D::Error> {
        let text = String::deserialize(from)?;
        let error = || de::Error::custom(format!("expected {} lower-case hexadecimal digits, not `{text}`", 2 * N));
        parse(&text).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha_256() {
        // FIPS 180-4, example of one block.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Fingerprint::of(b"abc").to_string(), known);
        assert_eq!(hexadecimal::parse(known).map(Fingerprint), Some(Fingerprint::of(b"abc")));
        assert_eq!(
            (hexadecimal::parse::<32>(&known.to_uppercase()), hexadecimal::parse::<32>(&known[1..])),
            (None, None)
        );
    }

    #[test]
    fn lengths_keep_inputs_apart() {
        let of = |first, second| Writer::named("x").text(first).text(second).finish();
        assert_ne!(of("ab", "c"), of("a", "bc"));
        assert_eq!(
            Writer::default().f32s(&[1.5]).f64s(&[-2.0]).0,
            [1.5_f32.to_le_bytes().as_slice(), &(-2.0_f64).to_le_bytes()].concat()
        );
    }
}
