//! Text documents of office programs: ODT and DOCX, which are XML in ZIP.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, BufReader, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use zip::ZipArchive;
use zip::result::ZipError;

use super::parse::{Bounded, Content, short};
use super::reason::Container;
use super::{Limits, Reason};
use crate::document::Text;

/// XML of text packs to a twentieth at best; a thousandth is a trap.
const MOST_RATIO: u64 = 200;
/// Documents of little but empty paragraphs may pack better.
const ALWAYS_ALLOWED: u64 = 16 << 20;
/// Parts of an archive: a document has one for each picture.
const MOST_PARTS: usize = 100_000;
/// Blanks that one element of an ODT may stand for.
const MOST_BLANKS: usize = 100;

type Archive<'a> = ZipArchive<&'a mut dyn Content>;

pub(super) fn odt(content: &mut dyn Content, limits: &Limits) -> Result<Text, Reason> {
    let mut archive = open(content)?;
    let mut is_encrypted = false;
    each(&mut archive, "META-INF/manifest.xml", limits, |event| {
        is_encrypted |=
            matches!(&event, Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == "encryption-data");
        !is_encrypted
    })?;
    if is_encrypted {
        return Err(Reason::Encrypted(Container::Office));
    }
    let mut reading = Reading::new(limits);
    if !each(&mut archive, "content.xml", limits, |event| reading.odt(event))? {
        return Err(Reason::damaged(Container::Office, "it has no content.xml"));
    }
    reading.metadata(&mut archive, "meta.xml", limits);
    Ok(reading.finish())
}

pub(super) fn docx(content: &mut dyn Content, limits: &Limits) -> Result<Text, Reason> {
    let mut archive = open(content)?;
    let mut reading = Reading::new(limits);
    // Without its styles a document has text, but no headings.
    let _ = each(&mut archive, "word/styles.xml", limits, |event| reading.style(event));
    if !each(&mut archive, "word/document.xml", limits, |event| reading.docx(event))? {
        return Err(Reason::damaged(Container::Office, "it has no word/document.xml"));
    }
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if each(&mut archive, notes, limits, |event| reading.docx(event)).is_err() {
            reading.body.cut();
        }
    }
    reading.metadata(&mut archive, "docProps/core.xml", limits);
    Ok(reading.finish())
}

fn open(content: &mut dyn Content) -> Result<Archive<'_>, Reason> {
    let archive = ZipArchive::new(content).map_err(damaged)?;
    if archive.len() > MOST_PARTS {
        return Err(Reason::damaged(Container::Zip, "it has too many parts"));
    }
    Ok(archive)
}

fn damaged(error: ZipError) -> Reason {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => Reason::Encrypted(Container::Zip),
        ZipError::InvalidArchive(why) => Reason::damaged(Container::Zip, why),
        error => Reason::damaged(Container::Zip, error),
    }
}

/// Hands the events of a part of the archive to a function until it returns false; returns whether there is that part.
fn each(
    archive: &mut Archive,
    name: &str,
    limits: &Limits,
    mut take: impl FnMut(Event) -> bool,
) -> Result<bool, Reason> {
    let part = match archive.by_name(name) {
        Ok(part) => part,
        Err(ZipError::FileNotFound) => return Ok(false),
        Err(error) => return Err(damaged(error)),
    };
    let most = limits.unpacked.min(ALWAYS_ALLOWED.max(part.compressed_size().saturating_mul(MOST_RATIO)));
    let is_full = Cell::new(false);
    let unpacked = Unpacked { part, n_left: most, is_full: &is_full };
    let mut reader = Reader::from_reader(BufReader::new(unpacked));
    reader.config_mut().allow_dangling_amp = true;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) => return Ok(true),
            Ok(event) => {
                if !take(event) {
                    return Ok(true);
                }
            }
            Err(_) if is_full.get() => return Err(Reason::UnpacksTooLarge(most)),
            Err(quick_xml::Error::Io(error)) => return Err(Reason::damaged(Container::Zip, error)),
            Err(error) => return Err(Reason::damaged(Container::Xml, error)),
        }
    }
}

/// What a part unpacks to, up to a limit.
struct Unpacked<'a, R> {
    part: R,
    n_left: u64,
    is_full: &'a Cell<bool>,
}

impl<R: Read> Read for Unpacked<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.part.read(buffer)?;
        match self.n_left.checked_sub(n as u64) {
            Some(n_left) => self.n_left = n_left,
            None => {
                self.is_full.set(true);
                return Err(io::Error::other("unpacks to too much"));
            }
        }
        Ok(n)
    }
}

struct Reading {
    title: String,
    author: String,
    headings: Bounded,
    body: Bounded,
    /// The heading that is being read.
    heading: Option<Bounded>,
    /// Open elements whose text is shown (of DOCX), or is not (of ODT).
    n_open: u32,
    /// Paragraphs in these styles are headings.
    heading_styles: HashSet<String>,
    /// The style whose description is being read.
    style: String,
}

impl Reading {
    fn new(limits: &Limits) -> Self {
        Self {
            title: String::new(),
            author: String::new(),
            headings: Bounded::headings(),
            body: Bounded::new(limits.text),
            heading: None,
            n_open: 0,
            heading_styles: HashSet::new(),
            style: String::new(),
        }
    }

    fn finish(self) -> Text {
        let (headings, is_truncated) = (self.headings.into_string(), self.body.is_cut());
        let body = self.body.into_string();
        let title = if self.title.is_empty() { short(headings.lines().next().unwrap_or_default()) } else { self.title };
        Text { title, author: self.author, headings, body, is_truncated, ..Text::default() }
    }

    fn text(&mut self, text: &str) {
        self.body.push(text);
        if let Some(heading) = &mut self.heading {
            heading.push(text);
        }
    }

    fn end_paragraph(&mut self) {
        if let Some(heading) = self.heading.take() {
            self.headings.push_line(&heading.into_string());
        }
        self.body.end_line();
    }

    /// Returns whether more may come.
    fn odt(&mut self, event: Event) -> bool {
        match &event {
            Event::Start(tag) => match tag.local_name().as_ref() {
                // What was deleted, and who changed what.
                "tracked-changes" => self.n_open += 1,
                "h" => self.heading = Some(Bounded::title()),
                _ => self.odt_blank(tag),
            },
            Event::Empty(tag) => self.odt_blank(tag),
            Event::End(tag) => match tag.local_name().as_ref() {
                "tracked-changes" => self.n_open = self.n_open.saturating_sub(1),
                "h" | "p" if self.n_open == 0 => self.end_paragraph(),
                _ => {}
            },
            _ if self.n_open == 0 => self.characters(&event, |reading, text| reading.text(text)),
            _ => {}
        }
        !self.body.is_cut()
    }

    fn odt_blank(&mut self, tag: &BytesStart) {
        match tag.local_name().as_ref() {
            "s" => {
                let n = attribute(tag, "c").and_then(|n| n.parse().ok()).unwrap_or(1);
                self.text(&" ".repeat(n.min(MOST_BLANKS)));
            }
            "tab" => self.text("\t"),
            "line-break" => self.text("\n"),
            _ => {}
        }
    }

    /// Styles have names of their own in every language; `w:name` is the same in all.
    fn style(&mut self, event: Event) -> bool {
        if let Event::Start(tag) | Event::Empty(tag) = &event {
            match tag.local_name().as_ref() {
                "style" => self.style = attribute(tag, "styleId").unwrap_or_default(),
                "name" => {
                    let name = attribute(tag, "val").unwrap_or_default().to_lowercase();
                    if name.starts_with("heading ") || name == "title" {
                        self.heading_styles.insert(std::mem::take(&mut self.style));
                    }
                }
                _ => {}
            }
        }
        true
    }

    fn docx(&mut self, event: Event) -> bool {
        match &event {
            Event::Start(tag) if tag.name().as_ref() == "w:t" => self.n_open += 1,
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                "w:pStyle" => {
                    let style = attribute(tag, "val").unwrap_or_default();
                    self.heading = self.heading_styles.contains(&style).then(Bounded::title);
                }
                "w:tab" => self.body.push("\t"),
                "w:br" | "w:cr" => self.text("\n"),
                _ => {}
            },
            Event::End(tag) => match tag.name().as_ref() {
                "w:t" => self.n_open = self.n_open.saturating_sub(1),
                "w:p" => self.end_paragraph(),
                _ => {}
            },
            _ if self.n_open > 0 => self.characters(&event, |reading, text| reading.text(text)),
            _ => {}
        }
        !self.body.is_cut()
    }

    /// Both formats name the title and the author by Dublin Core.
    fn metadata(&mut self, archive: &mut Archive, part: &str, limits: &Limits) {
        let mut value: Option<Bounded> = None;
        // A document without sound metadata is one without a title.
        let _ = each(archive, part, limits, |event| {
            match &event {
                Event::Start(tag) => {
                    value = matches!(tag.local_name().as_ref(), "title" | "creator").then(Bounded::title);
                }
                Event::End(tag) => match (tag.local_name().as_ref(), value.take()) {
                    ("title", Some(value)) => self.title = short(&value.into_string()),
                    ("creator", Some(value)) => self.author = short(&value.into_string()),
                    _ => {}
                },
                _ => self.characters(&event, |_, text| {
                    if let Some(value) = &mut value {
                        value.push(text);
                    }
                }),
            }
            true
        });
    }

    /// Entities of the document's own are left out: they can stand for gigabytes.
    fn characters(&mut self, event: &Event, mut take: impl FnMut(&mut Self, &str)) {
        match event {
            Event::Text(text) => take(self, &text.xml10_content()),
            Event::CData(text) => take(self, &text.xml10_content()),
            Event::GeneralRef(entity) => {
                let character = entity.resolve_char_ref().ok().flatten();
                let known = match &**entity {
                    "amp" => Some('&'),
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => None,
                };
                if let Some(character) = character.or(known) {
                    take(self, character.encode_utf8(&mut [0; 4]));
                }
            }
            _ => {}
        }
    }
}

/// By its name without a prefix.
fn attribute(tag: &BytesStart, name: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let found =
        attributes.with_checks(false).flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
    found.normalized_value(XmlVersion::Implicit1_0).ok().map(|value| value.into_owned())
}
