//! Enrolled devices.

use foltr_federation::protocol::{DeviceId, PublicKey};

use crate::database::{Connection, DatabaseError, Pool, Row, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Active,
    Revoked,
    /// Its contributions were unlearned.
    Forgotten,
}

impl Status {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Active, "active"), (Self::Revoked, "revoked"), (Self::Forgotten, "forgotten")];

    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRow {
    pub number: u32,
    pub device: DeviceId,
    pub key: PublicKey,
    pub status: Status,
    /// To the day.
    pub last_seen: u64,
}

const COLUMNS: &str = "number, device, public_key, status, last_seen";

fn read(row: &Row) -> Result<DeviceRow, DatabaseError> {
    let damaged = |what: &str| DatabaseError::Damaged(format!("a device has {what}"));
    let name = row.text(3)?;
    let status = Status::ALL.into_iter().find(|(_, own)| *own == name);
    let key = PublicKey::from_bytes(row.array(2)?).map_err(|_| damaged("a key that is none"))?;
    let device = DeviceRow {
        number: row.u32(0)?,
        device: DeviceId::from_bytes(row.array(1)?),
        key,
        status: status.ok_or_else(|| damaged("an unknown status"))?.0,
        last_seen: row.u64(4)?,
    };
    if device.device != key.device_id() { Err(damaged("the id of another key")) } else { Ok(device) }
}

fn finding(federation: i64, device: &DeviceId) -> (String, [Value; 2]) {
    let sql = format!("SELECT {COLUMNS} FROM devices WHERE federation = $1 AND device = $2");
    (sql, [federation.into(), device.as_bytes().as_slice().into()])
}

pub fn find(
    tables: &mut dyn Connection,
    federation: i64,
    device: &DeviceId,
) -> Result<Option<DeviceRow>, DatabaseError> {
    let (sql, values) = finding(federation, device);
    tables.query(&sql, &values)?.first().map(read).transpose()
}

/// As [`find`], outside of any transaction: every device that is not in memory costs one.
pub fn look_up(pool: &Pool, federation: i64, device: &DeviceId) -> Result<Option<DeviceRow>, DatabaseError> {
    let (sql, values) = finding(federation, device);
    pool.query(&sql, &values)?.first().map(read).transpose()
}

/// Of devices with this number or a greater one, whatever their status.
pub fn ids(tables: &mut dyn Connection, federation: i64, from: u32) -> Result<Vec<DeviceId>, DatabaseError> {
    let sql = "SELECT device FROM devices WHERE federation = $1 AND number >= $2";
    let rows = tables.query(sql, &[federation.into(), from.into()])?;
    rows.iter().map(|row| Ok(DeviceId::from_bytes(row.array(0)?))).collect()
}

/// Numbers and ids of active ones with numbers below a bound, in rising order. Their keys are not looked at, which would
/// take longer than all the rest.
pub fn active(tables: &mut dyn Connection, federation: i64, below: u32) -> Result<Vec<(u32, DeviceId)>, DatabaseError> {
    let sql = "SELECT number, device FROM devices WHERE federation = $1 AND status = 'active' AND number < $2 ORDER BY number";
    let read = |row: &Row| Ok((row.u32(0)?, DeviceId::from_bytes(row.array(1)?)));
    tables.query(sql, &[federation.into(), below.into()])?.iter().map(read).collect()
}

pub fn insert(
    tables: &mut dyn Connection,
    federation: i64,
    device: &DeviceRow,
    invitation: i64,
    now: u64,
) -> Result<(), DatabaseError> {
    let sql = "INSERT INTO devices (federation, number, device, public_key, status, enrolled_at, last_seen, invitation) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values = vec![
        federation.into(),
        device.number.into(),
        device.device.as_bytes().as_slice().into(),
        device.key.as_bytes().as_slice().into(),
        device.status.name().into(),
        now.into(),
        device.last_seen.into(),
        invitation.into(),
    ];
    tables.execute_many(sql, &[values]).map(drop)
}

pub fn set_status(
    tables: &mut dyn Connection,
    federation: i64,
    number: u32,
    status: Status,
) -> Result<(), DatabaseError> {
    let sql = "UPDATE devices SET status = $3 WHERE federation = $1 AND number = $2";
    tables.execute_many(sql, &[vec![federation.into(), number.into(), status.name().into()]]).map(drop)
}

pub fn set_last_seen(tables: &mut dyn Connection, federation: i64, seen: &[(u32, u64)]) -> Result<(), DatabaseError> {
    let sql = "UPDATE devices SET last_seen = $3 WHERE federation = $1 AND number = $2 AND last_seen < $3";
    let values: Vec<_> =
        seen.iter().map(|(number, at)| vec![federation.into(), (*number).into(), (*at).into()]).collect();
    tables.execute_many(sql, &values).map(drop)
}

/// Active devices that nobody has seen since a time; at most so many.
pub fn unseen_since(
    tables: &mut dyn Connection,
    federation: i64,
    before: u64,
    most: u32,
) -> Result<Vec<DeviceRow>, DatabaseError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM devices WHERE federation = $1 AND status = 'active' AND last_seen < $2 ORDER BY number LIMIT $3"
    );
    tables.query(&sql, &[federation.into(), before.into(), most.into()])?.iter().map(read).collect()
}

/// How many have each status: active, revoked, forgotten.
pub fn counts(tables: &mut dyn Connection, federation: i64) -> Result<[u32; 3], DatabaseError> {
    let sql = "SELECT status, count(*) FROM devices WHERE federation = $1 GROUP BY status";
    let mut counts = [0; 3];
    for row in tables.query(sql, &[federation.into()])? {
        let name = row.text(0)?;
        if let Some((status, _)) = Status::ALL.into_iter().find(|(_, own)| *own == name) {
            counts[status as usize] = row.u32(1)?;
        }
    }
    Ok(counts)
}
