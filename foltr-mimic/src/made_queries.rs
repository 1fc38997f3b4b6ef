//! Which queries train a network where there is no query log? Titles and sentences of the documents, or a file's lines.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::Path;

use foltr_rank::rng::Stream;
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::FileError;
use crate::analyser::Analyser;
use crate::collection::{Document, read_text};
use crate::vocabulary::Vocabulary;

/// Different known terms that a query must have.
const MIN_TERMS: usize = 2;
const WINDOW: RangeInclusive<usize> = 3..=9;
/// A sentence of more words is not asked as it is: windows of it are. Text without punctuation is such a sentence.
const LONGEST_SENTENCE: usize = 15;

/// Different queries from the documents' titles and sentences, in random order; fewer than `n_queries` where the
/// documents do not give so many.
pub fn make_queries(
    documents: &[Document],
    analyser: &Analyser,
    vocabulary: &Vocabulary,
    n_queries: usize,
    stream: &mut Stream,
) -> Vec<String> {
    let mut candidates: Vec<&str> = Vec::new();
    for document in documents {
        candidates.push(&document.title);
        // Some texts repeat the title at their beginning.
        let text = document.text.strip_prefix(&document.title).unwrap_or(&document.text);
        for sentence in sentences(text) {
            add_pieces(sentence, stream, &mut candidates);
        }
    }
    candidates.shuffle(stream);
    let mut seen = HashSet::new();
    let is_new = |text: &&str| {
        let terms = vocabulary.bag(text, analyser).terms;
        terms.len() >= MIN_TERMS && seen.insert(terms)
    };
    candidates.into_iter().filter(is_new).take(n_queries).map(str::to_owned).collect()
}

/// Pieces between punctuation that ends a thought: a mark with white space or nothing behind it.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        (!rest.is_empty()).then(|| {
            let is_end = |&(position, mark): &(usize, char)| {
                let behind = &rest[position + mark.len_utf8()..];
                ".?!;:".contains(mark) && behind.chars().next().is_none_or(char::is_whitespace)
            };
            let end =
                rest.char_indices().find(is_end).map_or(rest.len(), |(position, mark)| position + mark.len_utf8());
            let (sentence, behind) = rest.split_at(end);
            rest = behind;
            sentence.trim_end_matches(|last: char| ".?!;:".contains(last)).trim()
        })
    })
}

/// The sentence, or windows of it: as many as would lie side by side.
fn add_pieces<'a>(sentence: &'a str, stream: &mut Stream, pieces: &mut Vec<&'a str>) {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    if words.len() <= LONGEST_SENTENCE {
        pieces.push(sentence);
        return;
    }
    for _ in 0..words.len() * 2 / (WINDOW.start() + WINDOW.end()) {
        let n_words = stream.random_range(WINDOW);
        let first = stream.random_range(0..=words.len() - n_words);
        let last = words[first + n_words - 1];
        pieces.push(&sentence[offset(sentence, words[first])..offset(sentence, last) + last.len()]);
    }
}

fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Queries of a file, one per line: a text, or a name, a tab and a text.
pub fn read_queries(file: &Path) -> Result<Vec<String>, FileError> {
    Ok(parse_queries(&read_text(file)?.0))
}

fn parse_queries(text: &str) -> Vec<String> {
    let query = |line: &str| match line.split_once('\t') {
        Some((id, text)) if !id.trim().is_empty() && !text.trim().is_empty() => text.trim().to_owned(),
        _ => line.trim().to_owned(),
    };
    text.lines().map(query).filter(|query| !query.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use foltr_rank::rng::{Purpose, Streams};

    use super::*;
    use crate::analyser::AnalyserSettings;

    fn stream(seed: u64) -> Stream {
        Streams::new(seed).open(Purpose::Data, 0, 0)
    }

    fn document(title: &str, text: &str) -> Document {
        Document { id: String::new(), title: title.to_owned(), text: text.to_owned() }
    }

    fn made_of(documents: &[Document], n_queries: usize, seed: u64) -> Vec<String> {
        let analyser = Analyser::new(AnalyserSettings::default());
        let vocabulary = Vocabulary::of(documents, &analyser, 1, 1000);
        make_queries(documents, &analyser, &vocabulary, n_queries, &mut stream(seed))
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
        let mut queries = made_of(&documents, 10, 1);
        queries.sort_by_key(|query| query.to_lowercase());
        let terms: Vec<String> = queries.iter().map(|query| query.to_lowercase().replace(['s', ','], "")).collect();
        assert_eq!(queries.len(), 2, "{queries:?}");
        assert!(terms[0].contains("heavy") && terms[1].contains("tail"), "{queries:?}");
    }

    #[test]
    fn text_without_punctuation_gives_windows() {
        let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
        let documents = [document("", &words.join(" "))];
        let queries = made_of(&documents, 1000, 1);
        assert!(queries.len() > 25, "{}", queries.len());
        for query in &queries {
            assert!((3..=9).contains(&query.split(' ').count()), "{query}");
            assert!(documents[0].text.contains(query.as_str()), "{query}");
        }
        assert_eq!(queries, made_of(&documents, 1000, 1));
        assert_ne!(queries, made_of(&documents, 1000, 2));
        assert_eq!(made_of(&documents, 5, 1).len(), 5);
    }

    #[test]
    fn lines_of_a_file_with_and_without_names() {
        let queries = parse_queries("first query\r\n\nq7\tsecond query\n\t third\n");
        assert_eq!(queries, ["first query", "second query", "third"]);
    }

    #[test]
    fn any_text_is_a_list_of_queries() {
        bolero::check!().with_iterations(5_000).for_each(|bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            assert!(parse_queries(&text).iter().all(|query| !query.is_empty()));
            // As it is, and as many words as there are characters.
            let words: String = text.chars().flat_map(|character| [character, ' ']).collect();
            made_of(&[document("", &text), document("", &words)], 100, 1);
        });
    }
}
