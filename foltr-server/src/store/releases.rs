//! Releases of every shard, in a chain.

use foltr_federation::protocol::{Contribution, Release, ReleaseHeader, ReleaseId, Signed, UnknownStart};
use foltr_federation::{Message, RoundTask};

use crate::database::{Connection, DatabaseError, Row};

/// Where the chain of a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardRow {
    pub shard: u32,
    pub newest: u32,
    /// Contributions may start from this version on: what came before it was rolled back, or is of another plan.
    pub first_start: u32,
}

fn damaged(version: u32, why: &dyn std::fmt::Display) -> DatabaseError {
    DatabaseError::Damaged(format!("release {version}: {why}"))
}

pub fn shards(tables: &mut dyn Connection, federation: i64) -> Result<Vec<ShardRow>, DatabaseError> {
    let sql = "SELECT shard, newest, first_start FROM shards WHERE federation = $1 ORDER BY shard";
    let read = |row: &Row| Ok(ShardRow { shard: row.u32(0)?, newest: row.u32(1)?, first_start: row.u32(2)? });
    tables.query(sql, &[federation.into()])?.iter().map(read).collect()
}

/// Adds the next release of its shard. `is_first_start`: nothing may start from those before it any more.
pub fn publish(
    tables: &mut dyn Connection,
    federation: i64,
    release: &Release,
    is_first_start: bool,
    cause: &str,
    now: u64,
) -> Result<(), DatabaseError> {
    let ReleaseHeader { version, shard, .. } = *release.header();
    let bytes = release.encode();
    let (header, params) = bytes.split_at(release.signed_header().as_bytes().len());
    let sql = "INSERT INTO releases (federation, shard, version, header, params, cause, created_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let values =
        vec![federation.into(), shard.into(), version.into(), header.into(), params.into(), cause.into(), now.into()];
    tables.execute_many(sql, &[values])?;
    let first_start = if is_first_start { "excluded.first_start" } else { "shards.first_start" };
    let sql = format!(
        "INSERT INTO shards (federation, shard, newest, first_start) VALUES ($1, $2, $3, $3) ON CONFLICT \
         (federation, shard) DO UPDATE SET newest = excluded.newest, first_start = {first_start}"
    );
    tables.execute_many(&sql, &[vec![federation.into(), shard.into(), version.into()]]).map(drop)
}

/// The bytes of a release as devices get them; nothing if there is none, or its parameters are no longer stored.
pub fn bytes(
    tables: &mut dyn Connection,
    federation: i64,
    shard: u32,
    version: u32,
) -> Result<Option<Vec<u8>>, DatabaseError> {
    let sql = "SELECT header, params FROM releases WHERE federation = $1 AND shard = $2 AND version = $3";
    let rows = tables.query(sql, &[federation.into(), shard.into(), version.into()])?;
    let Some(row) = rows.first().filter(|row| !row.is_null(1)) else { return Ok(None) };
    Ok(Some([row.bytes(0)?, row.bytes(1)?].concat()))
}

/// A release of a model of so many parameters, checked against its header.
pub fn find(
    tables: &mut dyn Connection,
    federation: i64,
    shard: u32,
    version: u32,
    n_params: usize,
) -> Result<Release, DatabaseError> {
    let bytes = bytes(tables, federation, shard, version)?
        .ok_or_else(|| damaged(version, &"it is gone, or its parameters are no longer stored"))?;
    Release::decode(&bytes, n_params).map_err(|error| damaged(version, &error))
}

/// Headers from a version on.
pub fn headers(
    tables: &mut dyn Connection,
    federation: i64,
    shard: u32,
    from: u32,
    most: u32,
) -> Result<Vec<Signed<ReleaseHeader>>, DatabaseError> {
    let sql = "SELECT version, header FROM releases WHERE federation = $1 AND shard = $2 AND version >= $3 ORDER BY version \
               LIMIT $4";
    let rows = tables.query(sql, &[federation.into(), shard.into(), from.into(), most.into()])?;
    let read = |row: &Row| {
        let version = row.u32(0)?;
        Signed::<ReleaseHeader>::decode(row.bytes(1)?).map_err(|error| damaged(version, &error))
    };
    rows.iter().map(read).collect()
}

/// A model that contributions may start from: its releases, the newest last. There are several after a change of the key,
/// which publishes the same model once more: who started before it has not become older.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start(pub Vec<ReleaseId>);

/// Models that contributions may start from, the newest last; at most so many.
pub fn starts(
    tables: &mut dyn Connection,
    federation: i64,
    shard: &ShardRow,
    most: u32,
) -> Result<Vec<Start>, DatabaseError> {
    let (mut found, mut end) = (Vec::new(), shard.newest + 1);
    loop {
        let from = shard.first_start.max(end.saturating_sub(most));
        let mut before = headers(tables, federation, shard.shard, from, end - from)?;
        before.append(&mut found);
        (found, end) = (before, from);
        let n_models = found.iter().filter(|header| header.unverified().next_key.is_none()).count();
        if from == shard.first_start || n_models >= most as usize {
            break;
        }
    }
    let mut starts: Vec<Start> = Vec::new();
    for header in &found {
        match starts.last_mut().filter(|_| header.unverified().next_key.is_some()) {
            Some(start) => start.0.push(header.id()),
            None => starts.push(Start(vec![header.id()])),
        }
    }
    let n_older = starts.len().saturating_sub(most as usize);
    Ok(starts.split_off(n_older))
}

/// A contribution as a message to the coordinator with this task.
pub fn message(
    mut contribution: Contribution,
    number: u32,
    task: &RoundTask,
    starts: &[Start],
) -> Result<Message, UnknownStart> {
    let newest: Vec<ReleaseId> = starts.iter().filter_map(|start| start.0.last().copied()).collect();
    if let Some(same) = starts.iter().find(|start| start.0.contains(&contribution.start)) {
        contribution.start = *same.0.last().expect("it has the one that was found");
    }
    contribution.into_message(number, task, &newest)
}

/// A line of the list of releases: version, shard, when, why, header, and whether parameters are stored.
#[derive(Clone, Debug)]
pub struct Listed {
    pub header: Signed<ReleaseHeader>,
    pub cause: String,
    pub created_at: u64,
    pub has_params: bool,
}

/// The newest ones first.
pub fn list(tables: &mut dyn Connection, federation: i64, most: u32) -> Result<Vec<Listed>, DatabaseError> {
    let sql = "SELECT version, header, cause, created_at, CASE WHEN params IS NULL THEN 0 ELSE 1 END FROM releases \
               WHERE federation = $1 ORDER BY version DESC, shard LIMIT $2";
    let read = |row: &Row| {
        let header = Signed::<ReleaseHeader>::decode(row.bytes(1)?);
        Ok(Listed {
            header: header.map_err(|error| damaged(row.u32(0).unwrap_or(0), &error))?,
            cause: row.text(2)?.to_owned(),
            created_at: row.u64(3)?,
            has_params: row.int(4)? != 0,
        })
    };
    tables.query(sql, &[federation.into(), most.into()])?.iter().map(read).collect()
}

/// Drops the parameters of releases before a version: their headers stay for ever, since devices follow them.
pub fn drop_params(
    tables: &mut dyn Connection,
    federation: i64,
    shard: u32,
    before: u32,
    most: u32,
) -> Result<u64, DatabaseError> {
    let sql = "UPDATE releases SET params = NULL WHERE federation = $1 AND shard = $2 AND version IN (SELECT version FROM \
               releases WHERE federation = $1 AND shard = $2 AND version < $3 AND params IS NOT NULL ORDER BY version \
               LIMIT $4)";
    let values = vec![federation.into(), shard.into(), before.into(), most.into()];
    Ok(tables.execute_many(sql, &[values])?[0])
}
