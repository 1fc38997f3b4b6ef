//! Plans, in the order in which they came into force.

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{Document, Plan, PlanError};

use crate::database::{Connection, DatabaseError};

pub fn insert(
    tables: &mut dyn Connection,
    federation: i64,
    number: i64,
    plan: &Plan,
    now: u64,
) -> Result<(), DatabaseError> {
    let damaged = |error: PlanError| DatabaseError::Statement(error.to_string());
    let (hash, bytes) = (plan.hash().map_err(damaged)?, plan.encode().map_err(damaged)?);
    let sql = "INSERT INTO plans (federation, plan, hash, bytes, created_at) VALUES ($1, $2, $3, $4, $5)";
    let values = vec![federation.into(), number.into(), hash.as_bytes().as_slice().into(), bytes.into(), now.into()];
    tables.execute_many(sql, &[values]).map(drop)
}

pub fn find(tables: &mut dyn Connection, federation: i64, number: i64) -> Result<Plan, DatabaseError> {
    let sql = "SELECT hash, bytes FROM plans WHERE federation = $1 AND plan = $2";
    let rows = tables.query(sql, &[federation.into(), number.into()])?;
    let damaged = |why: String| DatabaseError::Damaged(format!("plan {number}: {why}"));
    let row = rows.first().ok_or_else(|| damaged("it is gone".into()))?;
    let plan = Plan::decode(row.bytes(1)?).map_err(|error| damaged(error.to_string()))?;
    let hash = plan.hash().map_err(|error| damaged(error.to_string()))?;
    if hash.as_bytes() != row.bytes(0)? {
        return Err(damaged("its bytes were altered".into()));
    }
    Ok(plan)
}

/// Which of the plans has this hash.
pub fn number_of(
    tables: &mut dyn Connection,
    federation: i64,
    hash: &Fingerprint,
) -> Result<Option<i64>, DatabaseError> {
    let sql = "SELECT plan FROM plans WHERE federation = $1 AND hash = $2 ORDER BY plan DESC";
    let rows = tables.query(sql, &[federation.into(), hash.as_bytes().as_slice().into()])?;
    rows.first().map(|row| row.int(0)).transpose()
}
