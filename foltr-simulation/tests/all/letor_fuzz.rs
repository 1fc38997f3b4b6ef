//! The reader meets broken text: it never panics, and accepts exactly what a slow and simple reader accepts, with the
//! same values.
//!
//! Bounded in the suite; `docs/campaigns/fuzzing.md` says how to run it for longer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_simulation::dataset::Dataset;
use foltr_simulation::letor::{LetorError, MAX_FEATURES, ReadOptions, letor_text, parse_letor};
use foltr_test::fuzzing::{Campaign, label, n_iterations};
use rand::{Rng, RngExt};

/// Reads text, checks what must hold of every result, and names why it is refused.
fn read_and_check(bytes: &[u8], options: &ReadOptions) -> Result<(), String> {
    let expected = simple_lines(bytes, options).filter(|lines| has_content(lines, options));
    match parse_letor(bytes, Path::new("fuzz.txt"), options) {
        Ok(data) => {
            check_data(&data, options);
            check_values(&data, &expected.expect("the simple reader refuses this text"));
            let same_width = ReadOptions { n_features: Some(data.n_features()), ..*options };
            let again = parse_letor(&letor_text(&data), Path::new("again.txt"), &same_width).expect("our own text");
            assert_eq!(again, data, "written and read back");
            Ok(())
        }
        Err(error) => {
            check_error(&error, bytes);
            assert!(expected.is_none(), "refused, though the simple reader accepts it: {error}");
            Err(if let LetorError::Line { expected, .. } = &error { label(expected) } else { label(&error) })
        }
    }
}

/// A document as the simple reader sees it: label, query, features.
type Line<'a> = (u8, &'a str, BTreeMap<usize, f32>);

/// The format in as few words as possible. `None` if any line is bad.
fn simple_lines<'a>(bytes: &'a [u8], options: &ReadOptions) -> Option<Vec<Line<'a>>> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut lines = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        let content = line.split(|&byte| byte == b'#').next().unwrap_or(&[]);
        let mut tokens = content.split(|byte| b" \t\r".contains(byte)).filter(|token| !token.is_empty());
        if let Some(label) = tokens.next() {
            let label: f32 = str::from_utf8(label).ok()?.parse().ok()?;
            let query = str::from_utf8(tokens.next()?).ok()?.strip_prefix("qid:")?;
            let mut features = BTreeMap::new();
            for token in tokens {
                let (index, value) = str::from_utf8(token).ok()?.split_once(':')?;
                let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
                let index: usize = index.parse().ok().filter(|_| is_index)?;
                let value: f32 = value.parse().ok().filter(|value: &f32| value.is_finite())?;
                let in_range = (1..=options.n_features.unwrap_or(MAX_FEATURES)).contains(&index);
                if !in_range || features.insert(index, value).is_some() {
                    return None;
                }
            }
            if query.is_empty() || label.fract() != 0.0 || !(0.0..=f32::from(options.max_label)).contains(&label) {
                return None;
            }
            lines.push((label as u8, query, features));
        }
    }
    Some(lines)
}

fn has_content(lines: &[Line], options: &ReadOptions) -> bool {
    !lines.is_empty() && (options.n_features.is_some() || lines.iter().any(|line| !line.2.is_empty()))
}

/// Compares documents query by query, in the order of the text.
fn check_values(data: &Dataset, lines: &[Line]) {
    assert_eq!(data.n_docs(), lines.len());
    for query in 0..data.n_queries() {
        let ours = lines.iter().filter(|line| line.1 == data.query_id(query));
        let n_docs = ours.clone().count();
        assert_eq!(data.labels(query).len(), n_docs);
        for (doc, (label, _, features)) in ours.enumerate() {
            assert_eq!(data.labels(query)[doc], *label);
            for (feature, value) in data.query(query).row(doc).iter().enumerate() {
                let expected = features.get(&(feature + 1)).copied().unwrap_or(0.0);
                assert_eq!(value.to_bits(), expected.to_bits(), "feature {}", feature + 1);
            }
        }
    }
}

fn check_data(data: &Dataset, options: &ReadOptions) {
    assert!(data.n_docs() > 0 && data.n_queries() > 0 && data.max_label() <= options.max_label);
    assert!(data.rows().iter().all(|value| value.is_finite()), "a value is not finite");
    if let Some(n_features) = options.n_features {
        assert_eq!(data.n_features(), n_features);
    }
    for query in 0..data.n_queries() {
        let view = data.query(query);
        assert!(view.n_docs() > 0 && !data.query_id(query).is_empty());
        for doc in 0..view.n_docs() {
            assert!(view.row(doc)[data.n_features()..].iter().all(|&pad| pad == 0.0), "padding is not zero");
        }
    }
}

fn check_error(error: &LetorError, bytes: &[u8]) {
    if let LetorError::Line { line, column, .. } = error {
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let named = text.split(|&byte| byte == b'\n').nth(line - 1).expect("the line exists");
        assert!((1..=named.len() + 1).contains(column), "column {column} of a line of {} bytes", named.len());
    }
    assert!(!error.to_string().is_empty());
}

const OPTIONS: [ReadOptions; 3] = [
    ReadOptions { n_features: None, max_label: 4 },
    ReadOptions { n_features: Some(12), max_label: 4 },
    ReadOptions { n_features: None, max_label: 255 },
];

/// Pieces that a reader might stumble over.
const PIECES: [&str; 32] = [
    " ", "\t", "\n", "\r\n", "\r", "#", ":", ".", "-", "+", "0", "9", "1:", "2:0.5", "16384:1", "16385:1", "0:1",
    "qid:", "qid:7", "nan", "inf", "-inf", "1e38", "1e39", "1e-46", "99999999", "16777217", "4", "5", "255", "256",
    "\u{feff}",
];
const LONG_PIECES: [&str; 4] = ["123456789012345678901234567890", "0.00000000000001", "16777217.0", "999999999"];

/// Valid text: a few lines in any of the dresses the format allows.
fn valid_text(stream: &mut Stream, text: &mut Vec<u8>) {
    text.clear();
    for _ in 0..stream.random_range(1..6) {
        let mut line = format!("{} qid:{}", stream.random_range(0..5), stream.random_range(0..3));
        let mut index = 0;
        for _ in 0..stream.random_range(0..8) {
            index += stream.random_range(1..3);
            let value = match stream.random_range(0..4) {
                0 => stream.random_range(0..10).to_string(),
                1 => format!("{:.6}", f32::from_bits(stream.next_u32()) % 1000.0).replace("NaN", "7"),
                2 => format!("{}", f64::from(stream.random_range(-1e6f32..1e6))),
                _ => format!("{:e}", stream.random_range(-1.0f32..1.0)),
            };
            line.push_str(&format!(" {index}:{value}"));
        }
        text.extend(line.as_bytes());
        text.extend([&b"\n"[..], b"\r\n", b" # c\n", b"\n\n"][stream.random_range(0..4)]);
    }
}

/// Changes text in one place: bytes or whole pieces, put in, taken out, repeated or cut off.
fn mutate(stream: &mut Stream, text: &mut Vec<u8>) {
    let at = stream.random_range(0..=text.len());
    let end = (at + stream.random_range(0..12)).min(text.len());
    match stream.random_range(0..8) {
        0 if at < text.len() => text[at] ^= 1 << stream.random_range(0..8),
        1 if at < text.len() => text[at] = stream.random(),
        2 => text.insert(at, stream.random()),
        3 => drop(text.drain(at..end)),
        4 => text.extend_from_within(at..end),
        5 => text.truncate(at),
        6 => {
            let copy = text[at..end].to_vec();
            let to = stream.random_range(0..=text.len());
            text.splice(to..to, copy);
        }
        _ => {
            let piece = stream.random_range(0..PIECES.len() + LONG_PIECES.len());
            let piece = PIECES.get(piece).unwrap_or_else(|| &LONG_PIECES[piece - PIECES.len()]);
            text.splice(at..at, piece.bytes());
        }
    }
}

#[test]
fn mutated_text_never_panics() {
    let n_texts = n_iterations(20_000);
    // One thread: pieces are smaller than what is worth sharing, and a panic stays where it happened.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let campaign = Campaign::start();
    let mut outcomes = BTreeMap::<Result<(), String>, u32>::new();
    pool.install(|| {
        let streams = Streams::new(2026);
        let mut text = Vec::new();
        for iteration in 0..n_texts {
            let mut stream = streams.open(Purpose::Data, iteration as u32, 0);
            valid_text(&mut stream, &mut text);
            for _ in 0..stream.random_range(0..4) {
                mutate(&mut stream, &mut text);
            }
            *outcomes.entry(read_and_check(&text, &OPTIONS[iteration % OPTIONS.len()])).or_default() += 1;
        }
    });
    campaign.report("letor-text", n_texts, outcomes.len());
    let share = f64::from(outcomes.get(&Ok(())).copied().unwrap_or(0)) / n_texts as f64;
    assert!((0.1..0.9).contains(&share), "{share} accepted: both outcomes must be met");
}

#[test]
fn arbitrary_bytes_never_panic() {
    let (n_inputs, campaign) = (n_iterations(20_000), Campaign::start());
    let mut outcomes = BTreeSet::new();
    bolero::check!().with_iterations(n_inputs).for_each(|bytes: &[u8]| {
        outcomes.insert(read_and_check(bytes, &OPTIONS[0]));
        // The same bytes behind a good line, so that more than the first token is met.
        let behind = [b"1 qid:1 1:1\n2 qid:1 ".as_slice(), bytes].concat();
        outcomes.insert(read_and_check(&behind, &OPTIONS[1]));
    });
    campaign.report("letor-bytes", n_inputs, outcomes.len());
}
