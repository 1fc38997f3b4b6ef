//! The corpus of a target: for every way in which its decoder ends, the shortest input that was found.
//!
//! A line has the outcome, the number of the valid document that the input was made of, and the bytes in hexadecimal digits.
//! `FOLTR_WRITE_CORPUS=1` searches anew and writes it.

use std::path::{Path, PathBuf};

use super::Target;
use super::search::Outcomes;

/// Fewer equal bytes are not worth a repetition.
const LEAST_RUN: usize = 8;

impl Target<'_> {
    fn path(&self) -> Option<PathBuf> {
        Some(Path::new(self.corpus?).join("tests/corpus").join(format!("{}.txt", self.name)))
    }

    pub(super) fn write_corpus(&self, outcomes: &Outcomes) {
        let Some(path) = self.path() else { return };
        let valid = self.valid.iter().enumerate().map(|(document, bytes)| ("accepted", document, bytes));
        let damaged = outcomes.iter().map(|(outcome, met)| (outcome.as_str(), met.document, &met.shortest));
        let line = |(outcome, document, bytes): (_, _, &Vec<u8>)| format!("{outcome} {document} {}\n", compact(bytes));
        let text: String = valid.chain(damaged).map(line).collect();
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Every stored input ends as it did when it was found.
    pub(super) fn replay_corpus(&self) {
        let Some(path) = self.path() else { return };
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(text.lines().count() > self.valid.len(), "{}: the corpus has refused inputs, too", self.name);
        for line in text.lines() {
            let [outcome, document, digits] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{}: {line}", path.display())
            };
            let document = document.parse().unwrap_or_else(|_| panic!("{}: {line}", path.display()));
            assert_eq!(self.decoded(document, &from_compact(digits)), outcome, "{}: {digits}", self.name);
        }
    }
}

/// Hexadecimal digits, in which many equal bytes are a `*`, their number, a `:` and the byte, between spaces.
pub(super) fn compact(bytes: &[u8]) -> String {
    let text = |run: &[u8]| match run.len() {
        LEAST_RUN.. => format!(" *{}:{:02x} ", run.len(), run[0]),
        _ => hexadecimal(run),
    };
    bytes.chunk_by(|a, b| a == b).map(text).collect::<String>().trim().to_owned()
}

fn from_compact(text: &str) -> Vec<u8> {
    let part = |part: &str| match part.strip_prefix('*').and_then(|run| run.split_once(':')) {
        Some((n_bytes, digits)) => from_hexadecimal(digits).repeat(n_bytes.parse().expect("a number of bytes")),
        None => from_hexadecimal(part),
    };
    text.split_whitespace().flat_map(part).collect()
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hexadecimal(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("digits"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_and_read_again() {
        let bytes = [&[7, 255][..], &[0; 20], &[1, 2, 2], &[9; 8]].concat();
        assert_eq!(compact(&bytes), "07ff *20:00 010202 *8:09");
        assert_eq!(from_compact(&compact(&bytes)), bytes);
        assert_eq!((compact(&[]), from_compact("")), (String::new(), Vec::new()));
    }
}
