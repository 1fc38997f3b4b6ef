//! What is known of files: where they are, what was found in them, and why some are not in the index.
//!
//! All of it is in memory, and written through to a database. An id of a document is for ever: it stays when its file changes
//! or is moved, so that what was opened once is still known.

mod database;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

pub use database::CatalogueError;
use database::Database;
use whatlang::Lang;

use crate::answer::DocumentId;
use crate::document::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// A folder whose files can be searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub path: PathBuf,
    /// Seconds since 1970.
    pub added: i64,
}

/// By what a change of a file is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    pub device: u64,
    pub inode: u64,
}

/// A file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    pub path: PathBuf,
    pub stamp: Stamp,
    /// Of its content; 0 where it was not read.
    pub hash: u128,
    /// Why it is not in the index.
    pub skipped: Option<String>,
}

/// A document in the index.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentRecord {
    pub file: FileId,
    pub part: String,
    pub kind: Kind,
    pub title: String,
    /// Seconds since 1970.
    pub changed: i64,
    pub n_words: u32,
    pub language: Option<Lang>,
}

/// What one file has come to, to be written with others in one transaction.
#[derive(Clone, Debug)]
pub enum Change {
    PutFile { file: FileId, record: FileRecord, documents: Vec<(DocumentId, DocumentRecord)> },
    RemoveFile(FileId),
}

#[derive(Debug)]
pub struct Catalogue {
    database: Database,
    folders: Vec<Folder>,
    files: HashMap<FileId, FileRecord>,
    documents: HashMap<DocumentId, DocumentRecord>,
    by_path: HashMap<PathBuf, FileId>,
    by_file: HashMap<FileId, Vec<DocumentId>>,
    next_file: u64,
    next_document: u64,
}

impl Catalogue {
    pub fn open(path: &Path) -> Result<Self, CatalogueError> {
        let database = Database::open(path)?;
        let mut catalogue = Self {
            folders: database.folders()?,
            files: database.files()?,
            documents: database.documents()?,
            by_path: HashMap::new(),
            by_file: HashMap::new(),
            next_file: 1,
            next_document: 1,
            database,
        };
        catalogue.by_path = catalogue.files.iter().map(|(&id, file)| (file.path.clone(), id)).collect();
        for (&id, document) in &catalogue.documents {
            catalogue.by_file.entry(document.file).or_default().push(id);
        }
        let (files, documents) = catalogue.database.next_ids()?;
        (catalogue.next_file, catalogue.next_document) = (files, documents);
        Ok(catalogue)
    }

    pub fn folders(&self) -> &[Folder] {
        &self.folders
    }

    /// Nothing happens to a folder that is there.
    pub fn add_folder(&mut self, folder: Folder) -> Result<(), CatalogueError> {
        if self.folders.iter().all(|it| it.path != folder.path) {
            self.database.add_folder(&folder)?;
            self.folders.push(folder);
        }
        Ok(())
    }

    /// Whether it was there. Its files stay until they are removed.
    pub fn remove_folder(&mut self, path: &Path) -> Result<bool, CatalogueError> {
        self.database.remove_folder(path)?;
        let before = self.folders.len();
        self.folders.retain(|folder| folder.path != path);
        Ok(self.folders.len() < before)
    }

    pub fn file_at(&self, path: &Path) -> Option<(FileId, &FileRecord)> {
        let id = *self.by_path.get(path)?;
        Some((id, &self.files[&id]))
    }

    pub fn file(&self, id: FileId) -> Option<&FileRecord> {
        self.files.get(&id)
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &FileRecord)> {
        self.files.iter().map(|(&id, file)| (id, file))
    }

    pub fn document(&self, id: DocumentId) -> Option<&DocumentRecord> {
        self.documents.get(&id)
    }

    pub fn documents(&self) -> impl Iterator<Item = (DocumentId, &DocumentRecord)> {
        self.documents.iter().map(|(&id, document)| (id, document))
    }

    pub fn n_documents(&self) -> usize {
        self.documents.len()
    }

    pub fn documents_of(&self, file: FileId) -> &[DocumentId] {
        self.by_file.get(&file).map_or(&[], Vec::as_slice)
    }

    /// The path of the file that a document is in.
    pub fn path_of(&self, document: &DocumentRecord) -> &Path {
        self.files.get(&document.file).map_or(Path::new(""), |file| &file.path)
    }

    /// The id of a file: that which it has, or a new one.
    pub fn file_id(&mut self, path: &Path) -> FileId {
        if let Some(&id) = self.by_path.get(path) {
            return id;
        }
        self.next_file += 1;
        FileId(self.next_file - 1)
    }

    /// The id of a part of a file: that which it has, or a new one.
    pub fn document_id(&mut self, file: FileId, part: &str) -> DocumentId {
        let of_file = self.by_file.get(&file).into_iter().flatten();
        if let Some(&id) = of_file.clone().find(|id| self.documents[id].part == part) {
            return id;
        }
        self.next_document += 1;
        DocumentId(self.next_document - 1)
    }

    /// The id that no document has had.
    pub const fn next_document(&self) -> DocumentId {
        DocumentId(self.next_document)
    }

    /// Writes what has become of some files, all or nothing. Returns the documents that are no more.
    pub fn apply(&mut self, changes: Vec<Change>) -> Result<Vec<DocumentId>, CatalogueError> {
        self.database.apply(&changes)?;
        let mut gone = Vec::new();
        for change in changes {
            match change {
                Change::RemoveFile(file) => gone.extend(self.forget_file(file)),
                Change::PutFile { file, record, documents } => {
                    let before = self.forget_file(file);
                    let stays = |id: &DocumentId| documents.iter().any(|(it, _)| it == id);
                    gone.extend(before.into_iter().filter(|id| !stays(id)));
                    self.remember_file(file, record, documents);
                }
            }
        }
        Ok(gone)
    }

    fn remember_file(&mut self, file: FileId, record: FileRecord, documents: Vec<(DocumentId, DocumentRecord)>) {
        self.by_path.insert(record.path.clone(), file);
        self.files.insert(file, record);
        self.by_file.insert(file, documents.iter().map(|(id, _)| *id).collect());
        self.documents.extend(documents);
        self.next_file = self.next_file.max(file.0 + 1);
    }

    fn forget_file(&mut self, file: FileId) -> Vec<DocumentId> {
        if let Some(record) = self.files.remove(&file)
            && self.by_path.get(&record.path) == Some(&file)
        {
            self.by_path.remove(&record.path);
        }
        let documents = self.by_file.remove(&file).unwrap_or_default();
        for document in &documents {
            self.documents.remove(document);
        }
        documents
    }
}

/// Bytes of a path, as databases store it.
fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests;
