//! From an open file to its texts: what all parsers share. Runs in the worker.

use std::io::{self, BufRead, Read, Seek};

use serde::{Deserialize, Serialize};

use super::{Format, Limits, Reason, html, mail, mailbox, markdown, office, pdf, source, text};
use crate::document::Text;

/// Bytes of a title, an author or the name of a part: nobody reads more.
pub(super) const MOST_TITLE: usize = 1 << 10;
/// Bytes of all headings.
pub(super) const MOST_HEADINGS: usize = 64 << 10;

/// What the parent asks of a worker.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Request {
    pub format: Format,
    /// Of the file, without its folders.
    pub name: String,
}

/// A file's content.
pub(super) trait Content: Read + Seek {}
impl<T: Read + Seek> Content for T {}

/// Takes a text; an error ends the parsing.
pub(super) type Give<'a> = dyn FnMut(Text) -> Result<(), Reason> + 'a;

pub(super) fn parse(
    request: &Request,
    content: &mut dyn Content,
    limits: &Limits,
    give: &mut Give,
) -> Result<(), Reason> {
    let most = limits.file(request.format);
    match request.format {
        Format::Text => give(text::read(content, limits)?),
        Format::Source => give(source::of(text::read(content, limits)?, &request.name)),
        Format::Markdown => give(markdown::of(&text::decoded(content, limits)?, limits)),
        Format::Html => give(html::of(&whole(content, most)?, None, limits)),
        Format::Pdf => give(pdf::of(&whole(content, most)?, limits)?),
        Format::Odt => give(office::odt(content, limits)?),
        Format::Docx => give(office::docx(content, limits)?),
        Format::Message => give(mail::of(&whole(content, most)?, limits)?),
        Format::Mailbox => mailbox::read(&mut io::BufReader::with_capacity(1 << 18, content), limits, give),
    }
}

/// All bytes, if there are no more than that now: the file may have grown since it was opened.
fn whole(content: &mut dyn Content, most: u64) -> Result<Vec<u8>, Reason> {
    let mut bytes = Vec::new();
    content.take(most + 1).read_to_end(&mut bytes).map_err(|error| Reason::unreadable(&error))?;
    if bytes.len() as u64 > most { Err(Reason::TooLarge(most)) } else { Ok(bytes) }
}

/// Reads to the end of the line, but keeps only so many bytes of it. Returns how many bytes it had.
pub(super) fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<u64> {
    line.clear();
    let mut n_read = 0;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', available).map(|at| at + 1);
        let n = end.unwrap_or(available.len());
        line.extend_from_slice(&available[..n.min(most - line.len())]);
        input.consume(n);
        n_read += n as u64;
        if end.is_some() || n == 0 {
            return Ok(n_read);
        }
    }
}

/// The largest end of a character that is no more than `most`.
pub(super) fn end_of_character(text: &str, most: usize) -> usize {
    if most >= text.len() {
        return text.len();
    }
    (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0)
}

/// A string that takes no more than so many bytes, and no control characters but tabs and line ends.
#[derive(Debug)]
pub(super) struct Bounded {
    text: String,
    most: usize,
    is_cut: bool,
}

impl Bounded {
    pub fn new(most: usize) -> Self {
        Self { text: String::new(), most, is_cut: false }
    }

    pub fn title() -> Self {
        Self::new(MOST_TITLE)
    }

    pub fn headings() -> Self {
        Self::new(MOST_HEADINGS)
    }

    pub fn push(&mut self, text: &str) {
        let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
        for piece in text.split(is_odd) {
            let room = self.most - self.text.len();
            if piece.len() <= room {
                self.text.push_str(piece);
            } else {
                self.text.push_str(&piece[..end_of_character(piece, room)]);
                self.is_cut = true;
            }
            if self.is_cut {
                return;
            }
        }
    }

    /// A line of its own, with single blanks; nothing if it is empty.
    pub fn push_line(&mut self, line: &str) {
        let mut words = line.split_whitespace().peekable();
        if words.peek().is_none() {
            return;
        }
        if !self.text.is_empty() {
            self.push("\n");
        }
        for (place, word) in words.enumerate() {
            if place > 0 {
                self.push(" ");
            }
            self.push(word);
        }
    }

    /// Text in which blanks and line ends mean the same, and many are one.
    pub fn push_flowing(&mut self, text: &str) {
        let ends_blank = |text: &str| text.is_empty() || text.ends_with(char::is_whitespace);
        let mut needs_blank = text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            if needs_blank && !ends_blank(&self.text) {
                self.push(" ");
            }
            self.push(word);
            needs_blank = true;
        }
        if text.ends_with(char::is_whitespace) && !ends_blank(&self.text) {
            self.push(" ");
        }
    }

    /// Ends the line, if there is one.
    pub fn end_line(&mut self) {
        if self.text.ends_with(' ') {
            self.text.pop();
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.push("\n");
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Notes that something is missing.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    pub fn into_string(self) -> String {
        self.text
    }
}

/// A title or an author on one line.
pub(super) fn short(text: &str) -> String {
    let mut short = Bounded::title();
    short.push_line(text);
    short.into_string()
}
