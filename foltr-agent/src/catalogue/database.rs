//! The catalogue on the disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags, Row, params};
use thiserror::Error;
use whatlang::Lang;

use super::{Change, DocumentRecord, FileId, FileRecord, Folder, Stamp, path_bytes, path_from};
use crate::answer::DocumentId;
use crate::document::Kind;

/// Raised with every change of the tables.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE folder (path BLOB PRIMARY KEY, added INTEGER NOT NULL);
    CREATE TABLE file (
        id INTEGER PRIMARY KEY, path BLOB NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
        device INTEGER NOT NULL, inode INTEGER NOT NULL, hash BLOB NOT NULL, skipped TEXT);
    CREATE TABLE document (
        id INTEGER PRIMARY KEY, file INTEGER NOT NULL, part TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL,
        changed INTEGER NOT NULL, words INTEGER NOT NULL, language TEXT);
    CREATE INDEX document_of_file ON document (file);
    -- Ids are never given again.
    CREATE TABLE next (file INTEGER NOT NULL, document INTEGER NOT NULL);
    INSERT INTO next VALUES (1, 1);
";

#[derive(Debug, Error)]
pub enum CatalogueError {
    #[error("the catalogue {file} cannot be used: {source}", file = .file.display())]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error("the catalogue {file} is of a newer version of foltr-agent", file = .file.display())]
    Newer { file: PathBuf },
    #[error("the catalogue {file} is damaged ({problem}); delete it and the folder `index` beside it to index all files again", file = .file.display())]
    Damaged { file: PathBuf, problem: String },
}

#[derive(Debug)]
pub(super) struct Database {
    /// For one thread at a time.
    connection: Mutex<Connection>,
    file: PathBuf,
}

impl Database {
    pub fn open(file: &Path) -> Result<Self, CatalogueError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let wrong = |source| CatalogueError::Database { file: file.to_owned(), source };
        let connection = Connection::open_with_flags(file, flags).map_err(wrong)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(wrong)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(wrong)?;
        let database = Self { connection: Mutex::new(connection), file: file.to_owned() };
        database.check()?;
        Ok(database)
    }

    fn check(&self) -> Result<(), CatalogueError> {
        let version: i64 = self.with(|connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0)))?;
        match version {
            0 => self.with(|connection| {
                connection.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))
            }),
            VERSION => {
                let sound: String =
                    self.with(|connection| connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
                if sound == "ok" { Ok(()) } else { Err(self.damaged(sound)) }
            }
            _ => Err(CatalogueError::Newer { file: self.file.clone() }),
        }
    }

    fn damaged(&self, problem: impl Into<String>) -> CatalogueError {
        CatalogueError::Damaged { file: self.file.clone(), problem: problem.into() }
    }

    fn with<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, CatalogueError> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        ask(&connection).map_err(|source| CatalogueError::Database { file: self.file.clone(), source })
    }

    fn all<T>(
        &self,
        statement: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, CatalogueError> {
        self.with(|connection| connection.prepare(statement)?.query_map([], read)?.collect())
    }

    pub fn folders(&self) -> Result<Vec<Folder>, CatalogueError> {
        self.all("SELECT path, added FROM folder ORDER BY added, path", |row| {
            Ok(Folder { path: path_from(row.get_ref(0)?.as_blob()?), added: row.get(1)? })
        })
    }

    pub fn add_folder(&self, folder: &Folder) -> Result<(), CatalogueError> {
        let insert = "INSERT OR IGNORE INTO folder VALUES (?1, ?2)";
        self.with(|connection| connection.execute(insert, params![path_bytes(&folder.path), folder.added]))?;
        Ok(())
    }

    pub fn remove_folder(&self, path: &Path) -> Result<(), CatalogueError> {
        let delete = "DELETE FROM folder WHERE path = ?1";
        self.with(|connection| connection.execute(delete, params![path_bytes(path)]))?;
        Ok(())
    }

    pub fn files(&self) -> Result<HashMap<FileId, FileRecord>, CatalogueError> {
        let select = "SELECT id, path, size, modified, device, inode, hash, skipped FROM file";
        let read = |row: &Row<'_>| {
            let stamp = Stamp {
                size: row.get::<_, i64>(2)? as u64,
                modified: row.get(3)?,
                device: row.get::<_, i64>(4)? as u64,
                inode: row.get::<_, i64>(5)? as u64,
            };
            let hash: [u8; 16] = row.get(6)?;
            let path = path_from(row.get_ref(1)?.as_blob()?);
            let record = FileRecord { path, stamp, hash: u128::from_le_bytes(hash), skipped: row.get(7)? };
            Ok((FileId(row.get::<_, i64>(0)? as u64), record))
        };
        Ok(self.all(select, read)?.into_iter().collect())
    }

    pub fn documents(&self) -> Result<HashMap<DocumentId, DocumentRecord>, CatalogueError> {
        let select = "SELECT id, file, part, kind, title, changed, words, language FROM document";
        let read = |row: &Row<'_>| {
            let kind: String = row.get(3)?;
            let language: Option<String> = row.get(7)?;
            let record = DocumentRecord {
                file: FileId(row.get::<_, i64>(1)? as u64),
                part: row.get(2)?,
                kind: Kind::ALL.into_iter().find(|it| it.name() == kind).unwrap_or(Kind::Text),
                title: row.get(4)?,
                changed: row.get(5)?,
                n_words: row.get(6)?,
                language: language.and_then(Lang::from_code),
            };
            Ok((DocumentId(row.get::<_, i64>(0)? as u64), record))
        };
        Ok(self.all(select, read)?.into_iter().collect())
    }

    pub fn next_ids(&self) -> Result<(u64, u64), CatalogueError> {
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64));
        self.all("SELECT file, document FROM next", read)?
            .into_iter()
            .next()
            .ok_or_else(|| self.damaged("its table of ids is empty"))
    }

    pub fn apply(&mut self, changes: &[Change]) -> Result<(), CatalogueError> {
        let Self { connection, file } = self;
        let mut write = || {
            let connection = connection.get_mut().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction()?;
            for change in changes {
                write_change(&transaction, change)?;
            }
            transaction.commit()
        };
        write().map_err(|source| CatalogueError::Database { file: file.clone(), source })
    }
}

fn write_change(connection: &Connection, change: &Change) -> rusqlite::Result<()> {
    let file = match change {
        Change::RemoveFile(file) | Change::PutFile { file, .. } => file.0 as i64,
    };
    connection.prepare_cached("DELETE FROM document WHERE file = ?1")?.execute([file])?;
    connection.prepare_cached("DELETE FROM file WHERE id = ?1")?.execute([file])?;
    let Change::PutFile { record, documents, .. } = change else { return Ok(()) };
    let Stamp { size, modified, device, inode } = record.stamp;
    connection.prepare_cached("INSERT INTO file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(params![
        file,
        path_bytes(&record.path),
        size as i64,
        modified,
        device as i64,
        inode as i64,
        record.hash.to_le_bytes(),
        record.skipped,
    ])?;
    for (id, document) in documents {
        let DocumentRecord { part, kind, title, changed, n_words, language, .. } = document;
        let language = language.map(|language| language.code());
        connection
            .prepare_cached("INSERT OR REPLACE INTO document VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
            .execute(params![id.0 as i64, file, part, kind.name(), title, changed, n_words, language])?;
    }
    let last = documents.iter().map(|(id, _)| id.0 as i64).max().unwrap_or(0);
    let raise = "UPDATE next SET file = max(file, ?1), document = max(document, ?2)";
    connection.prepare_cached(raise)?.execute([file + 1, last + 1])?;
    Ok(())
}
