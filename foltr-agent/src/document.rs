//! What the index gets of a file: one text, or several of a file with many messages.

use serde::{Deserialize, Serialize};

/// What kind of file a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Text,
    Markdown,
    Html,
    Pdf,
    /// ODT and DOCX.
    Office,
    Source,
    Mail,
}

impl Kind {
    pub const ALL: [Self; 7] =
        [Self::Text, Self::Markdown, Self::Html, Self::Pdf, Self::Office, Self::Source, Self::Mail];

    /// As filters and tables spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Office => "office",
            Self::Source => "source",
            Self::Mail => "mail",
        }
    }
}

/// A text with what stands out in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Text {
    /// Empty for a whole file; what names one of several texts in it, such as a message of a mailbox.
    pub part: String,
    pub title: String,
    /// One a line.
    pub headings: String,
    pub body: String,
    /// Who wrote it, if the file says so; senders of mails.
    pub author: String,
    /// Seconds since 1970, if the text says so itself: the date of a mail.
    pub date: Option<i64>,
    /// There is more in the file than may be indexed.
    pub is_truncated: bool,
}
