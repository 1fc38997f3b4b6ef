//! How a device joins: it shows the secret of its invitation and its key, and gets a number and the plan.

use std::fmt;

use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::protocol::VERSION;
use crate::protocol::invitation::Invitation;
use crate::protocol::key::{BadSignature, DeviceId, PublicKey};
use crate::protocol::release::{read_fingerprint, read_protocol};
use crate::protocol::signed::{Document, Signed};
use crate::writer::{WriteFingerprint, Writer};
use foltr_rank::bytes::{BytesError, Reader};

/// The body of the first request of a device, which signs it with the key that is in it.
#[derive(Clone, PartialEq, Eq)]
pub struct EnrolmentRequest {
    /// Of the invitation. A server compares it in constant time.
    pub secret: [u8; 32],
    pub key: PublicKey,
}

/// What the federation answers: who the device is to it, and by what to go on. Signed by the federation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enrolment {
    pub device: DeviceId,
    /// Decides about the shard of the device.
    pub number: u32,
    /// The federation's key, which signs from now on.
    pub key: PublicKey,
    /// The hash of the plan in force.
    pub plan: Fingerprint,
}

/// Why a device does not believe an enrolment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnrolmentError {
    #[error(
        "the invitation is to a federation whose key has the fingerprint {expected}, and the answer names one with {got}: \
         ask for a new invitation, or somebody else answers"
    )]
    Key { expected: Fingerprint, got: Fingerprint },
    #[error("the enrolment is not signed by the federation: {0}")]
    Signature(#[from] BadSignature),
    #[error("the enrolment is for the device {got}, not for {expected}")]
    Device { expected: DeviceId, got: DeviceId },
}

impl EnrolmentRequest {
    /// By this invitation, with this key.
    pub fn new(invitation: &Invitation, key: PublicKey) -> Self {
        Self { secret: *invitation.secret(), key }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(VERSION).bytes(&self.secret).bytes(self.key.as_bytes());
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        read_protocol(&mut input)?;
        let request = Self { secret: input.array()?, key: read_key(&mut input)? };
        input.finish()?;
        Ok(request)
    }
}

impl fmt::Debug for EnrolmentRequest {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnrolmentRequest(of {:?}, and a secret)", self.key)
    }
}

impl Enrolment {
    /// What a device may believe: signed by the federation that the invitation names, and for this device.
    pub fn verify<'a>(
        signed: &'a Signed<Self>,
        invitation: &Invitation,
        device: &DeviceId,
    ) -> Result<&'a Self, EnrolmentError> {
        let key = signed.unverified().key;
        if key.fingerprint() != invitation.key {
            return Err(EnrolmentError::Key { expected: invitation.key, got: key.fingerprint() });
        }
        let enrolment = signed.verify(&key)?;
        if enrolment.device != *device {
            return Err(EnrolmentError::Device { expected: *device, got: enrolment.device });
        }
        Ok(enrolment)
    }
}

impl Document for Enrolment {
    const NAME: &'static str = "foltr enrolment";

    type Error = BytesError;

    fn encode(&self) -> Result<Vec<u8>, BytesError> {
        let mut out = Writer::default();
        out.u8(VERSION).bytes(self.device.as_bytes()).u32(self.number);
        out.bytes(self.key.as_bytes()).fingerprint(&self.plan);
        Ok(out.0)
    }

    fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        read_protocol(&mut input)?;
        let enrolment = Self {
            device: DeviceId::from_bytes(input.array()?),
            number: input.u32()?,
            key: read_key(&mut input)?,
            plan: read_fingerprint(&mut input)?,
        };
        input.finish()?;
        Ok(enrolment)
    }
}

fn read_key(input: &mut Reader<'_>) -> Result<PublicKey, BytesError> {
    let key = PublicKey::from_bytes(input.array()?);
    key.map_err(|_| input.wrong("a key that is no public key of Ed25519"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::key::SecretKey;

    fn secret_key(number: u8) -> SecretKey {
        SecretKey::from_bytes(&[number; 32])
    }

    fn invitation(key: &SecretKey) -> Invitation {
        Invitation::new("https://a.org/v1/federations/a", key.public_key().fingerprint(), [7; 32]).expect("sound")
    }

    fn enrolment(key: &SecretKey, device: DeviceId) -> Enrolment {
        Enrolment { device, number: 4, key: key.public_key(), plan: Fingerprint::of(b"plan") }
    }

    #[test]
    fn a_request_has_65_bytes_and_a_sound_key() {
        let (federation, device) = (secret_key(1), secret_key(3).public_key());
        let request = EnrolmentRequest::new(&invitation(&federation), device);
        let bytes = request.encode();
        assert_eq!(bytes, [[2].as_slice(), &[7; 32], device.as_bytes()].concat());
        assert_eq!(bytes.len(), 65);
        assert_eq!(EnrolmentRequest::decode(&bytes), Ok(request.clone()));
        assert_eq!(format!("{request:?}"), format!("EnrolmentRequest(of {device}, and a secret)"));
        // The neutral element, for which anybody can sign.
        let weak = [&bytes[..33], &[1], &[0; 31]].concat();
        assert!(matches!(EnrolmentRequest::decode(&weak), Err(BytesError::Content { at: 65, .. })));
        assert_eq!(EnrolmentRequest::decode(&bytes[..64]), Err(BytesError::Truncated { at: 64 }));
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(EnrolmentRequest::decode(&longer), Err(BytesError::TrailingBytes { at: 65, left: 1 }));
        let other_version = [&[1], &bytes[1..]].concat();
        assert!(matches!(EnrolmentRequest::decode(&other_version), Err(BytesError::Content { at: 1, .. })));
    }

    #[test]
    fn an_enrolment_is_believed_if_the_invited_federation_signed_it_for_this_device() {
        let (federation, other) = (secret_key(1), secret_key(2));
        let (invitation, device) = (invitation(&federation), secret_key(3).public_key().device_id());
        let sound = enrolment(&federation, device);
        let signed = Signed::sign(sound, &federation).expect("sound");
        let received = Signed::<Enrolment>::decode(signed.as_bytes()).expect("its own bytes");
        assert_eq!(signed.as_bytes().len(), 64 + 101);
        assert_eq!(Enrolment::verify(&received, &invitation, &device), Ok(&sound));
        // Another federation answers, and signs what it says.
        let usurped = Signed::sign(enrolment(&other, device), &other).expect("sound");
        let (expected, got) = (invitation.key, other.public_key().fingerprint());
        assert_eq!(Enrolment::verify(&usurped, &invitation, &device), Err(EnrolmentError::Key { expected, got }));
        // It names the right key, which it does not have.
        let forged = Signed::sign(sound, &other).expect("sound");
        let error = EnrolmentError::Signature(BadSignature);
        assert_eq!(Enrolment::verify(&forged, &invitation, &device), Err(error));
        // The right federation, to somebody else.
        let (expected, got) = (other.public_key().device_id(), device);
        assert_eq!(Enrolment::verify(&signed, &invitation, &expected), Err(EnrolmentError::Device { expected, got }));
    }
}
