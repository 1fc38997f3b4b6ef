//! TREC: documents and topics in SGML, judgements in four columns, in any files of a folder.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::source::{Location, beginning, files_below, lines, single_spaced};
use super::{CollectionBuilder, Document, Query};
use crate::FileError;

/// What a file of a TREC collection holds, seen by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Documents,
    Topics,
    Judgements,
    Other,
}

fn kind(file: &Path) -> Result<Kind, FileError> {
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

pub(super) fn has_documents(files: &[PathBuf]) -> Result<bool, FileError> {
    for file in files {
        if kind(file)? == Kind::Documents {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All files below the folder; those that are nothing of a collection are noted.
pub(super) fn read(folder: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for file in files_below(folder)? {
        match kind(&file)? {
            Kind::Documents => builder.read(&file, parse_documents)?,
            Kind::Topics => builder.read(&file, parse_topics)?,
            Kind::Judgements => builder.read(&file, parse_judgements)?,
            Kind::Other => builder.ignore(&file),
        }
    }
    Ok(())
}

pub fn parse_documents(text: &str, file: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    let sgml = Sgml::new(text);
    for element in sgml.elements("doc", file) {
        let (at, range) = element?;
        let inside = |tag| sgml.span(tag, range.clone()).map(|span| &text[span]);
        let id = inside("docno").map(single_spaced).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| at.unexpected("<doc>", "`<docno>name</docno>`"))?;
        let title = ["title", "headline", "ti", "hl"].into_iter().find_map(inside).unwrap_or_default();
        builder.add_document(Document { id, title: plain(title), text: plain(&sgml.texts(range)) }, at)?;
    }
    Ok(())
}

/// Topics: `<top>`, `<num>`, `<title>`, with or without the end of each field.
pub fn parse_topics(text: &str, file: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    let sgml = Sgml::new(text);
    for element in sgml.elements("top", file) {
        let (at, range) = element?;
        let field = |tag, label, expected| {
            let value = plain(sgml.field(tag, range.clone()).unwrap_or_default());
            let value = value.strip_prefix(label).unwrap_or(&value).trim().to_owned();
            if value.is_empty() { Err(at.unexpected("<top>", expected)) } else { Ok(value) }
        };
        let id = field("<num>", "Number:", "`<num>number`")?;
        let text = field("<title>", "Topic:", "`<title>text`")?;
        builder.add_query(Query { id, text, part: None }, at)?;
    }
    Ok(())
}

pub fn parse_judgements(text: &str, file: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for (at, content) in lines(text, file) {
        let columns: Vec<&str> = content.split_whitespace().collect();
        let [query, _, document, grade] = columns[..] else {
            return Err(at.unexpected(content, "a judgement `query 0 document grade`"));
        };
        builder.add_judgement(query, document, grade, at)?;
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

    fn find(&self, tag: &str, range: Range<usize>) -> Option<usize> {
        self.lower[range.clone()].find(tag).map(|offset| range.start + offset)
    }

    /// What is inside of each `<tag>`, and where that begins.
    fn elements<'f>(
        &self,
        tag: &str,
        file: &'f Path,
    ) -> impl Iterator<Item = Result<(Location<'f>, Range<usize>), FileError>> {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let (mut from, mut counted, mut line) = (0, 0, 1);
        std::iter::from_fn(move || {
            let start = self.find(&open, from..self.text.len())?;
            line += self.text[counted..start].matches('\n').count();
            counted = start;
            let at = Location { file, line };
            from = start + open.len();
            let Some(end) = self.find(&close, from..self.text.len()) else {
                return Some(Err(at.unexpected(&open, &format!("`{close}`"))));
            };
            let inside = from..end;
            from = end;
            Some(Ok((at, inside)))
        })
    }

    /// Where the first `<tag>` to `</tag>` of a range has its text.
    fn span(&self, tag: &str, range: Range<usize>) -> Option<Range<usize>> {
        let open = format!("<{tag}>");
        let from = self.find(&open, range.clone())? + open.len();
        Some(from..self.find(&format!("</{tag}>"), from..range.end)?)
    }

    /// From a tag to the next one.
    fn field(&self, tag: &str, range: Range<usize>) -> Option<&'a str> {
        let from = self.find(tag, range.clone())? + tag.len();
        let to = self.find("<", from..range.end).unwrap_or(range.end);
        Some(&self.text[from..to])
    }

    /// All `<text>` of a document; everything behind its number, if there is none.
    fn texts(&self, range: Range<usize>) -> String {
        let mut texts = Vec::new();
        let mut rest = range.clone();
        while let Some(span) = self.span("text", rest.clone()) {
            rest.start = span.end;
            texts.push(&self.text[span]);
        }
        if texts.is_empty() {
            let from = self.find("</docno>", range.clone()).unwrap_or(range.start);
            texts.push(&self.text[from..range.end]);
        }
        texts.join(" ")
    }
}

/// Text without tags, with characters for their names, and with single spaces.
fn plain(marked: &str) -> String {
    let mut text = String::with_capacity(marked.len());
    let mut rest = marked;
    while let Some(start) = rest.find('<') {
        let is_tag = rest[start + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        let end = if is_tag { rest[start..].find('>') } else { None };
        let (text_end, next) = match end {
            Some(end) => (start, start + end + 1),
            None => (start + 1, start + 1),
        };
        text.push_str(&rest[..text_end]);
        // What a tag separates are two words.
        text.push(' ');
        rest = &rest[next..];
    }
    text.push_str(rest);
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    for (name, character) in names {
        text = text.replace(name, character);
    }
    single_spaced(&text)
}
