//! Decoders against arbitrary bytes, damaged documents and the corpus.
//!
//! A [`Target`] is a decoder with documents that it takes. Its test replays the corpus, then tries as many inputs as
//! `FOLTR_FUZZ_ITERATIONS` says: arbitrary bytes, arbitrary bytes behind the beginning of a document, and documents that
//! are damaged up to three times. `docs/campaigns/fuzzing.md` says how to run all of them for longer.

mod corpus;
mod damage;
mod json;
mod search;

use std::time::Instant;

pub use corpus::{from_hexadecimal, hexadecimal};
pub use damage::Form;
pub use json::Json;

use search::Search;

/// A decoder with documents that it takes.
pub struct Target<'a> {
    pub name: &'static str,
    /// `CARGO_MANIFEST_DIR` of the crate that has the corpus in `tests/corpus/NAME.txt`; none where the layout of the bytes
    /// may change from version to version, so that stored inputs would soon be of no use.
    pub corpus: Option<&'static str>,
    pub form: Form,
    pub valid: Vec<Vec<u8>>,
    /// Whether other bytes than these can be valid.
    pub has_valid_damage: bool,
    pub decode: &'a Decode<'a>,
}

/// Decodes bytes that were made of the valid document with this number, asserts what must hold of what is accepted and of
/// what is not, and names why bytes are refused.
pub type Decode<'a> = dyn Fn(usize, &[u8]) -> Result<(), String> + 'a;

impl Target<'_> {
    /// All tests of a decoder.
    pub fn run(&self, default: usize) {
        for (document, bytes) in self.valid.iter().enumerate() {
            assert_eq!((self.decode)(document, bytes), Ok(()), "{}: valid document {document}", self.name);
        }
        let is_searching = std::env::var_os("FOLTR_WRITE_CORPUS").is_some();
        if !is_searching {
            self.replay_corpus();
        }
        let (campaign, n_inputs) = (Campaign::start(), n_iterations(default));
        let Search { outcomes, n_intact, .. } = Search::run(self, n_inputs);
        let counts: Vec<_> = outcomes.iter().map(|(outcome, met)| format!("{outcome} {}", met.n_inputs)).collect();
        let counts = counts.join(", ");
        println!("{}: {n_intact} intact; damaged: {counts}", self.name);
        campaign.report(self.name, n_inputs, outcomes.len());
        assert!(n_intact > 0 && outcomes.len() > 1, "{}: the damage does not reach the decoder: {counts}", self.name);
        assert_eq!(outcomes.contains_key("accepted"), self.has_valid_damage, "{}: {counts}", self.name);
        if is_searching {
            self.write_corpus(&outcomes);
        }
    }

    fn decoded(&self, document: usize, bytes: &[u8]) -> String {
        (self.decode)(document, bytes).err().unwrap_or_else(|| "accepted".into())
    }
}

/// `FOLTR_FUZZ_ITERATIONS`, or a number that keeps the suite quick.
pub fn n_iterations(default: usize) -> usize {
    match std::env::var("FOLTR_FUZZ_ITERATIONS") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("FOLTR_FUZZ_ITERATIONS = {text} must be a number")),
        Err(_) => default,
    }
}

/// The time that a target takes, for the table of `docs/campaigns/fuzzing.md`.
pub struct Campaign(Instant);

impl Campaign {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Prints the target's row, if somebody asked for a number of inputs.
    pub fn report(&self, target: &str, n_executions: usize, n_outcomes: usize) {
        if std::env::var_os("FOLTR_FUZZ_ITERATIONS").is_some() {
            let seconds = self.0.elapsed().as_secs_f64();
            println!("| {target} | {n_executions} | {seconds:.1} | {n_outcomes} |");
        }
    }
}

/// The name of an error, and what it blames, without its numbers: `Content(NotFinite { index: 3 })` is
/// `Content(NotFinite`.
pub fn label(error: &impl std::fmt::Debug) -> String {
    let text = format!("{error:?}");
    let name = &text[..text.find([' ', '[', '"']).unwrap_or(text.len())];
    let blamed = ["what: \"", "key: \""].iter().find_map(|start| text.split_once(start)?.1.split_once('"'));
    let blamed = blamed.map(|(blamed, _)| format!(":{}", blamed.replace(' ', "-")));
    name.to_owned() + &blamed.unwrap_or_default()
}
