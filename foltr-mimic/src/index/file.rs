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
use crate::analyser::AnalyserSettings;
use crate::collection::Document;
use crate::tensors::{Reader, Writer, Wrong};

const KIND: &str = "index";
/// Raised whenever files of before could not be read any more, or would have other terms.
const FORMAT: u32 = 1;

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

/// The tensors, in the order of the table above.
#[derive(Default)]
struct Tensors {
    lengths: Vec<u32>,
    document_bytes: Vec<u32>,
    document_texts: Vec<u8>,
    term_documents: Vec<u32>,
    term_bytes: Vec<u32>,
    term_texts: Vec<u8>,
    postings: Vec<u32>,
}

impl Tensors {
    fn checksum(&self, settings: AnalyserSettings) -> String {
        let mut hash = Xxh3Default::new();
        hash.update(&[settings.stop_words.into(), settings.stem.into()]);
        for words in [&self.lengths, &self.document_bytes, &self.term_documents, &self.term_bytes, &self.postings] {
            hash.update(&(words.len() as u64).to_le_bytes());
            words.iter().for_each(|word| hash.update(&word.to_le_bytes()));
        }
        hash.update(&self.document_texts);
        hash.update(&self.term_texts);
        format!("{:016x}", hash.digest())
    }
}

impl TextIndex {
    /// The content of the file: the same documents and settings are the same bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut tensors = Tensors { lengths: self.lengths.clone(), ..Tensors::default() };
        for text in self.documents.iter().flat_map(|document| [&document.id, &document.title, &document.text]) {
            tensors.document_bytes.push(text.len() as u32);
            tensors.document_texts.extend(text.as_bytes());
        }
        let mut terms: Vec<(&String, &Range<usize>)> = self.terms.iter().collect();
        terms.sort_unstable_by_key(|(_, range)| range.start);
        for (term, range) in terms {
            tensors.term_documents.push(range.len() as u32);
            tensors.term_bytes.push(term.len() as u32);
            tensors.term_texts.extend(term.as_bytes());
        }
        tensors.postings = cast_slice(&self.postings).to_vec();
        let analyser = self.analyser.settings();
        let header = Header {
            kind: KIND.into(),
            format: FORMAT,
            analyser,
            n_documents: self.documents.len(),
            n_terms: self.terms.len(),
            n_postings: self.postings.len(),
            checksum: tensors.checksum(analyser),
        };
        let mut writer = Writer::default();
        writer.words("document.lengths", &tensors.lengths);
        writer.words("document.bytes", &tensors.document_bytes);
        writer.bytes("document.texts", tensors.document_texts);
        writer.words("term.documents", &tensors.term_documents);
        writer.words("term.bytes", &tensors.term_bytes);
        writer.bytes("term.texts", tensors.term_texts);
        writer.words("postings", &tensors.postings);
        writer.finish(&header)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Wrong> {
        let (header, mut reader) = Reader::open::<Header>(bytes, KIND, FORMAT)?;
        let too_many = || Wrong::new("impossible counts", "an undamaged file");
        let tensors = Tensors {
            lengths: reader.words("document.lengths", header.n_documents)?,
            document_bytes: reader.words("document.bytes", header.n_documents.checked_mul(3).ok_or_else(too_many)?)?,
            document_texts: reader.bytes("document.texts")?.to_vec(),
            term_documents: reader.words("term.documents", header.n_terms)?,
            term_bytes: reader.words("term.bytes", header.n_terms)?,
            term_texts: reader.bytes("term.texts")?.to_vec(),
            postings: reader.words("postings", header.n_postings.checked_mul(2).ok_or_else(too_many)?)?,
        };
        reader.finish()?;
        let checksum = tensors.checksum(header.analyser);
        if checksum != header.checksum {
            return Err(Wrong::new(
                format!("checksum {checksum}"),
                format!("{}: the file is damaged", header.checksum),
            ));
        }
        Self::of_tensors(header.analyser, tensors).ok_or_else(|| Wrong::new("parts do not fit", "an undamaged file"))
    }

    /// The index, if the tensors fit each other.
    fn of_tensors(settings: AnalyserSettings, tensors: Tensors) -> Option<Self> {
        let n_documents = tensors.lengths.len();
        let mut texts = strings(&tensors.document_texts, &tensors.document_bytes)?;
        let mut documents = Vec::with_capacity(n_documents);
        for [id, title, text] in texts.as_chunks_mut().0 {
            let [id, title, text] = [id, title, text].map(std::mem::take);
            documents.push(Document { id, title, text });
        }
        let terms = strings(&tensors.term_texts, &tensors.term_bytes)?;
        let pairs = tensors.postings.as_chunks().0.iter();
        let postings: Vec<Posting> = pairs.map(|&[document, occurrences]| Posting { document, occurrences }).collect();
        let of_terms = tensors.term_documents.iter().map(|&n| n as usize);
        let fits = of_terms.clone().sum::<usize>() == postings.len()
            && postings.iter().all(|posting| (posting.document as usize) < n_documents);
        let terms = terms.into_iter().zip(ranges(of_terms)).collect();
        fits.then(|| Self::of_parts(settings, documents, tensors.lengths, terms, postings))
    }
}

/// Strings of these lengths, which are all of `bytes`.
fn strings(bytes: &[u8], lengths: &[u32]) -> Option<Vec<String>> {
    let lengths = lengths.iter().map(|&length| length as usize);
    let whole = lengths.clone().sum::<usize>() == bytes.len();
    let string = |range: Range<usize>| Some(str::from_utf8(bytes.get(range)?).ok()?.to_owned());
    ranges(lengths).map(string).collect::<Option<_>>().filter(|_| whole)
}
