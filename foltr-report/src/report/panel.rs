//! One panel of learning curves as SVG. Colours and letters come from the page's style, so that it follows light and dark.

use std::fmt::Write as _;

use crate::plot::axis::Axis;

/// Units of the picture, about one a pixel.
pub const WIDTH: f64 = 420.0;
/// As [`WIDTH`].
pub const HEIGHT: f64 = 286.0;
/// Left, top, width and height of the field that curves are drawn in.
pub const FIELD: [f64; 4] = [58.0, 10.0, 346.0, 226.0];

/// Both axes: x is the same for all panels of a metric, y for those of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Interactions or rounds.
    pub x: Axis,
    /// The metric.
    pub y: Axis,
    /// What x counts.
    pub x_label: &'static str,
    /// Name of the metric.
    pub y_label: String,
}

/// One setting's course.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Index of the series.
    pub series: usize,
    /// Round, x, mean, lower and upper end of the interval, runs.
    pub points: Vec<LinePoint>,
}

/// A mean with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePoint {
    /// Rounds done.
    pub round: usize,
    /// Place on the axis.
    pub x: f64,
    /// Mean over runs.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Number of runs.
    pub n: usize,
}

/// The panel as SVG; `idx` is its place in the embedded numbers.
pub fn svg(idx: usize, axes: &Axes, lines: &[Line], escaped_title: &str) -> String {
    // Bands of many curves would hide the curves.
    let crowded = if lines.len() > 6 { " crowded" } else { "" };
    let mut out = format!(
        r#"<svg class="panel{crowded}" data-panel="{idx}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" tabindex="0" aria-label="{escaped_title}">"#
    );
    add_axes(&mut out, axes);
    for line in lines {
        add_line(&mut out, axes, line);
    }
    out.push_str(r#"<line class="cursor" visibility="hidden"/><circle class="spot" r="4" visibility="hidden"/></svg>"#);
    out
}

fn place(axes: &Axes, x: f64, y: f64) -> (f64, f64) {
    let [left, top, width, height] = FIELD;
    let share = |axis: &Axis, value: f64| (value - axis.low) / (axis.high - axis.low);
    (left + share(&axes.x, x) * width, top + (1.0 - share(&axes.y, y)) * height)
}

fn add_axes(out: &mut String, axes: &Axes) {
    let [left, top, width, height] = FIELD;
    let (right, bottom) = (left + width, top + height);
    for &tick in &axes.y.ticks {
        let (_, y) = place(axes, axes.x.low, tick);
        let label = axes.y.label(tick);
        let _ = write!(
            out,
            r#"<path class="grid" d="M{left} {y:.1}H{right}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"#,
            left - 7.0,
            y + 4.0
        );
    }
    for &tick in &axes.x.ticks {
        let (x, _) = place(axes, tick, axes.y.low);
        let label = axes.x.label(tick);
        let _ = write!(
            out,
            r#"<path class="grid" d="M{x:.1} {top}V{bottom}"/><text class="tick" x="{x:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
            bottom + 17.0
        );
    }
    let (middle, centre) = (left + width / 2.0, top + height / 2.0);
    let _ = write!(
        out,
        r#"<text class="axis" x="{middle}" y="{}" text-anchor="middle">{}</text><text class="axis" x="14" y="{centre}" text-anchor="middle" transform="rotate(-90 14 {centre})">{}</text>"#,
        HEIGHT - 8.0,
        axes.x_label,
        axes.y_label
    );
}

/// Band and curve. A single point without a course is a level: a line from side to side.
fn add_line(out: &mut String, axes: &Axes, line: &Line) {
    let (series, points) = (line.series, &line.points);
    let level: Vec<LinePoint>;
    let points: &[LinePoint] = match points.as_slice() {
        [only] => {
            level = [axes.x.low, axes.x.high].map(|x| LinePoint { x, ..*only }).to_vec();
            &level
        }
        points => points,
    };
    let _ = write!(out, r#"<g class="series s{}" data-series="{series}">"#, class(series));
    let path = |out: &mut String, places: &mut dyn Iterator<Item = (f64, f64)>| {
        for (idx, (x, y)) in places.enumerate() {
            let _ = write!(out, "{}{x:.1} {y:.1}", if idx == 0 { 'M' } else { 'L' });
        }
    };
    if points.iter().any(|point| point.high > point.low) {
        out.push_str(r#"<path class="band" d=""#);
        let upper = points.iter().map(|point| place(axes, point.x, point.high));
        let lower = points.iter().rev().map(|point| place(axes, point.x, point.low));
        path(out, &mut upper.chain(lower));
        out.push_str(r#"Z"/>"#);
    }
    out.push_str(r#"<path class="curve" d=""#);
    path(out, &mut points.iter().map(|point| place(axes, point.x, point.mean)));
    out.push_str(r#""/></g>"#);
}

/// Colour and dashes of a series: six colours, each whole, dashed and dotted, then again.
pub fn class(series: usize) -> String {
    format!("{} d{}", series % 6, series / 6 % 3)
}
