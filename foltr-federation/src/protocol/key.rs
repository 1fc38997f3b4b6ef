//! Keys of federations and devices.
//!
//! Ed25519, `BDLSY12` and RFC 8032; points of small order are refused as keys and in signatures.

use std::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Deserializer, Serialize, de};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::fingerprint::{Fingerprint, hexadecimal};
use crate::writer::{WriteFingerprint, Writer};

/// Signs. Erased from memory when dropped, and never printed.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

/// Verifies what the [`SecretKey`] of the same pair signed; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PublicKey(#[serde(with = "hexadecimal")] [u8; 32]);

/// Who a device is: the SHA-256 of its public key behind a name, so that nobody chooses the id of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct DeviceId(#[serde(with = "hexadecimal")] [u8; 32]);

/// These 32 bytes are no Ed25519 key, or one of small order, for which anybody can sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a public key of Ed25519, or one for which anybody can sign")]
pub struct KeyError;

/// The signature is not by this key, or not of these bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the signature does not fit: something was altered, or signed with another key")]
pub struct BadSignature;

impl SecretKey {
    /// Of 32 bytes that nobody else can guess.
    pub fn from_bytes(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    pub(crate) fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

impl PublicKey {
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError)?;
        if key.is_weak() { Err(KeyError) } else { Ok(Self(bytes)) }
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The id of the device with this key.
    pub fn device_id(&self) -> DeviceId {
        DeviceId(*Writer::named("foltr device id").bytes(&self.0).finish().as_bytes())
    }

    /// What an invitation names, to recognise the federation's key by.
    pub fn fingerprint(&self) -> Fingerprint {
        Writer::named("foltr key").bytes(&self.0).finish()
    }

    pub(super) fn verify(&self, bytes: &[u8], signature: &[u8; 64]) -> Result<(), BadSignature> {
        let key = VerifyingKey::from_bytes(&self.0).map_err(|_| BadSignature)?;
        key.verify_strict(bytes, &Signature::from_bytes(signature)).map_err(|_| BadSignature)
    }
}

impl DeviceId {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    /// Names the pair, not the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {:?})", self.public_key())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Fingerprint::from_bytes(self.0).fmt(f)
    }
}

impl fmt::Debug for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Fingerprint::from_bytes(self.0).fmt(f)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_bytes(hexadecimal::deserialize(from)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_rfc_8032() {
        // Section 7.1, test 2.
        let secret = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
        let public = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
        let signature = concat!(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da",
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        );
        let key = SecretKey::from_bytes(&hexadecimal::parse(secret).expect("32 bytes"));
        assert_eq!(key.public_key().to_string(), public);
        assert_eq!(Some(key.sign(&[0x72])), hexadecimal::parse(signature));
        assert_eq!(key.public_key().verify(&[0x72], &key.sign(&[0x72])), Ok(()));
        assert_eq!(key.public_key().verify(&[0x73], &key.sign(&[0x72])), Err(BadSignature));
        assert_eq!(format!("{key:?}"), format!("SecretKey(of {public})"));
    }

    #[test]
    fn keys_for_which_anybody_can_sign_are_refused() {
        // The neutral element, a point of order 4, and bytes that are no point.
        let mut neutral = [0; 32];
        neutral[0] = 1;
        let mut no_point = [0; 32];
        no_point[0] = 2;
        for bytes in [neutral, [0; 32], no_point] {
            assert_eq!(PublicKey::from_bytes(bytes), Err(KeyError), "{bytes:?}");
            let text = serde_json::to_string(&DeviceId(bytes)).expect("a text");
            assert!(serde_json::from_str::<PublicKey>(&text).is_err());
        }
    }
}
