//! The coordinator between two rounds.

use foltr_federation::Fingerprint;

use crate::database::{Connection, DatabaseError};

/// The state of a plan's coordinator, replacing that before it.
pub fn write(tables: &mut dyn Connection, federation: i64, plan: i64, bytes: Vec<u8>) -> Result<(), DatabaseError> {
    let digest = Fingerprint::of(&bytes);
    let sql = "INSERT INTO states (federation, plan, bytes, digest) VALUES ($1, $2, $3, $4) ON CONFLICT (federation) \
               DO UPDATE SET plan = excluded.plan, bytes = excluded.bytes, digest = excluded.digest";
    let values = vec![federation.into(), plan.into(), bytes.into(), digest.as_bytes().as_slice().into()];
    tables.execute_many(sql, &[values]).map(drop)
}

pub fn read(tables: &mut dyn Connection, federation: i64, plan: i64) -> Result<Vec<u8>, DatabaseError> {
    let sql = "SELECT bytes, digest FROM states WHERE federation = $1 AND plan = $2";
    let rows = tables.query(sql, &[federation.into(), plan.into()])?;
    let damaged =
        |why| DatabaseError::Damaged(format!("the state of the coordinator {why}: restore a backup of the database"));
    let row = rows.first().ok_or_else(|| damaged("is gone"))?;
    let bytes = row.bytes(0)?;
    if Fingerprint::of(bytes).as_bytes() != row.bytes(1)? {
        return Err(damaged("was altered"));
    }
    Ok(bytes.to_vec())
}
