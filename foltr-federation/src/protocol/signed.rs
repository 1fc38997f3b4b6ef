//! Documents of the protocol: canonical bytes, a content hash, and a signature in front of them.

use crate::fingerprint::Fingerprint;
use crate::protocol::key::{BadSignature, PublicKey, SecretKey};
use crate::writer::{WriteFingerprint, Writer};
use foltr_rank::bytes::{BytesError, Reader};

pub const SIGNATURE_LEN: usize = 64;

/// What the protocol signs. No two documents have the same bytes, and none has two forms.
pub trait Document: Sized {
    /// Stands in front of what is hashed and signed, so that no document passes for one of another kind.
    const NAME: &'static str;

    type Error: From<BytesError>;

    /// Fails on what [`Self::decode`] would refuse.
    fn encode(&self) -> Result<Vec<u8>, Self::Error>;

    fn decode(bytes: &[u8]) -> Result<Self, Self::Error>;

    /// The SHA-256 of the bytes behind the name.
    fn hash(&self) -> Result<Fingerprint, Self::Error> {
        Ok(named(Self::NAME, &self.encode()?).finish())
    }
}

/// What is hashed and signed.
pub(super) fn named(name: &str, bytes: &[u8]) -> Writer {
    let mut out = Writer::named(name);
    out.bytes(bytes);
    out
}

/// A document with a signature that may be right. Its bytes are the signature and those of the document.
#[derive(Clone, Debug, PartialEq)]
pub struct Signed<T> {
    content: T,
    bytes: Vec<u8>,
}

impl<T: Document> Signed<T> {
    pub fn sign(content: T, key: &SecretKey) -> Result<Self, T::Error> {
        let body = content.encode()?;
        let mut bytes = key.sign(&named(T::NAME, &body).0).to_vec();
        bytes.extend(body);
        Ok(Self { content, bytes })
    }

    /// The document, if this key signed it.
    pub fn verify(&self, key: &PublicKey) -> Result<&T, BadSignature> {
        let (signature, body) = self.bytes.split_first_chunk().ok_or(BadSignature)?;
        key.verify(&named(T::NAME, body).0, signature)?;
        Ok(&self.content)
    }

    /// What the document says, whoever signed it.
    pub const fn unverified(&self) -> &T {
        &self.content
    }

    /// The content hash of the document; the signature is not in it.
    pub fn hash(&self) -> Fingerprint {
        named(T::NAME, &self.bytes[SIGNATURE_LEN..]).finish()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, T::Error> {
        let mut input = Reader::new(bytes);
        input.take(SIGNATURE_LEN)?;
        let content = T::decode(&bytes[SIGNATURE_LEN..])?;
        Ok(Self { content, bytes: bytes.to_vec() })
    }
}
