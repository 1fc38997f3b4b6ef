//! Requests to be forgotten, and what is stored for them: histories, and each device's part of them under a key of its own.

use std::collections::BTreeMap;

use foltr_federation::protocol::DeviceId;

use crate::database::{Connection, DatabaseError, Row};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetRow {
    pub number: u32,
    pub device: DeviceId,
    pub asked_at: u64,
    /// `queued`, `done` or `refused`.
    pub state: String,
    pub reason: String,
    pub receipt: Option<Vec<u8>>,
}

const COLUMNS: &str = "number, device, asked_at, state, reason, receipt";

fn read(row: &Row) -> Result<ForgetRow, DatabaseError> {
    Ok(ForgetRow {
        number: row.u32(0)?,
        device: DeviceId::from_bytes(row.array(1)?),
        asked_at: row.u64(2)?,
        state: row.text(3)?.to_owned(),
        reason: row.text(4)?.to_owned(),
        receipt: if row.is_null(5) { None } else { Some(row.bytes(5)?.to_vec()) },
    })
}

pub fn find(tables: &mut dyn Connection, federation: i64, number: u32) -> Result<Option<ForgetRow>, DatabaseError> {
    let sql = format!("SELECT {COLUMNS} FROM forget_requests WHERE federation = $1 AND number = $2");
    tables.query(&sql, &[federation.into(), number.into()])?.first().map(read).transpose()
}

pub fn all(tables: &mut dyn Connection, federation: i64) -> Result<Vec<ForgetRow>, DatabaseError> {
    let sql =
        format!("SELECT {COLUMNS} FROM forget_requests WHERE federation = $1 ORDER BY asked_at DESC, number LIMIT 500");
    tables.query(&sql, &[federation.into()])?.iter().map(read).collect()
}

/// Those that wait, the oldest first.
pub fn queued(tables: &mut dyn Connection, federation: i64, most: u32) -> Result<Vec<ForgetRow>, DatabaseError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM forget_requests WHERE federation = $1 AND state = 'queued' ORDER BY asked_at, number LIMIT $2"
    );
    tables.query(&sql, &[federation.into(), most.into()])?.iter().map(read).collect()
}

/// Adds a request, or replaces one of the same device.
pub fn write(tables: &mut dyn Connection, federation: i64, request: &ForgetRow) -> Result<(), DatabaseError> {
    let sql = "INSERT INTO forget_requests (federation, number, device, asked_at, state, reason, receipt) VALUES ($1, $2, $3, \
               $4, $5, $6, $7) ON CONFLICT (federation, number) DO UPDATE SET state = excluded.state, reason = \
               excluded.reason, receipt = excluded.receipt";
    let values = vec![
        federation.into(),
        request.number.into(),
        request.device.as_bytes().as_slice().into(),
        request.asked_at.into(),
        request.state.as_str().into(),
        request.reason.as_str().into(),
        request.receipt.clone().into(),
    ];
    tables.execute_many(sql, &[values]).map(drop)
}

/// The part of a history that is of nobody, by shard.
pub fn histories(
    tables: &mut dyn Connection,
    federation: i64,
    plan: i64,
) -> Result<BTreeMap<u32, Vec<u8>>, DatabaseError> {
    let sql = "SELECT shard, bytes FROM histories WHERE federation = $1 AND plan = $2";
    let rows = tables.query(sql, &[federation.into(), plan.into()])?;
    rows.iter().map(|row| Ok((row.u32(0)?, row.bytes(1)?.to_vec()))).collect()
}

pub fn write_history(
    tables: &mut dyn Connection,
    federation: i64,
    plan: i64,
    shard: u32,
    bytes: Vec<u8>,
) -> Result<(), DatabaseError> {
    let sql = "INSERT INTO histories (federation, plan, shard, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT (federation, plan, \
               shard) DO UPDATE SET bytes = excluded.bytes";
    tables.execute_many(sql, &[vec![federation.into(), plan.into(), shard.into(), bytes.into()]]).map(drop)
}

/// The sealed parts of devices, by number.
pub fn parts(tables: &mut dyn Connection, federation: i64, plan: i64) -> Result<BTreeMap<u32, Vec<u8>>, DatabaseError> {
    let sql = "SELECT number, bytes FROM history_parts WHERE federation = $1 AND plan = $2";
    let rows = tables.query(sql, &[federation.into(), plan.into()])?;
    rows.iter().map(|row| Ok((row.u32(0)?, row.bytes(1)?.to_vec()))).collect()
}

pub fn write_parts(
    tables: &mut dyn Connection,
    federation: i64,
    plan: i64,
    parts: BTreeMap<u32, Vec<u8>>,
) -> Result<(), DatabaseError> {
    let sql = "INSERT INTO history_parts (federation, plan, number, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT (federation, plan, \
               number) DO UPDATE SET bytes = excluded.bytes";
    let row = |(number, bytes): (u32, Vec<u8>)| vec![federation.into(), plan.into(), number.into(), bytes.into()];
    let rows: Vec<_> = parts.into_iter().map(row).collect();
    tables.execute_many(sql, &rows).map(drop)
}

pub fn delete_parts(
    tables: &mut dyn Connection,
    federation: i64,
    plan: i64,
    numbers: impl IntoIterator<Item = u32>,
) -> Result<(), DatabaseError> {
    let sql = "DELETE FROM history_parts WHERE federation = $1 AND plan = $2 AND number = $3";
    let rows: Vec<_> = numbers.into_iter().map(|number| vec![federation.into(), plan.into(), number.into()]).collect();
    tables.execute_many(sql, &rows).map(drop)
}

/// Keys under which devices' parts are sealed.
pub fn keys(tables: &mut dyn Connection, federation: i64) -> Result<BTreeMap<u32, [u8; 32]>, DatabaseError> {
    let sql = "SELECT number, secret FROM device_keys WHERE federation = $1";
    tables.query(sql, &[federation.into()])?.iter().map(|row| Ok((row.u32(0)?, row.array(1)?))).collect()
}

pub fn write_key(
    tables: &mut dyn Connection,
    federation: i64,
    number: u32,
    secret: &[u8; 32],
) -> Result<(), DatabaseError> {
    let sql = "INSERT INTO device_keys (federation, number, secret) VALUES ($1, $2, $3)";
    tables.execute_many(sql, &[vec![federation.into(), number.into(), secret.as_slice().into()]]).map(drop)
}

/// Erases what is stored of a device: without its key its sealed part says nothing, in this database and in every copy
/// that was made without the keys.
pub fn erase(tables: &mut dyn Connection, federation: i64, number: u32) -> Result<(), DatabaseError> {
    for table in ["device_keys", "history_parts"] {
        let sql = format!("DELETE FROM {table} WHERE federation = $1 AND number = $2");
        tables.execute_many(&sql, &[vec![federation.into(), number.into()]])?;
    }
    Ok(())
}
