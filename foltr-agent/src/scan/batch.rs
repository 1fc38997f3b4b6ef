//! Files that go into the index together.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use whatlang::{Detector, Lang};
use xxhash_rust::xxh3::Xxh3Default;

use crate::agent::{Agent, AgentError};
use crate::answer::DocumentId;
use crate::catalogue::{Change, DocumentRecord, FileId, FileRecord};
use crate::document::{Kind, Text};
use crate::extract::Extractor;
use crate::index::IndexedDocument;

/// A batch is written when it has so many files, or so much text.
const MOST_FILES: usize = 1_000;
const MOST_TEXT: usize = 32 << 20;
/// Larger files are not compared by content: a move is then known by its time and place on the disk only.
const MOST_HASHED: u64 = 64 << 20;
/// Of a text, to tell its language.
const SAMPLE: usize = 400;
const NANOSECONDS: i64 = 1_000_000_000;

#[derive(Default)]
pub(super) struct Batch {
    changes: Vec<Change>,
    n_bytes: usize,
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.changes.len() >= MOST_FILES || self.n_bytes >= MOST_TEXT
    }

    /// Whether the file is in the index now; if not, its record says why.
    pub fn add(
        &mut self,
        agent: &Agent,
        extractor: &Extractor,
        file: Option<FileId>,
        mut record: FileRecord,
    ) -> Result<bool, AgentError> {
        let extracted = extractor.texts(&record.path);
        let (file, before) = {
            let mut catalogue = agent.write_catalogue()?;
            let file = file.unwrap_or_else(|| catalogue.file_id(&record.path));
            (file, catalogue.documents_of(file).to_vec())
        };
        let mut index = agent.lock_index()?;
        before.into_iter().try_for_each(|id| index.remove(id))?;
        drop(index);
        let mut documents = Vec::new();
        match extracted {
            Err(reason) => record.skipped = Some(reason.to_string()),
            Ok((kind, texts)) => {
                for text in &texts {
                    documents.push(self.add_text(agent, file, &record, kind, text)?);
                }
            }
        }
        let is_indexed = record.skipped.is_none();
        self.changes.push(Change::PutFile { file, record, documents });
        Ok(is_indexed)
    }

    fn add_text(
        &mut self,
        agent: &Agent,
        file: FileId,
        record: &FileRecord,
        kind: Kind,
        text: &Text,
    ) -> Result<(DocumentId, DocumentRecord), AgentError> {
        let (id, folders) = {
            let mut catalogue = agent.write_catalogue()?;
            let above = catalogue.folders().iter().find(|it| record.path.starts_with(&it.path));
            let folders = above.map_or_else(String::new, |above| folders(&record.path, &above.path));
            (catalogue.document_id(file, &text.part), folders)
        };
        let name = record.path.file_name().unwrap_or_default().to_string_lossy();
        let changed = text.date.unwrap_or(record.stamp.modified.div_euclid(NANOSECONDS));
        let Text { title, headings, body, author, .. } = text;
        let document =
            IndexedDocument { id, title, headings, body, name: &name, folders: &folders, author, kind, changed };
        agent.lock_index()?.add(&document)?;
        self.n_bytes += body.len() + headings.len() + title.len();
        let document = DocumentRecord {
            file,
            part: text.part.clone(),
            kind,
            title: title.clone(),
            changed,
            n_words: u32::try_from(body.split_whitespace().count()).unwrap_or(u32::MAX),
            language: language(body),
        };
        Ok((id, document))
    }

    pub fn remove(&mut self, agent: &Agent, file: FileId) -> Result<(), AgentError> {
        let documents = agent.read_catalogue()?.documents_of(file).to_vec();
        let mut index = agent.lock_index()?;
        documents.into_iter().try_for_each(|id| index.remove(id))?;
        self.changes.push(Change::RemoveFile(file));
        Ok(())
    }

    pub fn write(&mut self, agent: &Agent) -> Result<(), AgentError> {
        if !self.changes.is_empty() {
            let next = agent.read_catalogue()?.next_document();
            agent.lock_index()?.commit(next)?;
            agent.write_catalogue()?.apply(std::mem::take(&mut self.changes))?;
            self.n_bytes = 0;
        }
        Ok(())
    }
}

/// The folders from the one that was added on, as words.
fn folders(path: &Path, added: &Path) -> String {
    let from = added.parent().unwrap_or(added);
    let inside = path.strip_prefix(from).unwrap_or(path).parent().unwrap_or(Path::new(""));
    inside.to_string_lossy().into_owned()
}

/// Comparing with all languages would take longer than indexing. Those in scripts of their own are told by these.
static LANGUAGES: LazyLock<Detector> = LazyLock::new(|| {
    use Lang::{Deu, Eng, Fra, Ita, Jpn, Nld, Pol, Por, Rus, Spa, Swe, Tur, Ukr};
    let others = [Lang::Ara, Lang::Cmn, Lang::Ell, Lang::Heb, Lang::Hin, Lang::Kor];
    let latin_and_cyrillic = [Deu, Eng, Fra, Ita, Jpn, Nld, Pol, Por, Rus, Spa, Swe, Tur, Ukr];
    Detector::with_allowlist([&latin_and_cyrillic[..], &others].concat())
});

fn language(body: &str) -> Option<Lang> {
    let end = (0..=SAMPLE.min(body.len())).rev().find(|&at| body.is_char_boundary(at)).unwrap_or(0);
    LANGUAGES.detect(&body[..end]).filter(whatlang::Info::is_reliable).map(|it| it.lang())
}

/// Of a file's content, if it can be read and is not huge.
pub(super) fn hash(path: &Path, size: u64) -> Option<u128> {
    if size > MOST_HASHED {
        return None;
    }
    let mut file = File::open(path).ok()?.take(MOST_HASHED);
    let (mut hasher, mut buffer) = (Xxh3Default::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.digest128().max(1)),
            n => hasher.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_by_a_few_sentences() {
        let german = "Der Wind füllt die Segel, und die Boote fahren langsam aus dem Hafen hinaus auf das Meer.";
        let english = "The wind fills the sails, and the boats slowly leave the harbour for the open sea.";
        let greek = "Ο άνεμος φουσκώνει τα πανιά και οι βάρκες βγαίνουν αργά από το λιμάνι.";
        let told = [german, english, greek, "", "12 34"].map(language);
        assert_eq!(told, [Some(Lang::Deu), Some(Lang::Eng), Some(Lang::Ell), None, None]);
    }
}
