//! Rounds that are closed.

use crate::database::{Connection, DatabaseError, Row, Value};
use crate::operator::RoundLine;

/// What is stored of a closed round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRow {
    pub plan: i64,
    pub n_contributions: u32,
    /// Over the hashes of its contributions, in the order of numbers.
    pub digest: [u8; 32],
    pub line: RoundLine,
}

pub fn insert(tables: &mut dyn Connection, federation: i64, row: &RoundRow) -> Result<(), DatabaseError> {
    let line = &row.line;
    let sql = "INSERT INTO rounds (federation, plan, round, opened_at, closed_at, n_contributions, shown_contributions, n_wanted, \
               step_norm, outcome, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let values: Vec<Value> = vec![
        federation.into(),
        row.plan.into(),
        line.round.into(),
        line.opened_at.into(),
        line.closed_at.into(),
        row.n_contributions.into(),
        line.n_contributions.into(),
        line.n_wanted.into(),
        line.step_norm.map(|norm| norm.to_string()).into(),
        line.outcome.as_str().into(),
        row.digest.as_slice().into(),
    ];
    tables.execute_many(sql, &[values]).map(drop)
}

/// The newest rounds of all plans, the newest last.
pub fn newest(tables: &mut dyn Connection, federation: i64, most: u32) -> Result<Vec<RoundRow>, DatabaseError> {
    let sql = "SELECT plan, round, opened_at, closed_at, n_contributions, shown_contributions, n_wanted, step_norm, outcome, \
               digest FROM rounds WHERE federation = $1 ORDER BY plan DESC, round DESC LIMIT $2";
    let rows = tables.query(sql, &[federation.into(), most.into()])?;
    rows.iter().rev().map(read).collect()
}

fn read(row: &Row) -> Result<RoundRow, DatabaseError> {
    let shown = if row.is_null(5) { None } else { Some(row.u32(5)?) };
    let norm = if row.is_null(7) { None } else { row.text(7)?.parse().ok() };
    Ok(RoundRow {
        plan: row.int(0)?,
        n_contributions: row.u32(4)?,
        digest: row.array(9)?,
        line: RoundLine {
            round: row.u32(1)?,
            opened_at: row.u64(2)?,
            closed_at: row.u64(3)?,
            n_contributions: shown,
            n_wanted: row.u32(6)?,
            step_norm: norm,
            outcome: row.text(8)?.to_owned(),
        },
    })
}
