//! Which terms does a network know? Those that enough documents have, with their weights and usual words.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::Bag;
use crate::analyser::Analyser;
use crate::collection::Document;

/// The terms a network knows. Terms have numbers: their positions by the alphabet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    pub terms: Vec<String>,
    pub idf: Vec<f32>,
    /// The word that most often became this term, in small letters: files of vectors hold words, not stems.
    pub words: Vec<String>,
}

/// ln(1 + (N - df + .5) / (df + .5)), the weight of a term in BM25 (spec section 16.2).
pub fn idf(n_with_term: u64, n_documents: u64) -> f64 {
    let (with, all) = (n_with_term as f64, n_documents as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

#[derive(Default)]
struct Count {
    n_documents: u32,
    words: BTreeMap<String, u32>,
}

impl Count {
    /// The most frequent word, of equals the first by the alphabet.
    fn usual_word(self) -> String {
        let best = self.words.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map(|(word, _)| word).unwrap_or_default()
    }
}

impl Vocabulary {
    /// Terms that at least `min_documents` have; of more than `max_terms` those of most documents, of equals the first
    /// by the alphabet.
    pub fn of(documents: &[Document], analyser: &Analyser, min_documents: u32, max_terms: usize) -> Self {
        let mut counts: HashMap<String, Count> = HashMap::new();
        for document in documents {
            let pairs = analyser.terms_and_words(&document.content());
            let distinct: HashSet<&String> = pairs.iter().map(|(term, _)| term).collect();
            for term in distinct {
                counts.entry(term.clone()).or_default().n_documents += 1;
            }
            for (term, word) in pairs {
                *counts.entry(term).or_default().words.entry(word).or_default() += 1;
            }
        }
        let mut terms: Vec<(String, Count)> = counts.into_iter().collect();
        terms.retain(|(_, count)| count.n_documents >= min_documents);
        terms.sort_unstable_by(|(a, x), (b, y)| y.n_documents.cmp(&x.n_documents).then_with(|| a.cmp(b)));
        terms.truncate(max_terms);
        terms.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut vocabulary = Self::default();
        for (term, count) in terms {
            vocabulary.terms.push(term);
            vocabulary.idf.push(idf(count.n_documents.into(), documents.len() as u64) as f32);
            vocabulary.words.push(count.usual_word());
        }
        vocabulary
    }

    /// Numbers of the terms of a text in its order, without those that are not known.
    pub fn numbers(&self, text: &str, analyser: &Analyser) -> Vec<u32> {
        analyser
            .terms(text)
            .iter()
            .filter_map(|term| self.terms.binary_search(term).ok())
            .map(|number| number as u32)
            .collect()
    }

    /// A text as a network sees it.
    pub fn bag(&self, text: &str, analyser: &Analyser) -> Bag {
        let mut numbers = self.numbers(text, analyser);
        numbers.sort_unstable();
        let mut bag = Bag::default();
        for equal in numbers.chunk_by(|a, b| a == b) {
            bag.terms.push(equal[0]);
            bag.counts.push(equal.len() as f32);
        }
        bag
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyser::AnalyserSettings;

    fn documents(texts: &[&str]) -> Vec<Document> {
        let document = |text: &&str| Document { text: text.to_string(), ..Document::default() };
        texts.iter().map(document).collect()
    }

    const TEXTS: [&str; 3] = ["wings and wings, a wing", "a wing of the ducks", "Duck soup"];

    fn vocabulary(min_documents: u32, max_terms: usize) -> Vocabulary {
        let analyser = Analyser::new(AnalyserSettings::default());
        Vocabulary::of(&documents(&TEXTS), &analyser, min_documents, max_terms)
    }

    #[test]
    fn terms_of_enough_documents_with_their_usual_words() {
        let all = vocabulary(1, 9);
        assert_eq!(all.terms, ["duck", "soup", "wing"]);
        // Both words of `wing` occur twice, both of `duck` once: the first by the alphabet.
        assert_eq!(all.words, ["duck", "soup", "wing"]);
        assert!((all.idf[0] - (1.0f32 + 1.5 / 2.5).ln()).abs() < 1e-6);
        assert!((all.idf[1] - (1.0f32 + 2.5 / 1.5).ln()).abs() < 1e-6);
        assert_eq!(vocabulary(2, 9).terms, ["duck", "wing"]);
        assert_eq!(vocabulary(1, 1).terms, ["duck"]);
        assert_eq!(vocabulary(1, 2).terms, ["duck", "wing"]);
    }

    #[test]
    fn a_bag_counts_known_terms() {
        let analyser = Analyser::new(AnalyserSettings::default());
        let bag = vocabulary(1, 9).bag("Wings of a duck: winged wing, goose", &analyser);
        assert_eq!(bag, Bag { terms: vec![0, 2], counts: vec![1.0, 3.0] });
        assert_eq!(vocabulary(1, 9).bag("goose", &analyser), Bag::default());
    }
}
