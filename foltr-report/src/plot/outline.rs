//! Texts of a figure as outlines of the embedded font, so that drawing needs no fonts.

use std::fmt::Write;

use ttf_parser::OutlineBuilder;

use super::text::{Letters, unescape};

/// The SVG with every `<text>` that a canvas has set as a `<path>`.
pub fn outlined(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some((before, text)) = rest.split_once("<text ")
        && let Some((element, after)) = text.split_once("</text>")
    {
        out.push_str(before);
        out.push_str(&path(element));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn path(element: &str) -> String {
    let (attributes, content) = element.split_once('>').unwrap_or((element, ""));
    let (mut x, mut y, mut size, mut is_bold, mut share_before) = (0.0, 0.0, 0.0, false, 0.0);
    let mut others = String::new();
    for attribute in attributes.split_inclusive("\" ") {
        let (name, value) = attribute.trim_end().split_once('=').unwrap_or((attribute, ""));
        let number = || value.trim_matches('"').parse().unwrap_or(0.0);
        match (name, value) {
            ("x", _) => x = number(),
            ("y", _) => y = number(),
            ("font-size", _) => size = number(),
            ("font-weight", _) => is_bold = true,
            ("text-anchor", "\"middle\"") => share_before = 0.5,
            ("text-anchor", "\"end\"") => share_before = 1.0,
            ("text-anchor", _) => {}
            _ => others.push_str(&format!(" {name}={value}")),
        }
    }
    let (letters, text) = (Letters::new(is_bold, size), unescape(content));
    let mut pen = Pen { x: x - share_before * letters.width(&text), y, scale: letters.scale(), data: String::new() };
    for letter in text.chars() {
        letters.draw(letter, &mut pen);
        pen.x += letters.advance(letter);
    }
    format!(r#"<path d="{}"{others}/>"#, pen.data)
}

/// Writes outlines, whose y goes up, as path data, whose y goes down.
struct Pen {
    x: f64,
    y: f64,
    scale: f64,
    data: String,
}

impl Pen {
    fn add(&mut self, command: char, points: &[(f32, f32)]) {
        self.data.push(command);
        for (x, y) in points {
            let (x, y) = (self.x + self.scale * f64::from(*x), self.y - self.scale * f64::from(*y));
            let _ = write!(self.data, "{x:.3} {y:.3} ");
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.data.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::text::{escape, width};

    fn xs(path: &str) -> Vec<f64> {
        let data = path.split('"').nth(1).expect("data");
        data.split(['M', 'L', 'Q', 'C', 'Z', ' '])
            .filter(|n| !n.is_empty())
            .step_by(2)
            .map(|n| n.parse().expect("x"))
            .collect()
    }

    #[test]
    fn letters_stand_where_the_text_stands() {
        let text = |anchor: &str, content: &str| {
            outlined(&format!(
                r#"<g><text x="100.0" y="20.0" text-anchor="{anchor}" font-size="10" fill="red">{content}</text></g>"#
            ))
        };
        for (anchor, before) in [("start", 0.0), ("middle", 0.5), ("end", 1.0)] {
            let svg = text(anchor, "HHH");
            assert!(svg.starts_with(r#"<g><path d="M"#) && svg.ends_with(r#"Z" fill="red"/></g>"#), "{svg}");
            let left = 100.0 - before * width("HHH", 10.0);
            let xs = xs(&svg);
            assert!(xs.iter().all(|&x| x > left && x < left + width("HHH", 10.0)), "{anchor}: {xs:?}");
        }
        assert_eq!(text("start", &escape("<&>")), text("start", "<&>".replace('<', "&lt;").as_str()));
        assert_eq!(text("start", " "), r#"<g><path d="" fill="red"/></g>"#);
    }

    #[test]
    fn what_is_no_text_stays() {
        let svg = r#"<svg><title>a</title><path d="M0 0"/></svg>"#;
        assert_eq!(outlined(svg), svg);
    }
}
