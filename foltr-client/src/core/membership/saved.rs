//! A membership as it was stored.

use std::fmt;

use foltr_federation::protocol::{Invitation, Plan, PublicKey, Release, ReleaseChain, ReleaseId, Signed};
use foltr_federation::{Device, Fingerprint};
use foltr_rank::bytes::{BytesError, Reader};

use super::{Address, Consent, DeviceKey, Enrolled, Member, NAME, Outbox, Progress};
use crate::core::LoadError;
use crate::core::local::OWN_MODEL;
use crate::item::{Item, Records, State};

pub(super) fn read_head(input: &mut Reader<'_>) -> Result<(Address, Consent, DeviceKey), BytesError> {
    let name = input.text()?;
    input.require(name == NAME, "not a membership of this version")?;
    let address = Address::read(input)?;
    let consent = read_consent(input)?;
    Ok((address, consent, DeviceKey::new(input.array()?)))
}

fn read_consent(input: &mut Reader<'_>) -> Result<Consent, BytesError> {
    match input.u8()? {
        0 => Ok(Consent::ProtectedMessages),
        1 => Ok(Consent::TrustedServer),
        2 => Ok(Consent::NoPromise),
        _ => Err(input.wrong("an unknown consent")),
    }
}

pub(super) fn read_invitation(input: &mut Reader<'_>) -> Result<Invitation, BytesError> {
    let text = input.text()?;
    text.parse().map_err(|_| input.wrong("no invitation"))
}

pub(super) fn read_enrolled(input: &mut Reader<'_>) -> Result<Enrolled, BytesError> {
    let (number, key) = (input.u32()?, read_key(input)?);
    Ok(Enrolled { number, key, plan: Fingerprint::from_bytes(input.array()?) })
}

fn read_key(input: &mut Reader<'_>) -> Result<PublicKey, BytesError> {
    PublicKey::from_bytes(input.array()?).map_err(|_| input.wrong("no public key"))
}

fn read_release_id(input: &mut Reader<'_>) -> Result<ReleaseId, BytesError> {
    Ok(ReleaseId { version: input.u32()?, hash: Fingerprint::from_bytes(input.array()?) })
}

/// What the record of a membership says about a member; plan, releases and device have records of their own.
pub(super) struct SavedMember {
    needed: Consent,
    enrolled: Enrolled,
    shard: u32,
    newest: Option<ReleaseId>,
    considered: Option<u32>,
    in_use: u32,
}

impl SavedMember {
    pub fn read(input: &mut Reader<'_>) -> Result<Self, BytesError> {
        Ok(Self {
            needed: read_consent(input)?,
            enrolled: read_enrolled(input)?,
            shard: input.u32()?,
            newest: input.option(read_release_id)?,
            considered: input.option(Reader::u32)?,
            in_use: input.u32()?,
        })
    }

    pub fn load(self, records: &Records, impressions: &[Vec<u8>]) -> Result<Member, LoadError> {
        let of = |state: State| records.get(&Item::State(state)).map(|record| record.bytes.as_slice());
        let wrong = |state: State, why: &dyn fmt::Display| LoadError::damaged(state.name(), why);
        let Enrolled { number, key, plan: hash } = self.enrolled;
        let signed_plan = of(State::Plan).ok_or_else(|| wrong(State::Plan, &"it is missing"))?;
        // Its signature was verified when it came; the key may have changed since.
        let signed = Signed::<Plan>::decode(signed_plan).map_err(|error| wrong(State::Plan, &error))?;
        if signed.hash() != hash {
            return Err(wrong(State::Plan, &"it is another plan"));
        }
        let chain = ReleaseChain::resume(hash, self.shard, key, self.newest);
        let mut member = Member::new(signed.unverified().clone(), signed_plan.to_vec(), number, chain, self.needed)
            .map_err(|error| wrong(State::Plan, &error))?;
        let n_params = member.plan.shape().n_params();
        for (item, record) in records {
            if let Item::Release(version) = *item {
                let release =
                    Release::decode(&record.bytes, n_params).map_err(|error| LoadError::damaged(item.name(), error))?;
                member.releases.insert(version, release);
            }
        }
        (member.considered, member.in_use) = (self.considered, self.in_use);
        if let (Some(head), Some(learner), Some(clock)) = (of(State::Device), of(State::Learner), of(State::Clock)) {
            let session = foltr_rank::Session::join(learner, clock, impressions);
            let device = Device::load(&member.plan, &Device::join(head, &session));
            member.device = Some(device.map_err(|error| wrong(State::Device, &error))?);
        }
        if let Some(bytes) = of(State::Progress) {
            member.progress = read_progress(bytes).map_err(|error| wrong(State::Progress, &error))?;
        }
        if let Some(bytes) = of(State::Outbox) {
            member.outbox = Some(read_outbox(bytes).map_err(|error| wrong(State::Outbox, &error))?);
        }
        let is_there = member.in_use == OWN_MODEL || member.releases.contains_key(&member.in_use);
        if is_there { Ok(member) } else { Err(wrong(State::Federation, &"the release in use is missing")) }
    }
}

fn read_progress(bytes: &[u8]) -> Result<Progress, BytesError> {
    let mut input = Reader::new(bytes);
    let (next_round, n_ended, n_messages, n_receipts) = (input.u32()?, input.u64()?, input.u64()?, input.u64()?);
    let since = input.option(read_release_id)?;
    input.finish()?;
    Ok(Progress { next_round, n_ended, since, n_messages, n_receipts })
}

fn read_outbox(bytes: &[u8]) -> Result<Outbox, BytesError> {
    let mut input = Reader::new(bytes);
    let (round, send_at, len) = (input.u32()?, input.u64()?, input.len(1)?);
    let message = input.take(len)?.to_vec();
    input.finish()?;
    Ok(Outbox { round, message, send_at })
}
