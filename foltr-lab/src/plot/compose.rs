//! Puts a figure together as SVG text.

use std::fmt::Write as _;

use super::axis::Axis;
use super::text::{FALLBACKS, escape, width};
use super::{COLOURS, Curve, Figure, Panel};

/// Units of the SVG, which a browser shows as pixels.
const PANEL_WIDTH: f64 = 330.0;
const PANEL_HEIGHT: f64 = 290.0;
const BETWEEN_PANELS: f64 = 26.0;
const RIGHT_MARGIN: f64 = 30.0;
const LEFT_MARGIN: f64 = 76.0;
/// Title, subtitle, and the panels' own titles.
const ABOVE_PANELS: f64 = 100.0;
/// Tick labels, axis label, legend.
const BELOW_PANELS: f64 = 98.0;

const TITLE_SIZE: f64 = 19.0;
const LABEL_SIZE: f64 = 14.0;
const TICK_SIZE: f64 = 12.5;
const LEGEND_LINE: f64 = 26.0;
const LEGEND_GAP: f64 = 30.0;
const LEGEND_ROW: f64 = 24.0;

const INK: &str = "#222222";
const SOFT_INK: &str = "#5a5a5a";
const GRID: &str = "#e6e6e6";

/// Where things are.
struct Layout {
    width: f64,
    height: f64,
    x: Axis,
    y: Axis,
    legend: Vec<Vec<usize>>,
}

/// The figure as SVG. Text stays text, with fallbacks for fonts that are not installed.
pub fn svg(figure: &Figure) -> String {
    let layout = Layout::of(figure);
    let (width, height) = (layout.width, layout.height);
    let mut out = String::new();
    let _ = write!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" font-family="{FALLBACKS}">
<title>{}</title>
<desc>{}</desc>
<rect width="{width}" height="{height}" fill="white"/>
"#,
        escape(&figure.title),
        escape(&figure.subtitle)
    );
    label(&mut out, (LEFT_MARGIN, 36.0), "start", TITLE_SIZE, INK, true, &figure.title);
    label(&mut out, (LEFT_MARGIN, 59.0), "start", LABEL_SIZE, SOFT_INK, false, &figure.subtitle);
    for (panel_idx, panel) in figure.panels.iter().enumerate() {
        add_panel(&mut out, &layout, panel_idx, panel);
    }
    add_axis_labels(&mut out, figure);
    add_legend(&mut out, &layout, figure);
    out.push_str("</svg>\n");
    out
}

impl Layout {
    fn of(figure: &Figure) -> Self {
        let n_panels = figure.panels.len().max(1) as f64;
        let panels_width = n_panels * PANEL_WIDTH + (n_panels - 1.0) * BETWEEN_PANELS;
        let title_width = width(&figure.title, TITLE_SIZE * 1.1).max(width(&figure.subtitle, LABEL_SIZE));
        let total = LEFT_MARGIN + panels_width.max(title_width) + RIGHT_MARGIN;
        let legend = legend_rows(&figure.methods, total - LEFT_MARGIN - RIGHT_MARGIN);
        let points = || figure.panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
        Self {
            width: total,
            height: ABOVE_PANELS + PANEL_HEIGHT + BELOW_PANELS + (legend.len().max(1) - 1) as f64 * LEGEND_ROW,
            x: Axis::around(points().map(|point| point.x), 4),
            y: Axis::around(points().flat_map(|point| [point.low, point.mean, point.high]), 6),
            legend,
        }
    }

    fn panel_left(&self, panel_idx: usize) -> f64 {
        LEFT_MARGIN + panel_idx as f64 * (PANEL_WIDTH + BETWEEN_PANELS)
    }

    fn place(&self, panel_idx: usize, x: f64, y: f64) -> (f64, f64) {
        let left = self.panel_left(panel_idx);
        (left + self.x.share(x) * PANEL_WIDTH, ABOVE_PANELS + (1.0 - self.y.share(y)) * PANEL_HEIGHT)
    }
}

/// Methods in rows that are not wider than the figure.
fn legend_rows(methods: &[String], available: f64) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut used = f64::INFINITY;
    for (method, name) in methods.iter().enumerate() {
        let needed = entry_width(name) + LEGEND_GAP;
        if used + needed > available + LEGEND_GAP {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += needed;
        rows.last_mut().expect("pushed above").push(method);
    }
    rows
}

fn entry_width(name: &str) -> f64 {
    LEGEND_LINE + 8.0 + width(name, LABEL_SIZE)
}

fn add_panel(out: &mut String, layout: &Layout, panel_idx: usize, panel: &Panel) {
    let left = layout.panel_left(panel_idx);
    let (right, bottom) = (left + PANEL_WIDTH, ABOVE_PANELS + PANEL_HEIGHT);
    label(out, (left + PANEL_WIDTH / 2.0, ABOVE_PANELS - 12.0), "middle", LABEL_SIZE + 1.0, INK, true, &panel.title);
    for &tick in &layout.y.ticks {
        let (_, y) = layout.place(panel_idx, layout.x.low, tick);
        line(out, (left, y), (right, y), GRID);
        if panel_idx == 0 {
            label(out, (left - 9.0, y + 4.5), "end", TICK_SIZE, SOFT_INK, false, &layout.y.label(tick));
        }
    }
    for &tick in &layout.x.ticks {
        let (x, _) = layout.place(panel_idx, tick, layout.y.low);
        line(out, (x, ABOVE_PANELS), (x, bottom), GRID);
        line(out, (x, bottom), (x, bottom + 5.0), SOFT_INK);
        label(out, (x, bottom + 20.0), "middle", TICK_SIZE, SOFT_INK, false, &layout.x.label(tick));
    }
    line(out, (left, bottom), (right, bottom), SOFT_INK);
    for curve in &panel.curves {
        add_band(out, layout, panel_idx, curve);
    }
    // Lines above all bands, the first method above the others.
    for curve in panel.curves.iter().rev() {
        add_line(out, layout, panel_idx, curve);
    }
}

fn add_band(out: &mut String, layout: &Layout, panel_idx: usize, curve: &Curve) {
    if curve.points.iter().all(|point| point.low == point.high) {
        return;
    }
    let upper = curve.points.iter().map(|point| layout.place(panel_idx, point.x, point.high));
    let lower = curve.points.iter().rev().map(|point| layout.place(panel_idx, point.x, point.low));
    let _ = writeln!(
        out,
        r#"<path d="{}Z" fill="{}" fill-opacity="0.2" stroke="none"/>"#,
        path(upper.chain(lower)),
        colour(curve.method)
    );
}

fn add_line(out: &mut String, layout: &Layout, panel_idx: usize, curve: &Curve) {
    let points = curve.points.iter().map(|point| layout.place(panel_idx, point.x, point.mean));
    let _ = writeln!(
        out,
        r#"<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"/>"#,
        path(points),
        colour(curve.method)
    );
}

fn add_axis_labels(out: &mut String, figure: &Figure) {
    let n_panels = figure.panels.len().max(1) as f64;
    let middle = LEFT_MARGIN + (n_panels * PANEL_WIDTH + (n_panels - 1.0) * BETWEEN_PANELS) / 2.0;
    let bottom = ABOVE_PANELS + PANEL_HEIGHT;
    label(out, (middle, bottom + 43.0), "middle", LABEL_SIZE, INK, false, &figure.x_label);
    let (x, y) = (24.0, ABOVE_PANELS + PANEL_HEIGHT / 2.0);
    let _ = writeln!(out, r#"<g transform="translate({x} {y}) rotate(-90)">"#);
    label(out, (0.0, 0.0), "middle", LABEL_SIZE, INK, false, &figure.y_label);
    out.push_str("</g>\n");
}

fn add_legend(out: &mut String, layout: &Layout, figure: &Figure) {
    for (row_idx, row) in layout.legend.iter().enumerate() {
        let y = ABOVE_PANELS + PANEL_HEIGHT + 76.0 + row_idx as f64 * LEGEND_ROW;
        let row_width: f64 = row.iter().map(|&method| entry_width(&figure.methods[method]) + LEGEND_GAP).sum();
        let mut x = (LEFT_MARGIN + layout.width - RIGHT_MARGIN - (row_width - LEGEND_GAP)) / 2.0;
        for &method in row {
            let name = &figure.methods[method];
            let fill = colour(method);
            let _ = writeln!(
                out,
                r#"<rect x="{x:.1}" y="{:.1}" width="{LEGEND_LINE}" height="12" fill="{fill}" fill-opacity="0.2"/><path d="M{x:.1} {:.1}h{LEGEND_LINE}" stroke="{fill}" stroke-width="2.5"/>"#,
                y - 11.0,
                y - 5.0
            );
            label(out, (x + LEGEND_LINE + 8.0, y), "start", LABEL_SIZE, INK, false, name);
            x += entry_width(name) + LEGEND_GAP;
        }
    }
}

const fn colour(method: usize) -> &'static str {
    COLOURS[method % COLOURS.len()]
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (idx, (x, y)) in points.enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if idx == 0 { 'M' } else { 'L' });
    }
    path
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), stroke: &str) {
    let _ = writeln!(
        out,
        r#"<path d="M{:.1} {:.1}L{:.1} {:.1}" stroke="{stroke}" stroke-width="1"/>"#,
        from.0, from.1, to.0, to.1
    );
}

fn label(out: &mut String, at: (f64, f64), anchor: &str, size: f64, fill: &str, bold: bool, text: &str) {
    let weight = if bold { r#" font-weight="bold""# } else { "" };
    let _ = writeln!(
        out,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="{anchor}" font-size="{size}"{weight} fill="{fill}">{}</text>"#,
        at.0,
        at.1,
        escape(text)
    );
}
