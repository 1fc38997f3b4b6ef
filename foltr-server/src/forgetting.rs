//! Requests to be forgotten are met: models without the leavers, histories without what was stored of them, receipts.

use std::collections::BTreeMap;

use foltr_federation::protocol::{Document, SecretKey};
use foltr_federation::unlearn::{Forgotten, ServerRequest, forget_on_server};
use foltr_federation::{History, UnlearnError};

use crate::database::{Connection, DatabaseError};
use crate::engine::Engine;
use crate::federation::Federation;
use crate::history;
use crate::publishing::{self, Change};
use crate::randomness::{OsNoise, Randomness};
use crate::rounds::{self, RoundError};
use crate::snapshot::PlanParts;
use crate::store::devices::{self, Status};
use crate::store::federations::{self, FederationRow};
use crate::store::forgetting::{self, ForgetRow};
use crate::store::{plans, releases, states};
use crate::time::rfc3339;

/// Requests that are met in one transaction.
pub const FORGETTING_TOGETHER: u32 = 256;

/// A federation while it forgets.
struct Forgetting<'a> {
    row: FederationRow,
    parts: PlanParts,
    engine: Engine,
    histories: BTreeMap<u32, History>,
    key: &'a SecretKey,
    randomness: &'a mut dyn Randomness,
    now: u64,
    /// Shards that have returned to another model.
    returned: Vec<u32>,
}

fn damaged(error: impl std::fmt::Display) -> DatabaseError {
    DatabaseError::Damaged(error.to_string())
}

/// Meets requests in the transaction of the caller.
pub fn meet(
    tables: &mut dyn Connection,
    federation: &Federation,
    row: FederationRow,
    requests: Vec<ForgetRow>,
    key: &SecretKey,
    randomness: &mut dyn Randomness,
    now: u64,
) -> Result<(), RoundError> {
    let parts = PlanParts::new(plans::find(tables, row.id, row.plan)?)?;
    if parts.plan.federation().unlearning.is_none() {
        let why =
            "the plan has no [unlearning]: nothing can be taken out of the model; no new contribution is accepted";
        return Ok(refuse_all(tables, row.id, requests, why)?);
    }
    let engine = Engine::load(&parts.plan, &states::read(tables, row.id, row.plan)?)?;
    let (histories, before) = history::read(tables, row.id, row.plan, &parts.plan)?;
    let mut forgetting = Forgetting { row, parts, engine, histories, key, randomness, now, returned: Vec::new() };
    let mut by_shard: BTreeMap<u32, Vec<ForgetRow>> = BTreeMap::new();
    for request in requests {
        by_shard.entry(forgetting.parts.plan.shard_of(request.number)).or_default().push(request);
    }
    for (shard, requests) in by_shard {
        forgetting.of_shard(tables, shard, requests)?;
    }
    forgetting.finish(tables, federation, &before)
}

fn refuse_all(
    tables: &mut dyn Connection,
    federation: i64,
    requests: Vec<ForgetRow>,
    why: &str,
) -> Result<(), DatabaseError> {
    for request in requests {
        let refused = ForgetRow { state: "refused".into(), reason: why.into(), ..request };
        forgetting::write(tables, federation, &refused)?;
    }
    Ok(())
}

impl Forgetting<'_> {
    /// All at once where that can be done; else one after the other, so that one request does not stand in the way of others.
    fn of_shard(
        &mut self,
        tables: &mut dyn Connection,
        shard: u32,
        requests: Vec<ForgetRow>,
    ) -> Result<(), RoundError> {
        match self.attempt(shard, &requests)? {
            Ok(forgotten) => self.apply(tables, shard, forgotten, requests),
            Err(error) if requests.len() == 1 => Ok(refuse_all(tables, self.row.id, requests, &error.to_string())?),
            Err(_) => requests.into_iter().try_for_each(|request| self.of_shard(tables, shard, vec![request])),
        }
    }

    fn attempt(
        &mut self,
        shard: u32,
        requests: &[ForgetRow],
    ) -> Result<Result<Forgotten, UnlearnError>, DatabaseError> {
        let leavers: Vec<u32> = requests.iter().map(|request| request.number).collect();
        let Some((history, state)) = self.histories.get(&shard).zip(self.engine.checkpoint(shard)) else {
            return Err(damaged(format!("the history of shard {shard} is gone")));
        };
        let request = ServerRequest {
            plan: self.parts.plan.federation(),
            is_simulated: self.parts.plan.is_simulated(),
            history,
            state: &state,
            leavers: &leavers,
        };
        let noise = self.randomness.noise(self.row.round);
        Ok(forget_on_server(&request, noise, &mut OsNoise::default()))
    }

    fn apply(
        &mut self,
        tables: &mut dyn Connection,
        shard: u32,
        forgotten: Forgotten,
        requests: Vec<ForgetRow>,
    ) -> Result<(), RoundError> {
        let before = self.engine.ranker();
        if let Some(state) = &forgotten.state {
            self.engine.roll_back(shard, state)?;
            self.returned.push(shard);
        }
        let claim = forgotten.claim(&before, &self.engine.ranker(), rfc3339(self.now));
        let receipt = serde_json::to_vec(&claim.sign_with(self.key)).map_err(damaged)?;
        self.histories.insert(shard, forgotten.history);
        for request in requests {
            devices::set_status(tables, self.row.id, request.number, Status::Forgotten)?;
            forgetting::erase(tables, self.row.id, request.number)?;
            let done = ForgetRow { state: "done".into(), receipt: Some(receipt.clone()), ..request };
            forgetting::write(tables, self.row.id, &done)?;
        }
        Ok(())
    }

    /// Publishes the models of shards that have returned, and stores what is left.
    fn finish(
        mut self,
        tables: &mut dyn Connection,
        federation: &Federation,
        parts_before: &BTreeMap<u32, Vec<u8>>,
    ) -> Result<(), RoundError> {
        let id = self.row.id;
        history::write(tables, id, self.row.plan, &self.histories, parts_before)?;
        if self.returned.is_empty() {
            self.row.revision += 1;
            return Ok(federations::update(tables, &self.row)?);
        }
        let hash = self.parts.plan.hash().map_err(damaged)?;
        publishing::abandon_round(tables, &mut self.row, "devices were forgotten", self.now)?;
        self.returned.dedup();
        for shard in releases::shards(tables, id)?.iter().filter(|shard| self.returned.contains(&shard.shard)) {
            let params = self.engine.task(shard.shard).global.clone();
            let newest = releases::find(tables, id, shard.shard, shard.newest, params.len())?;
            let next = newest.next(hash, params, self.key).map_err(damaged)?;
            releases::publish(tables, id, &next, true, "devices were forgotten", self.now)?;
        }
        self.engine.skip();
        states::write(tables, id, self.row.plan, self.engine.save())?;
        self.row.round = self.engine.round();
        self.row.revision += 1;
        let change =
            Change { settings: &federation.settings, key: self.key, randomness: self.randomness, now: self.now };
        rounds::next_round(tables, &mut self.row, &self.parts, change.settings, change.randomness, change.now)?;
        Ok(federations::update(tables, &self.row)?)
    }
}
