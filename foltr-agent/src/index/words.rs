//! Words of a text: runs of letters and digits, in small letters without accents, stemmed.
//!
//! An identifier such as `readRunFile` is one word and, at the same place, its three parts. A character of Chinese, Japanese or
//! Korean is a word of its own, since nothing stands between words there. Endings are cut off as in English: in other
//! languages that does little harm, since queries lose the same endings.

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer,
};

/// The analyser's name in the schema. Another number means another index.
pub(super) const ANALYSER: &str = "words-1";

/// Longer runs are no words.
const LONGEST: usize = 64;

/// As documents are read.
pub(super) fn analyser() -> TextAnalyzer {
    chain(Words::default())
}

/// As queries are read: parts of identifiers only.
pub(super) fn query_analyser() -> TextAnalyzer {
    chain(Words { parts_only: true, ..Words::default() })
}

/// As queries are read, with all endings.
pub(super) fn unstemmed_analyser() -> TextAnalyzer {
    let words = Words { parts_only: true, ..Words::default() };
    TextAnalyzer::builder(words)
        .filter(RemoveLongFilter::limit(LONGEST))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .build()
}

fn chain(words: Words) -> TextAnalyzer {
    TextAnalyzer::builder(words)
        .filter(RemoveLongFilter::limit(LONGEST))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .filter(Stemmer::new(Language::English))
        .build()
}

#[derive(Clone, Default)]
struct Words {
    token: Token,
    parts_only: bool,
}

struct WordStream<'a> {
    text: &'a str,
    /// Where the rest of the text begins.
    rest: usize,
    /// What is left of the run that is being divided.
    run: (usize, usize),
    /// How far the next part of the run is from the word before.
    step: usize,
    token: &'a mut Token,
    parts_only: bool,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, rest: 0, run: (0, 0), step: 1, token: &mut self.token, parts_only: self.parts_only }
    }
}

impl WordStream<'_> {
    /// The next run of letters and digits: a single character where there are no spaces between words.
    fn next_run(&mut self) -> Option<(usize, usize)> {
        let rest = &self.text[self.rest..];
        let begin = self.rest + rest.find(char::is_alphanumeric)?;
        let run = &self.text[begin..];
        let first = run.chars().next()?;
        let length = if is_word_alone(first) {
            first.len_utf8()
        } else {
            run.find(|it: char| !it.is_alphanumeric() || is_word_alone(it)).unwrap_or(run.len())
        };
        self.rest = begin + length;
        Some((begin, begin + length))
    }

    fn set(&mut self, begin: usize, end: usize, step: usize) {
        let token = &mut *self.token;
        token.text.clear();
        token.text.push_str(&self.text[begin..end]);
        (token.offset_from, token.offset_to) = (begin, end);
        token.position = token.position.wrapping_add(step);
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let (begin, end) = self.run;
        if begin < end {
            let length = part_length(&self.text[begin..end]);
            self.run = (begin + length, end);
            let step = std::mem::replace(&mut self.step, 1);
            self.set(begin, begin + length, step);
            return true;
        }
        let Some((begin, end)) = self.next_run() else { return false };
        let first = part_length(&self.text[begin..end]);
        if begin + first == end {
            self.set(begin, end, 1);
            return true;
        }
        if self.parts_only {
            self.run = (begin + first, end);
            self.set(begin, begin + first, 1);
        } else {
            // The whole stands at the place of its first part, so that both can be in a phrase.
            (self.run, self.step) = ((begin, end), 0);
            self.set(begin, end, 1);
        }
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Bytes of the first part of a run: up to where a capital letter begins another one, as in `runFile` and `HTMLParser`.
fn part_length(run: &str) -> usize {
    let mut before: Option<char> = None;
    let mut chars = run.char_indices().peekable();
    while let Some((at, it)) = chars.next() {
        let next_is_small = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = it.is_uppercase()
            && before.is_some_and(|before| before.is_lowercase() || (before.is_uppercase() && next_is_small));
        if begins {
            return at;
        }
        before = Some(it);
    }
    run.len()
}

/// Han, Hiragana, Katakana, Hangul.
const fn is_word_alone(it: char) -> bool {
    matches!(it, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text, in their order.
pub(super) fn words(analyser: &mut TextAnalyzer, text: &str) -> Vec<Token> {
    let mut words = Vec::new();
    analyser.token_stream(text).process(&mut |token| words.push(token.clone()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut analyser: TextAnalyzer, text: &str) -> Vec<(String, usize)> {
        words(&mut analyser, text).into_iter().map(|it| (it.text, it.position)).collect()
    }

    fn expect(pairs: &[(&str, usize)]) -> Vec<(String, usize)> {
        pairs.iter().map(|&(word, position)| (word.to_owned(), position)).collect()
    }

    #[test]
    fn identifiers_are_words_and_have_parts() {
        let read_text = read(analyser(), "the readRunFile, HTMLParser");
        let expected = [
            ("the", 0),
            ("readrunfil", 1),
            ("read", 1),
            ("run", 2),
            ("file", 3),
            ("htmlparser", 4),
            ("html", 4),
            ("parser", 5),
        ];
        assert_eq!(read_text, expect(&expected));
        let of_query = read(query_analyser(), "readRunFile x");
        assert_eq!(of_query, expect(&[("read", 0), ("run", 1), ("file", 2), ("x", 3)]));
    }

    #[test]
    fn words_lose_case_accents_and_endings() {
        assert_eq!(read(analyser(), "Résumés ÜBER mq2008"), expect(&[("resum", 0), ("uber", 1), ("mq2008", 2)]));
        assert_eq!(read(unstemmed_analyser(), "Computing Dies"), expect(&[("computing", 0), ("dies", 1)]));
    }

    #[test]
    fn characters_without_spaces_are_words_alone() {
        assert_eq!(read(analyser(), "東京tower"), expect(&[("東", 0), ("京", 1), ("tower", 2)]));
    }

    #[test]
    fn any_text_is_read() {
        for text in ["", " ", "-", "\u{0}", "A", "aB", "Ab", "ǅǅ", "\u{300}\u{301}", "🦀🦀a"] {
            read(analyser(), text);
        }
        assert_eq!(read(analyser(), &"x".repeat(65)), []);
    }
}
