//! Releases that come from no round: the first one, a new plan, an earlier model, a new key.

use foltr_federation::ServerOptimiser;
use foltr_federation::protocol::{Plan, PublicKey, Release, ReleaseDecodeError, SecretKey};
use foltr_rank::Params;

use crate::database::{Connection, DatabaseError};
use crate::engine::{Engine, EngineError};
use crate::history;
use crate::operator::RoundLine;
use crate::randomness::Randomness;
use crate::rounds::{self, NO_DEADLINE};
use crate::settings::FederationSettings;
use crate::snapshot::PlanParts;
use crate::store::federations::{self, FederationRow, Phase};
use crate::store::rounds::{self as round_lines, RoundRow};
use crate::store::{contributions, plans, releases, states};

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Release(#[from] ReleaseDecodeError),
    #[error("{0}")]
    Refused(String),
}

impl From<foltr_federation::protocol::PlanError> for PublishError {
    fn from(error: foltr_federation::protocol::PlanError) -> Self {
        Self::Engine(error.into())
    }
}

/// What a change of a federation needs beside its row.
pub struct Change<'a> {
    pub settings: &'a FederationSettings,
    pub key: &'a SecretKey,
    pub randomness: &'a mut dyn Randomness,
    pub now: u64,
}

/// A new federation with the first release of its plan. Says its id.
pub fn create(
    tables: &mut dyn Connection,
    name: &str,
    plan: &Plan,
    initial: &Params,
    key: &SecretKey,
    now: u64,
) -> Result<i64, PublishError> {
    let existing = federations::all(tables)?;
    if existing.iter().any(|row| row.name == name) {
        return Err(PublishError::Refused(format!("there is a federation {name:?} already")));
    }
    let id = existing.iter().map(|row| row.id).max().unwrap_or(0) + 1;
    let engine = Engine::new(plan, initial.clone())?;
    let row = FederationRow {
        id,
        name: name.to_owned(),
        revision: 1,
        plan: 1,
        public_key: *key.public_key().as_bytes(),
        n_numbers: 0,
        n_active: 0,
        is_held: false,
        phase: Phase::Waiting,
        round: 0,
        opened_at: now,
        deadline: now,
        staged_until: 0,
        n_contributions: 0,
        n_wanted: 0,
        n_eligible: 0,
        lottery: None,
        fence: 0,
        lease_until: 0,
    };
    federations::insert(tables, &row)?;
    plans::insert(tables, id, 1, plan, now)?;
    let hash = foltr_federation::protocol::Document::hash(plan)?;
    for shard in 0..engine.n_shards() {
        let first = Release::first(hash, shard, initial.clone(), key)?;
        releases::publish(tables, id, &first, true, "first release", now)?;
    }
    states::write(tables, id, 1, engine.save())?;
    history::begin(tables, id, 1, plan, &engine)?;
    Ok(id)
}

/// Ends the open round without a step. What was sent to it is dropped, and its receipts stay.
pub fn abandon_round(
    tables: &mut dyn Connection,
    row: &mut FederationRow,
    why: &str,
    now: u64,
) -> Result<(), DatabaseError> {
    // A replica that is closing the round finds another fence and gives up.
    row.fence += 1;
    let has_rounds = row.deadline != NO_DEADLINE;
    if !has_rounds || !matches!(row.phase, Phase::Open | Phase::Closing) {
        return Ok(());
    }
    let sent = contributions::of_round(tables, row.id, row.plan, row.round, 0)?;
    let line = RoundLine {
        round: row.round,
        opened_at: row.opened_at,
        closed_at: now,
        n_contributions: Some(sent.len() as u32),
        n_wanted: row.n_wanted,
        step_norm: None,
        outcome: format!("abandoned: {why}"),
    };
    let (n_contributions, digest) = (sent.len() as u32, contributions::digest(&sent));
    round_lines::insert(tables, row.id, &RoundRow { plan: row.plan, n_contributions, digest, line })?;
    contributions::drop_bytes(tables, row.id, row.plan, row.round)
}

/// Another plan comes into force, with this model or the newest one. Devices stay enrolled.
pub fn change_plan(
    tables: &mut dyn Connection,
    row: &mut FederationRow,
    plan: &Plan,
    model: Option<Params>,
    change: Change<'_>,
) -> Result<(), PublishError> {
    check_key(row, change.key)?;
    let parts = PlanParts::new(plan.clone())?;
    let before = plans::find(tables, row.id, row.plan)?;
    let (old, new) = (before.federation().shards.unwrap_or(1), plan.federation().shards.unwrap_or(1));
    if old != new {
        let why = format!("the federation has {old} shards and the new plan {new}: devices belong to a shard for good");
        return Err(PublishError::Refused(why));
    }
    if parts.n_clients() < row.n_numbers {
        let why = format!("the new plan is for {} clients, and {} have joined", parts.n_clients(), row.n_numbers);
        return Err(PublishError::Refused(why));
    }
    if plans::number_of(tables, row.id, &parts.hash)?.is_some() {
        let why = "this very plan has been in force: its rounds never come again, since devices have booked them";
        return Err(PublishError::Refused(why.into()));
    }
    let n_params = plan.shape().n_params();
    let newest = newest_releases(tables, row.id, before.shape().n_params())?;
    let model = match model {
        Some(model) => model,
        None if newest[0].params().len() == n_params => newest[0].params().to_vec(),
        None => {
            let why = format!("the new plan has a model of {n_params} parameters: give one to begin with");
            return Err(PublishError::Refused(why));
        }
    };
    let engine = Engine::new(plan, model.clone())?;
    abandon_round(tables, row, "a new plan came into force", change.now)?;
    row.plan += 1;
    plans::insert(tables, row.id, row.plan, plan, change.now)?;
    for release in newest {
        let next = release.next(parts.hash, model.clone(), change.key)?;
        releases::publish(tables, row.id, &next, true, "new plan", change.now)?;
    }
    states::write(tables, row.id, row.plan, engine.save())?;
    history::begin(tables, row.id, row.plan, plan, &engine)?;
    row.round = engine.round();
    go_on(tables, row, &parts, change)
}

/// Publishes the parameters of an earlier version as a new one, and goes on from there with a new round.
pub fn roll_back(
    tables: &mut dyn Connection,
    row: &mut FederationRow,
    version: u32,
    change: Change<'_>,
) -> Result<(), PublishError> {
    check_key(row, change.key)?;
    let parts = PlanParts::new(plans::find(tables, row.id, row.plan)?)?;
    if parts.plan.federation().unlearning.is_some() {
        // The chain of a history would have to say who is in the model.
        let why = "the plan can forget devices, and an earlier model may know some that were forgotten: \
                   publish a new plan with that model instead";
        return Err(PublishError::Refused(why.into()));
    }
    let n_params = parts.plan.shape().n_params();
    let mut engine = Engine::load(&parts.plan, &states::read(tables, row.id, row.plan)?)?;
    let mut models = Vec::new();
    for newest in newest_releases(tables, row.id, n_params)? {
        let shard = newest.header().shard;
        let Some(bytes) = releases::bytes(tables, row.id, shard, version)? else {
            return Err(PublishError::Refused(format!("the parameters of release {version} are not stored")));
        };
        let earlier = Release::decode(&bytes, n_params)
            .map_err(|error| PublishError::Refused(format!("release {version} is of another model: {error}")))?;
        models.push((newest, earlier.params().to_vec()));
    }
    abandon_round(tables, row, &format!("rollback to release {version}"), change.now)?;
    for (newest, params) in &models {
        let shard = newest.header().shard;
        if let Engine::Asynchronous(coordinator) = &mut engine {
            coordinator.roll_back(params).map_err(EngineError::from)?;
        } else {
            let plain = ServerOptimiser::LearningRate { rate: 1.0 };
            let optimiser = parts.plan.federation().optimiser.unwrap_or(plain);
            let state = engine.checkpoint(shard).map(|state| state.with_model(params, &optimiser));
            engine.roll_back(shard, &state.expect("there are rounds"))?;
        }
        let next = newest.next(parts.hash, params.clone(), change.key)?;
        releases::publish(tables, row.id, &next, true, &format!("rollback to {version}"), change.now)?;
    }
    engine.skip();
    states::write(tables, row.id, row.plan, engine.save())?;
    row.round = engine.round();
    go_on(tables, row, &parts, change)
}

/// A release with the same model that names the key which signs from then on.
pub fn change_key(
    tables: &mut dyn Connection,
    row: &mut FederationRow,
    next_key: PublicKey,
    change: &Change<'_>,
) -> Result<(), PublishError> {
    check_key(row, change.key)?;
    let parts = PlanParts::new(plans::find(tables, row.id, row.plan)?)?;
    for newest in newest_releases(tables, row.id, parts.plan.shape().n_params())? {
        let params = newest.params().to_vec();
        let next = newest.next_with_key(parts.hash, params, change.key, next_key)?;
        releases::publish(tables, row.id, &next, false, "new key", change.now)?;
    }
    row.public_key = *next_key.as_bytes();
    row.revision += 1;
    Ok(federations::update(tables, row)?)
}

fn check_key(row: &FederationRow, key: &SecretKey) -> Result<(), PublishError> {
    if row.is_signed_by(&key.public_key()) {
        return Ok(());
    }
    Err(PublishError::Refused("the key that signs was replaced meanwhile: try again with the present key".into()))
}

fn newest_releases(tables: &mut dyn Connection, id: i64, n_params: usize) -> Result<Vec<Release>, DatabaseError> {
    let shards = releases::shards(tables, id)?;
    shards.iter().map(|shard| releases::find(tables, id, shard.shard, shard.newest, n_params)).collect()
}

/// Opens the next round after a release that came from none.
pub fn go_on(
    tables: &mut dyn Connection,
    row: &mut FederationRow,
    parts: &PlanParts,
    change: Change<'_>,
) -> Result<(), PublishError> {
    row.revision += 1;
    rounds::next_round(tables, row, parts, change.settings, change.randomness, change.now)?;
    Ok(federations::update(tables, row)?)
}
