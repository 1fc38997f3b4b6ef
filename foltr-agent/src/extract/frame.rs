//! Messages between the parent and a worker: a tag, a length, and so many bytes.
//!
//! Requests are JSON, from a parent that is trusted. Texts are strings behind their lengths, read by the parent alone,
//! who trusts none of them.

use crate::document::Text;

/// The layout of all messages: a worker of another version ends itself.
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER: usize = 5;
/// Bytes of a message that has no body in it.
pub(super) const MOST_SMALL: usize = 4 << 10;
/// Bytes of a text beside its body: titles, headings and lengths.
const MOST_BESIDE_BODY: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Tag {
    /// [`Hello`], the first message to a worker.
    Hello = 1,
    /// A [`super::parse::Request`], with the open file beside it.
    Request = 2,
    /// A text of the file.
    Text = 3,
    /// There is no other text.
    Done = 4,
    /// A [`super::Reason`] why there is no other text.
    Skipped = 5,
}

#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub(super) struct Hello {
    pub version: u32,
    pub limits: super::Limits,
}

impl Tag {
    const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Request,
            3 => Self::Text,
            4 => Self::Done,
            5 => Self::Skipped,
            _ => return None,
        })
    }
}

/// Largest message that a worker may send.
pub(super) const fn most_answer(most_text: usize) -> usize {
    most_text.saturating_add(MOST_BESIDE_BODY)
}

/// The tag and the length, if it is no more than `most`.
pub(super) fn header(bytes: [u8; HEADER], most: usize) -> Option<(Tag, usize)> {
    let [tag, length @ ..] = bytes;
    let (tag, length) = (Tag::of(tag)?, usize::try_from(u32::from_le_bytes(length)).ok()?);
    let most = if tag == Tag::Text { most } else { MOST_SMALL };
    (length <= most).then_some((tag, length))
}

/// Adds a message.
pub(super) fn write(out: &mut Vec<u8>, tag: Tag, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag as u8);
    let place = out.len();
    out.extend([0; 4]);
    fill(out);
    let length = u32::try_from(out.len() - place - 4).expect("messages are shorter than 4 GiB");
    out[place..place + 4].copy_from_slice(&length.to_le_bytes());
}

pub(super) fn write_json(out: &mut Vec<u8>, tag: Tag, value: &impl serde::Serialize) {
    write(out, tag, |out| serde_json::to_writer(out, value).expect("plain data becomes JSON"));
}

pub(super) fn write_text(out: &mut Vec<u8>, text: &Text) {
    write(out, Tag::Text, |out| {
        for field in [&text.part, &text.title, &text.headings, &text.author, &text.body] {
            let length = u32::try_from(field.len()).expect("fields are bounded");
            out.extend(length.to_le_bytes());
            out.extend(field.as_bytes());
        }
        out.push(u8::from(text.date.is_some()) | u8::from(text.is_truncated) << 1);
        out.extend(text.date.unwrap_or_default().to_le_bytes());
    });
}

/// The text in the bytes of a message, if that is what they are, to the last.
pub(super) fn text(bytes: &[u8]) -> Option<Text> {
    let mut rest = bytes;
    let mut field = || -> Option<String> {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (field, behind) = behind.split_at_checked(length)?;
        rest = behind;
        Some(str::from_utf8(field).ok()?.to_owned())
    };
    let (part, title, headings, author, body) = (field()?, field()?, field()?, field()?, field()?);
    let [flags, date @ ..] = <[u8; 9]>::try_from(rest).ok()?;
    let date = i64::from_le_bytes(date);
    let has_date = flags & 1 == 1;
    if flags > 3 || (!has_date && date != 0) {
        return None;
    }
    Some(Text { part, title, headings, author, body, date: has_date.then_some(date), is_truncated: flags & 2 == 2 })
}
