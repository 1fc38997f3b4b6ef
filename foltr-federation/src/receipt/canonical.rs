//! The bytes that are signed: every field in a fixed order, texts behind their lengths, numbers in little-endian order.
//! No two receipts have the same bytes.

use super::{Model, Receipt};
use crate::unlearn::Assurance;

/// Says what the bytes are, so that the signature is of nothing else.
const DOMAIN: &str = "foltr deletion receipt";

impl Receipt {
    /// What is signed.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let claim = &self.claim;
        let mut bytes = Vec::new();
        text(&mut bytes, DOMAIN);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((claim.leavers.len() as u64).to_le_bytes());
        bytes.extend(claim.leavers.iter().flat_map(|client| client.to_le_bytes()));
        claim.method.write_canonical(&mut bytes);
        guarantee(&mut bytes, &claim.guarantee);
        model(&mut bytes, &claim.from);
        model(&mut bytes, &claim.to);
        [&claim.head_before, &claim.head_after, &claim.settings].iter().for_each(|it| bytes.extend(it.as_bytes()));
        text(&mut bytes, &claim.time);
        bytes.extend(self.public_key);
        bytes
    }
}

pub(crate) fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

pub(crate) fn numbers(bytes: &mut Vec<u8>, numbers: &[f64]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_bits().to_le_bytes()));
}

fn model(bytes: &mut Vec<u8>, model: &Model) {
    bytes.extend(model.round.to_le_bytes());
    bytes.extend(model.model.as_bytes());
}

fn guarantee(bytes: &mut Vec<u8>, guarantee: &Assurance) {
    match guarantee {
        Assurance::Exact => bytes.push(0),
        Assurance::Certified { epsilon, delta } => {
            bytes.push(1);
            numbers(bytes, &[*epsilon, *delta]);
        }
        Assurance::Heuristic { why } => {
            bytes.push(2);
            text(bytes, why);
        }
    }
}
