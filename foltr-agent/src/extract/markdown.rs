//! Markdown (CommonMark with tables, notes and front matter), without its markup; code stays.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Limits;
use super::parse::{Bounded, short};
use crate::document::Text;

pub(super) fn of((text, is_cut): &(String, bool), limits: &Limits) -> Text {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut reading = Reading {
        title: String::new(),
        author: String::new(),
        headings: Bounded::headings(),
        body: Bounded::new(limits.text),
        heading: None,
        is_front_matter: false,
    };
    for event in Parser::new_ext(text, options) {
        reading.take(event);
        if reading.body.is_cut() {
            break;
        }
    }
    let Reading { title, author, headings, body, .. } = reading;
    let is_truncated = *is_cut || body.is_cut();
    let headings = headings.into_string();
    let title = if title.is_empty() { headings.lines().next().unwrap_or_default().to_owned() } else { title };
    Text { title: short(&title), headings, author, body: body.into_string(), is_truncated, ..Text::default() }
}

struct Reading {
    title: String,
    author: String,
    headings: Bounded,
    body: Bounded,
    /// The heading that is being read.
    heading: Option<Bounded>,
    is_front_matter: bool,
}

impl Reading {
    fn take(&mut self, event: Event) {
        match event {
            Event::Start(Tag::MetadataBlock(_)) => self.is_front_matter = true,
            Event::End(TagEnd::MetadataBlock(_)) => self.is_front_matter = false,
            Event::Start(Tag::Heading { .. }) => self.heading = Some(Bounded::title()),
            Event::End(TagEnd::Heading(_)) => {
                let heading = self.heading.take().map(Bounded::into_string).unwrap_or_default();
                self.headings.push_line(&heading);
                self.body.end_line();
            }
            Event::Text(text) if self.is_front_matter => self.front_matter(&text),
            Event::Text(text) | Event::Code(text) => self.text(&text),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&without_tags(&html)),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::End(TagEnd::TableCell) => self.text("\t"),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Item
                | TagEnd::TableRow
                | TagEnd::TableHead
                | TagEnd::CodeBlock
                | TagEnd::BlockQuote(_),
            ) => self.body.end_line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.body.push(text);
        if let Some(heading) = &mut self.heading {
            heading.push(text);
        }
    }

    /// `title: What it says`, or `title = "What it says"`.
    fn front_matter(&mut self, text: &str) {
        for line in text.lines() {
            let Some((key, value)) = line.split_once([':', '=']) else { continue };
            let value = short(value.trim().trim_matches(['"', '\'']));
            match key.trim().to_lowercase().as_str() {
                "title" => self.title = value,
                "author" | "authors" => self.author = value.trim_matches(['[', ']', '"']).to_owned(),
                "tags" | "keywords" | "description" => self.body.push_line(&value),
                _ => {}
            }
        }
        self.body.end_line();
    }
}

fn without_tags(html: &str) -> String {
    let mut is_tag = false;
    html.chars()
        .filter(|&c| {
            let was_tag = is_tag;
            is_tag = if is_tag { c != '>' } else { c == '<' };
            !is_tag && !was_tag
        })
        .collect()
}
