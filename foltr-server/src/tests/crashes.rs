//! The store fails at every point: after a new start nothing that was acknowledged is lost, and nothing counts twice.
//!
//! `FOLTR_CAMPAIGN=full` runs 10,000 cases on SQLite, and every statement of every kind of transaction on PostgreSQL.

mod cut;
mod oracle;
mod postgres;
mod script;
mod site;
mod sqlite;
