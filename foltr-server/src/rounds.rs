//! Rounds open, close and never come again.
//!
//! A round closes in three steps, so that no upload waits for the arithmetic and a replica may die at any moment. First the
//! round is marked as closing, with a number that rises (the fence): from then on nothing is taken. Then the contributions
//! are read and folded. Last, one transaction publishes the release, stores the coordinator and opens the next round, if
//! the fence is still the same. A replica that is at it renews its lease; when a lease is over, any other one takes the round
//! over with the next fence.

mod due;
mod gathering;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use foltr_federation::protocol::{Contribution, DeviceId, Lottery, PlanError, UnknownStart};
use foltr_federation::{CloseError, OpenRound, Participation, RoundReport};

pub use due::{awaited, is_due};
pub(crate) use gathering::{Gathered, is_intact};

use crate::database::{Connection, DatabaseError};
use crate::engine::{Engine, EngineError, MessageRefused};
use crate::federation::Federation;
use crate::history::{self, HistoryRecordError};
use crate::operator::RoundLine;
use crate::randomness::Randomness;
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::snapshot::{PlanParts, Snapshot, SnapshotError};
use crate::store::contributions::{self, Stored};
use crate::store::federations::{self, FederationRow, Phase};
use crate::store::rounds::{self, RoundRow};
use crate::store::{devices, releases, states};

/// How long a round that is being closed is left to its replica after that has last said that it lives.
pub(crate) const LEASE_SECONDS: u64 = 3;
/// How often it says so.
const RENEWAL: Duration = Duration::from_millis(500);

/// Of federations without rounds.
pub const NO_DEADLINE: u64 = i64::MAX as u64;

#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("contribution {number} of round {round} is damaged: {why}; restore a backup of the database")]
    Contribution { round: u32, number: u32, why: String },
    #[error(
        "round {round} has {found} contributions, and {acknowledged} were acknowledged; restore a backup of the database"
    )]
    Lost { round: u32, found: usize, acknowledged: u32 },
    #[error("round {0} cannot be closed with these random numbers: {1}")]
    Noise(u32, CloseError),
    #[error(transparent)]
    History(#[from] HistoryRecordError),
    #[error("the federation's key was changed while the round was closed; it is closed again with the new key")]
    KeyChanged,
}

/// A round that this replica closes: folded, and not published yet.
pub(crate) struct Closing {
    snapshot: Arc<Snapshot>,
    row: FederationRow,
    engine: Engine,
    contributions: Vec<Stored>,
    /// For the history.
    open: Vec<OpenRound>,
    closed: Vec<Result<RoundReport, CloseError>>,
}

impl Service {
    /// Does what is due now in every federation. Problems of one do not stop the others.
    pub fn tick(&self) -> Vec<(String, RoundError)> {
        let mut problems = Vec::new();
        for federation in self.federations.values() {
            if let Err(error) = self.tick_federation(federation) {
                tracing::error!(federation = federation.name, %error, "what is due cannot be done");
                problems.push((federation.name.clone(), error));
            }
        }
        problems
    }

    fn tick_federation(&self, federation: &Federation) -> Result<(), RoundError> {
        let snapshot = federation.refresh(&self.pool)?;
        let now = self.now();
        match snapshot.row.phase {
            Phase::Waiting => self.open_if_ready(federation, &snapshot, now)?,
            Phase::Open if !snapshot.engine.is_asynchronous() => self.close_if_due(federation, &snapshot, now)?,
            Phase::Closing if is_abandoned(&snapshot.row, now) => self.close(federation, &snapshot.row)?,
            Phase::Open | Phase::Closing | Phase::Finished => {}
        }
        self.drop_closed_bytes(federation)?;
        self.forget_queued(federation)?;
        self.store_seen(federation)?;
        self.collect(federation, now)?;
        Ok(())
    }

    fn open_if_ready(&self, federation: &Federation, snapshot: &Snapshot, now: u64) -> Result<(), RoundError> {
        let settings = &federation.settings;
        if snapshot.row.is_held || self.n_active(federation)? < settings.minimum_devices {
            return Ok(());
        }
        let mut randomness = self.randomness();
        self.pool.write(|tables| {
            let mut row = federations::lock(tables, federation.id)?;
            if row.phase != Phase::Waiting || row.revision != snapshot.row.revision {
                return Ok(());
            }
            open_round(tables, &mut row, &snapshot.parts, settings, &mut **randomness, now)?;
            row.revision += 1;
            federations::update(tables, &row)
        })?;
        drop(randomness);
        federation.refresh(&self.pool)?;
        Ok(())
    }

    fn n_active(&self, federation: &Federation) -> Result<u32, DatabaseError> {
        Ok(self.pool.read(|tables| federations::find(tables, federation.id))?.n_active)
    }

    /// Closes the round that is open in `seen`, or that another replica has left half closed.
    pub(crate) fn close(&self, federation: &Federation, seen: &FederationRow) -> Result<(), RoundError> {
        let gathered = self.gather(seen)?;
        let Some(row) = self.begin_closing(federation, seen)? else { return Ok(()) };
        let lease = (row.id, row.fence);
        self.while_leased(lease, || {
            let Some(closing) = self.fold_round(federation, row, gathered)? else { return Ok(()) };
            self.publish(federation, closing)
        })
    }

    /// Renews the lease of a round as long as the work on it takes.
    fn while_leased<T>(&self, (id, fence): (i64, i64), work: impl FnOnce() -> T) -> T {
        std::thread::scope(|threads| {
            let (_at_work, is_done) = channel::<()>();
            let renew = move || {
                while is_done.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                    let until = self.now().saturating_add(LEASE_SECONDS);
                    let renewed = self.pool.write(|tables| federations::renew_lease(tables, id, fence, until));
                    let _: Result<(), DatabaseError> =
                        renewed.inspect_err(|error| tracing::warn!(%error, "the lease of a round cannot be renewed"));
                }
            };
            // Without a thread another replica may do the same work, and one of them is refused.
            let _ = std::thread::Builder::new().name("lease".into()).spawn_scoped(threads, renew);
            work()
        })
    }

    /// The coordinator after a round that this replica has begun to close. Nothing if another replica has taken it over.
    pub(crate) fn fold_round(
        &self,
        federation: &Federation,
        row: FederationRow,
        gathered: Gathered,
    ) -> Result<Option<Closing>, RoundError> {
        let snapshot = federation.refresh(&self.pool)?;
        let is_ours = is_closed_by(&row, &snapshot.row);
        let gathered = if is_ours { self.gather_all(&row, gathered)? } else { None };
        let Some(contributions) = gathered else {
            tracing::warn!(federation = federation.name, round = row.round, "another replica closes the round");
            return Ok(None);
        };
        let drawn = self.drawn(&row, &snapshot.parts)?;
        let mut closing = fold(snapshot, row, contributions, &drawn)?;
        let round = closing.row.round;
        if history::is_kept(&closing.snapshot.parts.plan) {
            closing.open = closing.engine.open_rounds(true);
        }
        closing.closed = closing.engine.close(self.randomness().noise(round));
        match closing.closed.first() {
            Some(Err(error @ CloseError::SimulatedNoise { .. })) => Err(RoundError::Noise(round, *error)),
            _ => Ok(Some(closing)),
        }
    }

    /// Marks the round as closing, so that nothing is taken any more. Nothing if another replica was faster: the round that is
    /// open then is the next one, and nobody has said that it is due.
    pub(crate) fn begin_closing(
        &self,
        federation: &Federation,
        seen: &FederationRow,
    ) -> Result<Option<FederationRow>, DatabaseError> {
        let now = self.now();
        self.pool.write(|tables| {
            let mut row = federations::lock(tables, federation.id)?;
            let may_take_over = seen.phase == Phase::Closing && is_abandoned(&row, now);
            if row.revision != seen.revision || row.is_held || !(row.phase == Phase::Open || may_take_over) {
                return Ok(None);
            }
            row.phase = Phase::Closing;
            row.fence += 1;
            row.lease_until = now.saturating_add(LEASE_SECONDS);
            row.revision += 1;
            federations::update(tables, &row)?;
            Ok(Some(row))
        })
    }

    /// Numbers of the devices that the round counts on. Only a defence asks who has not come.
    fn drawn(&self, row: &FederationRow, parts: &PlanParts) -> Result<Vec<u32>, DatabaseError> {
        if parts.plan.federation().defence.is_none() {
            return Ok(Vec::new());
        }
        let below = if row.lottery.is_some() { row.n_eligible } else { row.n_numbers };
        let active = self.pool.read(|tables| devices::active(tables, row.id, below))?;
        let is_drawn = |device: &DeviceId| row.lottery.is_none_or(|it| it.invites(device));
        Ok(active.iter().filter(|(_, device)| is_drawn(device)).map(|(number, _)| *number).collect())
    }

    /// Everything that a closed round leaves, in one transaction.
    pub(crate) fn publish(&self, federation: &Federation, closing: Closing) -> Result<(), RoundError> {
        let Closing { snapshot, row, engine, contributions, open, closed } = closing;
        let (parts, now, key) = (&snapshot.parts, self.now(), federation.key());
        let line = round_line(&row, &closed, &contributions, now);
        let round = RoundRow {
            plan: row.plan,
            n_contributions: row.n_contributions,
            digest: contributions::digest(&contributions),
            line,
        };
        let state = engine.save();
        let mut randomness = self.randomness();
        self.pool.write(|tables| -> Result<(), RoundError> {
            let mut current = federations::lock(tables, federation.id)?;
            if !is_closed_by(&row, &current) {
                tracing::warn!(federation = federation.name, round = row.round, "another replica closes the round");
                return Ok(());
            }
            if !current.is_signed_by(&key.public_key()) {
                return Err(SnapshotError::OtherKey(key.public_key()).into());
            }
            for shard in releases::shards(tables, row.id)? {
                let params = engine.task(shard.shard).global.clone();
                let newest = releases::find(tables, row.id, shard.shard, shard.newest, params.len())?;
                let next = newest.next(parts.hash, params, &key);
                let next = next.map_err(|error| DatabaseError::Damaged(error.to_string()))?;
                releases::publish(tables, row.id, &next, false, &format!("round {}", row.round), now)?;
            }
            history::record_round(tables, &row, &engine, &parts.plan, &open, &closed)?;
            rounds::insert(tables, row.id, &round)?;
            states::write(tables, row.id, row.plan, state.clone())?;
            current.round = engine.round();
            current.revision += 1;
            next_round(tables, &mut current, parts, &federation.settings, &mut **randomness, now)?;
            Ok(federations::update(tables, &current)?)
        })?;
        drop(randomness);
        federation.refresh(&self.pool)?;
        Ok(())
    }
}

/// Whether who closes the round has had its time. A lease that is longer than any was made before the clock went back.
fn is_abandoned(row: &FederationRow, now: u64) -> bool {
    let longest = now.saturating_add(LEASE_SECONDS);
    row.phase == Phase::Closing && (row.lease_until <= now || row.lease_until > longest)
}

/// Whether nobody else has taken over or ended a round that was marked as closing.
fn is_closed_by(marked: &FederationRow, current: &FederationRow) -> bool {
    current.fence == marked.fence && current.phase == Phase::Closing
}

/// Opens the next round, if there is one and enough devices are enrolled.
pub fn next_round(
    tables: &mut dyn Connection,
    row: &mut FederationRow,
    parts: &PlanParts,
    settings: &FederationSettings,
    randomness: &mut dyn Randomness,
    now: u64,
) -> Result<(), DatabaseError> {
    let is_over = parts.plan.federation().asynchrony.is_none() && row.round >= parts.n_rounds;
    row.phase = if is_over { Phase::Finished } else { Phase::Waiting };
    row.n_contributions = 0;
    if row.phase == Phase::Waiting && !row.is_held && row.n_active >= settings.minimum_devices {
        open_round(tables, row, parts, settings, randomness, now)?;
    }
    Ok(())
}

fn open_round(
    tables: &mut dyn Connection,
    row: &mut FederationRow,
    parts: &PlanParts,
    settings: &FederationSettings,
    randomness: &mut dyn Randomness,
    now: u64,
) -> Result<(), DatabaseError> {
    row.phase = Phase::Open;
    row.n_contributions = 0;
    row.opened_at = now;
    row.staged_until = if settings.stage_share < 1.0 { now.saturating_add(settings.stage_seconds) } else { 0 };
    row.deadline = row.staged_until.max(now).saturating_add(settings.round_seconds);
    (row.lottery, row.n_eligible) = (None, row.n_numbers);
    row.n_wanted = match parts.plan.federation().participation {
        Participation::Sample(size) => size,
        Participation::Everyone | Participation::PoissonSampling(_) => row.n_active,
    };
    if parts.plan.federation().asynchrony.is_some() {
        row.deadline = NO_DEADLINE;
    }
    if let Some(size) = parts.drawn() {
        let active = devices::active(tables, row.id, row.n_numbers)?;
        let ids: Vec<DeviceId> = active.into_iter().map(|(_, device)| device).collect();
        let lottery = Lottery::drawing(randomness.lottery(row.round), size as usize, &ids);
        row.n_wanted = ids.iter().filter(|id| lottery.invites(id)).count() as u32;
        row.lottery = Some(lottery);
    }
    Ok(())
}

/// The contributions of a round in a coordinator. All of them were checked before they were stored.
fn fold(
    snapshot: Arc<Snapshot>,
    row: FederationRow,
    contributions: Vec<Stored>,
    drawn: &[u32],
) -> Result<Closing, RoundError> {
    let parts = &snapshot.parts;
    let mut engine = Engine::load(&parts.plan, &snapshot.engine.save())?;
    // Who was revoked after contributing is still counted.
    let mut present: Vec<u32> = drawn.iter().copied().chain(contributions.iter().map(|it| it.number)).collect();
    present.sort_unstable();
    present.dedup();
    let wrong = |number: u32, why: String| RoundError::Contribution { round: row.round, number, why };
    engine.open(&present).map_err(|error| wrong(0, error.to_string()))?;
    for stored in &contributions {
        let message = read_message(&snapshot, stored).map_err(|why| wrong(stored.number, why))?;
        engine.receive(message).map_err(|error: MessageRefused| wrong(stored.number, error.to_string()))?;
    }
    Ok(Closing { snapshot, row, engine, contributions, open: Vec::new(), closed: Vec::new() })
}

/// What a stored contribution says, without a look at its hash.
pub fn read_message(snapshot: &Snapshot, stored: &Stored) -> Result<foltr_federation::Message, String> {
    let bytes = stored.bytes.as_deref().ok_or("its bytes are gone")?;
    let parts = &snapshot.parts;
    let contribution = Contribution::decode(bytes, &parts.hash, &parts.expected).map_err(|error| error.to_string())?;
    let shard = parts.plan.shard_of(stored.number);
    let task = snapshot.engine.task(shard);
    let message = releases::message(contribution, stored.number, task, &snapshot.shards[shard as usize].starts);
    message.map_err(|error: UnknownStart| error.to_string())
}

fn round_line(
    row: &FederationRow,
    closed: &[Result<RoundReport, CloseError>],
    contributions: &[Stored],
    now: u64,
) -> RoundLine {
    let reports: Vec<&RoundReport> = closed.iter().flatten().collect();
    let hides_who = reports.iter().any(|report| report.n_contributions.is_none());
    let norms = reports.iter().map(|report| report.step_norm.powi(2));
    let error = closed.iter().find_map(|it| it.as_ref().err());
    RoundLine {
        round: row.round,
        opened_at: row.opened_at,
        closed_at: now,
        n_contributions: (!hides_who).then_some(contributions.len() as u32),
        n_wanted: row.n_wanted,
        step_norm: (!reports.is_empty()).then(|| norms.sum::<f64>().sqrt()),
        outcome: match error {
            Some(error) if reports.is_empty() => error.to_string(),
            _ => "closed".into(),
        },
    }
}
