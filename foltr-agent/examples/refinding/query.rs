//! The words that somebody types to find a document that they know.
//!
//! After `AzRB07`, simulated known-item queries: words are drawn from the document, rather those that few others have, and
//! some are wrong. Deviations: words of the title and of the file name are drawn as such, and wrong words come in four kinds.

use rand::rngs::ChaCha8Rng;

use super::chance::{draw, one, uniform};
use super::collection::{Collection, Words};

/// How well somebody remembers.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Chances that a query has 1, 2, 3 and 4 words.
    pub lengths: [f64; 4],
    /// Chances that a word is of the title, the file name and the text.
    pub places: [f64; 3],
    /// A word of another document.
    pub wrong: f64,
    /// Another ending.
    pub inflected: f64,
    /// Only the beginning of the word.
    pub shortened: f64,
    /// A letter is missing.
    pub mistyped: f64,
}

pub const USUAL: Memory = Memory {
    lengths: [0.35, 0.4, 0.2, 0.05],
    places: [0.45, 0.15, 0.4],
    wrong: 0.08,
    inflected: 0.08,
    shortened: 0.06,
    mistyped: 0.02,
};

impl Memory {
    pub fn query(&self, collection: &Collection, target: usize, random: &mut ChaCha8Rng) -> Vec<String> {
        let length = 1 + draw(random, self.lengths.into_iter()).unwrap_or(0);
        self.words(collection, target, length, random)
    }

    /// So many different words, if the document has them.
    pub fn words(&self, collection: &Collection, target: usize, length: usize, random: &mut ChaCha8Rng) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for _ in 0..4 * length {
            let word = self.word(collection, &collection.words[target], random);
            if words.len() < length && !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    fn word(&self, collection: &Collection, of: &Words, random: &mut ChaCha8Rng) -> String {
        let by_idf = |words: &[String], random: &mut ChaCha8Rng| {
            draw(random, words.iter().map(|word| collection.idf(word))).map(|at| words[at].clone())
        };
        let of_place = match draw(random, self.places.into_iter()) {
            Some(0) => by_idf(&of.title, random),
            Some(1) => by_idf(&of.name, random),
            _ => None,
        };
        let word = of_place.unwrap_or_else(|| {
            let weight = |(word, n): &(String, usize)| (*n as f64).ln_1p() * collection.idf(word);
            draw(random, of.body.iter().map(weight)).map(|at| of.body[at].0.clone()).unwrap_or_default()
        });
        self.remembered(collection, word, random)
    }

    fn remembered(&self, collection: &Collection, word: String, random: &mut ChaCha8Rng) -> String {
        let kinds = [self.wrong, self.inflected, self.shortened, self.mistyped];
        let right = (1.0 - kinds.iter().sum::<f64>()).max(0.0);
        let letters: Vec<char> = word.chars().collect();
        match draw(random, kinds.into_iter().chain([right])) {
            Some(0) => {
                let weights = collection.vocabulary.iter().map(|(_, n)| *n as f64);
                draw(random, weights).map_or(word, |at| collection.vocabulary[at].0.clone())
            }
            Some(1) => match word.strip_suffix("ing").or_else(|| word.strip_suffix('s')) {
                Some(stem) if stem.len() > 2 => stem.to_owned(),
                _ => word + one::<&str>(random, &["s", "ing", "ed"]),
            },
            Some(2) if letters.len() > 4 => {
                let length = 3 + (uniform(random) * (letters.len() - 4) as f64) as usize;
                letters[..length].iter().collect()
            }
            Some(3) if letters.len() > 4 => {
                let gone = 1 + (uniform(random) * (letters.len() - 1) as f64) as usize;
                letters.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, letter)| letter).collect()
            }
            _ => word,
        }
    }
}
