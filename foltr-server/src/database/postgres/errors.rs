//! What PostgreSQL's errors mean. Its details and hints are left out: they have values in them.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::database::DatabaseError;

pub struct Failure {
    pub error: DatabaseError,
    /// Whether the connection is of no more use.
    pub is_lost: bool,
}

impl Failure {
    pub fn lost(why: String) -> Self {
        Self { error: DatabaseError::Unavailable(why), is_lost: true }
    }

    pub fn statement(why: String) -> Self {
        Self { error: DatabaseError::Statement(why), is_lost: false }
    }
}

pub fn classify(error: &Error) -> Failure {
    match error.as_db_error() {
        Some(error) => of_server(error),
        // Of the client: a password that is missing, a server that is a standby.
        None if error.source().is_some_and(|source| source.to_string().contains("password")) => {
            let why = format!("PostgreSQL refused the connection: {}", with_cause(error));
            Failure { error: DatabaseError::Unusable(why), is_lost: true }
        }
        None => Failure::lost(with_cause(error)),
    }
}

fn with_cause(error: &Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

fn of_server(error: &DbError) -> Failure {
    let code = error.code();
    let why = format!("{} ({})", error.message(), code.code());
    // The schema has changed since the statement was prepared: a new connection prepares it anew.
    if error.routine() == Some("RevalidateCachedQuery") {
        return Failure::lost(why);
    }
    let is_lost = error.parsed_severity().is_none_or(|severity| severity != Severity::Error);
    Failure { error: meaning(code, why, is_lost), is_lost }
}

fn meaning(code: &SqlState, why: String, is_lost: bool) -> DatabaseError {
    let unavailable = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
    ];
    let unusable = [SqlState::UNDEFINED_DATABASE, SqlState::INSUFFICIENT_PRIVILEGE];
    match code {
        code if *code == SqlState::DISK_FULL => DatabaseError::Full(why),
        code if *code == SqlState::IO_ERROR => DatabaseError::Disk(why),
        code if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => DatabaseError::Damaged(why),
        code if unusable.contains(code) || code.code().starts_with("28") => DatabaseError::Unusable(why),
        code if is_lost || unavailable.contains(code) => DatabaseError::Unavailable(why),
        // Connections and resources.
        code if code.code().starts_with("08") || code.code().starts_with("53") => DatabaseError::Unavailable(why),
        _ => DatabaseError::Statement(why),
    }
}
