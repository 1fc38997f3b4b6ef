//! Draws panels, curves and labels of learning curves where the layout wants them.

use std::fmt::Write as _;

use super::super::axis::{Scale, thinning};
use super::super::canvas::{Anchor, Canvas, GRID, HEADING, LABEL, SOFT_INK, TICK, path};
use super::super::legend::Swatch;
use super::super::style::{colour, dashes, marker};
use super::super::text::escape;
use super::layout::Layout;
use super::{Curve, CurveFigure, Panel, Point, Reference, Sharing};

/// More points than a panel has pixels, even when it is printed large.
const MOST_POINTS: usize = 1000;
/// Markers of a curve, at different places for different methods.
const N_MARKERS: usize = 5;

pub fn draw(figure: &CurveFigure, layout: &Layout) -> Canvas {
    let mut canvas = Canvas::default();
    canvas.head(layout.left, layout.width - layout.left - 20.0, &figure.title, &figure.subtitle);
    for (column, lines) in layout.column_titles.iter().enumerate() {
        let x = layout.corner(0, column).0 + layout.panel.0 / 2.0;
        let first = layout.titles_bottom - lines.len().saturating_sub(1) as f64 * HEADING.line();
        canvas.lines((x, first), Anchor::Middle, HEADING, lines);
    }
    for (row_idx, row) in figure.rows.iter().enumerate() {
        for (column, panel) in row.panels.iter().enumerate() {
            add_panel(&mut canvas, figure, layout, (row_idx, column), panel);
        }
        let middle = layout.corner(row_idx, 0).1 + layout.panel.1 / 2.0;
        for (idx, line) in layout.row_titles[row_idx].iter().enumerate() {
            let x = layout.span().1 + 8.0 + (idx as f64 + 0.8) * HEADING.line();
            canvas.upright((x, middle), Anchor::Middle, HEADING, line);
        }
    }
    add_axis_labels(&mut canvas, layout);
    layout.legend.draw(&mut canvas, &figure.methods, layout.width / 2.0, layout.legend_top, Swatch::Line);
    canvas
}

fn add_axis_labels(canvas: &mut Canvas, layout: &Layout) {
    let (left, right) = layout.span();
    canvas.lines(((left + right) / 2.0, layout.x_label_top + LABEL.size), Anchor::Middle, LABEL, &layout.x_label);
    let (top, bottom) = layout.vertical_span();
    for (idx, line) in layout.y_label.iter().enumerate() {
        canvas.upright((12.0 + (idx as f64 + 0.8) * LABEL.line(), (top + bottom) / 2.0), Anchor::Middle, LABEL, line);
    }
}

fn add_panel(canvas: &mut Canvas, figure: &CurveFigure, layout: &Layout, place: (usize, usize), panel: &Panel) {
    let (left, top) = layout.corner(place.0, place.1);
    let (width, height) = layout.panel;
    let (x_axis, y_axis) = layout.axes(place.0, place.1);
    let scale = if x_axis.scale == Scale::Logarithmic { "logarithmic" } else { "linear" };
    // A page that shows values under the mouse turns pixels into values with these.
    canvas.add(&format!(
        r#"<g class="panel" data-row="{}" data-column="{}" data-left="{left:.1}" data-top="{top:.1}" data-width="{width}" data-height="{height}" data-x-scale="{scale}" data-x-low="{}" data-x-high="{}" data-y-low="{}" data-y-high="{}">"#,
        place.0, place.1, x_axis.low, x_axis.high, y_axis.low, y_axis.high
    ));
    add_y_ticks(canvas, layout, place, figure.y_sharing == Sharing::Panel || place.1 == 0);
    let is_lowest = figure.rows.iter().skip(place.0 + 1).all(|row| row.panels.len() <= place.1);
    add_x_ticks(canvas, layout, place, figure.x_sharing != Sharing::Figure || is_lowest);
    let name = |method: usize| figure.methods.get(method).map_or("", String::as_str);
    for reference in &panel.references {
        add_series(canvas, reference.method, name(reference.method), &draw_reference(layout, place, reference));
    }
    // The first method above the others.
    for curve in panel.curves.iter().rev() {
        add_series(canvas, curve.method, name(curve.method), &draw_curve(layout, place, curve));
    }
    canvas.add("</g>");
}

fn add_y_ticks(canvas: &mut Canvas, layout: &Layout, place: (usize, usize), has_labels: bool) {
    let (left, top) = layout.corner(place.0, place.1);
    let axis = &layout.axes(place.0, place.1).1;
    for &tick in &axis.ticks {
        let y = top + (1.0 - axis.share(tick).unwrap_or(0.0)) * layout.panel.1;
        canvas.line((left, y), (left + layout.panel.0, y), GRID);
        if has_labels {
            canvas.label((left - 9.0, y + 4.5), Anchor::End, TICK, &axis.label(tick));
        }
    }
}

fn add_x_ticks(canvas: &mut Canvas, layout: &Layout, place: (usize, usize), has_labels: bool) {
    let (left, top) = layout.corner(place.0, place.1);
    let bottom = top + layout.panel.1;
    let axis = &layout.axes(place.0, place.1).0;
    let at: Vec<f64> = axis.ticks.iter().map(|&tick| left + axis.share(tick).unwrap_or(0.0) * layout.panel.0).collect();
    let labels: Vec<String> = axis.ticks.iter().map(|&tick| axis.label(tick)).collect();
    let widths: Vec<f64> = labels.iter().map(|label| TICK.width(label)).collect();
    let every = thinning(&at, &widths, 8.0);
    for (idx, &x) in at.iter().enumerate() {
        canvas.line((x, top), (x, bottom), GRID);
        canvas.line((x, bottom), (x, bottom + 5.0), SOFT_INK);
        if has_labels && idx % every == 0 {
            canvas.label((x, bottom + 19.0), Anchor::Middle, TICK, &labels[idx]);
        }
    }
    canvas.line((left, bottom), (left + layout.panel.0, bottom), SOFT_INK);
}

fn add_series(canvas: &mut Canvas, method: usize, name: &str, shapes: &str) {
    let name = escape(name);
    canvas.add(&format!(
        r#"<g class="series" data-series="{method}" data-name="{name}"><title>{name}</title>{shapes}</g>"#
    ));
}

fn draw_reference(layout: &Layout, place: (usize, usize), reference: &Reference) -> String {
    let (left, top) = layout.corner(place.0, place.1);
    let Some(share) = layout.axes(place.0, place.1).1.share(reference.value) else { return String::new() };
    let y = top + (1.0 - share) * layout.panel.1;
    let right = left + layout.panel.0;
    let markers: String =
        (0..2).map(|idx| marker(reference.method, (right - 12.0 - f64::from(idx) * layout.panel.0 * 0.8, y))).collect();
    format!(
        r#"<path class="line reference" data-value="{}" d="M{left:.1} {y:.1}L{right:.1} {y:.1}" fill="none" stroke="{}" stroke-width="1.6"{}/>{markers}"#,
        reference.value,
        colour(reference.method),
        dashes(reference.method)
    )
}

fn draw_curve(layout: &Layout, place: (usize, usize), curve: &Curve) -> String {
    let can_be_shown = |point: &&Point| layout.place(place, point.x, point.mean).is_some();
    let points: Vec<&Point> = curve.points.iter().filter(can_be_shown).collect();
    let points = thin(&points, MOST_POINTS);
    let at = |x: f64, y: f64| layout.place(place, x, y);
    let mut out = String::new();
    if points.len() > 1 && points.iter().any(|point| point.low < point.high) {
        // An end that is not finite is as good as none.
        let end = |point: &Point, end: f64| at(point.x, end).or_else(|| at(point.x, point.mean));
        let upper = points.iter().filter_map(|point| end(point, point.high));
        let lower = points.iter().rev().filter_map(|point| end(point, point.low));
        let band = path(upper.chain(lower));
        let _ = write!(
            out,
            r#"<path class="band" d="{band}Z" fill="{}" fill-opacity="0.18" stroke="none"/>"#,
            colour(curve.method)
        );
    }
    // A band without width cannot be seen: a single point has an error bar.
    if let [point] = points[..]
        && let (Some((x, low)), Some((_, high))) = (at(point.x, point.low), at(point.x, point.high))
    {
        let _ = write!(out, r#"<path class="band" d="M{x:.1} {low:.1}V{high:.1}" stroke="{}"/>"#, colour(curve.method));
    }
    let line = path(points.iter().filter_map(|point| at(point.x, point.mean)));
    let _ = write!(
        out,
        r#"<path class="line" d="{line}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round"{}/>"#,
        colour(curve.method),
        dashes(curve.method)
    );
    let spots: Vec<(f64, f64)> = points.iter().filter_map(|point| at(point.x, point.mean)).collect();
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
