//! Which words and vectors does a file have? Word2vec text and binary, and GloVe text, distinguished by content.
//!
//! Word2vec: a line with the number of words and of dimensions; then lines of a word and its numbers, or words, each
//! with a space and little-endian floats behind it. GloVe (`PSM14`): lines only.

use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;

use crate::FileError;

/// No vector of a word is longer.
const MAX_DIMENSIONS: usize = 1 << 16;
/// No line or word is longer.
const MAX_BYTES: u64 = 1 << 22;

/// Words and vectors of a file, one at a time. What `receive` refuses ends it.
pub fn parse_vectors(
    mut reader: impl BufRead,
    file: &Path,
    receive: impl FnMut(&str, &[f32]) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let other_file = |looks_like: &str| {
        let expected = "expected word2vec (text or binary) or GloVe (text)";
        FileError::new(file, format!("not a file of word vectors but {looks_like}; {expected}"))
    };
    let first = line(&mut reader).map_err(FileError::io(file, "read"))?;
    let mut parser = Parser { file, receive, n_vectors: 0, vector: Vec::new() };
    if let Some((n_vectors, n_dimensions)) = header(&first) {
        let second = line(&mut reader).map_err(FileError::io(file, "read"))?;
        let is_text = str::from_utf8(&second).is_ok_and(|text| numbers_behind_word(text) == Some(n_dimensions));
        let rest = Cursor::new(second).chain(reader);
        return match is_text {
            true => parser.lines(rest, n_dimensions, 2, Some(n_vectors)),
            false => parser.binary(rest, n_dimensions, n_vectors),
        };
    }
    if let Some(looks_like) = other_kind(&first) {
        return Err(other_file(looks_like));
    }
    match str::from_utf8(&first).ok().and_then(numbers_behind_word).filter(|&n| n <= MAX_DIMENSIONS) {
        Some(n_dimensions) => parser.lines(Cursor::new(first).chain(reader), n_dimensions, 1, None),
        None => Err(other_file("text whose first line is no word with numbers behind it")),
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    reader.take(MAX_BYTES).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Numbers of words and dimensions, if the line is word2vec's header.
fn header(line: &[u8]) -> Option<(usize, usize)> {
    let mut numbers = str::from_utf8(line).ok()?.split_ascii_whitespace().map(str::parse::<usize>);
    let (n_vectors, n_dimensions) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let is_header = numbers.next().is_none() && (1..=MAX_DIMENSIONS).contains(&n_dimensions);
    is_header.then_some((n_vectors, n_dimensions))
}

/// How many numbers a line ends with, if something is before them and there are some.
fn numbers_behind_word(line: &str) -> Option<usize> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_number = |field: &&&str| field.parse::<f32>().is_ok();
    let n_numbers = fields.iter().skip(1).rev().take_while(is_number).count();
    (n_numbers > 0).then_some(n_numbers)
}

/// What a file is that one might take for vectors.
fn other_kind(first: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 6] = [
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"\x93NUMPY", "an array of NumPy"),
        (b"\x80", "a Python pickle, such as gensim's own models; save it as word2vec"),
        (b"\x89HDF", "an HDF5 file"),
        (b"{", "JSON"),
        (b"<", "a web page or XML"),
    ];
    if first.is_empty() {
        return Some("an empty file");
    }
    let known = kinds.iter().find(|(beginning, _)| first.starts_with(beginning)).map(|kind| kind.1);
    let is_binary = str::from_utf8(first).is_err() || first.contains(&0);
    known
        .or(is_binary
            .then_some("binary data without word2vec's header, such as GloVe's binary form, which has no words"))
}

struct Parser<'a, Receive> {
    file: &'a Path,
    receive: Receive,
    n_vectors: usize,
    vector: Vec<f32>,
}

impl<Receive: FnMut(&str, &[f32]) -> Result<(), FileError>> Parser<'_, Receive> {
    fn not_a_number(&self, found: &str) -> FileError {
        let vector = self.n_vectors + 1;
        FileError::new(self.file, format!("`{found}` in vector {vector}, expected a finite number"))
    }

    fn truncated(&self, n_vectors: usize) -> FileError {
        let vector = self.n_vectors + 1;
        FileError::new(self.file, format!("ends in vector {vector}, expected {n_vectors} vectors as its header says"))
    }

    /// Lines of a word and its numbers, of which the first has number `first`.
    fn lines(
        &mut self,
        mut reader: impl BufRead,
        n_dimensions: usize,
        first: usize,
        n_vectors: Option<usize>,
    ) -> Result<(), FileError> {
        for number in first.. {
            let bytes = line(&mut reader).map_err(FileError::io(self.file, "read"))?;
            if bytes.is_empty() {
                break;
            }
            let text = String::from_utf8_lossy(&bytes);
            if !text.trim().is_empty() {
                self.line(&text, n_dimensions, number)?;
            }
        }
        match n_vectors {
            Some(n_vectors) if self.n_vectors < n_vectors => Err(self.truncated(n_vectors)),
            _ => Ok(()),
        }
    }

    fn line(&mut self, text: &str, n_dimensions: usize, number: usize) -> Result<(), FileError> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let n_numbers = numbers_behind_word(text).unwrap_or(0);
        // Some words of GloVe have spaces in them, and may even end with a number: what is before the numbers then
        // has a word of its own. Without one, the line is too long.
        let is_too_long = n_numbers > n_dimensions && n_numbers + 1 == fields.len();
        if n_numbers < n_dimensions || is_too_long {
            // A number that is none is more likely than a line that is too short, if the fields are as many.
            if let Some(odd) = fields.iter().skip(1).find(|field| field.parse::<f32>().is_err())
                && fields.len() == n_dimensions + 1
            {
                return Err(self.not_a_number(odd));
            }
            let message = format!("found {n_numbers} numbers behind the word, expected {n_dimensions} as before");
            return Err(FileError { file: self.file.into(), line: Some(number), message });
        }
        let (word, values) = fields.split_at(fields.len() - n_dimensions);
        self.vector.clear();
        for value in values {
            match value.parse() {
                Ok(number) if f32::is_finite(number) => self.vector.push(number),
                _ => return Err(self.not_a_number(value)),
            }
        }
        self.n_vectors += 1;
        (self.receive)(&word.join(" "), &self.vector)
    }

    fn binary(&mut self, mut reader: impl BufRead, n_dimensions: usize, n_vectors: usize) -> Result<(), FileError> {
        let mut bytes = vec![0; n_dimensions * size_of::<f32>()];
        for _ in 0..n_vectors {
            let mut word = Vec::new();
            let limited = (&mut reader).take(MAX_BYTES);
            { limited }.read_until(b' ', &mut word).map_err(FileError::io(self.file, "read"))?;
            if word.pop() != Some(b' ') {
                return Err(self.truncated(n_vectors));
            }
            reader.read_exact(&mut bytes).map_err(|source| match source.kind() {
                io::ErrorKind::UnexpectedEof => self.truncated(n_vectors),
                _ => FileError::io(self.file, "read")(source),
            })?;
            self.vector.clear();
            for four in bytes.as_chunks::<4>().0 {
                let value = f32::from_le_bytes(*four);
                if !value.is_finite() {
                    return Err(self.not_a_number(&value.to_string()));
                }
                self.vector.push(value);
            }
            self.n_vectors += 1;
            // Some writers end each vector with a line feed.
            (self.receive)(String::from_utf8_lossy(&word).trim_start_matches('\n'), &self.vector)?;
        }
        Ok(())
    }
}
