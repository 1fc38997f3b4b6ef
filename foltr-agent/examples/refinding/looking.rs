//! How somebody looks through a list.
//!
//! From the top down, as in the cascade model of `CZTR08`. What somebody does with a document in a search does not depend on
//! where it is.

use super::chance::{stream, uniform};
use super::collection::{Collection, words};
use super::wish::Wish;

/// After each document, looks at the next one.
const GOES_ON: f64 = 0.9;
/// Opens the document that is wanted, once it is looked at.
const OPENS_TARGET: f64 = 0.95;
/// Opens another one: any, and one whose title has all words.
const OPENS_OTHER: f64 = 0.03;
const OPENS_ALIKE: f64 = 0.12;

/// The places of the documents that are opened, in their order, of the paths shown.
pub fn opened(
    collection: &Collection,
    wish: &Wish,
    (seed, number): (u64, usize),
    shown: &[Option<usize>],
) -> Vec<usize> {
    let n_seen = 1 + ((1.0 - uniform(&mut stream(seed, "patience", number))).ln() / GOES_ON.ln()) as usize;
    let typed: Vec<String> = words(&wish.words).collect();
    let mut opened = Vec::new();
    for (place, document) in shown.iter().enumerate().take(n_seen) {
        let Some(document) = *document else { continue };
        let chance = uniform(&mut stream(seed ^ ((document as u64) << 32), "opens", number));
        let title = &collection.words[document].title;
        let is_alike = !typed.is_empty() && typed.iter().all(|word| title.contains(word));
        if document == wish.target {
            if chance < OPENS_TARGET {
                opened.push(place);
                break;
            }
        } else if chance < if is_alike { OPENS_ALIKE } else { OPENS_OTHER } {
            opened.push(place);
        }
    }
    opened
}
