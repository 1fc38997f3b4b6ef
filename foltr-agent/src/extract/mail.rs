//! One mail: its subject, its sender, its date, what a reader reads, and the names of what is attached.

use encoding_rs::Encoding;
use mailparse::{DispositionType, MailHeaderMap, ParsedMail, parse_mail};

use super::parse::{Bounded, short};
use super::reason::Container;
use super::{Limits, Reason, html, text};
use crate::document::Text;

pub(super) fn of(bytes: &[u8], limits: &Limits) -> Result<Text, Reason> {
    let mail = parse_mail(bytes).map_err(|error| Reason::damaged(Container::Mail, error))?;
    let mut reading = Reading { headings: Bounded::headings(), body: Bounded::new(limits.text), limits };
    reading.add(&mail);
    let header = |name: &str| mail.headers.get_first_value(name).unwrap_or_default();
    let is_truncated = reading.body.is_cut();
    Ok(Text {
        part: String::new(),
        title: short(&header("Subject")),
        headings: reading.headings.into_string(),
        body: reading.body.into_string(),
        author: short(&header("From")),
        date: mailparse::dateparse(&header("Date")).ok(),
        is_truncated,
    })
}

/// The Message-ID without its brackets.
pub(super) fn id(bytes: &[u8]) -> Option<String> {
    let (headers, _) = mailparse::parse_headers(bytes).ok()?;
    let id = short(headers.get_first_value("Message-ID")?.trim().trim_matches(['<', '>']));
    (!id.is_empty()).then_some(id)
}

struct Reading<'a> {
    headings: Bounded,
    body: Bounded,
    limits: &'a Limits,
}

impl Reading<'_> {
    /// The depth of parts is bounded where they are parsed.
    fn add(&mut self, part: &ParsedMail) {
        if self.body.is_cut() {
            return;
        }
        if part.ctype.mimetype == "multipart/alternative" {
            return self.add_best(part);
        }
        if !part.subparts.is_empty() {
            return part.subparts.iter().for_each(|part| self.add(part));
        }
        let disposition = part.get_content_disposition();
        let name = disposition.params.get("filename").or_else(|| part.ctype.params.get("name"));
        if let Some(name) = name {
            self.headings.push_line(name);
        }
        let is_attached = disposition.disposition == DispositionType::Attachment || name.is_some();
        if !is_attached {
            self.add_text(part);
        }
    }

    /// Of several versions of the same, the plainest that says anything.
    fn add_best(&mut self, part: &ParsedMail) {
        let is_plain = |part: &&ParsedMail| part.ctype.mimetype == "text/plain";
        let says_something = |part: &&ParsedMail| part.get_body_raw().is_ok_and(|body| !body.trim_ascii().is_empty());
        let plain = part.subparts.iter().filter(is_plain).find(says_something);
        if let Some(best) = plain.or(part.subparts.last()) {
            self.add(best);
        }
    }

    fn add_text(&mut self, part: &ParsedMail) {
        let is_html = part.ctype.mimetype == "text/html";
        if !is_html && part.ctype.mimetype != "text/plain" {
            return;
        }
        let Ok(bytes) = part.get_body_raw() else { return };
        // Mails without a charset, and those that say ASCII, are often not in ASCII.
        let charset = part.ctype.params.get("charset").filter(|charset| !charset.eq_ignore_ascii_case("us-ascii"));
        let said = charset.and_then(|charset| Encoding::for_label(charset.as_bytes()));
        if is_html {
            let page = html::of(&bytes, said, self.limits);
            self.body.push(&page.body);
            if page.is_truncated {
                self.body.cut();
            }
        } else {
            self.body.push(&text::decode(bytes, said));
        }
        self.body.end_line();
    }
}
