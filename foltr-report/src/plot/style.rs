//! How a method looks: colour, dashes, marker and hatching, so that many can be told apart, in black and white too.

use std::fmt::Write as _;

/// The palette of `OI08` Okabe and Ito, which people with any kind of colour vision can tell apart; black and yellow
/// left out.
const COLOURS: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"];

/// Shapes around a point, filled or not: circle, square, triangle up, diamond, triangle down, cross, plus. Seven, which
/// shares no divisor with six colours: 42 methods have a look of their own.
const MARKERS: [(&str, bool); 7] = [
    ("m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", true),
    ("m-3.3 -3.3h6.6v6.6h-6.6Z", true),
    ("m0 -4.4l4.2 7.2h-8.4Z", true),
    ("m0 -4.7l4.2 4.7l-4.2 4.7l-4.2 -4.7Z", true),
    ("m0 4.4l4.2 -7.2h-8.4Z", true),
    ("m-3.4 -3.4l6.8 6.8m0 -6.8l-6.8 6.8", false),
    ("m-4.2 0h8.4m-4.2 -4.2v8.4", false),
];

/// A new kind of dashes whenever the colours begin again.
const DASHES: [&str; 4] = ["", "8 4", "2.5 3.5", "10 4 2.5 4"];

pub const fn colour(method: usize) -> &'static str {
    COLOURS[method % COLOURS.len()]
}

/// The attribute for dashes; empty for a solid line.
pub fn dashes(method: usize) -> String {
    match DASHES[method / COLOURS.len() % DASHES.len()] {
        "" => String::new(),
        dashes => format!(r#" stroke-dasharray="{dashes}""#),
    }
}

pub fn marker(method: usize, (x, y): (f64, f64)) -> String {
    let (shape, is_filled) = MARKERS[method % MARKERS.len()];
    let colour = colour(method);
    let look = if is_filled {
        format!(r#"fill="{colour}" stroke="white" stroke-width="0.8""#)
    } else {
        format!(r#"fill="none" stroke="{colour}" stroke-width="2""#)
    };
    format!(r#"<path class="marker" d="M{x:.1} {y:.1}{shape}" {look}/>"#)
}

/// What fills a method's bar: its colour, hatched where colours begin again.
pub fn fill(method: usize) -> String {
    if method < COLOURS.len() { colour(method).into() } else { format!("url(#hatch-{method})") }
}

/// Definitions of the hatched fills of so many methods.
pub fn hatches(n_methods: usize) -> String {
    let mut out = String::new();
    for method in COLOURS.len()..n_methods {
        let lines = match method / COLOURS.len() % 3 {
            1 => "M-1 1L1 -1M-1 9L9 -1M7 9L9 7",
            2 => "M-1 1L1 -1M-1 9L9 -1M7 9L9 7M-1 7L1 9M-1 -1L9 9M7 -1L9 1",
            _ => "M0 4H8",
        };
        let _ = writeln!(
            out,
            r#"<defs><pattern id="hatch-{method}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="{}"/><path d="{lines}" stroke="white" stroke-width="1.6"/></pattern></defs>"#,
            colour(method)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn twelve_methods_look_different_with_and_without_colour() {
        let lines: BTreeSet<String> = (0..24).map(|method| format!("{}{}", colour(method), dashes(method))).collect();
        assert_eq!(lines.len(), 24);
        let shape = |method| marker(method, (0.0, 0.0)).split('"').nth(3).map(str::to_owned);
        let grey: BTreeSet<(Option<String>, String)> = (0..24).map(|method| (shape(method), dashes(method))).collect();
        assert_eq!(grey.len(), 24);
        assert_eq!((0..12).map(fill).collect::<BTreeSet<_>>().len(), 12);
        assert_eq!(hatches(12).matches("<pattern").count(), 6);
    }
}
