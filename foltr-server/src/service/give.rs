//! What devices fetch: the task, plans, headers and releases.

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{MOST_HEADERS, Signed, encode_headers};

use super::{Query, Service, unavailable};
use crate::call::{Answer, Call};
use crate::federation::Federation;
use crate::hex;
use crate::problem::{Name, Problem};
use crate::randomness::spread;
use crate::snapshot::{ShardSnapshot, Snapshot};
use crate::store::{plans, releases};

fn no_shard(n_shards: usize) -> Problem {
    Problem::new(Name::BadRequest, format!("shard must be below {n_shards}"))
}

fn shard_of<'a>(snapshot: &'a Snapshot, query: &Query<'_>) -> Result<&'a ShardSnapshot, Problem> {
    snapshot.shards.get(query.get("shard") as usize).ok_or_else(|| no_shard(snapshot.shards.len()))
}

impl Service {
    /// The open task; 204 with a window if there is none, or not yet for this device.
    pub(super) fn task(&self, federation: &Federation, call: &Call, query: &Query<'_>) -> Result<Answer, Problem> {
        let device = self.authenticate(federation, call)?;
        let snapshot = self.snapshot(federation)?;
        let shard = shard_of(&snapshot, query)?;
        let is_staged = snapshot.is_staged_for(&device.device, &federation.settings, self.now());
        let Some((bytes, etag)) = shard.task.as_ref().filter(|_| is_staged) else {
            let retry_after = Some(spread(federation.settings.retry_seconds));
            return Ok(Answer { retry_after, ..Answer::empty(204) });
        };
        if call.if_none_match == *etag {
            return Ok(Answer { etag: Some(etag.clone()), ..Answer::empty(304) });
        }
        Ok(Answer { etag: Some(etag.clone()), ..Answer::bytes(200, bytes.clone()) })
    }

    pub(super) fn plan(&self, federation: &Federation, call: &Call, hash: &str) -> Result<Answer, Problem> {
        self.authenticate(federation, call)?;
        let hash = hex::decode(hash).map(Fingerprint::from_bytes);
        let hash = hash.ok_or_else(|| Problem::new(Name::BadRequest, "a plan is named by 64 hexadecimal digits"))?;
        let find = |tables: &mut dyn crate::database::Connection| {
            let number = plans::number_of(tables, federation.id, &hash)?;
            number.map(|number| plans::find(tables, federation.id, number)).transpose()
        };
        let plan = self.pool.read(find).map_err(|error| unavailable(&error))?;
        let plan = plan.ok_or_else(|| Problem::new(Name::NotFound, "there is no plan with this hash"))?;
        let signed = Signed::sign(plan, &federation.key());
        let signed = signed.map_err(|error| Problem::new(Name::Internal, error.to_string()))?;
        // Not for ever: a new key signs it anew.
        Ok(Answer::bytes(200, signed.as_bytes().to_vec()))
    }

    pub(super) fn headers(&self, federation: &Federation, call: &Call, query: &Query<'_>) -> Result<Answer, Problem> {
        self.authenticate(federation, call)?;
        let snapshot = self.snapshot(federation)?;
        let shard = shard_of(&snapshot, query)?.row.shard;
        let Some(from) = query.get("after").checked_add(1) else {
            return Ok(Answer::bytes(200, encode_headers(&[])));
        };
        let read = |tables: &mut dyn crate::database::Connection| {
            releases::headers(tables, federation.id, shard, from, MOST_HEADERS as u32)
        };
        let headers = self.pool.read(read).map_err(|error| unavailable(&error))?;
        Ok(Answer::bytes(200, encode_headers(&headers)))
    }

    pub(super) fn newest_release(
        &self,
        federation: &Federation,
        call: &Call,
        query: &Query<'_>,
    ) -> Result<Answer, Problem> {
        let device = self.authenticate(federation, call)?;
        let snapshot = self.snapshot(federation)?;
        let shard = shard_of(&snapshot, query)?;
        let is_staged = snapshot.is_staged_for(&device.device, &federation.settings, self.now());
        // What was rolled back, or is of another plan, is given to nobody.
        match shard.row.newest.checked_sub(1).filter(|before| *before >= shard.row.first_start) {
            Some(before) if !is_staged => self.stored_release(federation, shard.row.shard, before),
            _ => Ok(Answer::bytes(200, shard.newest.clone())),
        }
    }

    pub(super) fn release(
        &self,
        federation: &Federation,
        call: &Call,
        version: u32,
        query: &Query<'_>,
    ) -> Result<Answer, Problem> {
        self.authenticate(federation, call)?;
        let snapshot = self.snapshot(federation)?;
        let shard = shard_of(&snapshot, query)?;
        if shard.row.newest == version {
            return Ok(immutable(shard.newest.clone()));
        }
        self.stored_release(federation, shard.row.shard, version)
    }

    fn stored_release(&self, federation: &Federation, shard: u32, version: u32) -> Result<Answer, Problem> {
        let read =
            |tables: &mut dyn crate::database::Connection| releases::bytes(tables, federation.id, shard, version);
        let bytes = self.pool.read(read).map_err(|error| unavailable(&error))?;
        let gone = || Problem::new(Name::NotFound, "there is no such release, or its parameters are no longer stored");
        bytes.map(immutable).ok_or_else(gone)
    }
}

fn immutable(bytes: Vec<u8>) -> Answer {
    Answer { is_immutable: true, ..Answer::bytes(200, bytes) }
}
