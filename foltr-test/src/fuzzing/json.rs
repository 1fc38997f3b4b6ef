//! Ways to damage JSON: pieces of it that do not belong there, and other values, with which it stays JSON.

use std::collections::BTreeSet;
use std::ops::Range;

use super::damage::Damage;

/// What parsers trip over.
const PIECES: [&str; 12] = [
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

/// Values in their canonical form.
const VALUES: [&str; 24] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "0.5",
    "-0.5",
    "1.5",
    "100",
    "255",
    "256",
    "4294967295",
    "4294967296",
    "9007199254740992",
    "1e+300",
    "1e-7",
    "5e-324",
    "\"\"",
    "\"x\"",
    "[]",
    "{}",
];

/// Longer than anybody reads.
const N_LONG: usize = 1 << 20;

/// JSON behind so many other bytes, and values that could stand somewhere in it.
pub struct Json {
    from: usize,
    numbers: Vec<String>,
    strings: Vec<String>,
    others: Vec<String>,
}

impl Json {
    /// `texts` are in canonical form; what they are made of can be exchanged for values of the document, too.
    pub fn new(from: usize, texts: &[String]) -> Self {
        let parts =
            texts.iter().flat_map(|text| ranges_of_values(text.as_bytes()).into_iter().map(|place| &text[place]));
        let all: BTreeSet<&str> = parts.chain(VALUES).collect();
        let [numbers, strings, others] = [Kind::Number, Kind::String, Kind::Other].map(|kind| {
            all.iter().filter(|value| Kind::of(value.as_bytes()) == kind).map(|&value| value.into()).collect()
        });
        Self { from, numbers, strings, others }
    }

    pub(super) fn damage(&self, bytes: &mut Vec<u8>, (how, at, word): Damage) {
        let from = self.from.min(bytes.len());
        let piece = PIECES[word as usize % PIECES.len()];
        let place = from + at as usize % (bytes.len() - from).max(1);
        match how {
            ..80 => drop(bytes.splice(place..place, piece.bytes())),
            80..96 => {
                let end = (place + 1 + word as usize % 8).min(bytes.len());
                drop(bytes.splice(place.min(end)..end, piece.bytes()));
            }
            _ => self.exchange_value(bytes, from, at as usize, word as usize),
        }
    }

    /// Puts another value in the place of one, most of the time of the same kind.
    fn exchange_value(&self, bytes: &mut Vec<u8>, from: usize, at: usize, word: usize) {
        let own = ranges_of_values(&bytes[from..]);
        let Some(place) = own.get(at % own.len().max(1)) else { return };
        let kind = if word.is_multiple_of(8) { Kind::Other } else { Kind::of(&bytes[from..][place.clone()]) };
        let candidates = match kind {
            Kind::Number => &self.numbers,
            Kind::String => &self.strings,
            Kind::Other => &self.others,
        };
        let new = match (word / 8) % candidates.len() {
            // Rarely: it takes a hundred times as long as all others.
            _ if word.is_multiple_of(509) => format!("\"{}\"", "a".repeat(N_LONG)),
            idx => candidates[idx].clone(),
        };
        bytes.splice(from + place.start..from + place.end, new.into_bytes());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    String,
    /// Truth values, nothing, lists and objects: each of them is often where another could be.
    Other,
}

impl Kind {
    const fn of(value: &[u8]) -> Self {
        match value {
            [b'"', ..] => Self::String,
            [b'-' | b'0'..=b'9', ..] => Self::Number,
            _ => Self::Other,
        }
    }
}

/// Where the values of a text are: literals, lists and objects, but no keys. Of what is no JSON, something like it.
fn ranges_of_values(text: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let start = at;
        match text[at] {
            b'{' | b'[' => {
                open.push(at);
                at += 1;
            }
            b'}' | b']' => {
                at += 1;
                found.extend(open.pop().map(|start: usize| start..at));
            }
            b',' | b':' => at += 1,
            b'"' => {
                at = end_of_string(text, at);
                if text.get(at) != Some(&b':') {
                    found.push(start..at);
                }
            }
            _ => {
                let length = text[at..].iter().position(|byte| b",]}\"".contains(byte));
                at = length.map_or(text.len(), |length| at + length);
                found.push(start..at);
            }
        }
    }
    found
}

/// Behind the quotation mark that ends the string which begins here.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut is_escaped = false;
    let is_end = |&byte: &u8| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    };
    text[start + 1..].iter().position(is_end).map_or(text.len(), |length| start + length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_keys_are_not() {
        let text = br#"{"a":[1,-2.5e+7],"b\"":"x\\","c":{},"d":null}"#;
        let mut found: Vec<&str> =
            ranges_of_values(text).into_iter().map(|place| str::from_utf8(&text[place]).expect("a text")).collect();
        found.sort_by_key(|value| value.len());
        assert_eq!(
            found,
            ["1", "{}", "null", r#""x\\""#, "-2.5e+7", "[1,-2.5e+7]", str::from_utf8(text).expect("a text")]
        );
    }

    #[test]
    fn another_value_leaves_the_rest_as_it_was() {
        let mut bytes = br#"sig{"a":1,"b":"x"}"#.to_vec();
        let json = Json::new(3, &["{\"k\":7}".into()]);
        let number = 8 * json.numbers.iter().position(|value| value == "7").expect("given") + 1;
        json.exchange_value(&mut bytes, 3, 0, number);
        assert_eq!(str::from_utf8(&bytes), Ok(r#"sig{"a":7,"b":"x"}"#));
        let object = 8 * json.others.iter().position(|value| value == "{\"k\":7}").expect("given");
        json.exchange_value(&mut bytes, 3, 1, object);
        assert_eq!(str::from_utf8(&bytes), Ok(r#"sig{"a":7,"b":{"k":7}}"#));
        json.exchange_value(&mut bytes, 3, 0, 509);
        assert_eq!(bytes.len(), N_LONG + 2 + br#"sig{"a":,"b":{"k":7}}"#.len());
    }
}
