//! Text of a figure: escaped, measured with the embedded font, and broken into lines.

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// The embedded font.
pub const FAMILY: &str = "Noto Sans";

/// What an SVG asks for: our font where it is installed, else any plain one.
pub const FALLBACKS: &str = "'Noto Sans', 'Open Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";

/// Height of a line of text, in letters of size 1.
pub const LINE: f64 = 1.3;

/// Text as SVG wants it, without the control characters that XML has no way to write.
pub fn escape(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Width of a text in letters of this size.
pub fn width(text: &str, size: f64) -> f64 {
    width_in(notosans::REGULAR_TTF, text, size)
}

/// Width of a bold text in letters of this size.
pub fn bold_width(text: &str, size: f64) -> f64 {
    width_in(notosans::BOLD_TTF, text, size)
}

fn width_in(font: &[u8], text: &str, size: f64) -> f64 {
    let Ok(font) = FontRef::new(font) else {
        return 0.6 * size * text.chars().count() as f64;
    };
    let letters = font.charmap();
    let widths = font.glyph_metrics(Size::new(size as f32), LocationRef::default());
    let advance = |letter: char| letters.map(letter).and_then(|glyph| widths.advance_width(glyph));
    text.chars().map(|letter| advance(letter).map_or(0.6 * size, f64::from)).sum()
}

/// Lines that are not wider than `available`, broken at spaces, but not before `%`; a longer word is broken where it must.
pub fn wrap(text: &str, size: f64, available: f64) -> Vec<String> {
    // Bold letters are the wider ones: a line that fits in bold fits anyway.
    let fits = |line: &str| bold_width(line, size) <= available;
    let mut lines: Vec<String> = Vec::new();
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split([' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        let joined = lines.last().map(|line| format!("{line} {word}")).filter(|joined| fits(joined));
        match (joined, lines.last_mut()) {
            (Some(joined), Some(last)) => *last = joined,
            _ => lines.extend(pieces(word, fits)),
        }
    }
    lines
}

/// A word in pieces that fit, of at least one letter each.
fn pieces(word: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for letter in word.chars() {
        let longer = format!("{}{letter}", pieces[pieces.len() - 1]);
        if longer.chars().count() > 1 && !fits(&longer) {
            pieces.push(letter.into());
        } else if let Some(last) = pieces.last_mut() {
            *last = longer;
        }
    }
    pieces
}

/// Width of the widest word.
pub fn widest_word(text: &str, size: f64) -> f64 {
    text.split_whitespace().map(|word| bold_width(word, size)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_are_wider() {
        assert!(width("mmm", 10.0) > 2.0 * width("iii", 10.0));
        assert!((width("ab", 20.0) - 2.0 * width("ab", 10.0)).abs() < 1e-3);
        assert!(bold_width("ab", 10.0) > width("ab", 10.0));
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_where_they_must() {
        let lines = wrap("one two immeasurably", 10.0, bold_width("one two", 10.0) + 0.1);
        assert_eq!(lines[0], "one two");
        assert_eq!(lines[1..].concat(), "immeasurably");
        assert!(lines.iter().all(|line| bold_width(line, 10.0) <= bold_width("one two", 10.0) + 0.1), "{lines:?}");
        assert!(wrap("", 10.0, 50.0).is_empty());
        assert_eq!(wrap("95 % of all", 10.0, bold_width("95", 10.0) * 2.2), ["95\u{a0}%", "of all"]);
    }

    #[test]
    fn nothing_of_a_text_is_read_as_svg() {
        assert_eq!(escape("a<b> & \"c\"\u{7}"), "a&lt;b&gt; &amp; &quot;c&quot;");
    }
}
