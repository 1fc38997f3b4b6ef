//! An index as a file.
//!
//! | tensors | are |
//! |---|---|
//! | `document.lengths` (documents) | number of terms of each document |
//! | `document.bytes` (3 documents), `document.texts` (bytes) | id, title and text of each, and how long they are |
//! | `term.documents` (terms) | number of documents with each term |
//! | `term.bytes` (terms), `term.texts` (bytes) | the terms, sorted, and how long they are |
//! | `postings` (2 postings) | document and occurrences, term by term |

use std::ops::Range;

use bytemuck::cast_slice;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

use super::{Posting, TextIndex, ranges};
use crate::InvalidInput;
use crate::analyser::AnalyserSettings;
use crate::collection::Document;
use crate::tensors::{Reader, Writer};

const KIND: &str = "index";
/// Raised whenever files of before could not be read any more, or would have other terms.
const FORMAT: u32 = 1;

const NUMBERS: [&str; 5] = ["document.lengths", "document.bytes", "term.documents", "term.bytes", "postings"];
const TEXTS: [&str; 2] = ["document.texts", "term.texts"];

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    format: u32,
    analyser: AnalyserSettings,
    n_documents: usize,
    n_terms: usize,
    n_postings: usize,
    /// Of settings and tensors.
    checksum: String,
}

fn checksum(settings: AnalyserSettings, numbers: &[Vec<u32>; 5], texts: &[Vec<u8>; 2]) -> String {
    let mut hash = Xxh3Default::new();
    hash.update(&[settings.stop_words.into(), settings.stem.into()]);
    for numbers in numbers {
        hash.update(&(numbers.len() as u64).to_le_bytes());
        numbers.iter().for_each(|number| hash.update(&number.to_le_bytes()));
    }
    texts.iter().for_each(|text| hash.update(text));
    format!("{:016x}", hash.digest())
}

impl TextIndex {
    /// The content of the file: the same documents and settings are the same bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let documents: Vec<&String> =
            self.documents.iter().flat_map(|Document { id, title, text }| [id, title, text]).collect();
        let mut terms: Vec<(&String, &Range<usize>)> = self.terms.iter().collect();
        terms.sort_unstable_by_key(|(_, range)| range.start);
        let (terms, ranges): (Vec<&String>, Vec<&Range<usize>>) = terms.into_iter().unzip();
        let bytes_of = |texts: &[&String]| texts.iter().map(|text| text.len() as u32).collect::<Vec<_>>();
        let numbers = [
            self.lengths.clone(),
            bytes_of(&documents),
            ranges.iter().map(|range| range.len() as u32).collect(),
            bytes_of(&terms),
            cast_slice(&self.postings).to_vec(),
        ];
        let texts = [documents, terms].map(|texts| texts.iter().flat_map(|text| text.bytes()).collect::<Vec<_>>());
        let analyser = self.analyser.settings;
        let header = Header {
            kind: KIND.into(),
            format: FORMAT,
            analyser,
            n_documents: self.documents.len(),
            n_terms: self.terms.len(),
            n_postings: self.postings.len(),
            checksum: checksum(analyser, &numbers, &texts),
        };
        let mut writer = Writer::default();
        NUMBERS.iter().zip(&numbers).for_each(|(name, numbers)| writer.words(name, numbers));
        TEXTS.iter().zip(texts).for_each(|(name, bytes)| writer.bytes(name, bytes));
        writer.finish(&header)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidInput> {
        let (header, mut reader) = Reader::open::<Header>(bytes, KIND, FORMAT)?;
        let Header { analyser, n_documents, n_terms, n_postings, .. } = header;
        let undamaged = |found: &str| InvalidInput::new(found, "an undamaged file");
        let times = |n: usize, factor| n.checked_mul(factor).ok_or_else(|| undamaged("impossible counts"));
        let lengths = [n_documents, times(n_documents, 3)?, n_terms, n_terms, times(n_postings, 2)?];
        let mut numbers: [Vec<u32>; 5] = Default::default();
        for ((numbers, name), length) in numbers.iter_mut().zip(NUMBERS).zip(lengths) {
            *numbers = reader.words(name, length)?;
        }
        let mut texts: [Vec<u8>; 2] = Default::default();
        for (text, name) in texts.iter_mut().zip(TEXTS) {
            *text = reader.bytes(name)?.to_vec();
        }
        reader.finish()?;
        let found = checksum(analyser, &numbers, &texts);
        if found != header.checksum {
            let expected = format!("{}: the file is damaged", header.checksum);
            return Err(InvalidInput::new(format!("checksum {found}"), expected));
        }
        Self::from_tensors(analyser, numbers, &texts).ok_or_else(|| undamaged("parts do not fit"))
    }

    fn from_tensors(settings: AnalyserSettings, numbers: [Vec<u32>; 5], texts: &[Vec<u8>; 2]) -> Option<Self> {
        let [lengths, document_bytes, term_documents, term_bytes, postings] = numbers;
        let mut documents = Vec::with_capacity(lengths.len());
        for texts in strings(&texts[0], &document_bytes)?.as_chunks_mut().0 {
            let [id, title, text] = texts.each_mut().map(std::mem::take);
            documents.push(Document { id, title, text });
        }
        let terms = strings(&texts[1], &term_bytes)?;
        let pairs = postings.as_chunks().0.iter();
        let postings: Vec<Posting> = pairs.map(|&[document, occurrences]| Posting { document, occurrences }).collect();
        let of_terms = term_documents.iter().map(|&n| n as usize);
        let fits = of_terms.clone().sum::<usize>() == postings.len()
            && postings.iter().all(|posting| (posting.document as usize) < documents.len());
        let terms = terms.into_iter().zip(ranges(of_terms)).collect();
        fits.then(|| Self::from_parts(settings, documents, lengths, terms, postings))
    }
}

/// Strings of these lengths, which are all of `bytes`.
fn strings(bytes: &[u8], lengths: &[u32]) -> Option<Vec<String>> {
    let lengths = lengths.iter().map(|&length| length as usize);
    let whole = lengths.clone().sum::<usize>() == bytes.len();
    let string = |range: Range<usize>| Some(str::from_utf8(bytes.get(range)?).ok()?.to_owned());
    ranges(lengths).map(string).collect::<Option<_>>().filter(|_| whole)
}
