//! One SQLite file with a write-ahead log, for a server that is one process. Commands may use it at the same time.
//!
//! SQLite's own checkpoints hide failed syncs, so they are off. The log is folded into the file by whoever commits, and by the
//! first connection of a process: after a sync that failed, the log on the disk may be less than the log in memory, and until
//! it begins anew no later commit is safe.

mod connection;
mod errors;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection as Handle, OpenFlags};

use super::{Connection, Database, DatabaseError};
use connection::SqliteConnection;
use errors::classify;

/// In the header of a file: it is a store of this server.
const APPLICATION: i32 = i32::from_be_bytes(*b"fltr");

const PATIENCE: Duration = Duration::from_secs(10);
const N_STATEMENTS: usize = 256;

/// A file in memory of up to 16 MiB a connection. What is deleted is overwritten.
const SETTINGS: &str = "\
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 8388608;
    PRAGMA secure_delete = ON;
    PRAGMA foreign_keys = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA cache_size = -16384;
    PRAGMA temp_store = MEMORY;";

pub struct Sqlite {
    file: PathBuf,
    vfs: Option<String>,
    /// Whether the log began anew since this process began.
    is_log_new: Mutex<bool>,
}

impl Sqlite {
    /// The file is made by the first connection.
    pub fn open(file: &Path) -> Self {
        Self { file: file.to_owned(), vfs: None, is_log_new: Mutex::new(false) }
    }

    /// The file is on another disk than the system's: a VFS that SQLite knows by this name.
    pub fn on_vfs(self, name: &str) -> Self {
        Self { vfs: Some(name.to_owned()), ..self }
    }

    fn handle(&self) -> Result<Handle, DatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = match &self.vfs {
            Some(vfs) => {
                let flags = flags | OpenFlags::SQLITE_OPEN_CREATE;
                Handle::open_with_flags_and_vfs(&self.file, flags, vfs.as_str())
            }
            None => Handle::open_with_flags(create(&self.file)?, flags),
        };
        opened.map_err(|error| classify(&self.file, &error))
    }

    fn configure(&self, handle: &Handle) -> rusqlite::Result<()> {
        handle.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        handle.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        handle.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        handle.busy_timeout(PATIENCE)?;
        handle.set_prepared_statement_cache_capacity(N_STATEMENTS);
        handle.execute_batch(SETTINGS)
    }

    /// Another program's file is not touched.
    fn set_log_up(&self, handle: &Handle) -> Result<(), DatabaseError> {
        let error = |error: rusqlite::Error| classify(&self.file, &error);
        let number = |sql: &str| handle.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(error);
        let application = number("PRAGMA application_id")?;
        let is_ours = application == i64::from(APPLICATION);
        let is_new = application == 0
            && number("PRAGMA user_version")? == 0
            && number("SELECT count(*) FROM sqlite_schema")? == 0;
        if !is_ours && !is_new {
            let file = self.file.display();
            return Err(DatabaseError::Unusable(format!(
                "{file} is a database of another program; name a file of this server, or one that does not exist yet"
            )));
        }
        let mode = handle.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)).map_err(error)?;
        if mode != "wal" {
            let file = self.file.display();
            return Err(DatabaseError::Unusable(format!(
                "{file} cannot have a write-ahead log, only {mode:?}; use a local file system"
            )));
        }
        if is_new { handle.pragma_update(None, "application_id", APPLICATION).map_err(error) } else { Ok(()) }
    }

    /// Once in a process.
    fn begin_log_anew(&self, connection: &mut SqliteConnection) -> Result<(), DatabaseError> {
        let mut is_log_new = self.is_log_new.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_log_new {
            connection.begin_log_anew()?;
            *is_log_new = true;
        }
        Ok(())
    }
}

impl Database for Sqlite {
    fn connect(&self) -> Result<Box<dyn Connection>, DatabaseError> {
        let handle = self.handle()?;
        self.configure(&handle).map_err(|error| classify(&self.file, &error))?;
        self.set_log_up(&handle)?;
        let mut connection = SqliteConnection::new(self.file.clone(), handle);
        self.begin_log_anew(&mut connection)?;
        Ok(Box::new(connection))
    }

    fn n_writers(&self) -> usize {
        1
    }
}

/// A file that only its owner can read, if there is none. SQLite gives its log the same mode. A path that begins at the root
/// has no meaning of its own to SQLite, as `:memory:` has.
fn create(file: &Path) -> Result<PathBuf, DatabaseError> {
    let unusable = |error: std::io::Error| {
        DatabaseError::Unusable(format!(
            "{} cannot be made ({error}); name a file in a folder that exists and that this user may write to",
            file.display()
        ))
    };
    let path = std::path::absolute(file).map_err(unusable)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(&path) {
        Ok(_) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(path),
        Err(error) => Err(unusable(error)),
    }
}
