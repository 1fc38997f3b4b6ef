//! Decoders against arbitrary bytes, damaged documents and the corpus.
//!
//! A target has a corpus, `tests/corpus/NAME.txt`: for every way in which its decoder ends, the shortest input that was
//! found, in hexadecimal digits. `FOLTR_WRITE_CORPUS=1` searches anew and writes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use bolero::check;

/// `FOLTR_FUZZ_ITERATIONS`, or a number that keeps the suite quick.
pub fn n_iterations(default: usize) -> usize {
    match std::env::var("FOLTR_FUZZ_ITERATIONS") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("FOLTR_FUZZ_ITERATIONS = {text} must be a number")),
        Err(_) => default,
    }
}

/// One way to damage bytes; `at` and `word` choose the place and the value.
pub fn damage(bytes: &mut Vec<u8>, (how, at, word): (u8, u16, u32)) {
    // Words that decoders trip over: the ends of the integers, zero, NaNs, infinities, lengths.
    const WORDS: [u32; 9] = [0, 1, u32::MAX, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0x7F80_0001, 0x0100_0000];
    // The same for JSON.
    const TOKENS: [&str; 12] = [
        "null",
        "-0",
        "1e400",
        "1e-400",
        "18446744073709551616",
        "0.10",
        "[[[[[[[[",
        "{",
        "}",
        "\"kind\":",
        ",",
        "\\u0000",
    ];
    let place = usize::from(at) % bytes.len().max(1);
    let special = WORDS[word as usize % WORDS.len()].to_le_bytes();
    // Fields of a contribution are words after the two bytes of version and kind.
    let field = 2 + 4 * (usize::from(at) % (bytes.len() / 4).max(1));
    match how % 10 {
        0 if !bytes.is_empty() => bytes[place] ^= 1 << (word % 8),
        1 if !bytes.is_empty() => bytes[place] = word as u8,
        2 => bytes.truncate(place),
        3 => bytes.extend(&word.to_le_bytes()[..1 + usize::from(at) % 4]),
        4 => bytes.iter_mut().skip(field).zip(special).for_each(|(byte, new)| *byte = new),
        5 => bytes.iter_mut().skip(place).zip(special).for_each(|(byte, new)| *byte = new),
        6 if !bytes.is_empty() => drop(bytes.remove(place)),
        7 => drop(bytes.splice(place..place, TOKENS[word as usize % TOKENS.len()].bytes())),
        8 => {
            let end = (place + 1 + word as usize % 8).min(bytes.len());
            drop(bytes.splice(place.min(end)..end, TOKENS[word as usize % TOKENS.len()].bytes()));
        }
        _ => bytes.insert(place, word as u8),
    }
}

/// A decoder with documents that it takes.
pub struct Target {
    pub name: &'static str,
    pub valid: Vec<Vec<u8>>,
    /// Whether other bytes than these can be valid.
    pub has_valid_damage: bool,
    /// Decodes, asserts what must hold of what is accepted, and names why bytes are refused.
    pub decode: fn(&[u8]) -> Result<(), String>,
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

/// Damages of a document, of which so many are applied.
type Case = (u8, [(u8, u16, u32); 3], u8);

impl Target {
    /// All tests of a decoder. Documents are damaged up to three times, or not at all.
    pub fn run(&self, default: usize) {
        self.valid.iter().for_each(|bytes| assert_eq!((self.decode)(bytes), Ok(()), "{}: a valid document", self.name));
        let is_searching = std::env::var_os("FOLTR_WRITE_CORPUS").is_some();
        if !is_searching {
            self.replay_corpus();
        }
        let start = Instant::now();
        check!().with_type::<Vec<u8>>().with_iterations(n_iterations(default)).for_each(|bytes| {
            let _ = (self.decode)(bytes);
        });
        let (mut counts, mut n_intact) = (BTreeMap::<String, u64>::new(), 0_u64);
        let mut shortest = BTreeMap::<String, Vec<u8>>::new();
        check!().with_type::<Case>().with_iterations(n_iterations(default)).for_each(|(which, damages, n_damages)| {
            let original = &self.valid[usize::from(*which) % self.valid.len()];
            let mut bytes = original.clone();
            damages.iter().take(usize::from(*n_damages) % 4).for_each(|&one| damage(&mut bytes, one));
            let outcome = (self.decode)(&bytes).err().unwrap_or_else(|| "accepted".into());
            if bytes == *original {
                assert_eq!(outcome, "accepted", "{}: a valid document", self.name);
                n_intact += 1;
                return;
            }
            if is_searching && shortest.get(&outcome).is_none_or(|found| bytes.len() < found.len()) {
                shortest.insert(outcome.clone(), bytes);
            }
            *counts.entry(outcome).or_default() += 1;
        });
        let seconds = start.elapsed().as_secs_f64();
        println!("{}: {n_intact} intact; damaged: {counts:?}; {seconds:.0} s", self.name);
        assert!(n_intact > 0 && counts.len() > 1, "{}: the damage does not reach the decoder: {counts:?}", self.name);
        assert_eq!(counts.contains_key("accepted"), self.has_valid_damage, "{}: {counts:?}", self.name);
        if is_searching {
            self.write_corpus(&shortest);
        }
    }

    fn corpus(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(format!("{}.txt", self.name))
    }

    fn write_corpus(&self, shortest: &BTreeMap<String, Vec<u8>>) {
        let valid = self.valid.iter().map(|bytes| ("accepted", bytes));
        let damaged = shortest.iter().map(|(outcome, bytes)| (outcome.as_str(), bytes));
        let line = |(outcome, bytes): (&str, &Vec<u8>)| format!("{outcome} {}\n", hexadecimal(bytes));
        let text: String = valid.chain(damaged).map(line).collect();
        std::fs::write(self.corpus(), text).expect("the folder of the corpus");
    }

    /// Every stored input ends as it did when it was found.
    fn replay_corpus(&self) {
        let read = std::fs::read_to_string(self.corpus());
        let text = read.unwrap_or_else(|error| panic!("{}: {error}", self.corpus().display()));
        assert!(text.lines().count() > self.valid.len(), "{}: the corpus has refused inputs, too", self.name);
        for line in text.lines() {
            let (outcome, digits) = line.split_once(' ').expect("an outcome and bytes");
            let got = (self.decode)(&from_hexadecimal(digits)).err().unwrap_or_else(|| "accepted".into());
            assert_eq!(got, outcome, "{}: {digits}", self.name);
        }
    }
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hexadecimal(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}
