//! Which queries train a network where there is no query log? Titles and sentences of the documents, or a file's lines.

use std::collections::HashSet;
use std::path::Path;

use foltr_rank::rng::Stream;
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::analyser::Analyser;
use crate::collection::{CollectionError, Document, Query, read_text};
use crate::vocabulary::Vocabulary;

/// What queries are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct MadeQueries {
    /// Queries at most; fewer where the documents do not give so many.
    pub n_queries: usize,
    /// Different known terms that a query must have.
    pub min_terms: usize,
    /// Words of the shortest window.
    pub min_words: usize,
    /// Words of the longest window.
    pub max_words: usize,
    /// A sentence of more words is not asked as it is: windows of it are. Text without punctuation is such a sentence.
    pub longest_sentence: usize,
}

impl Default for MadeQueries {
    fn default() -> Self {
        Self { n_queries: 10_000, min_terms: 2, min_words: 3, max_words: 9, longest_sentence: 15 }
    }
}

/// Different queries from the documents' titles and sentences, in random order.
pub fn make_queries(
    documents: &[Document],
    analyser: &Analyser,
    vocabulary: &Vocabulary,
    made: &MadeQueries,
    stream: &mut Stream,
) -> Vec<String> {
    let mut candidates: Vec<&str> = Vec::new();
    for document in documents {
        candidates.push(&document.title);
        // Some texts repeat the title at their beginning.
        let text = document.text.strip_prefix(&document.title).unwrap_or(&document.text);
        for sentence in sentences(text) {
            add_pieces(sentence, made, stream, &mut candidates);
        }
    }
    candidates.shuffle(stream);
    let mut seen = HashSet::new();
    let is_new = |text: &&str| {
        let terms = vocabulary.bag(text, analyser).terms;
        terms.len() >= made.min_terms.max(1) && seen.insert(terms)
    };
    candidates.into_iter().filter(is_new).take(made.n_queries).map(str::to_owned).collect()
}

/// Pieces between punctuation that ends a thought: a mark with white space or nothing behind it.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        (!rest.is_empty()).then(|| {
            let is_end = |&(place, mark): &(usize, char)| {
                let behind = &rest[place + mark.len_utf8()..];
                ".?!;:".contains(mark) && behind.chars().next().is_none_or(char::is_whitespace)
            };
            let end = rest.char_indices().find(is_end).map_or(rest.len(), |(place, mark)| place + mark.len_utf8());
            let (sentence, behind) = rest.split_at(end);
            rest = behind;
            sentence.trim_end_matches(|last: char| ".?!;:".contains(last)).trim()
        })
    })
}

/// The sentence, or windows of it: as many as would lie side by side.
fn add_pieces<'a>(sentence: &'a str, made: &MadeQueries, stream: &mut Stream, pieces: &mut Vec<&'a str>) {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    if words.len() <= made.longest_sentence {
        pieces.push(sentence);
        return;
    }
    let shortest = made.min_words.clamp(1, words.len());
    let longest = made.max_words.clamp(shortest, words.len());
    for _ in 0..words.len() * 2 / (shortest + longest) {
        let n_words = stream.random_range(shortest..=longest);
        let first = stream.random_range(0..=words.len() - n_words);
        let from = place(sentence, words[first]);
        let last = words[first + n_words - 1];
        pieces.push(&sentence[from..place(sentence, last) + last.len()]);
    }
}

/// Where a part of a text begins in it.
fn place(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Queries of a file, one a line: a text, or a name, a tab and a text. Lines without a name are named by their number.
pub fn read_queries(file: &Path) -> Result<Vec<Query>, CollectionError> {
    Ok(parse_queries(&read_text(file)?.0))
}

/// Queries of a text, one a line; empty lines are none.
pub fn parse_queries(text: &str) -> Vec<Query> {
    let lines = (1..).zip(text.lines()).filter(|(_, content)| !content.trim().is_empty());
    let query = |(line, content): (usize, &str)| {
        let (id, text) = match content.split_once('\t') {
            Some((id, text)) if !id.trim().is_empty() && !text.trim().is_empty() => (id.trim().to_owned(), text),
            _ => (line.to_string(), content),
        };
        Query { id, text: text.trim().to_owned(), part: None }
    };
    lines.map(query).collect()
}

#[cfg(test)]
mod tests {
    use foltr_rank::rng::{Purpose, Streams};

    use super::*;
    use crate::analyser::AnalyserSettings;
    use crate::vocabulary::VocabularySettings;

    fn stream(seed: u64) -> Stream {
        Streams::new(seed).open(Purpose::Data, 0, 0)
    }

    fn document(title: &str, text: &str) -> Document {
        Document { id: String::new(), title: title.to_owned(), text: text.to_owned() }
    }

    fn made_of(documents: &[Document], made: &MadeQueries, seed: u64) -> Vec<String> {
        let analyser = Analyser::new(AnalyserSettings::default());
        let settings = VocabularySettings { min_documents: 1, max_terms: 1000 };
        let vocabulary = Vocabulary::of(documents, &analyser, &settings);
        make_queries(documents, &analyser, &vocabulary, made, &mut stream(seed))
    }

    #[test]
    fn sentences_end_at_marks_before_white_space() {
        let text = "Mach 2.5 was reached . it held! did it? yes; no: end";
        let expected = ["Mach 2.5 was reached", "it held", "did it", "yes", "no", "end"];
        assert_eq!(sentences(text).collect::<Vec<_>>(), expected);
        assert_eq!(sentences("").count(), 0);
    }

    #[test]
    fn titles_and_sentences_are_asked_once_each() {
        let documents = [
            document("Heavy wings", "Heavy wings. Light tails fly! A wing, heavy. the of a."),
            document("heavy wing", "light tail flies"),
        ];
        let mut queries = made_of(&documents, &MadeQueries { min_terms: 2, ..MadeQueries::default() }, 1);
        queries.sort_by_key(|query| query.to_lowercase());
        let terms: Vec<String> = queries.iter().map(|query| query.to_lowercase().replace(['s', ','], "")).collect();
        assert_eq!(queries.len(), 2, "{queries:?}");
        assert!(terms[0].contains("heavy") && terms[1].contains("tail"), "{queries:?}");
    }

    #[test]
    fn text_without_punctuation_gives_windows() {
        let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
        let documents = [document("", &words.join(" "))];
        let made = MadeQueries { min_terms: 3, ..MadeQueries::default() };
        let queries = made_of(&documents, &made, 1);
        assert!(queries.len() > 25, "{}", queries.len());
        for query in &queries {
            assert!((3..=9).contains(&query.split(' ').count()), "{query}");
            assert!(documents[0].text.contains(query.as_str()), "{query}");
        }
        assert_eq!(queries, made_of(&documents, &made, 1));
        assert_ne!(queries, made_of(&documents, &made, 2));
        assert_eq!(made_of(&documents, &MadeQueries { n_queries: 5, ..made }, 1).len(), 5);
    }

    #[test]
    fn lines_of_a_file_with_and_without_names() {
        let queries = parse_queries("first query\r\n\nq7\tsecond query\n\t third\n");
        let found: Vec<(&str, &str)> = queries.iter().map(|query| (query.id.as_str(), query.text.as_str())).collect();
        assert_eq!(found, [("1", "first query"), ("q7", "second query"), ("4", "third")]);
    }

    #[test]
    fn any_text_is_a_list_of_queries() {
        bolero::check!().with_iterations(5_000).for_each(|bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            assert!(parse_queries(&text).iter().all(|query| !query.text.is_empty() && !query.id.is_empty()));
            made_of(&[document("", &text)], &MadeQueries { longest_sentence: 2, ..MadeQueries::default() }, 1);
        });
    }
}
