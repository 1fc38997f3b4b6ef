//! Text of a figure: escaped, measured with the embedded font, and broken into lines.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// What an SVG asks for: our font where it is installed, else any plain one.
pub const FALLBACKS: &str = "'Noto Sans', 'Open Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";

/// Height of a line of text, in letters of size 1.
pub const LINE: f64 = 1.3;

/// Text as SVG wants it, without the control characters that XML has no way to write.
pub fn escape(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

pub fn width(text: &str, size: f64) -> f64 {
    Letters::new(false, size).width(text)
}

pub fn bold_width(text: &str, size: f64) -> f64 {
    Letters::new(true, size).width(text)
}

pub struct Letters {
    face: Face<'static>,
    size: f64,
}

impl Letters {
    pub fn new(is_bold: bool, size: f64) -> Self {
        let font = if is_bold { notosans::BOLD_TTF } else { notosans::REGULAR_TTF };
        Self { face: Face::parse(font, 0).expect("an embedded font"), size }
    }

    /// Size of one unit of the font.
    pub fn scale(&self) -> f64 {
        self.size / f64::from(self.face.units_per_em())
    }

    pub fn advance(&self, letter: char) -> f64 {
        let units = self.face.glyph_index(letter).and_then(|glyph| self.face.glyph_hor_advance(glyph));
        units.map_or(0.6 * self.size, |units| self.scale() * f64::from(units))
    }

    pub fn width(&self, text: &str) -> f64 {
        text.chars().map(|letter| self.advance(letter)).sum()
    }

    /// Draws a letter; one that the font does not have is the font's empty box.
    pub fn draw(&self, letter: char, pen: &mut dyn OutlineBuilder) {
        self.face.outline_glyph(self.face.glyph_index(letter).unwrap_or(GlyphId(0)), pen);
    }
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
