//! What a leaver takes home: who was forgotten, how, from which model to which, signed by the federation.
//!
//! Signature: Ed25519, `BDLSY12` Bernstein, Duif, Lange, Schwabe, Yang: *High-Speed High-Security Signatures*, JCEN
//! 2(2), 2012, and RFC 8032, of the [canonical bytes](Receipt::canonical_bytes); verification refuses points of small
//! order.
//!
//! A receipt says what the federation claims to have done. With the [`History`] that belongs to it, one can check that
//! the erasure is in its chain, between the two heads, and that nothing of the chain was altered since.

#[cfg(test)]
mod tests;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::fingerprint::{Fingerprint, hexadecimal};
use crate::history::{Checkpoint, History, HistoryError};
use crate::unlearn::{Assurance, Unlearning};
use crate::writer::Writer;

/// Of the canonical bytes; another one is refused.
pub const VERSION: u32 = 1;

/// A model at a point of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub round: u32,
    pub model: Fingerprint,
}

/// What is signed, but for the key.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub leavers: Vec<u32>,
    pub method: Unlearning,
    pub guarantee: Assurance,
    pub from: Model,
    pub to: Model,
    pub head_before: Fingerprint,
    pub head_after: Fingerprint,
    pub settings: Fingerprint,
    /// When, as text; whoever signs says what it means.
    pub time: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    pub version: u32,
    pub claim: Claim,
    #[serde(with = "hexadecimal")]
    pub public_key: [u8; 32],
    #[serde(with = "hexadecimal")]
    pub signature: [u8; 64],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReceiptError {
    #[error("the receipt has version {found}; this program reads version {VERSION}")]
    Version { found: u32 },
    #[error("the receipt is signed with another key than that of the federation")]
    Key,
    #[error("the signature does not fit: the receipt was altered, or not signed with this key")]
    Signature,
    #[error("the receipt is of a run with other settings than the history")]
    Settings,
    #[error("the history never had the head {head} of the receipt: it is another one, or was altered")]
    Head { head: Fingerprint },
    #[error("between the two heads of the receipt the history does not forget exactly these clients in this way")]
    Erasure,
    #[error("the model of round {round} in the history is not the one of the receipt")]
    Model { round: u32 },
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl Model {
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self { round: checkpoint.round, model: Fingerprint::of_model(&checkpoint.global()) }
    }
}

impl Claim {
    /// What two histories say about a request that was met; nothing if a newest model is missing in one of them.
    pub fn between(
        before: &History,
        after: &History,
        leavers: &[u32],
        method: Unlearning,
        guarantee: Assurance,
        time: impl Into<String>,
    ) -> Option<Self> {
        let mut leavers = leavers.to_vec();
        leavers.sort_unstable();
        Some(Self {
            leavers,
            method,
            guarantee,
            from: Model::of(before.latest()?),
            to: Model::of(after.latest()?),
            head_before: before.head(),
            head_after: after.head(),
            settings: before.header().settings,
            time: time.into(),
        })
    }

    pub fn sign(self, secret: &[u8; 32]) -> Receipt {
        let key = SigningKey::from_bytes(secret);
        let public_key = key.verifying_key().to_bytes();
        let mut receipt = Receipt { version: VERSION, claim: self, public_key, signature: [0; 64] };
        receipt.signature = key.sign(&receipt.canonical_bytes()).to_bytes();
        receipt
    }
}

pub fn public_key(secret: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(secret).verifying_key().to_bytes()
}

impl Receipt {
    /// What is signed: every field in a fixed order, texts behind their lengths. No two receipts have the same bytes.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let claim = &self.claim;
        let mut out = Writer::named("foltr deletion receipt");
        out.u32(self.version).len(claim.leavers.len()).u32s(&claim.leavers);
        out.text(claim.method.name());
        claim.method.write_parameters(&mut out);
        match &claim.guarantee {
            Assurance::Exact => out.u8(0),
            Assurance::Certified { epsilon, delta } => out.u8(1).f64s(&[*epsilon, *delta]),
            Assurance::Heuristic { why } => out.u8(2).text(why),
        };
        for Model { round, model } in [&claim.from, &claim.to] {
            out.u32(*round).fingerprint(model);
        }
        out.fingerprint(&claim.head_before).fingerprint(&claim.head_after).fingerprint(&claim.settings);
        out.text(&claim.time).bytes(&self.public_key);
        out.0
    }

    /// Checks that it is signed with this key and was not altered.
    pub fn verify(&self, expected_key: &[u8; 32]) -> Result<(), ReceiptError> {
        if self.version != VERSION {
            return Err(ReceiptError::Version { found: self.version });
        }
        if self.public_key != *expected_key {
            return Err(ReceiptError::Key);
        }
        let key = VerifyingKey::from_bytes(expected_key).map_err(|_| ReceiptError::Key)?;
        let signature = Signature::from_bytes(&self.signature);
        key.verify_strict(&self.canonical_bytes(), &signature).map_err(|_| ReceiptError::Signature)
    }

    /// Checks that a history, as it was after the request or later, says the same.
    pub fn matches(&self, history: &History) -> Result<(), ReceiptError> {
        history.verify()?;
        let claim = &self.claim;
        if history.header().settings != claim.settings {
            return Err(ReceiptError::Settings);
        }
        let between = history.between(Some(&claim.head_before), &claim.head_after);
        let passage = between.map_err(|head| ReceiptError::Head { head })?;
        let fits = |erasure: &crate::history::Erasure| {
            (erasure.clients == claim.leavers && erasure.method == claim.method.name())
                && erasure.is_proven == claim.guarantee.is_proven()
        };
        let mut erasures = passage.erasures();
        if !(erasures.next().is_some_and(fits) && erasures.next().is_none()) {
            return Err(ReceiptError::Erasure);
        }
        // Models that were dropped since cannot be compared; their digests are in the chain all the same.
        let before = history.between(None, &claim.head_before).map_err(|head| ReceiptError::Head { head })?;
        for (state, model) in [(before.latest(), claim.from), (passage.latest(), claim.to)] {
            if state.is_some_and(|state| Model::of(state) != model) {
                return Err(ReceiptError::Model { round: model.round });
            }
        }
        Ok(())
    }
}
