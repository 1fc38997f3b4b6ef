//! The tables, as migrations that only go forward.

use crate::database::{Access, Connection, DatabaseError};

/// Each brings the tables one version further. Released ones are never changed.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE federations (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    revision BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    public_key BYTEA NOT NULL,
    n_numbers BIGINT NOT NULL,
    n_active BIGINT NOT NULL,
    is_held BIGINT NOT NULL,
    phase TEXT NOT NULL,
    round BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    deadline BIGINT NOT NULL,
    staged_until BIGINT NOT NULL,
    n_contributions BIGINT NOT NULL,
    n_wanted BIGINT NOT NULL,
    n_eligible BIGINT NOT NULL,
    lottery BYTEA,
    fence BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
);
CREATE TABLE plans (
    federation BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    bytes BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (federation, plan)
);
CREATE TABLE states (
    federation BIGINT PRIMARY KEY,
    plan BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    digest BYTEA NOT NULL
);
CREATE TABLE shards (
    federation BIGINT NOT NULL,
    shard BIGINT NOT NULL,
    newest BIGINT NOT NULL,
    first_start BIGINT NOT NULL,
    PRIMARY KEY (federation, shard)
);
CREATE TABLE releases (
    federation BIGINT NOT NULL,
    shard BIGINT NOT NULL,
    version BIGINT NOT NULL,
    header BYTEA NOT NULL,
    params BYTEA,
    cause TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (federation, shard, version)
);
CREATE TABLE rounds (
    federation BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    round BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    closed_at BIGINT NOT NULL,
    n_contributions BIGINT NOT NULL,
    shown_contributions BIGINT,
    n_wanted BIGINT NOT NULL,
    step_norm TEXT,
    outcome TEXT NOT NULL,
    digest BYTEA NOT NULL,
    PRIMARY KEY (federation, plan, round)
);
CREATE TABLE contributions (
    federation BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    round BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    time BIGINT NOT NULL,
    bytes BYTEA,
    PRIMARY KEY (federation, plan, round, number)
);
CREATE INDEX contributions_by_time ON contributions (federation, time);
CREATE TABLE devices (
    federation BIGINT NOT NULL,
    number BIGINT NOT NULL,
    device BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    status TEXT NOT NULL,
    enrolled_at BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    invitation BIGINT NOT NULL,
    PRIMARY KEY (federation, number),
    UNIQUE (federation, device)
);
CREATE TABLE invitations (
    federation BIGINT NOT NULL,
    invitation BIGINT NOT NULL,
    secret BYTEA NOT NULL,
    uses_left BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    is_revoked BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (federation, invitation),
    UNIQUE (federation, secret)
);
CREATE TABLE histories (
    federation BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    shard BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (federation, plan, shard)
);
CREATE TABLE history_parts (
    federation BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    number BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (federation, plan, number)
);
CREATE TABLE device_keys (
    federation BIGINT NOT NULL,
    number BIGINT NOT NULL,
    secret BYTEA NOT NULL,
    PRIMARY KEY (federation, number)
);
CREATE TABLE forget_requests (
    federation BIGINT NOT NULL,
    number BIGINT NOT NULL,
    device BYTEA NOT NULL,
    asked_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    receipt BYTEA,
    PRIMARY KEY (federation, number)
);
",
    "
CREATE INDEX contributions_with_bytes ON contributions (federation, plan, round, number) WHERE bytes IS NOT NULL;
",
];

/// Brings the tables up to date, or says that a newer program made them.
pub fn migrate(connection: &mut dyn Connection) -> Result<(), DatabaseError> {
    connection.transaction(Access::Migrate, |tables| {
        tables.script("CREATE TABLE IF NOT EXISTS foltr_schema (version BIGINT NOT NULL)")?;
        let rows = tables.query("SELECT version FROM foltr_schema", &[])?;
        let version = rows.first().map_or(Ok(0), |row| row.u64(0))?;
        let newest = MIGRATIONS.len() as u64;
        if version > newest {
            return Err(DatabaseError::Unusable(format!(
                "its tables are of version {version}, and this program knows versions up to {newest}: use a newer foltr-server"
            )));
        }
        if version == newest {
            return Ok(());
        }
        MIGRATIONS[version as usize..].iter().try_for_each(|migration| tables.script(migration))?;
        tables.script("DELETE FROM foltr_schema")?;
        tables.query("INSERT INTO foltr_schema (version) VALUES ($1) RETURNING version", &[newest.into()])?;
        Ok(())
    })
}
