//! What is in force in a federation, as read from the database at one moment. Requests are answered from it; what changes
//! anything looks again in its own transaction, and starts over if the revision is another one by then.

use std::sync::Arc;

use foltr_federation::protocol::{
    BadSignature, DeviceId, Document, Plan, PlanError, PublicKey, ReleaseId, SecretKey, Signed, Task,
};
use foltr_federation::{Asynchrony, Expected, Fingerprint, Participation};

use crate::database::{Connection, DatabaseError};
use crate::engine::{Engine, EngineError};
use crate::settings::FederationSettings;
use crate::store::federations::{FederationRow, Phase};
use crate::store::releases::ShardRow;
use crate::store::{plans, releases, states};

/// What follows from a plan alone.
#[derive(Debug)]
pub struct PlanParts {
    pub plan: Plan,
    pub hash: Fingerprint,
    pub expected: Expected,
    /// Rounds that the budget affords.
    pub n_rounds: u32,
}

#[derive(Debug)]
pub struct Snapshot {
    pub row: FederationRow,
    pub parts: Arc<PlanParts>,
    /// Looks at messages; takes none.
    pub engine: Engine,
    pub shards: Vec<ShardSnapshot>,
}

#[derive(Debug)]
pub struct ShardSnapshot {
    pub row: ShardRow,
    /// Releases that contributions may start from, the newest last.
    pub starts: Vec<ReleaseId>,
    /// The same and some more before them, and whether each changes nothing but the key.
    recent: Vec<(ReleaseId, bool)>,
    /// The newest release as devices get it.
    pub newest: Vec<u8>,
    /// The open round's task; nothing if no round is open.
    pub task: Option<(Vec<u8>, String)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the stored federation cannot be used: {0}")]
    Engine(#[from] EngineError),
    #[error("the stored plan cannot be used: {0}")]
    Plan(#[from] PlanError),
    #[error(
        "the key in the server's folder is not the one that signs for this federation now ({0}): copy the present key"
    )]
    OtherKey(PublicKey),
    #[error("a task cannot be signed: {0}")]
    Task(foltr_rank::bytes::BytesError),
    #[error("the newest release is damaged: {0}; restore a backup of the database")]
    Release(String),
}

impl PlanParts {
    pub fn new(plan: Plan) -> Result<Self, PlanError> {
        let (hash, expected) = (plan.hash()?, plan.expected()?);
        let federation = plan.federation();
        let n_params = plan.shape().n_params();
        let affordable = federation.affordable_rounds(federation.n_rounds, n_params);
        // A mechanism that cannot be made was refused by `expected`.
        let n_rounds = u32::try_from(affordable.unwrap_or(federation.n_rounds)).unwrap_or(u32::MAX);
        Ok(Self { plan, hash, expected, n_rounds })
    }

    /// How many devices may be enrolled.
    pub fn n_clients(&self) -> u32 {
        u32::try_from(self.plan.federation().n_clients).unwrap_or(u32::MAX)
    }

    /// How many are drawn into a round by lottery: only where there is a defence, since attackers would come first.
    pub fn drawn(&self) -> Option<u32> {
        let federation = self.plan.federation();
        match (federation.defence, federation.participation) {
            (Some(_), Participation::Sample(size)) => Some(size),
            _ => None,
        }
    }

    /// How many of the newest releases contributions may start from.
    pub fn n_starts(&self) -> u32 {
        let federation = self.plan.federation();
        let most_stale = match federation.asynchrony {
            Some(Asynchrony::Buffered(buffered)) => buffered.max_staleness,
            Some(Asynchrony::Naive(naive)) => naive.max_staleness,
            None => federation.staleness.unwrap_or_default().most,
        };
        most_stale.saturating_add(1)
    }
}

impl ShardSnapshot {
    /// Releases that a contribution that was taken may have started from, the newest last. A key that was replaced since
    /// then makes nothing older: such a release has the model of the one before.
    pub fn starts_of_taken(&self, start: &ReleaseId) -> Vec<ReleaseId> {
        let counts = |(release, is_key): &&(ReleaseId, bool)| !is_key || release == start;
        self.recent.iter().filter(counts).map(|(release, _)| *release).collect()
    }
}

/// Keys that are replaced while a round is open.
const MOST_KEYS: u32 = 100;

fn recent(
    tables: &mut dyn Connection,
    federation: i64,
    shard: &ShardRow,
    n_starts: u32,
) -> Result<Vec<(ReleaseId, bool)>, DatabaseError> {
    let most = n_starts.saturating_add(MOST_KEYS);
    let from = shard.first_start.max((shard.newest + 1).saturating_sub(most));
    let headers = releases::headers(tables, federation, shard.shard, from, most)?;
    Ok(headers.iter().map(|header| (header.id(), header.unverified().next_key.is_some())).collect())
}

impl Snapshot {
    /// Reads what is in force. `known` saves the work for a plan that has not changed.
    pub fn read(
        tables: &mut dyn Connection,
        row: FederationRow,
        key: &SecretKey,
        known: Option<&Arc<PlanParts>>,
        known_plan: Option<i64>,
    ) -> Result<Self, SnapshotError> {
        let public = key.public_key();
        if public.as_bytes() != &row.public_key {
            let named = PublicKey::from_bytes(row.public_key);
            return Err(SnapshotError::OtherKey(named.unwrap_or(public)));
        }
        let parts = match known.filter(|_| known_plan == Some(row.plan)) {
            Some(parts) => Arc::clone(parts),
            None => Arc::new(PlanParts::new(plans::find(tables, row.id, row.plan)?)?),
        };
        let engine = Engine::load(&parts.plan, &states::read(tables, row.id, row.plan)?)?;
        let mut shards = Vec::new();
        for shard in releases::shards(tables, row.id)? {
            let starts = releases::starts(tables, row.id, &shard, parts.n_starts())?;
            let recent = recent(tables, row.id, &shard, parts.n_starts())?;
            let n_params = parts.plan.shape().n_params();
            let newest = releases::find(tables, row.id, shard.shard, shard.newest, n_params)?;
            verify_newest(newest.signed_header(), &public)?;
            let mut own = ShardSnapshot { row: shard, starts, recent, newest: newest.encode(), task: None };
            own.task = open_task(&row, &parts, &engine, &own, key)?;
            shards.push(own);
        }
        Ok(Self { row, parts, engine, shards })
    }

    /// Whether a device is shown the task now, which a share of the devices gets first.
    pub fn is_staged_for(&self, device: &DeviceId, settings: &FederationSettings, now: u64) -> bool {
        if now >= self.row.staged_until || settings.stage_share >= 1.0 {
            return true;
        }
        let start = self.shards.first().and_then(|shard| shard.starts.last());
        let hash = start.map_or_else(|| Fingerprint::of(b""), |start| start.hash);
        let drawn = Fingerprint::of(&[b"foltr stage".as_slice(), hash.as_bytes(), device.as_bytes()].concat());
        let first: [u8; 8] = std::array::from_fn(|i| drawn.as_bytes()[i]);
        (u64::from_le_bytes(first) as f64) < settings.stage_share * 2.0_f64.powi(64)
    }
}

/// The newest release was signed by the key in force, or by the one before, which named this one.
fn verify_newest(
    header: &Signed<foltr_federation::protocol::ReleaseHeader>,
    key: &PublicKey,
) -> Result<(), SnapshotError> {
    let names_key = header.unverified().next_key.as_ref() == Some(key);
    let verified: Result<_, BadSignature> = if names_key { Ok(header.unverified()) } else { header.verify(key) };
    verified.map(drop).map_err(|error| SnapshotError::Release(error.to_string()))
}

fn open_task(
    row: &FederationRow,
    parts: &PlanParts,
    engine: &Engine,
    shard: &ShardSnapshot,
    key: &SecretKey,
) -> Result<Option<(Vec<u8>, String)>, SnapshotError> {
    let Some(start) = shard.starts.last().copied().filter(|_| row.phase == Phase::Open && !row.is_held) else {
        return Ok(None);
    };
    let asked = engine.task(shard.row.shard);
    let task = Task {
        plan: parts.hash,
        round: asked.round,
        shard: shard.row.shard,
        start,
        clip_norm: asked.clip_norm,
        deadline: row.deadline,
        n_wanted: row.n_wanted,
        lottery: row.lottery,
    };
    let signed = Signed::sign(task, key).map_err(SnapshotError::Task)?;
    let etag = format!("\"{}\"", Fingerprint::of(signed.as_bytes()));
    Ok(Some((signed.as_bytes().to_vec(), etag)))
}
