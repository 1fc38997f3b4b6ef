//! The history on the disk.

use std::path::{Path, PathBuf};

use foltr_rank::interleave::InterleavedComparison;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use thiserror::Error;

use super::{Ending, Opening};
use crate::answer::DocumentId;

const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE opening (
        id INTEGER PRIMARY KEY, document INTEGER NOT NULL, at INTEGER NOT NULL, query TEXT NOT NULL, rank INTEGER NOT NULL);
    CREATE TABLE comparison (bytes BLOB NOT NULL);
    CREATE TABLE ending (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, rank INTEGER, typed INTEGER NOT NULL);
";

#[derive(Debug, Error)]
pub enum HistoryError {
    #[error("the history {file} cannot be used: {source}; move it away to begin a new one", file = .file.display())]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error("the history {file} is of a newer version of foltr-agent", file = .file.display())]
    Newer { file: PathBuf },
}

#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    file: PathBuf,
}

impl Store {
    pub fn open(file: &Path) -> Result<Self, HistoryError> {
        let wrong = |source| HistoryError::Database { file: file.to_owned(), source };
        let connection = Connection::open(file).map_err(wrong)?;
        let prepare = || {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            // What is erased is overwritten.
            connection.pragma_update(None, "secure_delete", true)?;
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        };
        match prepare().map_err(wrong)? {
            0 => {
                let make = format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
                connection.execute_batch(&make).map_err(wrong)?;
            }
            VERSION => {}
            _ => return Err(HistoryError::Newer { file: file.to_owned() }),
        }
        Ok(Self { connection, file: file.to_owned() })
    }

    fn with<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, HistoryError> {
        ask(&self.connection).map_err(|source| HistoryError::Database { file: self.file.clone(), source })
    }

    pub fn openings(&self) -> Result<Vec<Opening>, HistoryError> {
        let read = |row: &Row<'_>| {
            let document = DocumentId(row.get::<_, i64>(0)? as u64);
            Ok(Opening { document, at: row.get(1)?, query: row.get(2)?, rank: row.get(3)? })
        };
        let select = "SELECT document, at, query, rank FROM opening ORDER BY id";
        self.with(|connection| connection.prepare(select)?.query_map([], read)?.collect())
    }

    pub fn endings(&self) -> Result<Vec<Ending>, HistoryError> {
        let read = |row: &Row<'_>| Ok(Ending { at: row.get(0)?, rank: row.get(1)?, n_typed: row.get(2)? });
        let select = "SELECT at, rank, typed FROM ending ORDER BY id";
        self.with(|connection| connection.prepare(select)?.query_map([], read)?.collect())
    }

    pub fn add_opening(&self, opening: &Opening) -> Result<(), HistoryError> {
        let Opening { document, at, query, rank } = opening;
        let insert = "INSERT INTO opening (document, at, query, rank) VALUES (?1, ?2, ?3, ?4)";
        self.with(|connection| connection.execute(insert, params![document.0 as i64, at, query, rank])).map(drop)
    }

    pub fn add_ending(&self, ending: &Ending) -> Result<(), HistoryError> {
        let Ending { at, rank, n_typed } = ending;
        let insert = "INSERT INTO ending (at, rank, typed) VALUES (?1, ?2, ?3)";
        self.with(|connection| connection.execute(insert, params![at, rank, n_typed])).map(drop)
    }

    pub fn comparison(&self) -> Result<InterleavedComparison, HistoryError> {
        let read = |row: &Row<'_>| row.get::<_, Vec<u8>>(0);
        let bytes =
            self.with(|connection| connection.query_row("SELECT bytes FROM comparison", [], read).optional())?;
        Ok(bytes.and_then(|bytes| InterleavedComparison::decode(&bytes).ok()).unwrap_or_default())
    }

    pub fn write_comparison(&self, comparison: &InterleavedComparison) -> Result<(), HistoryError> {
        self.with(|connection| {
            connection.execute_batch("BEGIN; DELETE FROM comparison;")?;
            connection.execute("INSERT INTO comparison VALUES (?1)", [comparison.encode()])?;
            connection.execute_batch("COMMIT")
        })
    }

    pub fn erase(&self) -> Result<(), HistoryError> {
        self.with(|connection| {
            connection.execute_batch("DELETE FROM opening; DELETE FROM ending; DELETE FROM comparison;")?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }
}
