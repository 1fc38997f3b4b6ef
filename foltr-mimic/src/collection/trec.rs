//! TREC: documents and topics in SGML, judgements in four columns, in any files of a folder.

use std::path::{Path, PathBuf};

use super::error::{At, CollectionError, Expected};
use super::source::{beginning, files_below, squeezed};
use super::{Document, Gathered, Query};

/// What a file of a TREC collection holds, seen by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Documents,
    Topics,
    Judgements,
    Other,
}

fn kind(file: &Path) -> Result<Kind, CollectionError> {
    let beginning = beginning(file)?.to_ascii_lowercase();
    let is_judgement = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        columns.len() == 4 && columns[3].parse::<i64>().is_ok()
    };
    Ok(match (beginning.find("<doc>"), beginning.find("<top>")) {
        (Some(document), Some(topic)) if topic < document => Kind::Topics,
        (Some(_), _) => Kind::Documents,
        (None, Some(_)) => Kind::Topics,
        (None, None) if beginning.lines().next().is_some_and(is_judgement) => Kind::Judgements,
        (None, None) => Kind::Other,
    })
}

/// Whether one of the files has documents.
pub fn has_documents(files: &[PathBuf]) -> Result<bool, CollectionError> {
    for file in files {
        if kind(file)? == Kind::Documents {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All files below the folder; those that are nothing of a collection are noted.
pub fn read(folder: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for file in files_below(folder)? {
        match kind(&file)? {
            Kind::Documents => parse_documents(&gathered.text(&file)?, &file, gathered)?,
            Kind::Topics => parse_topics(&gathered.text(&file)?, &file, gathered)?,
            Kind::Judgements => parse_judgements(&gathered.text(&file)?, &file, gathered)?,
            Kind::Other => gathered.ignore(&file),
        }
    }
    Ok(())
}

/// Documents: `<doc>`, `<docno>`, a title and texts.
pub fn parse_documents(text: &str, file: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    let sgml = Sgml::new(text);
    let mut lines = Lines::new(text);
    let mut from = 0;
    while let Some(open) = sgml.find("<doc>", from) {
        let at = At { file, line: lines.at(open) };
        let start = open + "<doc>".len();
        let end = sgml.find("</doc>", start).ok_or_else(|| at.found("<doc>", Expected::Tag("</doc>")))?;
        let inside = |tag| sgml.first(tag, start, end);
        let id = inside("docno").map(squeezed).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| at.found("<doc>", Expected::Tag("<docno>name</docno>")))?;
        let title = ["title", "headline", "ti", "hl"].into_iter().find_map(inside).unwrap_or_default();
        let document = Document { id, title: plain(title), text: plain(&sgml.texts(start, end)) };
        gathered.add_document(document, at)?;
        from = end;
    }
    Ok(())
}

/// Topics: `<top>`, `<num>`, `<title>`, with or without the end of each field.
pub fn parse_topics(text: &str, file: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    let sgml = Sgml::new(text);
    let mut lines = Lines::new(text);
    let mut from = 0;
    while let Some(open) = sgml.find("<top>", from) {
        let at = At { file, line: lines.at(open) };
        let start = open + "<top>".len();
        let end = sgml.find("</top>", start).ok_or_else(|| at.found("<top>", Expected::Tag("</top>")))?;
        let field = |tag, label| {
            let value = plain(sgml.field(tag, start, end)?);
            Some(value.strip_prefix(label).unwrap_or(&value).trim().to_owned()).filter(|value| !value.is_empty())
        };
        let id = field("<num>", "Number:").ok_or_else(|| at.found("<top>", Expected::Tag("<num>number")))?;
        let text = field("<title>", "Topic:").ok_or_else(|| at.found("<top>", Expected::Tag("<title>text")))?;
        gathered.add_query(Query { id, text, part: None }, at)?;
        from = end;
    }
    Ok(())
}

/// Judgements: `query 0 document grade`, one a line.
pub fn parse_judgements(text: &str, file: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for (line, content) in (1..).zip(text.lines()) {
        let at = At { file, line };
        let columns: Vec<&str> = content.split_whitespace().collect();
        match columns[..] {
            [] => {}
            [query, _, document, grade] => gathered.add_judgement(query, document, grade, at)?,
            _ => return Err(at.found(content, Expected::Judgement)),
        }
    }
    Ok(())
}

/// Text with tags, which are found whatever their case.
struct Sgml<'a> {
    text: &'a str,
    /// The text with small ASCII letters: every byte where it was.
    lower: String,
}

impl<'a> Sgml<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, lower: text.to_ascii_lowercase() }
    }

    fn find(&self, tag: &str, from: usize) -> Option<usize> {
        self.lower[from..].find(tag).map(|offset| from + offset)
    }

    fn find_before(&self, tag: &str, from: usize, end: usize) -> Option<usize> {
        self.lower[from..end].find(tag).map(|offset| from + offset)
    }

    /// Where the first `<tag>` to `</tag>` from `start` on holds its text, before `end`.
    fn span(&self, tag: &str, start: usize, end: usize) -> Option<(usize, usize)> {
        let open = format!("<{tag}>");
        let from = self.find_before(&open, start, end)? + open.len();
        Some((from, self.find_before(&format!("</{tag}>"), from, end)?))
    }

    fn first(&self, tag: &str, start: usize, end: usize) -> Option<&'a str> {
        self.span(tag, start, end).map(|(from, to)| &self.text[from..to])
    }

    /// From a tag to the next one.
    fn field(&self, tag: &str, start: usize, end: usize) -> Option<&'a str> {
        let from = self.find_before(tag, start, end)? + tag.len();
        let to = self.find_before("<", from, end).unwrap_or(end);
        Some(&self.text[from..to])
    }

    /// All `<text>` of a document; everything behind its number, if there is none.
    fn texts(&self, start: usize, end: usize) -> String {
        let mut texts = Vec::new();
        let mut at = start;
        while let Some((from, to)) = self.span("text", at, end) {
            texts.push(&self.text[from..to]);
            at = to;
        }
        if texts.is_empty() {
            let from = self.find_before("</docno>", start, end).unwrap_or(start);
            texts.push(&self.text[from..end]);
        }
        texts.join(" ")
    }
}

/// Line numbers of increasing places in a text.
struct Lines<'a> {
    text: &'a str,
    place: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, place: 0, line: 1 }
    }

    fn at(&mut self, place: usize) -> usize {
        self.line += self.text[self.place..place].matches('\n').count();
        self.place = place;
        self.line
    }
}

/// Text without tags, with characters for their names, and with single spaces.
fn plain(marked: &str) -> String {
    let mut text = String::with_capacity(marked.len());
    let mut rest = marked;
    while let Some(start) = rest.find('<') {
        let is_tag = rest[start + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        let end = if is_tag { rest[start..].find('>') } else { None };
        let (kept, next) = match end {
            Some(end) => (start, start + end + 1),
            None => (start + 1, start + 1),
        };
        text.push_str(&rest[..kept]);
        // What a tag separates are two words.
        text.push(' ');
        rest = &rest[next..];
    }
    text.push_str(rest);
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    for (name, character) in names {
        if text.contains(name) {
            text = text.replace(name, character);
        }
    }
    squeezed(&text)
}
