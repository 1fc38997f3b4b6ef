//! What is stored for the day on which a device wants to be forgotten.
//!
//! A history is stored in parts: one that is of nobody, and one of each device under a key of its own. Who deletes the key has
//! erased the part, in this database and in every copy that was made without the table of keys.

use std::collections::{BTreeMap, BTreeSet};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use foltr_federation::history::{Parts, UnknownClient};
use foltr_federation::protocol::{Document, Plan};
use foltr_federation::{CloseError, History, HistoryError, OpenRound, RoundReport};
use foltr_rank::bytes::Writer;
use rand::Rng;

use crate::database::{Connection, DatabaseError};
use crate::engine::Engine;
use crate::randomness::{OsNoise, secret};
use crate::snapshot::Snapshot;
use crate::store::federations::FederationRow;
use crate::store::{forgetting, states};

const NONCE_LEN: usize = 12;

#[derive(Debug, thiserror::Error)]
pub enum HistoryRecordError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the round cannot be recorded: {0}")]
    Client(#[from] UnknownClient),
}

fn damaged(what: &dyn std::fmt::Display) -> DatabaseError {
    DatabaseError::Damaged(format!("the history: {what}"))
}

/// Whether a plan asks for a history.
pub fn is_kept(plan: &Plan) -> bool {
    let federation = plan.federation();
    federation.history.is_some() || federation.unlearning.is_some()
}

/// The history of a plan that comes into force.
pub fn begin(
    tables: &mut dyn Connection,
    federation: i64,
    number: i64,
    plan: &Plan,
    engine: &Engine,
) -> Result<(), DatabaseError> {
    if !is_kept(plan) {
        return Ok(());
    }
    let settings = plan.hash().map_err(|error| damaged(&error))?;
    let n_clients = u32::try_from(plan.federation().n_clients).unwrap_or(u32::MAX);
    let mut histories = BTreeMap::new();
    for shard in 0..engine.n_shards() {
        let Some(state) = engine.checkpoint(shard) else { continue };
        let salts = &mut OsNoise::default();
        histories.insert(shard, History::begin(plan.federation(), settings, n_clients, state, salts));
    }
    write(tables, federation, number, &histories, &BTreeMap::new())
}

/// The histories of a plan, shard by shard, and each device's part as it was stored.
pub type Stored = (BTreeMap<u32, History>, BTreeMap<u32, Vec<u8>>);

pub fn read(tables: &mut dyn Connection, federation: i64, number: i64, plan: &Plan) -> Result<Stored, DatabaseError> {
    let keys = forgetting::keys(tables, federation)?;
    let mut opened = BTreeMap::new();
    for (client, sealed) in forgetting::parts(tables, federation, number)? {
        let key = keys.get(&client).ok_or_else(|| damaged(&format!("the key of device {client} is gone")))?;
        opened.insert(client, open(key, federation, number, client, &sealed)?);
    }
    let mut histories = BTreeMap::new();
    for (shard, shared) in forgetting::histories(tables, federation, number)? {
        let of_shard = opened.iter().filter(|(client, _)| plan.shard_of(**client) == shard);
        let clients = of_shard.map(|(client, part)| (*client, part.clone())).collect();
        let history = History::from_parts(&Parts { shared, clients });
        histories.insert(shard, history.map_err(|error: HistoryError| damaged(&error))?);
    }
    Ok((histories, opened))
}

/// Stores histories. Only parts of devices that have changed are sealed again, and those that are gone are deleted.
pub fn write(
    tables: &mut dyn Connection,
    federation: i64,
    number: i64,
    histories: &BTreeMap<u32, History>,
    before: &BTreeMap<u32, Vec<u8>>,
) -> Result<(), DatabaseError> {
    let mut keys = forgetting::keys(tables, federation)?;
    let (mut sealed, mut gone) = (BTreeMap::new(), before.keys().copied().collect::<BTreeSet<u32>>());
    for (&shard, history) in histories {
        let Parts { shared, clients } = history.to_parts();
        forgetting::write_history(tables, federation, number, shard, shared)?;
        gone.retain(|client| !clients.contains_key(client));
        for (client, part) in clients.into_iter().filter(|(client, part)| before.get(client) != Some(part)) {
            let key = match keys.get(&client) {
                Some(key) => *key,
                // It was enrolled under a plan without a history.
                None => {
                    let key = secret();
                    forgetting::write_key(tables, federation, client, &key)?;
                    keys.insert(client, key);
                    key
                }
            };
            sealed.insert(client, seal(&key, federation, number, client, &part));
        }
    }
    forgetting::delete_parts(tables, federation, number, gone)?;
    forgetting::write_parts(tables, federation, number, sealed)
}

/// What a sealed part belongs to: it opens nowhere else.
fn place(federation: i64, number: i64, client: u32) -> Vec<u8> {
    let mut out = Writer::named("foltr history part");
    out.u64(federation as u64).u64(number as u64).u32(client);
    out.0
}

fn seal(key: &[u8; 32], federation: i64, number: i64, client: u32, part: &[u8]) -> Vec<u8> {
    let mut nonce = [0; NONCE_LEN];
    OsNoise::default().fill_bytes(&mut nonce);
    let place = place(federation, number, client);
    let payload = Payload { msg: part, aad: &place };
    let cipher = ChaCha20Poly1305::new(&(*key).into());
    let sealed = cipher.encrypt(&nonce.into(), payload).expect("a part is shorter than 256 GiB");
    [nonce.as_slice(), &sealed].concat()
}

fn open(key: &[u8; 32], federation: i64, number: i64, client: u32, sealed: &[u8]) -> Result<Vec<u8>, DatabaseError> {
    let altered = || damaged(&format!("the part of device {client} was altered"));
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(altered)?;
    let place = place(federation, number, client);
    let cipher = ChaCha20Poly1305::new(&(*key).into());
    cipher.decrypt(&(*nonce).into(), Payload { msg: sealed, aad: &place }).map_err(|_| altered())
}

/// Adds a closed round to the histories of its shards.
pub fn record_round(
    tables: &mut dyn Connection,
    row: &FederationRow,
    engine: &Engine,
    plan: &Plan,
    open: &[OpenRound],
    closed: &[Result<RoundReport, CloseError>],
) -> Result<(), HistoryRecordError> {
    if !is_kept(plan) {
        return Ok(());
    }
    let (mut histories, before) = read(tables, row.id, row.plan, plan)?;
    for ((shard, round), closed) in (0..).zip(open).zip(closed) {
        let state = engine.checkpoint(shard);
        let (Some(history), Some(state)) = (histories.get_mut(&shard), state) else { continue };
        history.record_round(round, closed, state, &mut OsNoise::default())?;
    }
    Ok(write(tables, row.id, row.plan, &histories, &before)?)
}

/// Whether stored histories are as they were written.
pub fn verify(tables: &mut dyn Connection, federation: i64, snapshot: &Snapshot) -> Result<String, DatabaseError> {
    if !is_kept(&snapshot.parts.plan) {
        return Ok("the plan asks for no history".into());
    }
    let histories = complete(tables, federation, snapshot)?;
    let n_rounds: u32 = histories.values().map(History::n_rounds).sum();
    for (shard, history) in &histories {
        history.verify().map_err(|error| damaged(&format!("shard {shard}: {error}")))?;
    }
    Ok(format!("{} histories with {n_rounds} rounds", histories.len()))
}

/// The histories with the newest state of each shard, as receipts are compared with.
pub fn complete(
    tables: &mut dyn Connection,
    federation: i64,
    snapshot: &Snapshot,
) -> Result<BTreeMap<u32, History>, DatabaseError> {
    let (plan, number) = (&snapshot.parts.plan, snapshot.row.plan);
    let (mut histories, _) = read(tables, federation, number, plan)?;
    let engine = Engine::load(plan, &states::read(tables, federation, number)?).map_err(|error| damaged(&error))?;
    for (&shard, history) in &mut histories {
        if let Some(state) = engine.checkpoint(shard) {
            history.record_newest(state, &mut OsNoise::default());
        }
    }
    Ok(histories)
}
