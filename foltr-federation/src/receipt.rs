//! What a leaver takes home: who was forgotten, how, from which model to which, signed by the federation.
//!
//! Signature: Ed25519, `BDLSY12` Bernstein, Duif, Lange, Schwabe, Yang: *High-Speed High-Security Signatures*, JCEN
//! 2(2), 2012, and RFC 8032, of the [canonical bytes](Receipt::canonical_bytes); verification refuses points of small
//! order.
//!
//! A receipt says what the federation claims to have done. With the [`History`] that belongs to it, one can check that
//! the erasure is in its chain, between the two heads, with this method and its parameters; that the chain goes back as
//! far as the guarantee says; that messages are counted as the chain counts them; and that nothing of the chain was
//! altered since.

#[cfg(test)]
mod tests;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::fingerprint::{Fingerprint, hexadecimal};
use crate::history::{Course, History, HistoryError};
use crate::protocol::SecretKey;
use crate::unlearn::{Accounting, Assurance, MessageCost, Unlearning};
use crate::writer::{WriteFingerprint, Writer};

/// Of the canonical bytes; another one is refused.
pub const VERSION: u32 = 2;

/// The ranker that a federation, or a shard of one, had after some rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub round: u32,
    pub model: Fingerprint,
}

/// The ranker that was published, before and after a request: that of the federation, or the mean of its shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub before: Fingerprint,
    pub after: Fingerprint,
}

/// A request that was met.
#[derive(Clone, Copy, Debug)]
pub struct Met<'a> {
    pub before: &'a History,
    pub after: &'a History,
    pub leavers: &'a [u32],
    pub method: Unlearning,
    pub guarantee: &'a Assurance,
    pub published: Published,
    pub cost: MessageCost,
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
    pub published: Published,
    pub privacy: Accounting,
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
#[non_exhaustive]
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
    #[error("the chain of the history does not prove what the receipt guarantees")]
    Guarantee,
    #[error("the messages that the receipt accounts for, or what they cost, are not those of the history")]
    Accounting,
    #[error("the model of round {round} in the history is not the one of the receipt")]
    Model { round: u32 },
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl Model {
    /// The newest of a history.
    fn of(course: &Course<'_>) -> Option<Self> {
        course.newest_ranker().map(|(round, model)| Self { round, model })
    }
}

impl Claim {
    /// What two histories say about a request that was met; nothing if a newest model is missing in one of them.
    pub fn of(met: &Met<'_>, time: impl Into<String>) -> Option<Self> {
        let Met { before, after, method, published, .. } = *met;
        let mut leavers = met.leavers.to_vec();
        leavers.sort_unstable();
        Some(Self {
            method,
            guarantee: met.guarantee.clone(),
            from: Model::of(&before.course())?,
            to: Model::of(&after.course())?,
            published,
            privacy: met.cost.accounting(&before.course(), &after.course(), &leavers),
            head_before: before.head(),
            head_after: after.head(),
            settings: before.header().settings,
            time: time.into(),
            leavers,
        })
    }

    /// The same with the key of a federation.
    pub fn sign_with(self, key: &SecretKey) -> Receipt {
        self.sign(&key.to_bytes())
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
        claim.method.write(&mut out);
        match &claim.guarantee {
            Assurance::Exact => out.u8(0),
            Assurance::Certified { epsilon, delta } => out.u8(1).f64s(&[*epsilon, *delta]),
            Assurance::Heuristic { why } => out.u8(2).text(why),
        };
        for Model { round, model } in [&claim.from, &claim.to] {
            out.u32(*round).fingerprint(model);
        }
        out.fingerprint(&claim.published.before).fingerprint(&claim.published.after);
        write_accounting(&mut out, &claim.privacy);
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
        let up_to = |head: Fingerprint| history.up_to(&head).ok_or(ReceiptError::Head { head });
        let (before, after) = (up_to(claim.head_before)?, up_to(claim.head_after)?);
        claim.check_erasure(&before, &after)?;
        claim.check_models(&before, &after)?;
        let cost = claim.privacy.message_cost();
        if cost.accounting(&before, &after, &claim.leavers) != claim.privacy {
            return Err(ReceiptError::Accounting);
        }
        claim.check_certificate()
    }
}

impl Claim {
    /// Between the heads one request is met, this one, and what it proves is what the chain proves.
    fn check_erasure(&self, before: &Course<'_>, after: &Course<'_>) -> Result<(), ReceiptError> {
        let n_before = before.erasures().count();
        let mut new = after.erasures().skip(n_before);
        let is_it = new.next().is_some_and(|it| it.clients == self.leavers && it.method == self.method);
        if !is_it || new.next().is_some() {
            return Err(ReceiptError::Erasure);
        }
        let proven = after.guarantees().pop();
        if proven.as_ref() == Some(&self.guarantee) { Ok(()) } else { Err(ReceiptError::Guarantee) }
    }

    /// The chain has the fingerprints of the rankers, also of those that were dropped since. What is published is the
    /// ranker itself, unless it is the mean of several shards.
    fn check_models(&self, before: &Course<'_>, after: &Course<'_>) -> Result<(), ReceiptError> {
        let is_whole = !matches!(self.method, Unlearning::ShardIsolation(_));
        let both = [(before, self.from, self.published.before), (after, self.to, self.published.after)];
        for (course, model, published) in both {
            let is_published = !is_whole || published == model.model;
            if Model::of(course) != Some(model) || !is_published {
                return Err(ReceiptError::Model { round: model.round });
            }
        }
        Ok(())
    }

    /// A certificate rests on what the leavers' messages cost, so these must be within it.
    fn check_certificate(&self) -> Result<(), ReceiptError> {
        let Unlearning::Certificate(certificate) = self.method else { return Ok(()) };
        let Accounting { cost, leavers, .. } = self.privacy;
        let confirmed = certificate.confirm(cost, leavers.messages, self.leavers.len());
        confirmed.map_err(|_| ReceiptError::Guarantee)
    }
}

fn write_accounting(out: &mut Writer, accounting: &Accounting) {
    accounting.cost.words().iter().fold(&mut *out, |out, &word| out.u64(word)).f64(accounting.delta);
    for spent in [&accounting.leavers, &accounting.stayers] {
        out.u32(spent.messages).option(spent.epsilon, |out, epsilon| {
            out.f64(epsilon);
        });
    }
}
