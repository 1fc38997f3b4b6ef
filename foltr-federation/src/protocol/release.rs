//! A model as it is published: a signed header, chained to the one before, and the parameters.

use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::protocol::VERSION;
use crate::protocol::key::{PublicKey, SecretKey};
use crate::protocol::signed::{Document, SIGNATURE_LEN, Signed};
use crate::writer::{WriteFingerprint, Writer};
use foltr_rank::Params;
use foltr_rank::bytes::{BytesError, Reader};

/// What is signed and chained. The parameters are in it by their fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseHeader {
    /// Counted from 0.
    pub version: u32,
    pub plan: Fingerprint,
    /// Of a federation in shards, whose model it is; 0 without shards.
    pub shard: u32,
    pub model: Fingerprint,
    /// The hash of the header of the version before; none for version 0.
    pub previous: Option<Fingerprint>,
    /// Signs what comes after this release, where the federation changes its key.
    pub next_key: Option<PublicKey>,
}

/// Names a release in tasks and contributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseId {
    pub version: u32,
    /// Of its header.
    pub hash: Fingerprint,
}

/// A header and the parameters that belong to it. A rollback is a new version with old parameters.
///
/// ```
/// use foltr_federation::Fingerprint;
/// use foltr_federation::protocol::{Release, ReleaseChain, SecretKey};
///
/// let (key, plan) = (SecretKey::from_bytes(&[7; 32]), Fingerprint::of(b"the plan"));
/// let first = Release::first(plan, 0, vec![0.0, 0.0], &key)?;
/// let second = first.next(plan, vec![0.5, -1.0], &key)?;
///
/// let mut chain = ReleaseChain::new(plan, 0, key.public_key());
/// assert!(chain.accept(&Release::decode(&first.encode(), 2)?)?);
/// assert!(chain.accept(&Release::decode(&second.encode(), 2)?)?);
/// // A device never goes back.
/// assert!(chain.accept(&first).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    header: Signed<ReleaseHeader>,
    params: Params,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReleaseDecodeError {
    #[error("the release has {got} bytes of parameters; the plan's model has {expected}")]
    Length { expected: usize, got: usize },
    #[error("parameter {index} is NaN or infinite")]
    NotFinite { index: usize },
    #[error("the parameters are not those whose fingerprint is signed")]
    Model,
    #[error("there is no version after {version}")]
    LastVersion { version: u32 },
    #[error(transparent)]
    Bytes(#[from] BytesError),
}

impl Document for ReleaseHeader {
    const NAME: &'static str = "foltr release";

    type Error = BytesError;

    fn encode(&self) -> Result<Vec<u8>, BytesError> {
        let Self { version, plan, shard, model, previous, next_key } = self;
        let mut out = Writer::default();
        out.u8(VERSION).u32(*version).fingerprint(plan).u32(*shard).fingerprint(model);
        out.option(previous.as_ref(), |out, hash| {
            out.fingerprint(hash);
        });
        out.option(next_key.as_ref(), |out, key| {
            out.bytes(key.as_bytes());
        });
        Self::decode(&out.0)?;
        Ok(out.0)
    }

    fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        let header = Self::read(&mut input)?;
        input.finish()?;
        Ok(header)
    }
}

impl ReleaseHeader {
    fn read(input: &mut Reader<'_>) -> Result<Self, BytesError> {
        read_protocol(input)?;
        let (version, plan, shard, model) =
            (input.u32()?, read_fingerprint(input)?, input.u32()?, read_fingerprint(input)?);
        let previous = input.option(read_fingerprint)?;
        let is_chained = previous.is_some() == (version > 0);
        input.require(is_chained, "version 0 has no release before it, and every other version has one")?;
        let next_key = input.option(|input| {
            let key = PublicKey::from_bytes(input.array()?);
            key.map_err(|_| input.wrong("a next key that is no public key of Ed25519"))
        })?;
        Ok(Self { version, plan, shard, model, previous, next_key })
    }
}

pub(super) fn read_protocol(input: &mut Reader<'_>) -> Result<(), BytesError> {
    let version = input.u8()?;
    input.require(version == VERSION, "a protocol version other than 2")
}

pub(crate) fn read_fingerprint(input: &mut Reader<'_>) -> Result<Fingerprint, BytesError> {
    Ok(Fingerprint::from_bytes(input.array()?))
}

impl ReleaseId {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.u32(self.version).fingerprint(&self.hash);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<Self, BytesError> {
        Ok(Self { version: input.u32()?, hash: read_fingerprint(input)? })
    }
}

impl Signed<ReleaseHeader> {
    pub fn id(&self) -> ReleaseId {
        ReleaseId { version: self.unverified().version, hash: self.hash() }
    }
}

impl Release {
    /// Version 0 of a plan's model.
    pub fn first(plan: Fingerprint, shard: u32, params: Params, key: &SecretKey) -> Result<Self, ReleaseDecodeError> {
        let model = Fingerprint::of_model(&params);
        Self::sign(ReleaseHeader { version: 0, plan, shard, model, previous: None, next_key: None }, params, key)
    }

    /// The version after this one.
    pub fn next(&self, plan: Fingerprint, params: Params, key: &SecretKey) -> Result<Self, ReleaseDecodeError> {
        Self::sign(self.next_header(plan, &params)?, params, key)
    }

    /// The version after this one, from which on `next_key` signs.
    pub fn next_with_key(
        &self,
        plan: Fingerprint,
        params: Params,
        key: &SecretKey,
        next_key: PublicKey,
    ) -> Result<Self, ReleaseDecodeError> {
        Self::sign(ReleaseHeader { next_key: Some(next_key), ..self.next_header(plan, &params)? }, params, key)
    }

    fn next_header(&self, plan: Fingerprint, params: &[f32]) -> Result<ReleaseHeader, ReleaseDecodeError> {
        let ReleaseHeader { version, shard, .. } = *self.header();
        let next = version.checked_add(1).ok_or(ReleaseDecodeError::LastVersion { version })?;
        let (model, previous) = (Fingerprint::of_model(params), Some(self.header.hash()));
        Ok(ReleaseHeader { version: next, plan, shard, model, previous, next_key: None })
    }

    fn sign(header: ReleaseHeader, params: Params, key: &SecretKey) -> Result<Self, ReleaseDecodeError> {
        check_finite(&params)?;
        Ok(Self { header: Signed::sign(header, key)?, params })
    }

    /// What the header says, whoever signed it.
    pub const fn header(&self) -> &ReleaseHeader {
        self.header.unverified()
    }

    pub const fn signed_header(&self) -> &Signed<ReleaseHeader> {
        &self.header
    }

    pub fn id(&self) -> ReleaseId {
        self.header.id()
    }

    pub fn params(&self) -> &[f32] {
        &self.params
    }

    /// The signed header, and the parameters behind it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(self.header.as_bytes()).f32s(&self.params);
        out.0
    }

    /// The header in front of a release's parameters, however many they are: it says of which plan they are.
    pub fn decode_header(bytes: &[u8]) -> Result<Signed<ReleaseHeader>, BytesError> {
        let mut input = Reader::new(bytes);
        input.take(SIGNATURE_LEN)?;
        let header_len = ReleaseHeader::read(&mut input)?.encode()?.len();
        Signed::<ReleaseHeader>::decode(&bytes[..SIGNATURE_LEN + header_len])
    }

    /// Reads a release of a model of so many parameters, and checks that they are those of the header.
    pub fn decode(bytes: &[u8], n_params: usize) -> Result<Self, ReleaseDecodeError> {
        let header = Self::decode_header(bytes)?;
        let values = &bytes[header.as_bytes().len()..];
        let expected = n_params.saturating_mul(4);
        if values.len() != expected {
            return Err(ReleaseDecodeError::Length { expected, got: values.len() });
        }
        let params: Params = values.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        check_finite(&params)?;
        if Fingerprint::of_model(&params) != header.unverified().model {
            return Err(ReleaseDecodeError::Model);
        }
        Ok(Self { header, params })
    }
}

fn check_finite(params: &[f32]) -> Result<(), ReleaseDecodeError> {
    let wrong = params.iter().position(|value| !value.is_finite());
    wrong.map_or(Ok(()), |index| Err(ReleaseDecodeError::NotFinite { index }))
}
