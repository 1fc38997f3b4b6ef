//! Invitations. Only the hashes of their secrets are stored.

use foltr_federation::Fingerprint;

use crate::database::{Connection, DatabaseError, Row};
use crate::operator::InvitationLine;

pub fn insert(
    tables: &mut dyn Connection,
    federation: i64,
    secret: &[u8; 32],
    line: &InvitationLine,
) -> Result<(), DatabaseError> {
    let sql = "INSERT INTO invitations (federation, invitation, secret, uses_left, created_at, expires_at, is_revoked, note) \
               VALUES ($1, $2, $3, $4, $5, $6, 0, $7)";
    let values = vec![
        federation.into(),
        line.id.into(),
        hash(secret).as_bytes().as_slice().into(),
        line.uses_left.into(),
        line.created_at.into(),
        line.expires_at.into(),
        line.note.as_str().into(),
    ];
    tables.execute_many(sql, &[values]).map(drop)
}

/// A secret is looked up by its hash, whose bytes say nothing about how much of a guess was right.
fn hash(secret: &[u8; 32]) -> Fingerprint {
    Fingerprint::of(&[b"foltr invitation".as_slice(), secret].concat())
}

const COLUMNS: &str = "invitation, note, created_at, expires_at, uses_left, is_revoked";

fn read(row: &Row) -> Result<InvitationLine, DatabaseError> {
    Ok(InvitationLine {
        id: row.u64(0)?,
        note: row.text(1)?.to_owned(),
        created_at: row.u64(2)?,
        expires_at: row.u64(3)?,
        uses_left: row.u32(4)?,
        is_revoked: row.bool(5)?,
    })
}

/// Whether [`take_use`] would take one.
pub fn is_usable(
    tables: &mut dyn Connection,
    federation: i64,
    secret: &[u8; 32],
    now: u64,
) -> Result<bool, DatabaseError> {
    let sql = "SELECT 1 FROM invitations WHERE federation = $1 AND secret = $2 AND uses_left > 0 AND is_revoked = 0 AND \
               expires_at > $3";
    let rows = tables.query(sql, &[federation.into(), hash(secret).as_bytes().as_slice().into(), now.into()])?;
    Ok(!rows.is_empty())
}

/// Takes one use of the invitation with this secret, if it has one left; says which it was.
pub fn take_use(
    tables: &mut dyn Connection,
    federation: i64,
    secret: &[u8; 32],
    now: u64,
) -> Result<Option<i64>, DatabaseError> {
    let sql = "UPDATE invitations SET uses_left = uses_left - 1 WHERE federation = $1 AND secret = $2 AND uses_left > 0 AND \
               is_revoked = 0 AND expires_at > $3 RETURNING invitation";
    let rows = tables.query(sql, &[federation.into(), hash(secret).as_bytes().as_slice().into(), now.into()])?;
    rows.first().map(|row| row.int(0)).transpose()
}

pub fn all(tables: &mut dyn Connection, federation: i64) -> Result<Vec<InvitationLine>, DatabaseError> {
    let sql = format!("SELECT {COLUMNS} FROM invitations WHERE federation = $1 ORDER BY invitation DESC LIMIT 500");
    tables.query(&sql, &[federation.into()])?.iter().map(read).collect()
}

pub fn next_id(tables: &mut dyn Connection, federation: i64) -> Result<u64, DatabaseError> {
    let sql = "SELECT coalesce(max(invitation), 0) + 1 FROM invitations WHERE federation = $1";
    tables.query(sql, &[federation.into()])?.first().map_or(Ok(1), |row| row.u64(0))
}

/// Says whether there is such an invitation.
pub fn revoke(tables: &mut dyn Connection, federation: i64, id: u64) -> Result<bool, DatabaseError> {
    let sql = "UPDATE invitations SET is_revoked = 1 WHERE federation = $1 AND invitation = $2";
    Ok(tables.execute_many(sql, &[vec![federation.into(), id.into()]])?[0] > 0)
}
