//! Contributions: their bytes until their round is closed, or a moment longer, their hashes and times as long as receipts are
//! given out.

use foltr_federation::Fingerprint;
use foltr_rank::bytes::Writer;

use crate::database::{Connection, DatabaseError, Row, Value};

/// A contribution as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub number: u32,
    pub hash: Fingerprint,
    pub time: u64,
    /// Nothing soon after the round was closed.
    pub bytes: Option<Vec<u8>>,
}

/// Which contribution: of a plan, a round and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContributionKey {
    pub federation: i64,
    pub plan: i64,
    pub round: u32,
    pub number: u32,
}

impl ContributionKey {
    fn values(&self) -> Vec<Value> {
        vec![self.federation.into(), self.plan.into(), self.round.into(), self.number.into()]
    }
}

/// Stores contributions, and says of each whether there was none with its key.
pub fn insert(
    tables: &mut dyn Connection,
    contributions: &[(ContributionKey, &Fingerprint, Option<&[u8]>)],
    now: u64,
) -> Result<Vec<bool>, DatabaseError> {
    let sql = "INSERT INTO contributions (federation, plan, round, number, hash, time, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7) \
               ON CONFLICT (federation, plan, round, number) DO NOTHING";
    let values = |(key, hash, bytes): &(ContributionKey, &Fingerprint, Option<&[u8]>)| {
        let rest: [Value; 3] = [hash.as_bytes().as_slice().into(), now.into(), (*bytes).into()];
        [key.values(), rest.to_vec()].concat()
    };
    let rows: Vec<Vec<Value>> = contributions.iter().map(values).collect();
    Ok(tables.execute_many(sql, &rows)?.into_iter().map(|changed| changed > 0).collect())
}

pub fn find(tables: &mut dyn Connection, key: &ContributionKey) -> Result<Option<Stored>, DatabaseError> {
    let sql = "SELECT number, hash, time, bytes FROM contributions WHERE federation = $1 AND plan = $2 AND round = $3 AND \
               number = $4";
    tables.query(sql, &key.values())?.into_iter().next().map(read).transpose()
}

fn read(mut row: Row) -> Result<Stored, DatabaseError> {
    let bytes = if row.is_null(3) { None } else { Some(row.take_bytes(3)?) };
    Ok(Stored { number: row.u32(0)?, hash: Fingerprint::from_bytes(row.array(1)?), time: row.u64(2)?, bytes })
}

/// Those of a round that came at a time or later, in the order of numbers.
pub fn of_round(
    tables: &mut dyn Connection,
    federation: i64,
    plan: i64,
    round: u32,
    since: u64,
) -> Result<Vec<Stored>, DatabaseError> {
    let sql = "SELECT number, hash, time, bytes FROM contributions WHERE federation = $1 AND plan = $2 AND round = $3 AND time >= \
               $4 ORDER BY number";
    let values = [federation.into(), plan.into(), round.into(), since.into()];
    tables.query(sql, &values)?.into_iter().map(read).collect()
}

/// How many of a round are of devices that are still active.
pub fn n_of_active(tables: &mut dyn Connection, federation: i64, plan: i64, round: u32) -> Result<u32, DatabaseError> {
    let sql = "SELECT count(*) FROM contributions c JOIN devices d ON d.federation = c.federation AND d.number = c.number WHERE \
               c.federation = $1 AND c.plan = $2 AND c.round = $3 AND d.status = 'active'";
    tables.query(sql, &[federation.into(), plan.into(), round.into()])?.first().map_or(Ok(0), |row| row.u32(0))
}

/// What a round is remembered by.
pub fn digest(contributions: &[Stored]) -> [u8; 32] {
    let mut out = Writer::named("foltr round");
    for Stored { number, hash, .. } in contributions {
        out.u32(*number).bytes(hash.as_bytes());
    }
    *Fingerprint::of(&out.0).as_bytes()
}

/// Forgets the bytes of a round that is dropped.
pub fn drop_bytes(tables: &mut dyn Connection, federation: i64, plan: i64, round: u32) -> Result<(), DatabaseError> {
    let sql = "UPDATE contributions SET bytes = NULL WHERE federation = $1 AND plan = $2 AND round = $3";
    tables.execute_many(sql, &[vec![federation.into(), plan.into(), round.into()]]).map(drop)
}

/// Takes what a device has sent to the open round out; says whether there was something.
pub fn delete_unfolded(tables: &mut dyn Connection, key: &ContributionKey) -> Result<bool, DatabaseError> {
    let sql = "DELETE FROM contributions WHERE federation = $1 AND plan = $2 AND round = $3 AND number = $4 AND bytes IS NOT NULL";
    Ok(tables.execute_many(sql, &[key.values()])?[0] > 0)
}

/// Forgets bytes of rounds before this one; at most so many. Says how many there were.
pub fn drop_bytes_before(
    tables: &mut dyn Connection,
    federation: i64,
    plan: i64,
    round: u32,
    most: u32,
) -> Result<u64, DatabaseError> {
    let sql = "UPDATE contributions SET bytes = NULL WHERE federation = $1 AND (plan, round, number) IN (SELECT plan, round, \
               number FROM contributions WHERE federation = $1 AND bytes IS NOT NULL AND (plan, round) < ($2, $3) LIMIT $4)";
    Ok(tables.execute_many(sql, &[vec![federation.into(), plan.into(), round.into(), most.into()]])?[0])
}

/// Forgets receipts from before a time, but for those of the open round; at most so many.
pub fn delete_old(tables: &mut dyn Connection, federation: i64, before: u64, most: u32) -> Result<u64, DatabaseError> {
    let sql = "DELETE FROM contributions WHERE federation = $1 AND bytes IS NULL AND time < $2 AND (plan, round, number) IN \
               (SELECT plan, round, number FROM contributions WHERE federation = $1 AND bytes IS NULL AND time < $2 LIMIT $3)";
    Ok(tables.execute_many(sql, &[vec![federation.into(), before.into(), most.into()]])?[0])
}
