//! One SQLite file: a table for each kind of record, one transaction an event.
//!
//! The log is written ahead (WAL). A transaction that must be durable is synced before it is acknowledged, and with it all
//! that were written before; others wait for the next one that is, or for a checkpoint. SQLite finds torn writes by its own
//! checksums; every record has one of ours, which finds what a disk has altered since.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::TryRng;
use rand::rngs::SysRng;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, ffi};
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

use crate::core::StoredThing;
use crate::item::{Item, Record, Records, TABLES, Write};

/// Each makes the next version of the file of the version before. None is ever changed or taken back.
const MIGRATIONS: [&str; 1] = ["\
    CREATE TABLE state (number INTEGER PRIMARY KEY, written INTEGER NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
    CREATE TABLE impressions (number INTEGER PRIMARY KEY, written INTEGER NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
    CREATE TABLE lists (number INTEGER PRIMARY KEY, written INTEGER NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
    CREATE TABLE releases (number INTEGER PRIMARY KEY, written INTEGER NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
    CREATE TABLE receipts (number INTEGER PRIMARY KEY, written INTEGER NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL);"];

/// A small cache of pages, and nothing left of what is deleted. The log is folded back by [`Store::commit`]: SQLite's own
/// checkpoints do not say when a sync failed.
const SETTINGS: &str = "\
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;
    PRAGMA cache_size = -256;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 1048576;
    PRAGMA temp_store = MEMORY;";

/// Transactions after which the log is folded back into the file: about a mebibyte.
const CHECKPOINT_AFTER: u32 = 64;
/// The same for transactions that nobody waits for, which rather leave it to one that is waited for.
const CHECKPOINT_AFTER_AT_LAST: u32 = 256;

/// Why something is not stored, or cannot be read.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("{}: was written by a newer version of this program (format {found}, this one knows {known}): update it", file.display())]
    Newer { file: PathBuf, found: i64, known: usize },
    #[error("{}: is damaged: {why}. Nothing was changed; move the folder away and begin anew, never with an old copy of it", file.display())]
    Damaged { file: PathBuf, why: String },
    #[error("{}: the disk is full; what was not stored is tried again", file.display())]
    Full { file: PathBuf },
    #[error("{}: the disk cannot be written to", file.display())]
    ReadOnly { file: PathBuf },
    #[error(
        "{}: the disk failed to keep what was written ({why}). Nothing is stored any more until the device is opened again",
        file.display()
    )]
    Failed { file: PathBuf, why: String },
    #[error("{}: {why}", file.display())]
    Other { file: PathBuf, why: String },
}

/// What waits to be written: for each record its bytes, or nothing if it is to go.
pub type Pending = BTreeMap<Item, Option<Vec<u8>>>;

pub struct Store {
    file: PathBuf,
    connection: Connection,
    is_synchronous: bool,
    /// Transactions since the log was folded back.
    n_in_log: u32,
    /// After a failed sync nobody knows what is on the disk.
    failure: Option<StoreError>,
}

impl Store {
    /// Opens or creates the file, and reads all that is in it.
    pub fn open(file: &Path, vfs: Option<&str>) -> Result<(Self, Records), StoreError> {
        let error = |error| classify(file, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(file, flags, vfs),
            None => Connection::open_with_flags(file, flags),
        };
        let mut connection = connection.map_err(error)?;
        // After a sync that failed, what is in the log may be less than what is in the system's cache: a device that is
        // closed leaves the log alone, and one that is opened begins it anew before it promises anything.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(error)?;
        // Before anything else, so that the log's index is in memory and not in a file.
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE").map_err(error)?;
        // Before anything is written: a newer version may mean other settings.
        migrations_left(file, &connection)?;
        connection.execute_batch(SETTINGS).map_err(error)?;
        migrate(file, &mut connection)?;
        let mut store = Self { file: file.to_owned(), connection, is_synchronous: false, n_in_log: 0, failure: None };
        let records = store.read()?;
        store.begin_log_anew()?;
        Ok((store, records))
    }

    /// Folds all of the log into the file. Only the sync of a first commit makes sure that the old log does not come back; a
    /// full disk leaves that to the next one.
    fn begin_log_anew(&mut self) -> Result<(), StoreError> {
        let version = MIGRATIONS.len() as i64;
        self.checkpoint().and_then(|()| self.set_synchronous(true)).map_err(|error| classify(&self.file, &error))?;
        let begun = self.connection.pragma_update(None, "user_version", version);
        match begun.map_err(|error| classify(&self.file, &error)) {
            Err(StoreError::Full { .. }) => Ok(()),
            done => done,
        }
    }

    fn read(&mut self) -> Result<Records, StoreError> {
        let mut records = Records::new();
        for (table, name) in TABLES.iter().enumerate() {
            let wrong = |why: String| StoreError::Damaged { file: self.file.clone(), why };
            for row in rows(&self.connection, table).map_err(|error| classify(&self.file, &error))? {
                let item = Item::at(table, row.number);
                let item = item.ok_or_else(|| wrong(format!("`{name}` has an unknown record {}", row.number)))?;
                if !row.is_intact(table) {
                    return Err(wrong(format!("record {} of `{name}` has changed since it was written", row.number)));
                }
                records.insert(item, Record { bytes: row.bytes, written: row.written });
            }
        }
        Ok(records)
    }

    /// Writes all of it, or nothing.
    pub fn commit(&mut self, pending: &Pending, now: u64, durable: bool) -> Result<(), StoreError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let written = self.set_synchronous(durable).and_then(|()| {
            let transaction = self.connection.unchecked_transaction()?;
            write_all(&transaction, pending, now)?;
            transaction.commit()
        });
        written.and_then(|()| self.fold_log(durable)).map_err(|error| self.fail(&error))
    }

    fn fold_log(&mut self, durable: bool) -> rusqlite::Result<()> {
        self.n_in_log += 1;
        if self.n_in_log >= if durable { CHECKPOINT_AFTER } else { CHECKPOINT_AFTER_AT_LAST } {
            self.checkpoint()?;
            self.n_in_log = 0;
        }
        Ok(())
    }

    /// Deletes all records and what is left of them in the file, and writes these.
    pub fn erase(&mut self, pending: &Pending, now: u64) -> Result<(), StoreError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let written = self.set_synchronous(true).and_then(|()| {
            let transaction = self.connection.unchecked_transaction()?;
            for table in TABLES {
                transaction.execute(&format!("DELETE FROM {table}"), [])?;
            }
            write_all(&transaction, pending, now)?;
            transaction.commit()?;
            // Old pages are also in the log, which only now is emptied.
            self.checkpoint()?;
            self.connection.execute_batch("VACUUM")?;
            self.checkpoint()
        });
        written.map_err(|error| self.fail(&error))
    }

    fn checkpoint(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    fn set_synchronous(&mut self, durable: bool) -> rusqlite::Result<()> {
        if durable != self.is_synchronous {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.connection.execute_batch(&format!("PRAGMA synchronous = {level}"))?;
            self.is_synchronous = durable;
        }
        Ok(())
    }

    fn fail(&mut self, error: &rusqlite::Error) -> StoreError {
        let error = classify(&self.file, error);
        if let StoreError::Failed { .. } | StoreError::Damaged { .. } = error {
            self.failure = Some(error.clone());
        }
        error
    }

    pub fn contents(&self) -> Result<Vec<StoredThing>, StoreError> {
        let mut things = Vec::new();
        for (table, name) in TABLES.iter().enumerate() {
            // States are of a kind each.
            let kind = if table == 0 { "number" } else { "NULL" };
            let sql = format!(
                "SELECT min(number), count(*), sum(length(bytes)), min(written), max(written) FROM {name} GROUP BY {kind}"
            );
            let listed = self.connection.prepare(&sql).and_then(|mut statement| {
                let thing = |row: &rusqlite::Row<'_>| {
                    let value = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
                    Ok((value(0)?, value(1)?, value(2)?, value(3)?, value(4)?))
                };
                statement.query_map([], thing)?.collect::<rusqlite::Result<Vec<_>>>()
            });
            for (number, count, bytes, oldest, newest) in listed.map_err(|error| classify(&self.file, &error))? {
                let what = Item::at(table, number).map_or("unknown records", Item::name);
                things.push(StoredThing { what, count, bytes, oldest, newest });
            }
        }
        Ok(things)
    }
}

/// What can still be read of a file that cannot be written to, or is damaged: from a copy, without changing anything.
pub fn salvage(file: &Path) -> Records {
    let mut name = [0; 16];
    if SysRng.try_fill_bytes(&mut name).is_err() {
        return Records::new();
    }
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let copy = std::env::temp_dir().join(format!("foltr-{name}"));
    // Nobody else can read it, and it is nobody else's.
    let mut folder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    if folder.create(&copy).is_err() {
        return Records::new();
    }
    let records = copy_of(file, &copy).unwrap_or_default();
    let _ = std::fs::remove_dir_all(&copy);
    records
}

fn copy_of(file: &Path, copy: &Path) -> Option<Records> {
    let name = file.file_name()?.to_str()?;
    for ending in ["", "-wal"] {
        let from = file.with_file_name(format!("{name}{ending}"));
        if from.exists() {
            std::fs::write(copy.join(format!("{name}{ending}")), std::fs::read(from).ok()?).ok()?;
        }
    }
    let connection = Connection::open(copy.join(name)).ok()?;
    let mut records = Records::new();
    for table in 0..TABLES.len() {
        for row in rows(&connection, table).unwrap_or_default() {
            if let Some(item) = Item::at(table, row.number).filter(|_| row.is_intact(table)) {
                records.insert(item, Record { bytes: row.bytes, written: row.written });
            }
        }
    }
    Some(records)
}

struct Row {
    number: u64,
    written: u64,
    checksum: i64,
    bytes: Vec<u8>,
}

impl Row {
    fn is_intact(&self, table: usize) -> bool {
        self.checksum == checksum(table, self.number, self.written, &self.bytes)
    }
}

fn rows(connection: &Connection, table: usize) -> rusqlite::Result<Vec<Row>> {
    let sql = format!("SELECT number, written, checksum, bytes FROM {} ORDER BY number", TABLES[table]);
    let mut statement = connection.prepare(&sql)?;
    let row = |row: &rusqlite::Row<'_>| {
        let (number, written): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (number, written) = (number.cast_unsigned(), written.cast_unsigned());
        Ok(Row { number, written, checksum: row.get(2)?, bytes: row.get(3)? })
    };
    statement.query_map([], row)?.collect()
}

fn checksum(table: usize, number: u64, written: u64, bytes: &[u8]) -> i64 {
    let mut hash = Xxh3::new();
    hash.update(&[table as u8]);
    hash.update(&number.to_le_bytes());
    hash.update(&written.to_le_bytes());
    hash.update(bytes);
    hash.digest().cast_signed()
}

fn write_all(transaction: &Transaction<'_>, pending: &Pending, now: u64) -> rusqlite::Result<()> {
    for (item, bytes) in pending {
        let (table, number) = item.place();
        let name = TABLES[table];
        let key = number.cast_signed();
        match bytes {
            Some(bytes) => {
                let sql =
                    format!("INSERT OR REPLACE INTO {name} (number, written, checksum, bytes) VALUES (?, ?, ?, ?)");
                let values = (key, now.cast_signed(), checksum(table, number, now, bytes), bytes);
                transaction.prepare_cached(&sql)?.execute(values)?;
            }
            None => {
                transaction.prepare_cached(&format!("DELETE FROM {name} WHERE number = ?"))?.execute([key])?;
            }
        }
    }
    Ok(())
}

fn migrations_left(file: &Path, connection: &Connection) -> Result<&'static [&'static str], StoreError> {
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    let found = version.map_err(|error| classify(file, &error))?;
    let done = usize::try_from(found).ok().filter(|&done| done <= MIGRATIONS.len());
    let newer = StoreError::Newer { file: file.to_owned(), found, known: MIGRATIONS.len() };
    done.map(|done| &MIGRATIONS[done..]).ok_or(newer)
}

fn migrate(file: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let left = migrations_left(file, connection)?;
    let done = MIGRATIONS.len() - left.len();
    for (version, sql) in (done as i64 + 1..).zip(left) {
        let migrated = connection.transaction().and_then(|transaction| {
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "user_version", version)?;
            transaction.commit()
        });
        migrated.map_err(|error| classify(file, &error))?;
    }
    Ok(())
}

fn classify(file: &Path, error: &rusqlite::Error) -> StoreError {
    let (file, why) = (file.to_owned(), error.to_string());
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return StoreError::Other { file, why } };
    match failure.code {
        ErrorCode::DiskFull => StoreError::Full { file },
        ErrorCode::ReadOnly => StoreError::ReadOnly { file },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged { file, why },
        _ if matches!(failure.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC) => {
            StoreError::Failed { file, why }
        }
        _ => StoreError::Other { file, why },
    }
}

/// Merges what an event changes into what waits.
pub fn merge(pending: &mut Pending, writes: Vec<Write>) {
    pending.extend(writes.into_iter().map(|write| (write.item, write.bytes)));
}
