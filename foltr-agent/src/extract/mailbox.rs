//! Mailboxes in which mails stand one after the other, each behind a line that begins with `From ` (mbox).
//!
//! Read as a stream: one message is in memory at a time. Lines that begin with `>From ` lose one `>`, as all programs of
//! today write them so.

use std::collections::HashSet;
use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};

use xxhash_rust::xxh3::xxh3_64;

use super::parse::{Bounded, Give, read_line};
use super::{Limits, Reason, mail, text};
use crate::document::Text;

pub(super) fn read(input: &mut dyn BufRead, limits: &Limits, give: &mut Give) -> Result<(), Reason> {
    let mut mailbox = Mailbox { limits, known: HashSet::new(), n_texts: 0 };
    let (mut line, mut message) = (Vec::new(), Message::default());
    let (mut offset, mut is_behind_blank) = (0, true);
    loop {
        let room = (limits.message as usize).saturating_sub(message.bytes.len()).max(SEPARATOR);
        let n_read = read_line(input, &mut line, room).map_err(|error| Reason::unreadable(&error))?;
        if n_read == 0 {
            return mailbox.give(&message, give);
        }
        if is_behind_blank && separates(&line) {
            mailbox.give(&message, give)?;
            message = Message { offset, ..Message::default() };
        } else {
            let quoted = line.iter().take_while(|&&b| b == b'>').count();
            let is_quoted = quoted > 0 && line[quoted..].starts_with(b"From ");
            let is_cut = message.bytes.len() + line.len() > limits.message as usize || n_read > line.len() as u64;
            message.is_cut |= is_cut;
            if !is_cut {
                message.bytes.extend_from_slice(&line[usize::from(is_quoted)..]);
            }
        }
        is_behind_blank = line.trim_ascii().is_empty();
        offset += n_read;
    }
}

/// Bytes of a line that are kept at least, to see whether it separates messages.
const SEPARATOR: usize = 256;

/// `From somebody@somewhere Tue Mar  3 12:34:56 2020`: a sentence that begins with the word has no time in it.
fn separates(line: &[u8]) -> bool {
    let is_time = |w: &[u8]| w[2] == b':' && [0, 1, 3, 4].iter().all(|&at| w[at].is_ascii_digit());
    line.starts_with(b"From ") && line.windows(5).any(is_time)
}

#[derive(Default)]
struct Message {
    offset: u64,
    bytes: Vec<u8>,
    /// Too large: its end is missing.
    is_cut: bool,
}

struct Mailbox<'a> {
    limits: &'a Limits,
    /// Hashes of the Message-IDs so far: copies of a message get another name.
    known: HashSet<u64>,
    n_texts: u64,
}

impl Mailbox<'_> {
    fn give(&mut self, message: &Message, give: &mut Give) -> Result<(), Reason> {
        if message.bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        self.n_texts += 1;
        if self.n_texts > self.limits.texts {
            return Err(Reason::TooManyTexts(self.limits.texts));
        }
        let parsed =
            catch_unwind(AssertUnwindSafe(|| (mail::of(&message.bytes, self.limits).ok(), mail::id(&message.bytes))));
        let (text, id) = parsed.unwrap_or_default();
        let mut text = text.unwrap_or_else(|| self.unparsed(message));
        text.part = match id {
            Some(id) if self.known.insert(xxh3_64(id.as_bytes())) => id,
            Some(id) => format!("{id} at {}", message.offset),
            None => format!("at {}", message.offset),
        };
        text.is_truncated |= message.is_cut;
        give(text)
    }

    /// A message that is none still has words.
    fn unparsed(&self, message: &Message) -> Text {
        let mut body = Bounded::new(self.limits.text);
        body.push(&text::decode(message.bytes.clone(), None));
        Text { is_truncated: body.is_cut(), body: body.into_string(), ..Text::default() }
    }
}
