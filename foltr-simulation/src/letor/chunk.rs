//! One newline-aligned piece of a LETOR file to rows, labels and runs of lines of the same query.
//!
//! The hot loop predicts the next feature index (one more than the last) and compares its text with one masked load.
//! Everything unusual leaves the hot loop: out-of-order indices, odd numbers, comments, rows wider than expected.

use memchr::memchr;

use super::Expected;
use super::number::{leading_digits, parse_token, plain_decimal, word_at};

pub(super) struct Chunk {
    pub(super) rows: Vec<f32>,
    pub(super) stride: usize,
    pub(super) max_index: usize,
    pub(super) labels: Vec<u8>,
    pub(super) runs: Vec<Run>,
}

pub(super) struct Run {
    pub(super) query_id: Box<str>,
    pub(super) first_row: usize,
}

/// Something unexpected: where in the chunk it begins and ends.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) expected: Expected,
}

#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_label: u8,
    pub(super) max_index: usize,
}

/// The text of a small feature index with its colon, as the first bytes of a word.
#[derive(Clone, Copy)]
struct IndexText {
    text: u64,
    mask: u64,
    len: usize,
}

/// Indices up to 999: their text and a colon fit into half a word.
static INDEX_TEXT: [IndexText; 1000] = index_texts();

const fn index_texts() -> [IndexText; 1000] {
    // Index 0 is never predicted; a mask of zero with a text of one never matches.
    let mut texts = [IndexText { text: 1, mask: 0, len: 0 }; 1000];
    let mut index = 1;
    while index < 1000 {
        let n_digits = if index < 10 { 1 } else { 2 + (index >= 100) as usize };
        let (mut text, mut rest, mut digit) = ((b':' as u64) << (8 * n_digits), index as u64, n_digits);
        while digit > 0 {
            digit -= 1;
            text |= (b'0' as u64 + rest % 10) << (8 * digit);
            rest /= 10;
        }
        texts[index] = IndexText { text, mask: (1 << (8 * (n_digits + 1))) - 1, len: n_digits + 1 };
        index += 1;
    }
    texts
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

const fn ends_token(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'\n' | b'#')
}

enum Features {
    /// The line is done; its last byte was at `end`, the highest index `max_index`.
    Read { end: usize, max_index: usize, in_order: bool },
    /// The row must first be wide enough for this index.
    NeedWidth(usize),
}

/// Reads all lines of a chunk. `stride` is the expected padded width.
pub(super) fn read_chunk(bytes: &[u8], stride: usize, limits: Limits) -> Result<Chunk, Fault> {
    let mut chunk = Chunk { rows: Vec::new(), stride, max_index: 0, labels: Vec::new(), runs: Vec::new() };
    let mut query_id: &[u8] = &[];
    let mut at = 0;
    while at < bytes.len() {
        at = skip_blanks(bytes, at);
        match bytes.get(at) {
            None => break,
            Some(b'\n') => at += 1,
            Some(b'#') => at = line_end(bytes, at) + 1,
            Some(_) => {
                let line_start = at;
                let (label, label_end) = read_label(bytes, at, limits.max_label)?;
                let (id, id_end) = read_query_id(bytes, skip_blanks(bytes, label_end))?;
                if id != query_id || chunk.runs.is_empty() {
                    let name = String::from_utf8(id.to_vec());
                    let name = name.map_err(|_| fault(id_end - id.len(), id_end, Expected::Utf8Qid))?;
                    chunk.runs.push(Run { query_id: name.into(), first_row: chunk.labels.len() });
                    query_id = id;
                }
                chunk.labels.push(label);
                at = chunk.push_row(bytes, id_end, limits)? + 1;
                chunk.reserve_for(bytes.len() - line_start, at - line_start);
            }
        }
    }
    Ok(chunk)
}

impl Chunk {
    /// Appends the features from `at` to the end of the line as a row; returns where the line ends.
    #[inline(always)]
    fn push_row(&mut self, bytes: &[u8], at: usize, limits: Limits) -> Result<usize, Fault> {
        loop {
            let start = self.rows.len();
            self.rows.resize(start + self.stride, 0.0);
            match read_features(bytes, at, &mut self.rows[start..], limits)? {
                Features::Read { end, max_index, in_order } => {
                    self.max_index = self.max_index.max(max_index);
                    if !in_order {
                        refuse_duplicates(bytes, at, end)?;
                    }
                    return Ok(end);
                }
                Features::NeedWidth(index) => {
                    self.rows.truncate(start);
                    self.widen(index);
                }
            }
        }
    }

    /// Makes room for feature `index` in every row, with a quarter to spare so that it seldom happens twice.
    #[cold]
    fn widen(&mut self, index: usize) {
        let stride = foltr_rank::row_stride(index.max(self.stride + self.stride / 4));
        // The label of the row at hand is already there, the row is not.
        let n_rows = self.labels.len() - 1;
        let mut rows = vec![0.0; n_rows * stride];
        for row in 0..n_rows {
            rows[row * stride..][..self.stride].copy_from_slice(&self.rows[row * self.stride..][..self.stride]);
        }
        (self.rows, self.stride) = (rows, stride);
    }

    /// After the first line: room for about as many rows as the chunk will have.
    #[inline(always)]
    fn reserve_for(&mut self, n_bytes: usize, line_len: usize) {
        if self.labels.len() == 1 {
            let n_lines = n_bytes / line_len.max(1) * 17 / 16;
            self.labels.reserve(n_lines);
            // A short first line must not make the guess absurd: 4 floats a byte is far above real data.
            self.rows.reserve((n_lines * self.stride).min(4 * n_bytes));
        }
    }
}

#[inline(always)]
fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).copied().is_some_and(is_blank) {
        at += 1;
    }
    at
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |offset| at + offset)
}

fn token_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| ends_token(byte)).map_or(bytes.len(), |offset| at + offset)
}

fn fault(start: usize, end: usize, expected: Expected) -> Fault {
    Fault { start, end, expected }
}

/// The fault that the token at `at` is not what was expected.
#[cold]
fn bad_token(bytes: &[u8], at: usize, expected: Expected) -> Fault {
    fault(at, token_end(bytes, at), expected)
}

/// A label and where it ends. Labels may be written as floats, but must be whole.
#[inline(always)]
fn read_label(bytes: &[u8], at: usize, max: u8) -> Result<(u8, usize), Fault> {
    let digit = bytes[at].wrapping_sub(b'0');
    if digit <= 9 && digit <= max && bytes.get(at + 1) == Some(&b' ') {
        return Ok((digit, at + 1));
    }
    let end = token_end(bytes, at);
    match parse_token(&bytes[at..end]) {
        Some(label) if label.fract() == 0.0 && (0.0..=f32::from(max)).contains(&label) => Ok((label as u8, end)),
        _ => Err(fault(at, end, Expected::Label(max))),
    }
}

#[inline(always)]
fn read_query_id(bytes: &[u8], at: usize) -> Result<(&[u8], usize), Fault> {
    const KEY: &[u8] = b"qid:";
    let end = token_end(bytes, at);
    match bytes[at..end].strip_prefix(KEY) {
        Some(name) if !name.is_empty() => Ok((name, end)),
        _ => Err(fault(at, end, Expected::Qid)),
    }
}

/// Reads `index:value` pairs from `at` to the end of the line into a zeroed row. A function of its own, so that its
/// loop has all registers to itself.
#[inline(never)]
fn read_features(bytes: &[u8], mut at: usize, row: &mut [f32], limits: Limits) -> Result<Features, Fault> {
    let (mut last_index, mut max_index, mut in_order) = (0, 0, true);
    loop {
        let start = at;
        let word = word_at(bytes, at);
        let predicted = INDEX_TEXT.get(last_index + 1).unwrap_or(&INDEX_TEXT[0]);
        let index = if word & predicted.mask == predicted.text {
            at += predicted.len;
            last_index + 1
        } else {
            match bytes.get(at) {
                None | Some(b'\n') => return Ok(Features::Read { end: at, max_index, in_order }),
                Some(b'#') => return Ok(Features::Read { end: line_end(bytes, at), max_index, in_order }),
                Some(&byte) if is_blank(byte) => {
                    at = skip_blanks(bytes, at);
                    continue;
                }
                Some(_) => {
                    let index = read_index(bytes, at, limits.max_index)?;
                    at += memchr(b':', &bytes[at..]).expect("an index ends with a colon") + 1;
                    index
                }
            }
        };
        if index > row.len() || index > limits.max_index {
            if index > limits.max_index {
                return Err(bad_token(bytes, start, Expected::Index(limits.max_index)));
            }
            return Ok(Features::NeedWidth(index));
        }
        let (value, end) = match plain_decimal(bytes, at) {
            Some((value, end)) if bytes.get(end) == Some(&b' ') => (value, end),
            Some((value, end)) if bytes.get(end).is_none_or(|&byte| ends_token(byte)) => (value, end),
            _ => read_odd_value(bytes, start, at)?,
        };
        in_order &= index > last_index;
        max_index = max_index.max(index);
        row[index - 1] = value;
        // One blank between pairs is the rule; anything else is met at the top of the loop.
        (last_index, at) = (index, end + usize::from(bytes.get(end) == Some(&b' ')));
    }
}

/// The feature index at `at`, which was not the predicted one.
fn read_index(bytes: &[u8], at: usize, max: usize) -> Result<usize, Fault> {
    let (n_digits, index) = leading_digits(word_at(bytes, at));
    if n_digits > 0 && bytes.get(at + n_digits) == Some(&b':') {
        let index = index as usize;
        return if (1..=max).contains(&index) { Ok(index) } else { Err(bad_token(bytes, at, Expected::Index(max))) };
    }
    let end = token_end(bytes, at);
    let digits = bytes[at..end].split(|&byte| byte == b':').next().unwrap_or(&[]);
    let is_number = !digits.is_empty() && digits.len() < end - at && digits.iter().all(u8::is_ascii_digit);
    if !is_number {
        return Err(fault(at, end, Expected::Feature));
    }
    // More than eight digits: leading zeros, or far too large.
    let index = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(usize::MAX);
    if (1..=max).contains(&index) { Ok(index) } else { Err(fault(at, end, Expected::Index(max))) }
}

/// A value that is no plain decimal: an exponent, many digits, or an error. `start` is where the pair begins.
#[cold]
fn read_odd_value(bytes: &[u8], start: usize, at: usize) -> Result<(f32, usize), Fault> {
    let end = token_end(bytes, at);
    match parse_token(&bytes[at..end]) {
        Some(value) if value.is_finite() => Ok((value, end)),
        _ => Err(fault(start, end, Expected::FiniteValue)),
    }
}

/// Refuses a line that names a feature twice. Called only when indices do not rise, after the line was read.
#[cold]
fn refuse_duplicates(bytes: &[u8], start: usize, end: usize) -> Result<(), Fault> {
    let mut seen = Vec::new();
    let mut at = skip_blanks(bytes, start);
    while at < end && bytes[at] != b'#' {
        seen.push((read_index(bytes, at, usize::MAX)?, at));
        at = skip_blanks(bytes, token_end(bytes, at));
    }
    seen.sort_unstable();
    let repeated = seen.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min();
    repeated.map_or(Ok(()), |at| Err(bad_token(bytes, at, Expected::DistinctIndex)))
}
