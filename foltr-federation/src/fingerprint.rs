//! A fingerprint that nobody can choose: SHA-256 (FIPS 180-4), of numbers in little-endian order behind a name that
//! says what they are.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 32]);

/// A text that is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a fingerprint has 64 hexadecimal digits, unlike `{0}`")]
pub struct FingerprintError(String);

impl Fingerprint {
    /// Of some bytes, such as a file.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Of a model as it is published.
    pub fn of_model(params: &[f32]) -> Self {
        Hashing::of("foltr model").f32s(params).finish()
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
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

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        from_hex(text).map(Self).ok_or_else(|| FingerprintError(text.to_owned()))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = FingerprintError;

    fn try_from(text: String) -> Result<Self, FingerprintError> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

/// Bytes from exactly as many pairs of small hexadecimal digits.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
    if text.len() != 2 * N || !text.as_bytes().iter().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// A fingerprint in the making. What is of any length goes in behind its length, so that no two inputs look alike.
#[derive(Clone)]
pub(crate) struct Hashing(Sha256);

impl Hashing {
    /// Of something that is named, and that nothing else is named.
    pub(crate) fn of(name: &str) -> Self {
        Self(Sha256::new()).text(name)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.u64(text.len() as u64).bytes(text.as_bytes())
    }

    pub(crate) fn u32(self, number: u32) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn u64(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn f64(self, number: f64) -> Self {
        self.u64(number.to_bits())
    }

    pub(crate) fn fingerprint(self, fingerprint: &Fingerprint) -> Self {
        self.bytes(&fingerprint.0)
    }

    /// Whole stretches at a time: a call for every number would cost more than the hash.
    pub(crate) fn f32s(self, values: &[f32]) -> Self {
        let mut this = self.u64(values.len() as u64);
        let mut buffer = [0; 256];
        for stretch in values.chunks(buffer.len() / 4) {
            for (bytes, value) in buffer.chunks_exact_mut(4).zip(stretch) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            this.0.update(&buffer[..4 * stretch.len()]);
        }
        this
    }

    pub(crate) fn f64s(self, values: &[f64]) -> Self {
        let mut this = self.u64(values.len() as u64);
        let mut buffer = [0; 256];
        for stretch in values.chunks(buffer.len() / 8) {
            for (bytes, value) in buffer.chunks_exact_mut(8).zip(stretch) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            this.0.update(&buffer[..8 * stretch.len()]);
        }
        this
    }

    pub(crate) fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finalize().into())
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
        assert_eq!(known.parse(), Ok(Fingerprint::of(b"abc")));
        assert!(known.to_uppercase().parse::<Fingerprint>().is_err() && known[1..].parse::<Fingerprint>().is_err());
    }

    #[test]
    fn stretches_are_the_numbers_one_by_one() {
        let values: Vec<f32> = (0..150).map(|i| i as f32 * 0.37).collect();
        let one_by_one = values.iter().fold(Hashing::of("x").u64(150), |it, value| it.bytes(&value.to_le_bytes()));
        assert_eq!(Hashing::of("x").f32s(&values).finish(), one_by_one.finish());
        let wide: Vec<f64> = values.iter().map(|&value| value.into()).collect();
        let one_by_one = wide.iter().fold(Hashing::of("x").u64(150), |it, value| it.f64(*value));
        assert_eq!(Hashing::of("x").f64s(&wide).finish(), one_by_one.finish());
        assert_ne!(Hashing::of("x").text("ab").text("c").finish(), Hashing::of("x").text("a").text("bc").finish());
    }
}
