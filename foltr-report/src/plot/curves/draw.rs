//! Draws panels, curves and labels of learning curves where the layout wants them.

use std::fmt::Write as _;

use super::super::axis::{Scale, thinning};
use super::super::canvas::{Anchor, Canvas, GRID, HEADING, LABEL, SOFT_INK, TICK, path};
use super::super::legend::line_swatch;
use super::super::style::{colour, dashes, marker};
use super::super::text::escape;
use super::layout::{Field, Layout, RIGHT_MARGIN};
use super::{Curve, CurveFigure, Point, Reference, Sharing};

/// More points than a panel has pixels, even when it is printed large.
const MOST_POINTS: usize = 1000;
/// Markers of a curve, at different places for different methods.
const N_MARKERS: usize = 5;

pub fn draw(figure: &CurveFigure, layout: &Layout) -> Canvas {
    let mut canvas = Canvas::of("curves");
    canvas.size = layout.size;
    canvas.head(layout.left, layout.size.0 - layout.left - RIGHT_MARGIN, &figure.title, &figure.subtitle);
    let [left, top, width, height] = layout.grid;
    for (column, lines) in layout.column_titles.iter().enumerate() {
        let x = left + column as f64 * (layout.panel.0 + layout.column_gap) + layout.panel.0 / 2.0;
        let first = layout.titles_bottom - lines.len().saturating_sub(1) as f64 * HEADING.line();
        canvas.lines((x, first), Anchor::Middle, HEADING, lines);
    }
    for (row, titles) in layout.row_titles.iter().enumerate() {
        for column in 0..figure.rows[row].panels.len() {
            add_panel(&mut canvas, figure, &layout.fields[row][column], row, column);
        }
        let middle = top + row as f64 * (layout.panel.1 + layout.row_gap) + layout.panel.1 / 2.0;
        for (idx, line) in titles.iter().enumerate() {
            let x = left + width + 8.0 + (idx as f64 + 0.8) * HEADING.line();
            canvas.upright((x, middle), Anchor::Middle, HEADING, line);
        }
    }
    canvas.lines((left + width / 2.0, layout.x_label_top + LABEL.size), Anchor::Middle, LABEL, &layout.x_label);
    canvas.y_label(top + height / 2.0, &layout.y_label);
    layout.legend.draw(&mut canvas, &figure.methods, (layout.size.0 / 2.0, layout.legend_top), line_swatch);
    canvas
}

fn add_panel(canvas: &mut Canvas, figure: &CurveFigure, field: &Field, row: usize, column: usize) {
    let Field { left, top, width, height, x, y } = field;
    let scale = if x.scale == Scale::Logarithmic { "logarithmic" } else { "linear" };
    let (x_label, y_label) = (escape(&figure.x_label), escape(&figure.y_label));
    // A page that shows values under the mouse turns pixels into values with these.
    canvas.add(&format!(
        r#"<g class="panel" data-x-label="{x_label}" data-y-label="{y_label}" data-left="{left:.1}" data-top="{top:.1}" data-width="{width}" data-height="{height}" data-x-scale="{scale}" data-x-start="{}" data-x-low="{}" data-x-high="{}" data-y-low="{}" data-y-high="{}">"#,
        x.start, x.low, x.high, y.low, y.high
    ));
    add_y_ticks(canvas, field, figure.y_sharing == Sharing::Panel || column == 0);
    let is_lowest = figure.rows.iter().skip(row + 1).all(|row| row.panels.len() <= column);
    add_x_ticks(canvas, field, figure.x_sharing != Sharing::Figure || is_lowest);
    let mut add_series = |method: usize, shapes: String| {
        let name = escape(figure.methods.get(method).map_or("", String::as_str));
        canvas.add(&format!(
            r#"<g class="series" data-series="{method}" data-name="{name}"><title>{name}</title>{shapes}</g>"#
        ));
    };
    let panel = &figure.rows[row].panels[column];
    for reference in &panel.references {
        add_series(reference.method, draw_reference(field, reference));
    }
    // The first method above the others.
    for curve in panel.curves.iter().rev() {
        add_series(curve.method, draw_curve(field, curve));
    }
    canvas.add("</g>");
}

fn add_y_ticks(canvas: &mut Canvas, field: &Field, has_labels: bool) {
    for &tick in &field.y.ticks {
        let y = field.y_at(tick).unwrap_or(field.top);
        canvas.line((field.left, y), (field.left + field.width, y), GRID);
        if has_labels {
            canvas.label((field.left - 9.0, y + 4.5), Anchor::End, TICK, &field.y.label(tick));
        }
    }
}

fn add_x_ticks(canvas: &mut Canvas, field: &Field, has_labels: bool) {
    let (axis, left, bottom) = (&field.x, field.left, field.top + field.height);
    let at: Vec<f64> = axis.ticks.iter().map(|&tick| left + axis.share(tick).unwrap_or(0.0) * field.width).collect();
    let labels: Vec<String> = axis.ticks.iter().map(|&tick| axis.label(tick)).collect();
    let widths: Vec<f64> = labels.iter().map(|label| TICK.width(label)).collect();
    let every = thinning(&at, &widths, 8.0);
    for (idx, &x) in at.iter().enumerate() {
        canvas.line((x, field.top), (x, bottom), GRID);
        canvas.line((x, bottom), (x, bottom + 5.0), SOFT_INK);
        if has_labels && idx % every == 0 {
            canvas.label((x, bottom + 19.0), Anchor::Middle, TICK, &labels[idx]);
        }
    }
    canvas.line((left, bottom), (left + field.width, bottom), SOFT_INK);
    if axis.start > 0.0 {
        // The axis is broken between 0 and what a logarithm has.
        let x = left + axis.start * field.width / 2.0;
        canvas.line((x - 4.0, bottom + 4.0), (x, bottom - 4.0), SOFT_INK);
        canvas.line((x, bottom + 4.0), (x + 4.0, bottom - 4.0), SOFT_INK);
    }
}

fn draw_reference(field: &Field, &Reference { method, value }: &Reference) -> String {
    let Some(y) = field.y_at(value) else { return String::new() };
    let (left, right) = (field.left, field.left + field.width);
    let markers: String =
        (0..2).map(|idx| marker(method, (right - 12.0 - f64::from(idx) * field.width * 0.8, y))).collect();
    format!(
        r#"<path class="line reference" data-value="{value}" d="M{left:.1} {y:.1}L{right:.1} {y:.1}" fill="none" stroke="{}" stroke-width="1.6"{}/>{markers}"#,
        colour(method),
        dashes(method)
    )
}

fn draw_curve(field: &Field, curve: &Curve) -> String {
    let colour = colour(curve.method);
    let can_be_shown = |point: &&Point| field.at(point.x, point.mean).is_some();
    let points = thin(&curve.points.iter().filter(can_be_shown).collect::<Vec<_>>(), MOST_POINTS);
    // Within the axes, which may be narrower than a band. An end that is not finite is as good as none.
    let end = |point: &Point, end: f64| {
        let end = if end.is_finite() { end.clamp(field.y.low, field.y.high) } else { point.mean };
        field.at(point.x, end)
    };
    let mut out = String::new();
    if points.len() > 1 && points.iter().any(|point| point.low < point.high) {
        let upper = points.iter().filter_map(|point| end(point, point.high));
        let lower = points.iter().rev().filter_map(|point| end(point, point.low));
        let band = path(upper.chain(lower));
        let _ = write!(out, r#"<path class="band" d="{band}Z" fill="{colour}" fill-opacity="0.18" stroke="none"/>"#);
    }
    // A band without width cannot be seen: a single point has an error bar.
    if let [point] = points[..]
        && let (Some((x, low)), Some((_, high))) = (end(point, point.low), end(point, point.high))
    {
        let _ = write!(out, r#"<path class="band" d="M{x:.1} {low:.1}V{high:.1}" stroke="{colour}"/>"#);
    }
    let spots: Vec<(f64, f64)> = points.iter().filter_map(|point| field.at(point.x, point.mean)).collect();
    let (line, dashes) = (path(spots.iter().copied()), dashes(curve.method));
    let _ = write!(
        out,
        r#"<path class="line" d="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"{dashes}/>"#
    );
    for idx in marked(&spots, curve.method) {
        out.push_str(&marker(curve.method, spots[idx]));
    }
    out
}

/// At most so many elements, evenly spread, with the first and the last.
fn thin<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|idx| all[idx * (all.len() - 1) / (most - 1)]).collect()
}

/// Which points carry a marker: all of a few, else some at even distances, shifted from method to method so that they
/// do not hide each other.
fn marked(spots: &[(f64, f64)], method: usize) -> Vec<usize> {
    let (Some(first), Some(last)) = (spots.first(), spots.last()) else { return Vec::new() };
    if spots.len() <= 2 * N_MARKERS {
        return (0..spots.len()).collect();
    }
    let step = (last.0 - first.0) / N_MARKERS as f64;
    let shift = (method % 7) as f64 / 7.0;
    let wanted = (0..N_MARKERS).map(|idx| first.0 + (idx as f64 + shift) * step);
    wanted.filter_map(|x| spots.iter().position(|spot| spot.0 >= x)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_curves_keep_their_ends() {
        let all: Vec<usize> = (0..12_345).collect();
        let thinned = thin(&all, 1000);
        assert_eq!((thinned.len(), thinned[0], thinned[999]), (1000, 0, 12_344));
        assert!(thinned.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(thin(&all[..7], 1000), all[..7]);
    }

    #[test]
    fn markers_of_different_methods_lie_apart() {
        let spots: Vec<(f64, f64)> = (0..1000).map(|idx| (f64::from(idx), 0.0)).collect();
        let (first, second) = (marked(&spots, 0), marked(&spots, 1));
        assert_eq!(first, [0, 200, 400, 600, 800]);
        assert!(first.iter().all(|idx| !second.contains(idx)) && second.len() == N_MARKERS);
        assert_eq!(marked(&spots[..3], 5), [0, 1, 2]);
        // Crowded at the right end, as on a logarithmic axis: still at even distances.
        let crowded: Vec<(f64, f64)> = (1..=1000).map(|idx| (f64::from(idx).ln(), 0.0)).collect();
        assert_eq!(marked(&crowded, 0), [0, 3, 15, 63, 251]);
    }
}
