//! Which terms does a text have? One analysis for the index and the networks, so that both see the same terms.

use frostem::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

/// Terms of more bytes are no words but what was never meant to be read.
const MAX_BYTES: usize = 64;

/// Lucene's English stop words, sorted.
const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// How texts become terms. Words are runs of letters and digits, in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AnalyserSettings {
    /// Whether the 33 most common English words are left out (Lucene's list).
    pub stop_words: bool,
    /// Whether English endings are cut off (Snowball's English stemmer).
    pub stem: bool,
}

impl Default for AnalyserSettings {
    fn default() -> Self {
        Self { stop_words: true, stem: true }
    }
}

#[derive(Clone, Copy)]
pub struct Analyser {
    pub settings: AnalyserSettings,
    stemmer: Stemmer,
}

impl Analyser {
    pub fn new(settings: AnalyserSettings) -> Self {
        Self { settings, stemmer: Stemmer::new(Algorithm::English) }
    }

    /// Terms of a text, in its order.
    pub fn terms(&self, text: &str) -> Vec<String> {
        self.analyse(text).map(|(term, _)| term).collect()
    }

    /// Terms of a text, in its order, each with the word it came from in small letters.
    pub fn terms_and_words(&self, text: &str) -> Vec<(String, String)> {
        self.analyse(text).map(|(term, word)| (term, word.to_lowercase())).collect()
    }

    fn analyse<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (String, &'a str)> {
        let words = text.split(|character: char| !character.is_alphanumeric());
        words.filter(|word| (1..=MAX_BYTES).contains(&word.len())).filter_map(|word| Some((self.term(word)?, word)))
    }

    fn term(&self, word: &str) -> Option<String> {
        // Letter by letter: a final sigma stays a sigma.
        let word: String = word.chars().flat_map(char::to_lowercase).collect();
        if self.settings.stop_words && STOP_WORDS.binary_search(&word.as_str()).is_ok() {
            return None;
        }
        Some(if self.settings.stem { self.stemmer.stem(&word).into_owned() } else { word })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(stop_words: bool, stem: bool, text: &str) -> Vec<String> {
        Analyser::new(AnalyserSettings { stop_words, stem }).terms(text)
    }

    #[test]
    fn each_setting_does_what_it_says() {
        let text = "The Wings of high-speed aircraft, and 2 WINGS.";
        assert_eq!(terms(false, false, text), ["the", "wings", "of", "high", "speed", "aircraft", "and", "2", "wings"]);
        assert_eq!(terms(true, false, text), ["wings", "high", "speed", "aircraft", "2", "wings"]);
        assert_eq!(terms(true, true, text), ["wing", "high", "speed", "aircraft", "2", "wing"]);
        assert_eq!(terms(true, true, " ... "), [""; 0]);
    }

    #[test]
    fn terms_know_their_words() {
        let analyser = Analyser::new(AnalyserSettings::default());
        let pairs = analyser.terms_and_words("The Ponies ran. Älter");
        let expected = [("poni", "ponies"), ("ran", "ran"), ("älter", "älter")];
        assert_eq!(pairs, expected.map(|(term, word)| (term.to_owned(), word.to_owned())));
    }

    #[test]
    fn small_letters_do_not_depend_on_neighbours() {
        assert_eq!(terms(true, false, "ΣΑΣ İ naïve_ÀB x²"), ["σασ", "i\u{307}", "naïve", "àb", "x²"]);
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn what_is_too_long_for_a_word_is_none() {
        assert_eq!(terms(true, true, &format!("{} {}", "x".repeat(64), "y".repeat(65))), ["x".repeat(64)]);
    }
}
