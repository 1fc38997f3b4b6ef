//! Federations, and the round that is open in each.

use foltr_federation::protocol::{Lottery, PublicKey};

use crate::database::{Connection, DatabaseError, Row, Value};

/// What a federation does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No round is open: too few devices are enrolled.
    Waiting,
    Open,
    /// A replica closes the round; nothing is taken any more.
    Closing,
    /// All rounds of the plan are over.
    Finished,
}

impl Phase {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Waiting, "waiting"), (Self::Open, "open"), (Self::Closing, "closing"), (Self::Finished, "finished")];

    fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    fn named(name: &str) -> Result<Self, DatabaseError> {
        let known = Self::ALL.into_iter().find(|(_, own)| *own == name);
        known.map(|(phase, _)| phase).ok_or_else(|| DatabaseError::Damaged(format!("there is no phase {name:?}")))
    }
}

/// A row of `federations`.
#[derive(Clone, Debug, PartialEq)]
pub struct FederationRow {
    pub id: i64,
    pub name: String,
    /// Rises with every change that devices can see.
    pub revision: i64,
    /// Counts the plans of the federation.
    pub plan: i64,
    /// Signs now.
    pub public_key: [u8; 32],
    /// Numbers given out, to devices that are gone as well.
    pub n_numbers: u32,
    pub n_active: u32,
    pub is_held: bool,
    pub phase: Phase,
    pub round: u32,
    pub opened_at: u64,
    pub deadline: u64,
    /// Until then only a share of the devices is shown the task.
    pub staged_until: u64,
    pub n_contributions: u32,
    pub n_wanted: u32,
    /// Only devices with smaller numbers may take part: those that were enrolled when the lottery was drawn.
    pub n_eligible: u32,
    pub lottery: Option<Lottery>,
    /// Rises with every replica that begins to close a round. What an older one writes is refused.
    pub fence: i64,
    pub lease_until: u64,
}

impl FederationRow {
    /// Whether a key signs now. Who publishes looks in the transaction that does: what an earlier key signs behind the
    /// release that replaced it can be followed by no device.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.public_key == *key.as_bytes()
    }
}

const COLUMNS: &str = "id, name, revision, plan, public_key, n_numbers, n_active, is_held, phase, round, opened_at, deadline, \
                       staged_until, n_contributions, n_wanted, n_eligible, lottery, fence, lease_until";

fn read(row: &Row) -> Result<FederationRow, DatabaseError> {
    let lottery = if row.is_null(16) { None } else { Some(read_lottery(row.array(16)?)) };
    Ok(FederationRow {
        id: row.int(0)?,
        name: row.text(1)?.to_owned(),
        revision: row.int(2)?,
        plan: row.int(3)?,
        public_key: row.array(4)?,
        n_numbers: row.u32(5)?,
        n_active: row.u32(6)?,
        is_held: row.bool(7)?,
        phase: Phase::named(row.text(8)?)?,
        round: row.u32(9)?,
        opened_at: row.u64(10)?,
        deadline: row.u64(11)?,
        staged_until: row.u64(12)?,
        n_contributions: row.u32(13)?,
        n_wanted: row.u32(14)?,
        n_eligible: row.u32(15)?,
        lottery,
        fence: row.int(17)?,
        lease_until: row.u64(18)?,
    })
}

fn read_lottery(bytes: [u8; 40]) -> Lottery {
    let (value, threshold) = bytes.split_at(32);
    let value = value.try_into().expect("32 of 40 bytes");
    Lottery { value, threshold: u64::from_le_bytes(threshold.try_into().expect("the other 8")) }
}

fn values(row: &FederationRow) -> Vec<Value> {
    let lottery = row.lottery.map(|it| [it.value.as_slice(), &it.threshold.to_le_bytes()].concat());
    vec![
        row.id.into(),
        row.name.as_str().into(),
        row.revision.into(),
        row.plan.into(),
        row.public_key.as_slice().into(),
        row.n_numbers.into(),
        row.n_active.into(),
        row.is_held.into(),
        row.phase.name().into(),
        row.round.into(),
        row.opened_at.into(),
        row.deadline.into(),
        row.staged_until.into(),
        row.n_contributions.into(),
        row.n_wanted.into(),
        row.n_eligible.into(),
        lottery.into(),
        row.fence.into(),
        row.lease_until.into(),
    ]
}

pub fn all(tables: &mut dyn Connection) -> Result<Vec<FederationRow>, DatabaseError> {
    let sql = format!("SELECT {COLUMNS} FROM federations ORDER BY id");
    tables.query(&sql, &[])?.iter().map(read).collect()
}

pub fn find(tables: &mut dyn Connection, id: i64) -> Result<FederationRow, DatabaseError> {
    one(tables, id, "")
}

/// The row, which nobody else changes before the end of the transaction.
pub fn lock(tables: &mut dyn Connection, id: i64) -> Result<FederationRow, DatabaseError> {
    one(tables, id, " FOR UPDATE")
}

fn one(tables: &mut dyn Connection, id: i64, lock: &str) -> Result<FederationRow, DatabaseError> {
    let sql = format!("SELECT {COLUMNS} FROM federations WHERE id = $1{lock}");
    let rows = tables.query(&sql, &[id.into()])?;
    rows.first().map_or_else(|| Err(DatabaseError::Damaged(format!("federation {id} is gone"))), read)
}

pub fn insert(tables: &mut dyn Connection, row: &FederationRow) -> Result<(), DatabaseError> {
    let sql = format!(
        "INSERT INTO federations ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
         $17, $18, $19)"
    );
    tables.execute_many(&sql, &[values(row)]).map(drop)
}

/// Writes a row that is locked.
pub fn update(tables: &mut dyn Connection, row: &FederationRow) -> Result<(), DatabaseError> {
    let sql = "UPDATE federations SET name = $2, revision = $3, plan = $4, public_key = $5, n_numbers = $6, n_active = $7, \
               is_held = $8, phase = $9, round = $10, opened_at = $11, deadline = $12, staged_until = $13, \
               n_contributions = $14, n_wanted = $15, n_eligible = $16, lottery = $17, fence = $18, lease_until = $19 \
               WHERE id = $1";
    tables.execute_many(sql, &[values(row)]).map(drop)
}

/// Only the number of contributions, which every batch of uploads changes.
pub fn set_n_contributions(tables: &mut dyn Connection, id: i64, n: u32) -> Result<(), DatabaseError> {
    let sql = "UPDATE federations SET n_contributions = $2 WHERE id = $1";
    tables.execute_many(sql, &[vec![id.into(), n.into()]]).map(drop)
}
