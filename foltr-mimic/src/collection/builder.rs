//! A collection while its files are read: names become numbers, and what does not fit is noted.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::source::{Location, read_text};
use super::{Collection, Document, Form, Judgement, MAX_GRADE, Notes, Query};
use crate::FileError;

#[derive(Debug, Default)]
pub struct CollectionBuilder {
    documents: Vec<Document>,
    document_numbers: HashMap<String, u32>,
    queries: Vec<Query>,
    query_numbers: HashMap<String, u32>,
    judgements: Vec<NamedJudgement>,
    notes: Notes,
}

/// Names of query and document, and the grade.
type NamedJudgement = (String, String, u8);

impl CollectionBuilder {
    /// Parses a file, and notes how it was decoded.
    pub(super) fn read(
        &mut self,
        file: &Path,
        parse: impl FnOnce(&str, &Path, &mut Self) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let (text, is_latin1) = read_text(file)?;
        if is_latin1 {
            self.notes.latin1.push(file.to_path_buf());
        }
        parse(&text, file, self)
    }

    pub(super) fn ignore(&mut self, file: &Path) {
        self.notes.ignored.push(file.to_path_buf());
    }

    pub(super) fn add_document(&mut self, document: Document, at: Location) -> Result<(), FileError> {
        add(&mut self.documents, &mut self.document_numbers, document, |document| &document.id, at)
    }

    pub(super) fn add_query(&mut self, query: Query, at: Location) -> Result<(), FileError> {
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
        at: Location,
    ) -> Result<(), FileError> {
        let value = grade.parse::<i64>().ok().filter(|&value| value <= i64::from(MAX_GRADE));
        let expected = || at.unexpected(grade, &format!("a whole number up to {MAX_GRADE} as the grade"));
        let value = value.ok_or_else(expected)?;
        self.notes.n_negative += usize::from(value < 0);
        self.judgements.push((query.to_owned(), document.to_owned(), value.max(0) as u8));
        Ok(())
    }

    /// The collection, with judgements by number. `folder` is named when there is no document.
    pub fn finish(self, folder: &Path, form: Form) -> Result<(Collection, Notes), FileError> {
        let Self { documents, document_numbers, queries, mut query_numbers, judgements, mut notes } = self;
        if documents.is_empty() {
            let expected = "a folder with a collection in TREC, BEIR or NFCorpus form, or texts";
            return Err(FileError::new(folder, format!("no document found; expected {expected}")));
        }
        notes.form = Some(form);
        notes.by_position = form == Form::Trec && are_positions(&judgements, &query_numbers);
        if notes.by_position {
            query_numbers = (0..queries.len() as u32).map(|number| ((number + 1).to_string(), number)).collect();
        }
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
    at: Location,
) -> Result<(), FileError> {
    if let Some(&number) = numbers.get(id(&text)) {
        let repeated =
            || at.error(format!("`{}` was the name of another text before; expected each name once", id(&text)));
        return if texts[number as usize] == text { Ok(()) } else { Err(repeated()) };
    }
    let number = u32::try_from(texts.len()).map_err(|_| at.unexpected(id(&text), "fewer than 2^32 texts"))?;
    numbers.insert(id(&text).clone(), number);
    texts.push(text);
    Ok(())
}

/// Whether some judged name is no number of a topic, but all are positions of topics.
fn are_positions(judgements: &[NamedJudgement], numbers: &HashMap<String, u32>) -> bool {
    let is_position = |name: &str| name.parse().is_ok_and(|position| (1..=numbers.len()).contains(&position));
    let all_numbered = judgements.iter().all(|(query, ..)| numbers.contains_key(query));
    !all_numbered && judgements.iter().all(|(query, ..)| is_position(query))
}

fn numbered(
    judgements: &[NamedJudgement],
    queries: &HashMap<String, u32>,
    documents: &HashMap<String, u32>,
    notes: &mut Notes,
) -> Vec<Judgement> {
    let mut grades = BTreeMap::new();
    for (query, document, grade) in judgements {
        let Some(&query) = queries.get(query) else {
            notes.unknown_queries.add(query);
            continue;
        };
        let Some(&document) = documents.get(document) else {
            notes.unknown_documents.add(document);
            continue;
        };
        let repeat = |highest: &mut u8| {
            notes.n_repeated += 1;
            *highest = (*grade).max(*highest);
        };
        grades.entry((query, document)).and_modify(repeat).or_insert(*grade);
    }
    grades.into_iter().map(|((query, document), grade)| Judgement { query, document, grade }).collect()
}
