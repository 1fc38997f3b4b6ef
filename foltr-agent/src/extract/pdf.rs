//! PDF: the text that its pages draw.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{ConvertToFmt, Document, Object, PlainTextOutput, decode_text_string, output_doc_page};

use super::parse::{Bounded, short};
use super::reason::Container;
use super::{Limits, Reason};
use crate::document::Text;

/// Finding a page takes time that grows with their number; the text is full before that in all but picture books.
const MOST_PAGES: usize = 5_000;

pub(super) fn of(bytes: &[u8], limits: &Limits) -> Result<Text, Reason> {
    let document = load(bytes)?;
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    let mut body = Bounded::new(limits.text);
    let mut failure = None;
    for &number in numbers.iter().take(MOST_PAGES) {
        // A page that cannot be read leaves the others.
        let drawn = catch_unwind(AssertUnwindSafe(|| {
            let mut output = PlainTextOutput::new(Page(&mut body));
            output_doc_page(&document, &mut output, number)
        }));
        match drawn {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failure = Some(error.to_string()),
            Err(_) => failure = Some(format!("page {number} is malformed")),
        }
        body.end_line();
        if body.is_cut() {
            break;
        }
    }
    match failure {
        Some(why) if body.is_empty() => return Err(Reason::damaged(Container::Pdf, why)),
        Some(_) => body.cut(),
        None => {}
    }
    let is_truncated = body.is_cut() || numbers.len() > MOST_PAGES;
    let (title, author) = (info(&document, b"Title"), info(&document, b"Author"));
    Ok(Text { title: sensible(&title), author, body: body.into_string(), is_truncated, ..Text::default() })
}

/// Many are encrypted with no password, only to forbid printing: these are decrypted while they are loaded.
fn load(bytes: &[u8]) -> Result<Document, Reason> {
    use pdf_extract::Error;
    let document = Document::load_mem(bytes).map_err(|error| match error {
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => {
            Reason::Encrypted(Container::Pdf)
        }
        error => Reason::damaged(Container::Pdf, error),
    })?;
    if document.trailer.has(b"Encrypt") { Err(Reason::Encrypted(Container::Pdf)) } else { Ok(document) }
}

fn info(document: &Document, key: &[u8]) -> String {
    let info = document.trailer.get(b"Info").ok().and_then(|info| resolved(document, info)?.as_dict().ok());
    let value = info.and_then(|info| resolved(document, info.get(key).ok()?));
    short(&value.and_then(|value| decode_text_string(value).ok()).unwrap_or_default())
}

/// Follows one reference: what a reference leads to is no reference in a sound file.
fn resolved<'a>(document: &'a Document, object: &'a Object) -> Option<&'a Object> {
    match object {
        Object::Reference(id) => document.objects.get(id),
        object => Some(object),
    }
}

/// Programs write names of files, or that there is no name.
fn sensible(title: &str) -> String {
    let title = title.strip_prefix("Microsoft Word - ").unwrap_or(title);
    let is_file = !title.contains(' ') && title.rsplit_once('.').is_some_and(|(_, end)| (1..=5).contains(&end.len()));
    let is_nothing = ["untitled", "title", "unknown"].iter().any(|name| title.eq_ignore_ascii_case(name));
    if is_file || is_nothing { String::new() } else { title.to_owned() }
}

/// A page that stops being drawn once the text is full.
struct Page<'a>(&'a mut Bounded);

impl<'a> ConvertToFmt for Page<'a> {
    type Writer = Self;

    fn convert(self) -> Self {
        self
    }
}

impl fmt::Write for Page<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push(text);
        if self.0.is_cut() { Err(fmt::Error) } else { Ok(()) }
    }
}
