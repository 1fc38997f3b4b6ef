//! What SQLite's result codes mean.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::database::DatabaseError;

pub fn classify(file: &Path, error: &Error) -> DatabaseError {
    let why = format!("{}: {error}", file.display());
    let code = match error {
        Error::SqliteFailure(failure, _) => failure.code,
        Error::SqlInputError { error, .. } => error.code,
        Error::Utf8Error(..) => return DatabaseError::Damaged(why),
        _ => return DatabaseError::Statement(why),
    };
    match code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::OutOfMemory => DatabaseError::Unavailable(why),
        ErrorCode::DiskFull => DatabaseError::Full(why),
        ErrorCode::SystemIoFailure => DatabaseError::Disk(why),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => DatabaseError::Damaged(why),
        ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied => DatabaseError::Unusable(format!(
            "{why}; this user must be able to write to the file, to those beside it and to their folder"
        )),
        _ => DatabaseError::Statement(why),
    }
}
