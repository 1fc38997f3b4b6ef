//! Why a file has no texts, in words for its owner.

use std::fmt;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Characters of a parser's own words that an owner gets to see.
const MOST_DETAIL: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Deserialize, Serialize)]
pub enum Reason {
    #[error("larger than {}", Size(*.0))]
    TooLarge(u64),
    #[error("binary")]
    Binary,
    #[error("not a regular file")]
    NotAFile,
    #[error("cannot be read: {0}")]
    CannotRead(String),
    #[error("took longer than {} s", .0.as_secs_f64())]
    TooSlow(Duration),
    #[error("needed more than {} of memory", Size(*.0))]
    TooMuchMemory(u64),
    #[error("nested too deeply")]
    TooDeep,
    #[error("has more than {0} texts")]
    TooManyTexts(u64),
    #[error("unpacks to more than {}", Size(*.0))]
    UnpacksTooLarge(u64),
    #[error("encrypted {0}")]
    Encrypted(Container),
    #[error("damaged {container}: {why}")]
    Damaged { container: Container, why: String },
    /// The parser gave up, died, or sent what is no answer.
    #[error("the parser failed: {0}")]
    ParserFailed(String),
    #[error("the parser cannot be started: {0}")]
    NoParser(String),
}

/// What a document is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Container {
    Pdf,
    Zip,
    Xml,
    Office,
    Mail,
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pdf => "PDF",
            Self::Zip => "ZIP",
            Self::Xml => "XML",
            Self::Office => "office document",
            Self::Mail => "mail",
        })
    }
}

impl Reason {
    pub(super) fn unreadable(error: &io::Error) -> Self {
        // The system's words alone: `Permission denied (os error 13)` has a number that helps nobody.
        let text = error.to_string();
        Self::CannotRead(one_line(text.split(" (os error").next().unwrap_or_default()))
    }

    pub(super) fn damaged(container: Container, why: impl fmt::Display) -> Self {
        Self::Damaged { container, why: one_line(&why.to_string()) }
    }

    /// The same with words that fit on one line, whatever a worker sent.
    pub(super) fn checked(self) -> Self {
        match self {
            Self::CannotRead(why) => Self::CannotRead(one_line(&why)),
            Self::Damaged { container, why } => Self::Damaged { container, why: one_line(&why) },
            Self::ParserFailed(why) => Self::ParserFailed(one_line(&why)),
            Self::NoParser(why) => Self::NoParser(one_line(&why)),
            other => other,
        }
    }
}

fn one_line(text: &str) -> String {
    let text: String = text.chars().take(MOST_DETAIL).map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.trim().to_owned()
}

/// Bytes in the largest unit that divides them.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let unit = units.into_iter().find(|(bits, _)| self.0 > 0 && self.0.trailing_zeros() >= *bits);
        let (bits, unit) = unit.unwrap_or((0, "bytes"));
        write!(f, "{} {unit}", self.0 >> bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_sentences_for_the_owner() {
        assert_eq!(Reason::TooLarge(64 << 20).to_string(), "larger than 64 MiB");
        assert_eq!(Reason::TooLarge(1000).to_string(), "larger than 1000 bytes");
        assert_eq!(Reason::TooSlow(Duration::from_secs(10)).to_string(), "took longer than 10 s");
        assert_eq!(Reason::TooMuchMemory(1 << 30).to_string(), "needed more than 1 GiB of memory");
        assert_eq!(Reason::Encrypted(Container::Pdf).to_string(), "encrypted PDF");
        assert_eq!(Reason::damaged(Container::Zip, "no\nend").to_string(), "damaged ZIP: no end");
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(Reason::unreadable(&denied).to_string(), "cannot be read: Permission denied");
    }
}
