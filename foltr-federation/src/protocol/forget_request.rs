//! How a device asks to be forgotten. What is done then, and the receipt for it, are in `docs/unlearning.md`.

use crate::fingerprint::Fingerprint;
use crate::protocol::VERSION;
use crate::protocol::key::DeviceId;
use crate::protocol::release::{read_fingerprint, read_protocol};
use crate::writer::{WriteFingerprint, Writer};
use foltr_rank::bytes::{BytesError, Reader};

/// The body of the request, which the device signs. The same request again asks how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgetRequest {
    pub device: DeviceId,
    /// Whose model must no longer know the device.
    pub plan: Fingerprint,
}

impl ForgetRequest {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(VERSION).bytes(self.device.as_bytes()).fingerprint(&self.plan);
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        read_protocol(&mut input)?;
        let request = Self { device: DeviceId::from_bytes(input.array()?), plan: read_fingerprint(&mut input)? };
        input.finish()?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_65_bytes() {
        let request = ForgetRequest { device: DeviceId::from_bytes([5; 32]), plan: Fingerprint::from_bytes([6; 32]) };
        let bytes = request.encode();
        assert_eq!(bytes, [[2].as_slice(), &[5; 32], &[6; 32]].concat());
        assert_eq!(ForgetRequest::decode(&bytes), Ok(request));
        assert_eq!(ForgetRequest::decode(&bytes[..64]), Err(BytesError::Truncated { at: 64 }));
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(ForgetRequest::decode(&longer), Err(BytesError::TrailingBytes { at: 65, left: 1 }));
        assert!(matches!(ForgetRequest::decode(&[3; 65]), Err(BytesError::Content { at: 1, .. })));
    }
}
