//! Web pages: what a reader sees of them, without navigation.
//!
//! Tokens are read as they come and no tree is built: its construction takes quadratic time for elements nested deeply.
//! Elements that HTML closes silently are not known here; that only matters for elements that are left out.

use std::cell::RefCell;

use encoding_rs::{Encoding, UTF_8};
use html5ever::tendril::{SliceExt, StrTendril};
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use super::Limits;
use super::parse::{Bounded, end_of_character, short};
use super::text;
use crate::document::Text;

/// Bytes in which a page must name its encoding: four times what the standard says, as scripts come first in some.
const MOST_BEFORE_CHARSET: usize = 4096;
/// Bytes after which it is looked whether the body is full.
const PIECE: usize = 1 << 16;

/// Not text, or the same on every page of a site.
const LEFT_OUT: &[&str] = &[
    "script", "style", "noscript", "template", "nav", "footer", "svg", "math", "iframe", "object", "select", "button",
    "dialog", "noframes", "audio", "video", "canvas",
];
/// May be hidden by an attribute; all of them need an end tag.
const MAY_BE_HIDDEN: &[&str] = &["div", "section", "span", "ul", "ol", "table", "aside", "form", "header"];
/// Stay in their line.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img",
];

/// `said` is what came with the page, such as the charset of a part of a mail.
pub(super) fn of(bytes: &[u8], said: Option<&'static Encoding>, limits: &Limits) -> Text {
    let page = text::decode(bytes.to_vec(), said.or_else(|| named(bytes)));
    let tokenizer = Tokenizer::new(Page(RefCell::new(Reading::new(limits))), TokenizerOpts::default());
    let (queue, mut rest) = (BufferQueue::default(), page.as_str());
    while !rest.is_empty() && !tokenizer.sink.0.borrow().body.is_cut() {
        let (piece, behind) = rest.split_at(end_of_character(rest, PIECE));
        queue.push_back(piece.to_tendril());
        // It stops where a script would be run.
        while !queue.is_empty() {
            let _ = tokenizer.feed(&queue);
        }
        rest = behind;
    }
    tokenizer.end();
    tokenizer.sink.0.into_inner().finish(!rest.is_empty())
}

/// The encoding that the page names.
fn named(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes[..bytes.len().min(MOST_BEFORE_CHARSET)].to_ascii_lowercase();
    let mut places =
        start.windows(7).enumerate().filter(|(_, window)| window == b"charset").map(|(place, _)| place + 7);
    let encoding = places.find_map(|place| {
        let value = start[place..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let value = value.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or(value.strip_prefix(b"'")).unwrap_or(value);
        let n = value.iter().position(|b| !b.is_ascii_alphanumeric() && !b"-_:".contains(b)).unwrap_or(value.len());
        Encoding::for_label(&value[..n])
    })?;
    // What names itself readably is not in UTF-16.
    Some(if encoding.name().starts_with("UTF-16") { UTF_8 } else { encoding })
}

struct Page(RefCell<Reading>);

impl TokenSink for Page {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reading = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => reading.text(&text),
            Token::TagToken(tag) => return reading.tag(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

struct Reading {
    title: Bounded,
    author: String,
    headings: Bounded,
    body: Bounded,
    heading: Option<Bounded>,
    is_in_title: bool,
    n_preformatted: u32,
    /// The element that is being left out, and how many of its name are open.
    left_out: Option<(String, u32)>,
}

impl Reading {
    fn new(limits: &Limits) -> Self {
        Self {
            title: Bounded::title(),
            author: String::new(),
            headings: Bounded::headings(),
            body: Bounded::new(limits.text),
            heading: None,
            is_in_title: false,
            n_preformatted: 0,
            left_out: None,
        }
    }

    fn finish(mut self, is_cut: bool) -> Text {
        self.body.end_line();
        let is_truncated = is_cut || self.body.is_cut();
        let (title, headings) = (short(&self.title.into_string()), self.headings.into_string());
        let title = if title.is_empty() { short(headings.lines().next().unwrap_or_default()) } else { title };
        Text { title, headings, author: self.author, body: self.body.into_string(), is_truncated, ..Text::default() }
    }

    fn text(&mut self, text: &StrTendril) {
        if self.left_out.is_some() {
            return;
        }
        if self.is_in_title {
            return self.title.push(text);
        }
        if self.n_preformatted > 0 {
            self.body.push(text);
        } else {
            self.body.push_flowing(text);
        }
        if let Some(heading) = &mut self.heading {
            heading.push(text);
        }
    }

    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let (name, is_start) = (&*tag.name, tag.kind == TagKind::StartTag);
        self.leave_out(tag, name, is_start);
        if self.left_out.is_none() {
            self.visible_tag(tag, name, is_start);
        }
        match name {
            "script" if is_start => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "iframe" | "noframes" | "xmp" | "noembed" if is_start => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "title" | "textarea" if is_start && self.left_out.is_none() => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }

    fn leave_out(&mut self, tag: &Tag, name: &str, is_start: bool) {
        match &mut self.left_out {
            Some((open, n_open)) if open == name && is_start && !tag.self_closing => *n_open += 1,
            Some((open, n_open)) if open == name && !is_start => {
                *n_open -= 1;
                if *n_open == 0 {
                    self.left_out = None;
                }
            }
            Some(_) => {}
            None if is_start && !tag.self_closing && (LEFT_OUT.contains(&name) || is_hidden(tag, name)) => {
                self.left_out = Some((name.to_owned(), 1));
            }
            None => {}
        }
    }

    fn visible_tag(&mut self, tag: &Tag, name: &str, is_start: bool) {
        match name {
            "title" => {
                self.is_in_title = is_start && self.title.is_empty();
                return;
            }
            "meta" if is_start => return self.meta(tag),
            "pre" | "textarea" => {
                self.n_preformatted = self.n_preformatted.saturating_add_signed(if is_start { 1 } else { -1 });
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                if let Some(heading) = self.heading.take() {
                    self.headings.push_line(&heading.into_string());
                }
                self.heading = is_start.then(Bounded::title);
            }
            "td" | "th" => return self.body.push_flowing(" "),
            _ if INLINE.contains(&name) => return,
            _ => {}
        }
        self.body.end_line();
    }

    fn meta(&mut self, tag: &Tag) {
        let name = attribute(tag, "name").or(attribute(tag, "property")).unwrap_or_default().to_lowercase();
        let content = attribute(tag, "content").unwrap_or_default();
        match name.as_str() {
            "author" | "article:author" | "dc.creator" if self.author.is_empty() => self.author = short(content),
            "description" => self.body.push_line(content),
            _ => {}
        }
    }
}

fn is_hidden(tag: &Tag, name: &str) -> bool {
    MAY_BE_HIDDEN.contains(&name)
        && (attribute(tag, "hidden").is_some()
            || attribute(tag, "aria-hidden") == Some("true")
            || attribute(tag, "role") == Some("navigation")
            || attribute(tag, "style").is_some_and(|style| style.replace(' ', "").contains("display:none")))
}

fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}
