//! Text of a figure: escaped, and measured with the embedded font.

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// The embedded font.
pub const FAMILY: &str = "Noto Sans";

/// What an SVG asks for: our font where it is installed, else any plain one.
pub const FALLBACKS: &str = "'Noto Sans', 'Open Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";

/// Text as SVG wants it.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Width of a text in letters of this size.
pub fn width(text: &str, size: f64) -> f64 {
    let Ok(font) = FontRef::new(notosans::REGULAR_TTF) else {
        return 0.6 * size * text.chars().count() as f64;
    };
    let letters = font.charmap();
    let widths = font.glyph_metrics(Size::new(size as f32), LocationRef::default());
    let advance = |letter: char| letters.map(letter).and_then(|glyph| widths.advance_width(glyph));
    text.chars().map(|letter| advance(letter).map_or(0.6 * size, f64::from)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_are_wider() {
        assert!(width("mmm", 10.0) > 2.0 * width("iii", 10.0));
        assert!((width("ab", 20.0) - 2.0 * width("ab", 10.0)).abs() < 1e-3);
    }
}
