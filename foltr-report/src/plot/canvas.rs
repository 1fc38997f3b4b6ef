//! SVG text that knows where its labels are, so that tests can see whether they collide.

use std::fmt::Write as _;

use super::format::Format;
use super::text::{FALLBACKS, LINE, bold_width, escape, width, wrap};

pub const INK: &str = "#222222";
pub const SOFT_INK: &str = "#5a5a5a";
pub const GRID: &str = "#e6e6e6";

/// Which end of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Font {
    pub size: f64,
    pub fill: &'static str,
    pub is_bold: bool,
    /// A white rim, for text above lines.
    pub has_halo: bool,
}

pub const LABEL: Font = Font { size: 14.0, fill: INK, is_bold: false, has_halo: false };
pub const HEADING: Font = Font { is_bold: true, ..LABEL };
pub const SUBTITLE: Font = Font { fill: SOFT_INK, ..LABEL };
pub const TITLE: Font = Font { size: 19.0, ..HEADING };
pub const TICK: Font = Font { size: 12.5, ..SUBTITLE };

impl Font {
    pub fn width(&self, text: &str) -> f64 {
        if self.is_bold { bold_width(text, self.size) } else { width(text, self.size) }
    }

    pub fn line(&self) -> f64 {
        LINE * self.size
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct LabelBox {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct Canvas {
    pub body: String,
    pub labels: Vec<LabelBox>,
    pub size: (f64, f64),
    kind: &'static str,
    title: String,
    subtitle: String,
}

impl Canvas {
    pub fn of(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Adds SVG as it is. All numbers and texts in it must be sound.
    pub fn add(&mut self, svg: &str) {
        self.body.push_str(svg);
        self.body.push('\n');
    }

    /// A text with its base line at `at`.
    pub fn label(&mut self, at: (f64, f64), anchor: Anchor, font: Font, text: &str) {
        self.set(at, anchor, font, text, false);
    }

    /// A text that reads upwards, with its base line at the x of `at`.
    pub fn upright(&mut self, at: (f64, f64), anchor: Anchor, font: Font, text: &str) {
        self.set(at, anchor, font, text, true);
    }

    fn set(&mut self, (x, y): (f64, f64), anchor: Anchor, font: Font, text: &str, is_upright: bool) {
        if text.is_empty() {
            return;
        }
        let width = font.width(text);
        let (word, before) = match anchor {
            Anchor::Start => ("start", 0.0),
            Anchor::Middle => ("middle", width / 2.0),
            Anchor::End => ("end", width),
        };
        let weight = if font.is_bold { r#" font-weight="bold""# } else { "" };
        let halo = if font.has_halo { r#" stroke="white" stroke-width="3" paint-order="stroke""# } else { "" };
        let turn = if is_upright { format!(r#" transform="rotate(-90 {x:.1} {y:.1})""#) } else { String::new() };
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{word}" font-size="{}"{weight} fill="{}"{halo}{turn}>{}</text>"#,
            font.size,
            font.fill,
            escape(text)
        );
        // Noto Sans: capitals rise 0.71 of the size, descenders fall 0.24.
        let (above, below) = (0.75 * font.size, 0.25 * font.size);
        let (left, top, right, bottom) = if is_upright {
            (x - above, y + before - width, x + below, y + before)
        } else {
            (x - before, y - above, x - before + width, y + below)
        };
        self.labels.push(LabelBox { left, top, right, bottom, text: text.into() });
    }

    /// Sets lines below each other; the first base line is at `at`. Returns their height.
    pub fn lines(&mut self, (x, y): (f64, f64), anchor: Anchor, font: Font, lines: &[String]) -> f64 {
        for (idx, line) in lines.iter().enumerate() {
            self.label((x, y + idx as f64 * font.line()), anchor, font, line);
        }
        lines.len() as f64 * font.line()
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str) {
        let _ = writeln!(
            self.body,
            r#"<path d="M{:.1} {:.1}L{:.1} {:.1}" stroke="{stroke}" stroke-width="1"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    /// Title and subtitle from the top left on, in as many lines as they need. Returns where they end.
    pub fn head(&mut self, left: f64, available: f64, title: &str, subtitle: &str) -> f64 {
        (self.title, self.subtitle) = (title.into(), subtitle.into());
        if title.is_empty() && subtitle.is_empty() {
            return 0.0;
        }
        let mut y = 36.0;
        y += self.lines((left, y), Anchor::Start, TITLE, &wrap(title, TITLE.size, available));
        y += self.lines((left, y - 3.0), Anchor::Start, SUBTITLE, &wrap(subtitle, SUBTITLE.size, available));
        y - 12.0
    }

    /// Lines that read upwards at the left edge, around this height.
    pub fn y_label(&mut self, middle: f64, lines: &[String]) {
        for (idx, line) in lines.iter().enumerate() {
            self.upright((12.0 + (idx as f64 + 0.8) * LABEL.line(), middle), Anchor::Middle, LABEL, line);
        }
    }

    pub fn finish(&self, format: &Format) -> String {
        let (width, height) = match format.has_size() {
            true => self.size,
            false => (self.size.0.ceil(), self.size.1.ceil()),
        };
        let on_paper = match format.has_size() {
            true => {
                let (width, height) = format.size(self.size);
                format!(r#"width="{width:.3}pt" height="{height:.3}pt""#)
            }
            false => format!(r#"width="{width}" height="{height}""#),
        };
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="{}" {on_paper} viewBox="0 0 {width} {height}" role="img" font-family="{FALLBACKS}">
<title>{}</title>
<desc>{}</desc>
<rect width="{width}" height="{height}" fill="white"/>
{}</svg>
"#,
            self.kind,
            escape(&self.title),
            escape(&self.subtitle),
            self.body
        )
    }
}

pub fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (idx, (x, y)) in points.enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if idx == 0 { 'M' } else { 'L' });
    }
    path
}
