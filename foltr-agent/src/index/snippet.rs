//! The passage of a text that matches a query best.

use super::{WordQuery, words};
use crate::answer::Fragment;

/// Characters of a snippet, about two lines.
const LENGTH: usize = 220;
/// Bytes of a text that are looked at: a snippet must not take long.
const MOST_BYTES: usize = 64 << 10;

/// A word of the query in the text.
struct Hit {
    begin: usize,
    end: usize,
    word: usize,
}

pub(super) fn best(text: &str, query: &WordQuery) -> Vec<Fragment> {
    let text = &text[..floor(text, MOST_BYTES)];
    let hits = hits(text, query);
    let begin = hits.get(best_begin(&hits, query)).map_or(0, |hit| hit.begin);
    let (begin, end) = passage(text, begin);
    fragments(text, begin, end, &hits)
}

fn hits(text: &str, query: &WordQuery) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    words::analyser().token_stream(text).process(&mut |token| {
        let word = query.words.iter().position(|word| word.terms.contains(&token.text));
        let is_new = hits.last().is_none_or(|last| token.offset_from >= last.end);
        if let Some(word) = word.filter(|_| is_new) {
            hits.push(Hit { begin: token.offset_from, end: token.offset_to, word });
        }
    });
    hits
}

/// The hit with which the passage begins that has the most of the query.
fn best_begin(hits: &[Hit], query: &WordQuery) -> usize {
    let (mut best, mut best_value) = (0, f32::NEG_INFINITY);
    for (at, first) in hits.iter().enumerate() {
        let inside = hits[at..].iter().take_while(|hit| hit.end <= first.begin + LENGTH);
        let mut seen = vec![0_u32; query.words.len()];
        inside.for_each(|hit| seen[hit.word] += 1);
        // A word counts once, and a little more if it is there again.
        let value = |(word, &n): (usize, &u32)| {
            if n == 0 { 0.0 } else { query.words[word].idf * (1.0 + 0.1 * (n.min(4) as f32)) }
        };
        let value: f32 = seen.iter().enumerate().map(value).sum();
        if value > best_value {
            (best, best_value) = (at, value);
        }
    }
    best
}

/// Where the passage begins and ends, at whole words.
fn passage(text: &str, first: usize) -> (usize, usize) {
    // A little of what stands before.
    let earliest = floor(text, first.saturating_sub(LENGTH / 5));
    let begin = if earliest == 0 { 0 } else { after_space(text, earliest, first) };
    let latest = floor(text, begin + LENGTH);
    let end = if latest == text.len() {
        latest
    } else {
        text[begin..latest].rfind(char::is_whitespace).map_or(latest, |space| begin + space)
    };
    (begin, end.max(begin))
}

fn after_space(text: &str, from: usize, most: usize) -> usize {
    let space = text[from..most.max(from)].char_indices().find(|(_, it)| it.is_whitespace());
    space.map_or(from, |(at, it)| from + at + it.len_utf8())
}

/// At most so far, and between two characters.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn fragments(text: &str, begin: usize, end: usize, hits: &[Hit]) -> Vec<Fragment> {
    let mut fragments = Vec::new();
    let mut push = |from: usize, to: usize, is_match: bool| {
        // Line breaks and tabs would tear the passage apart.
        let text = squeezed(&text[from..to]);
        if !text.is_empty() {
            fragments.push(Fragment { text, is_match });
        }
    };
    let mut at = begin;
    for hit in hits.iter().filter(|hit| hit.begin >= begin && hit.end <= end) {
        push(at, hit.begin, false);
        push(hit.begin, hit.end, true);
        at = hit.end;
    }
    push(at, end, false);
    fragments
}

/// With one space in place of any white space.
fn squeezed(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for it in text.chars() {
        let it = if it.is_whitespace() || it.is_control() { ' ' } else { it };
        if it != ' ' || !squeezed.ends_with(' ') {
            squeezed.push(it);
        }
    }
    squeezed
}
