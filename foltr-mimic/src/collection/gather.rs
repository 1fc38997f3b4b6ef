//! What the readers found so far: names become numbers, and what does not fit is noted.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::error::{At, CollectionError, Expected};
use super::source::{decoded, read_bytes};
use super::{Collection, Document, Form, Judged, MAX_GRADE, Notes, Query, TopicIds};

/// Everything read so far.
#[derive(Debug, Default)]
pub struct Gathered {
    documents: Vec<Document>,
    document_numbers: HashMap<String, u32>,
    queries: Vec<Query>,
    query_numbers: HashMap<String, u32>,
    judgements: Vec<Named>,
    notes: Notes,
}

/// A judgement by names.
#[derive(Debug)]
struct Named {
    query: String,
    document: String,
    grade: u8,
}

impl Gathered {
    /// The text of a file; how it was decoded is noted.
    pub(super) fn text(&mut self, file: &Path) -> Result<String, CollectionError> {
        let (text, is_latin1) = decoded(read_bytes(file)?);
        if is_latin1 {
            self.notes.latin1.push(file.to_path_buf());
        }
        Ok(text)
    }

    pub(super) fn ignore(&mut self, file: &Path) {
        self.notes.ignored.push(file.to_path_buf());
    }

    pub(super) fn add_document(&mut self, document: Document, at: At) -> Result<(), CollectionError> {
        add(&mut self.documents, &mut self.document_numbers, document, |document| &document.id, at)
    }

    pub(super) fn add_query(&mut self, query: Query, at: At) -> Result<(), CollectionError> {
        add(&mut self.queries, &mut self.query_numbers, query, |query| &query.id, at)
    }

    /// The query belongs to a part, if it is there and belongs to none yet.
    pub(super) fn set_part(&mut self, query: &str, part: &str) {
        if let Some(&number) = self.query_numbers.get(query) {
            self.queries[number as usize].part.get_or_insert_with(|| part.to_owned());
        }
    }

    pub(super) fn add_judgement(
        &mut self,
        query: &str,
        document: &str,
        grade: &str,
        at: At,
    ) -> Result<(), CollectionError> {
        let value: i64 = grade.parse().map_err(|_| at.found(grade, Expected::Grade))?;
        if value > i64::from(MAX_GRADE) {
            return Err(at.found(grade, Expected::Grade));
        }
        self.notes.n_negative += usize::from(value < 0);
        let grade = value.max(0) as u8;
        self.judgements.push(Named { query: query.to_owned(), document: document.to_owned(), grade });
        Ok(())
    }

    /// The collection, with judgements by number. `folder` is named when there is no document.
    pub fn finish(
        self,
        folder: &Path,
        form: Form,
        topic_ids: Option<TopicIds>,
    ) -> Result<(Collection, Notes), CollectionError> {
        let Self { documents, document_numbers, queries, query_numbers, judgements, mut notes } = self;
        if documents.is_empty() {
            return Err(CollectionError::Empty { folder: folder.to_path_buf() });
        }
        notes.form = Some(form);
        let query_numbers = match form {
            Form::Trec if !judgements.is_empty() => {
                let chosen = topic_ids.unwrap_or_else(|| topic_ids_of(&judgements, &query_numbers));
                notes.topic_ids = Some(chosen);
                named_by(chosen, query_numbers)
            }
            _ => query_numbers,
        };
        let judgements = numbered(&judgements, &query_numbers, &document_numbers, &mut notes);
        Ok((Collection { documents, queries, judgements }, notes))
    }
}

/// A text that comes again unchanged is the same text: parts of a collection may share documents.
fn add<Text: PartialEq>(
    texts: &mut Vec<Text>,
    numbers: &mut HashMap<String, u32>,
    text: Text,
    id: impl Fn(&Text) -> &String,
    at: At,
) -> Result<(), CollectionError> {
    if let Some(&number) = numbers.get(id(&text)) {
        let repeated = || CollectionError::Repeated { file: at.file.into(), line: at.line, id: id(&text).clone() };
        return if texts[number as usize] == text { Ok(()) } else { Err(repeated()) };
    }
    let number = u32::try_from(texts.len()).map_err(|_| at.found(id(&text), Expected::Number))?;
    numbers.insert(id(&text).clone(), number);
    texts.push(text);
    Ok(())
}

/// Positions, if some judged name is no number of a topic but all are positions.
fn topic_ids_of(judgements: &[Named], numbers: &HashMap<String, u32>) -> TopicIds {
    let is_position = |name: &str| name.parse().is_ok_and(|position| (1..=numbers.len()).contains(&position));
    let all_numbered = judgements.iter().all(|judged| numbers.contains_key(&judged.query));
    match !all_numbered && judgements.iter().all(|judged| is_position(&judged.query)) {
        true => TopicIds::Positions,
        false => TopicIds::Numbered,
    }
}

/// Numbers of the queries by what judgements call them.
fn named_by(topic_ids: TopicIds, numbers: HashMap<String, u32>) -> HashMap<String, u32> {
    match topic_ids {
        TopicIds::Numbered => numbers,
        TopicIds::Positions => numbers.into_values().map(|number| ((number + 1).to_string(), number)).collect(),
    }
}

fn numbered(
    judgements: &[Named],
    queries: &HashMap<String, u32>,
    documents: &HashMap<String, u32>,
    notes: &mut Notes,
) -> Vec<Judged> {
    let mut grades = BTreeMap::new();
    for judged in judgements {
        let Some(&query) = queries.get(&judged.query) else {
            notes.unknown_queries.add(&judged.query);
            continue;
        };
        let Some(&document) = documents.get(&judged.document) else {
            notes.unknown_documents.add(&judged.document);
            continue;
        };
        grades
            .entry((query, document))
            .and_modify(|grade: &mut u8| {
                notes.n_repeated += 1;
                *grade = judged.grade.max(*grade);
            })
            .or_insert(judged.grade);
    }
    grades.into_iter().map(|((query, document), grade)| Judged { query, document, grade }).collect()
}
