//! A connection to the file.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection as Handle};

use super::{APPLICATION, PATIENCE, classify};
use crate::database::{Access, Connection, DatabaseError, OpenTransaction, Row, Value, check_texts, wrong_count};

/// Pages of the log that are not in the file yet: so many are worth the syncs of a checkpoint.
const FOLD_AFTER: i64 = 1_000;
/// Pages of a log that is to begin anew, which has to wait for those who read an old state.
const RESTART_AFTER: i64 = 8_000;
const RESTART_PATIENCE: Duration = Duration::from_millis(500);

pub struct SqliteConnection {
    file: PathBuf,
    handle: Handle,
    transaction: Option<OpenTransaction>,
    /// After the disk has failed nobody knows what is on it.
    failure: Option<DatabaseError>,
    /// Pages of the log at which it is to begin anew: more after somebody has read for too long.
    restart_at: i64,
}

/// What a checkpoint says.
struct Checkpoint {
    is_complete: bool,
    n_pages: i64,
    n_folded: i64,
}

impl SqliteConnection {
    pub fn new(file: PathBuf, handle: Handle) -> Self {
        Self { file, handle, transaction: None, failure: None, restart_at: RESTART_AFTER }
    }

    /// Folds all of the log into the file, and empties it. The commit is the first one of a new log: only its sync makes sure
    /// that the old log does not come back.
    pub fn begin_log_anew(&mut self) -> Result<(), DatabaseError> {
        if self.checkpoint("TRUNCATE")?.is_complete {
            return self.batch(&format!("PRAGMA application_id = {APPLICATION}"));
        }
        let file = self.file.display();
        Err(DatabaseError::Unavailable(format!("{file}: another program has been reading for {PATIENCE:?}")))
    }

    fn usable(&self) -> Result<(), DatabaseError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// A value, or an error after which the connection may be of no more use.
    fn checked<T>(&mut self, done: Result<T, DatabaseError>) -> Result<T, DatabaseError> {
        if let Err(error @ DatabaseError::Disk(_)) = &done {
            self.failure = Some(error.clone());
        }
        done
    }

    fn batch(&mut self, sql: &str) -> Result<(), DatabaseError> {
        let done = self.handle.execute_batch(sql).map_err(|error| classify(&self.file, &error));
        self.checked(done)
    }

    /// Runs statements in the transaction.
    fn run<T>(&mut self, run: impl FnOnce(&Self, Access) -> Result<T, DatabaseError>) -> Result<T, DatabaseError> {
        self.usable()?;
        let access = OpenTransaction::usable(&self.transaction)?;
        let done = run(self, access);
        if let (Err(error), Some(transaction)) = (&done, &mut self.transaction) {
            transaction.failure = Some(error.clone());
        }
        self.checked(done)
    }

    fn statement(&self, sql: &str, access: Access) -> Result<CachedStatement<'_>, DatabaseError> {
        let (sql, locks) = without_locks(sql);
        let statement = self.handle.prepare_cached(sql).map_err(|error| classify(&self.file, &error))?;
        if access == Access::Read && (locks || !statement.readonly()) {
            return Err(cannot_change());
        }
        Ok(statement)
    }

    /// The rows, and how many rows were changed or returned.
    fn rows(&self, statement: &mut CachedStatement<'_>, values: &[Value]) -> Result<(Vec<Row>, u64), DatabaseError> {
        check_texts(values)?;
        if statement.parameter_count() != values.len() {
            return Err(wrong_count(statement.parameter_count(), values.len()));
        }
        let done = collect(statement, values).map_err(|error| classify(&self.file, &error));
        let rows = done?;
        let n_rows = if statement.readonly() { rows.len() as u64 } else { self.handle.changes() };
        Ok((rows, n_rows))
    }

    fn checkpoint(&mut self, mode: &str) -> Result<Checkpoint, DatabaseError> {
        let done = self.handle.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
            Ok(Checkpoint { is_complete: row.get::<_, i64>(0)? == 0, n_pages: row.get(1)?, n_folded: row.get(2)? })
        });
        let done = done.map_err(|error| classify(&self.file, &error));
        self.checked(done)
    }

    /// Keeps the log short. What was committed is safe without it, so that it may as well be done by the next commit, unless
    /// the disk has failed.
    fn fold_log(&mut self) -> Result<(), DatabaseError> {
        let log = self.checkpoint("NOOP")?;
        let folded = if log.n_pages >= self.restart_at {
            self.wait_at_most(RESTART_PATIENCE)?;
            let folded = self.checkpoint("TRUNCATE");
            self.wait_at_most(PATIENCE)?;
            let is_new = folded.as_ref().is_ok_and(|log| log.is_complete);
            self.restart_at = if is_new { RESTART_AFTER } else { log.n_pages + FOLD_AFTER };
            folded
        } else if log.n_pages - log.n_folded >= FOLD_AFTER {
            self.checkpoint("PASSIVE")
        } else {
            return Ok(());
        };
        match folded {
            Err(DatabaseError::Full(why) | DatabaseError::Unavailable(why)) => {
                tracing::warn!(why, "the write-ahead log could not be folded into the database");
                Ok(())
            }
            folded => folded.map(drop),
        }
    }

    fn wait_at_most(&self, time: Duration) -> Result<(), DatabaseError> {
        self.handle.busy_timeout(time).map_err(|error| classify(&self.file, &error))
    }

    fn undo(&mut self) {
        if !self.handle.is_autocommit()
            && let Err(error) = self.batch("ROLLBACK")
        {
            self.failure.get_or_insert(error);
        }
    }
}

impl Connection for SqliteConnection {
    fn begin(&mut self, access: Access) -> Result<(), DatabaseError> {
        self.usable()?;
        if self.transaction.is_some() {
            return Err(DatabaseError::Statement("a transaction is open already".to_owned()));
        }
        self.batch(if access == Access::Read { "BEGIN DEFERRED" } else { "BEGIN IMMEDIATE" })?;
        self.transaction = Some(OpenTransaction::new(access));
        Ok(())
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        self.run(|this, access| Ok(this.rows(&mut this.statement(sql, access)?, values)?.0))
    }

    fn execute_many(&mut self, sql: &str, values: &[Vec<Value>]) -> Result<Vec<u64>, DatabaseError> {
        self.run(|this, access| {
            let mut statement = this.statement(sql, access)?;
            values.iter().map(|values| Ok(this.rows(&mut statement, values)?.1)).collect()
        })
    }

    fn script(&mut self, sql: &str) -> Result<(), DatabaseError> {
        self.run(|this, access| match access {
            Access::Read => Err(cannot_change()),
            _ => this.handle.execute_batch(sql).map_err(|error| classify(&this.file, &error)),
        })
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        self.usable()?;
        let usable = OpenTransaction::usable(&self.transaction);
        self.transaction = None;
        let committed = usable.and_then(|access| self.batch("COMMIT").map(|()| access));
        match committed {
            Ok(Access::Read) => Ok(()),
            Ok(_) => self.fold_log(),
            Err(error) => {
                self.undo();
                Err(error)
            }
        }
    }

    fn roll_back(&mut self) {
        self.transaction = None;
        self.undo();
    }

    fn check(&mut self) -> Result<(), DatabaseError> {
        self.usable()?;
        let verdict = self.handle.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        let verdict = verdict.map_err(|error| classify(&self.file, &error));
        match self.checked(verdict)? {
            verdict if verdict == "ok" => Ok(()),
            verdict => Err(DatabaseError::Damaged(format!("{}: {verdict}", self.file.display()))),
        }
    }
}

fn cannot_change() -> DatabaseError {
    DatabaseError::Statement("a reading transaction cannot change or lock anything".to_owned())
}

/// What locks rows elsewhere: here writers come one after the other.
fn without_locks(sql: &str) -> (&str, bool) {
    let sql = sql.trim_end();
    let locks = ["FOR UPDATE SKIP LOCKED", "FOR UPDATE", "FOR SHARE"];
    let cut =
        locks.into_iter().find_map(|lock| sql.strip_suffix(lock).filter(|sql| sql.ends_with(char::is_whitespace)));
    (cut.unwrap_or(sql), cut.is_some())
}

fn collect(statement: &mut CachedStatement<'_>, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
    for (number, value) in (1..).zip(values) {
        let name = format!("${number}");
        let place = statement.parameter_index(&name)?.ok_or(rusqlite::Error::InvalidParameterName(name))?;
        match value {
            Value::Null => statement.raw_bind_parameter(place, rusqlite::types::Null)?,
            Value::Int(value) => statement.raw_bind_parameter(place, value)?,
            Value::Bytes(value) => statement.raw_bind_parameter(place, value)?,
            Value::Text(value) => statement.raw_bind_parameter(place, value)?,
        }
    }
    let n_columns = statement.column_count();
    let mut collected = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        collected
            .push(Row((0..n_columns).map(|column| value(column, row.get_ref(column)?)).collect::<Result<_, _>>()?));
    }
    Ok(collected)
}

fn value(column: usize, value: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
        ValueRef::Text(value) => {
            let text = std::str::from_utf8(value).map_err(|error| rusqlite::Error::Utf8Error(column, error))?;
            Value::Text(text.to_owned())
        }
        ValueRef::Real(_) => {
            let name = format!("column {column}");
            return Err(rusqlite::Error::InvalidColumnType(column, name, rusqlite::types::Type::Real));
        }
    })
}
