//! PostgreSQL.
pub struct Postgres;
