//! What a device gets for a contribution: that it was taken, in which round and when, signed by the federation.
//!
//! The receipt of a request to be forgotten is another one: [`Receipt`](crate::Receipt).

use crate::fingerprint::Fingerprint;
use crate::protocol::VERSION;
use crate::protocol::contribution::Contribution;
use crate::protocol::key::DeviceId;
use crate::protocol::release::{read_fingerprint, read_protocol};
use crate::protocol::signed::Document;
use crate::writer::{WriteFingerprint, Writer};
use foltr_rank::bytes::{BytesError, Reader};

/// What was taken. The same contribution again gets the same receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContributionReceipt {
    pub plan: Fingerprint,
    pub round: u32,
    pub device: DeviceId,
    /// The hash of its bytes.
    pub contribution: Fingerprint,
    /// When it became durable, in seconds since 1970.
    pub time: u64,
}

impl ContributionReceipt {
    pub fn of(contribution: &Contribution, time: u64) -> Self {
        let Contribution { plan, round, device, .. } = *contribution;
        Self { plan, round, device, contribution: contribution.hash(), time }
    }

    /// Whether it is for this contribution.
    pub fn is_for(&self, contribution: &Contribution) -> bool {
        Self::of(contribution, self.time) == *self
    }
}

impl Document for ContributionReceipt {
    const NAME: &'static str = "foltr contribution receipt";

    type Error = BytesError;

    fn encode(&self) -> Result<Vec<u8>, BytesError> {
        let mut out = Writer::default();
        out.u8(VERSION).fingerprint(&self.plan).u32(self.round).bytes(self.device.as_bytes());
        out.fingerprint(&self.contribution).u64(self.time);
        Ok(out.0)
    }

    fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        read_protocol(&mut input)?;
        let receipt = Self {
            plan: read_fingerprint(&mut input)?,
            round: input.u32()?,
            device: DeviceId::from_bytes(input.array()?),
            contribution: read_fingerprint(&mut input)?,
            time: input.u64()?,
        };
        input.finish()?;
        Ok(receipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Payload;
    use crate::protocol::key::SecretKey;
    use crate::protocol::release::ReleaseId;
    use crate::protocol::signed::Signed;

    #[test]
    fn a_receipt_is_for_one_contribution() {
        let start = ReleaseId { version: 1, hash: Fingerprint::of(b"release") };
        let payload = Payload::Evolution { seed: 1, plus: 0.5, minus: None };
        let device = DeviceId::from_bytes([5; 32]);
        let sent = Contribution { plan: Fingerprint::of(b"plan"), round: 2, start, device, payload };
        let key = SecretKey::from_bytes(&[1; 32]);
        let signed = Signed::sign(ContributionReceipt::of(&sent, 1_800_000_000), &key).expect("sound");
        let received = Signed::<ContributionReceipt>::decode(signed.as_bytes()).expect("its own bytes");
        let receipt = received.verify(&key.public_key()).expect("signed");
        assert!(receipt.is_for(&sent));
        let others = [
            Contribution { round: 3, ..sent.clone() },
            Contribution { payload: Payload::Evolution { seed: 2, plus: 0.5, minus: None }, ..sent.clone() },
            Contribution { device: DeviceId::from_bytes([6; 32]), ..sent },
        ];
        others.iter().for_each(|other| assert!(!receipt.is_for(other), "{other:?}"));
        assert!(received.verify(&SecretKey::from_bytes(&[2; 32]).public_key()).is_err());
    }
}
