//! Plain text in whatever encoding.

use std::borrow::Cow;
use std::io::Read;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use super::parse::{Bounded, Content};
use super::{Limits, Reason};
use crate::document::Text;

pub(super) fn read(content: &mut dyn Content, limits: &Limits) -> Result<Text, Reason> {
    let (text, is_cut) = beginning(content, limits)?;
    let mut body = Bounded::new(limits.text);
    body.push(&text);
    let is_truncated = is_cut || body.is_cut();
    Ok(Text { body: body.into_string(), is_truncated, ..Text::default() })
}

/// As much as can become a body, and its markup.
pub(super) fn decoded(content: &mut dyn Content, limits: &Limits) -> Result<(String, bool), Reason> {
    beginning(content, limits)
}

/// Whether there is more is said beside.
fn beginning(content: &mut dyn Content, limits: &Limits) -> Result<(String, bool), Reason> {
    // UTF-16 has two bytes a character that may become one.
    let most = 2 * limits.text as u64 + 4;
    let mut bytes = Vec::new();
    content.take(most + 1).read_to_end(&mut bytes).map_err(|error| Reason::unreadable(&error))?;
    let is_cut = bytes.len() as u64 > most;
    Ok((decode(bytes, None), is_cut))
}

/// The text of bytes, with LF as line ends. What they begin with counts most, then what was said about them.
pub(super) fn decode(bytes: Vec<u8>, said: Option<&'static Encoding>) -> String {
    let text = match (Encoding::for_bom(&bytes), said) {
        (Some((encoding, _)), _) | (None, Some(encoding)) => encoding.decode(&bytes).0.into_owned(),
        (None, None) => guess(bytes),
    };
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text }
}

fn guess(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error,
    };
    // Cut in the middle of a character.
    let valid = bytes.utf8_error().valid_up_to();
    let is_only_cut = bytes.utf8_error().error_len().is_none();
    let bytes = bytes.into_bytes();
    let encoding = if is_only_cut && valid > 0 { UTF_8 } else { detected(&bytes) };
    match encoding.decode_without_bom_handling(&bytes).0 {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

fn detected(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}
