//! Which terms does a text have? One analysis for the index and the networks, so that both see the same terms.

use serde::{Deserialize, Serialize};
use tantivy::tokenizer::{
    Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer, Token,
};

/// Terms of more bytes are no words but what was never meant to be read.
const MAX_BYTES: usize = 64;

/// How texts become terms. Words are runs of letters and digits, in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
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

/// Turns texts into terms.
#[derive(Clone)]
pub struct Analyser {
    settings: AnalyserSettings,
    pipeline: TextAnalyzer,
}

impl Analyser {
    /// An analyser with these settings.
    pub fn new(settings: AnalyserSettings) -> Self {
        let words = TextAnalyzer::builder(SimpleTokenizer::default());
        let mut builder = words.filter_dynamic(RemoveLongFilter::limit(MAX_BYTES + 1)).filter_dynamic(LowerCaser);
        if settings.stop_words {
            let stop_words = StopWordFilter::new(Language::English).expect("the list is part of the build");
            builder = builder.filter_dynamic(stop_words);
        }
        if settings.stem {
            builder = builder.filter_dynamic(Stemmer::new(Language::English));
        }
        Self { settings, pipeline: builder.build() }
    }

    /// Its settings.
    pub fn settings(&self) -> AnalyserSettings {
        self.settings
    }

    /// Terms of a text, in its order.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.for_each(text, |token| terms.push(token.text.clone()));
        terms
    }

    /// Terms of a text, in its order, each with the word it came from in small letters.
    pub fn terms_and_words(&self, text: &str) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        self.for_each(text, |token| {
            pairs.push((token.text.clone(), text[token.offset_from..token.offset_to].to_lowercase()));
        });
        pairs
    }

    /// Terms of a text as the index takes them.
    pub(crate) fn tokens(&self, text: &str) -> Vec<Token> {
        let mut tokens = Vec::new();
        self.for_each(text, |token| tokens.push(token.clone()));
        tokens
    }

    fn for_each(&self, text: &str, mut receive: impl FnMut(&Token)) {
        // A pipeline keeps its last token, so each text has a copy of its own.
        let mut pipeline = self.pipeline.clone();
        let mut stream = pipeline.token_stream(text);
        while stream.advance() {
            receive(stream.token());
        }
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
    fn what_is_too_long_for_a_word_is_none() {
        assert_eq!(terms(true, true, &format!("{} {}", "x".repeat(64), "y".repeat(65))), ["x".repeat(64)]);
    }

    #[test]
    fn settings_are_written_in_small_words() {
        let text = serde_json::to_string(&AnalyserSettings::default()).unwrap();
        assert_eq!(text, r#"{"stop_words":true,"stem":true}"#);
        assert_eq!(serde_json::from_str::<AnalyserSettings>("{}").unwrap(), AnalyserSettings::default());
        assert!(serde_json::from_str::<AnalyserSettings>(r#"{"stemm":true}"#).is_err());
    }
}
