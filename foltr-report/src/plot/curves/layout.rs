//! Where the panels of learning curves are, and what their axes span.

use super::super::axis::{Axis, Scale};
use super::super::canvas::{Canvas, HEADING, LABEL};
use super::super::format::Room;
use super::super::legend::Legend;
use super::super::text::wrap;
use super::super::{LEAST_WIDTH, tick_width};
use super::{CurveFigure, Panel, Sharing};

/// Panels of a figure with one row, and of one with more.
const LARGE: (f64, f64) = (330.0, 290.0);
const SMALL: (f64, f64) = (270.0, 185.0);
/// A panel is not smaller than this, however little room there is.
const LEAST: (f64, f64) = (120.0, 80.0);
/// Times that a layout is corrected: the room of names and ticks depends a little on the panels.
const N_TRIES: usize = 5;
/// From one tick of the vertical axis to the next, about.
const BETWEEN_TICKS: f64 = 37.0;
/// So many columns are as small as many rows.
const MANY_COLUMNS: usize = 4;
pub const RIGHT_MARGIN: f64 = 20.0;
/// An axis whose least value is below this share of its largest has 0.
const NEAR_ZERO: f64 = 0.1;
/// Above and below the curves, as a share of what they span.
const BEYOND: f64 = 0.06;

pub struct Layout {
    pub size: (f64, f64),
    /// Width without what is left empty at the right.
    used: f64,
    pub left: f64,
    pub legend: Legend,
    pub legend_top: f64,
    pub x_label_top: f64,
    /// Base line of the column titles' last line.
    pub titles_bottom: f64,
    pub column_titles: Vec<Vec<String>>,
    pub row_titles: Vec<Vec<String>>,
    pub y_label: Vec<String>,
    pub x_label: Vec<String>,
    /// By row and column.
    pub fields: Vec<Vec<Field>>,
    /// Of all panels together: left, top, width and height.
    pub grid: [f64; 4],
    pub panel: (f64, f64),
    pub column_gap: f64,
    pub row_gap: f64,
}

pub struct Field {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Axis,
    pub y: Axis,
}

impl Field {
    /// Where a value is drawn; none for what cannot be shown.
    pub fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.left + self.x.share(x)? * self.width, self.y_at(y)?))
    }

    pub fn y_at(&self, y: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.y.share(y)?) * self.height)
    }
}

impl Layout {
    /// With panels that fill the room.
    pub fn of(figure: &CurveFigure, room: Room) -> Self {
        let n_rows = figure.rows.len().max(1);
        let n_columns = figure.rows.iter().map(|row| row.panels.len()).max().unwrap_or(0).max(1);
        let natural = if n_rows == 1 && n_columns < MANY_COLUMNS { LARGE } else { SMALL };
        let least_width = room.width.unwrap_or(LEAST_WIDTH);
        let mut panel = natural;
        let mut layout = Self::with_panels(figure, (n_rows, n_columns), panel, least_width);
        for _ in 0..N_TRIES {
            if let Some(width) = room.width {
                panel.0 = (panel.0 + (width - layout.used) / n_columns as f64).max(LEAST.0);
                panel.1 = (panel.0 * natural.1 / natural.0).clamp(LEAST.1, natural.1);
            }
            if let Some(height) = room.height {
                panel.1 = (layout.panel.1 + (height - layout.size.1) / n_rows as f64).max(LEAST.1);
            }
            layout = Self::with_panels(figure, (n_rows, n_columns), panel, least_width);
        }
        layout
    }

    fn with_panels(
        figure: &CurveFigure,
        (n_rows, n_columns): (usize, usize),
        panel: (f64, f64),
        least_width: f64,
    ) -> Self {
        let axes = axes(figure, ((panel.1 / BETWEEN_TICKS) as usize).clamp(2, 6));
        let (x_width, y_width) = axes.iter().flatten().fold((0.0, 0.0), |(x_width, y_width): (f64, f64), (x, y)| {
            (x_width.max(tick_width(x)), y_width.max(tick_width(y)))
        });
        let row_titles: Vec<_> = figure.rows.iter().map(|row| wrap(&row.title, HEADING.size, panel.1)).collect();
        let column_titles: Vec<_> =
            figure.columns.iter().take(n_columns).map(|title| wrap(title, HEADING.size, panel.0)).collect();
        let column_gap = (x_width + 10.0).max(if figure.y_sharing == Sharing::Panel { y_width + 30.0 } else { 26.0 });
        let row_gap = if figure.x_sharing == Sharing::Figure { 24.0 } else { 46.0 };
        let grid_height = n_rows as f64 * panel.1 + (n_rows - 1) as f64 * row_gap;
        let grid_width = n_columns as f64 * panel.0 + (n_columns - 1) as f64 * column_gap;
        let y_label = wrap(&figure.y_label, LABEL.size, grid_height);
        let left = 14.0 + y_label.len() as f64 * LABEL.line() + y_width + 17.0;
        let n_title_lines = row_titles.iter().map(Vec::len).max().unwrap_or(0);
        let right = (n_title_lines as f64 * HEADING.line() + 8.0).max(x_width / 2.0 + 4.0) + RIGHT_MARGIN;
        let used = left + grid_width + right;
        let width = used.max(least_width);
        // Composed once for its height; drawn again later.
        let head = Canvas::default().head(left, width - left - RIGHT_MARGIN, &figure.title, &figure.subtitle);
        let deepest = column_titles.iter().map(Vec::len).max().unwrap_or(0);
        let titles_bottom = head + 12.0 + deepest as f64 * HEADING.line();
        let top = titles_bottom + 10.0;
        let x_label = wrap(&figure.x_label, LABEL.size, grid_width.max(least_width - left - RIGHT_MARGIN));
        let x_label_top = top + grid_height + 25.0;
        let legend_top = x_label_top + x_label.len() as f64 * LABEL.line() + 14.0;
        let legend = Legend::of(&figure.methods, width - 2.0 * RIGHT_MARGIN);
        let field = |row: usize, (column, (x, y)): (usize, (Axis, Axis))| Field {
            left: left + column as f64 * (panel.0 + column_gap),
            top: top + row as f64 * (panel.1 + row_gap),
            width: panel.0,
            height: panel.1,
            x,
            y,
        };
        let rows = axes.into_iter().enumerate();
        Self {
            size: (width, legend_top + legend.height() + 12.0),
            used,
            left,
            legend,
            legend_top,
            x_label_top,
            titles_bottom,
            column_titles,
            row_titles,
            y_label,
            x_label,
            fields: rows.map(|(row, axes)| axes.into_iter().enumerate().map(|it| field(row, it)).collect()).collect(),
            grid: [left, top, grid_width, grid_height],
            panel,
            column_gap,
            row_gap,
        }
    }
}

/// Axes of every panel, each around the values of all panels that share it.
fn axes(figure: &CurveFigure, n_y_ticks: usize) -> Vec<Vec<(Axis, Axis)>> {
    let shared = |sharing: Sharing, row: usize, column: usize| -> Vec<&Panel> {
        let panels = figure.rows.iter().enumerate().flat_map(|(row, it)| it.panels.iter().map(move |it| (row, it)));
        match sharing {
            Sharing::Figure => panels.map(|(_, panel)| panel).collect(),
            Sharing::Row => panels.filter(|(other, _)| *other == row).map(|(_, panel)| panel).collect(),
            Sharing::Panel => vec![&figure.rows[row].panels[column]],
        }
    };
    let axes_of = |row: usize, column: usize| {
        let (x, y) = (shared(figure.x_sharing, row, column), shared(figure.y_sharing, row, column));
        (x_axis(&x, figure.x_scale), Axis::between(heights(&y), BEYOND, n_y_ticks))
    };
    let row_axes = |(row, of): (usize, &super::PanelRow)| (0..of.panels.len()).map(|it| axes_of(row, it)).collect();
    figure.rows.iter().enumerate().map(row_axes).collect()
}

fn x_axis(panels: &[&Panel], scale: Scale) -> Axis {
    let points = panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
    let mut values: Vec<f64> = points.filter(|point| point.mean.is_finite()).map(|point| point.x).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // What begins with the first round begins at 0, too.
    if scale == Scale::Linear && low > 0.0 && low < NEAR_ZERO * high {
        values.push(0.0);
    }
    Axis::of(scale, values.into_iter(), 4)
}

/// All values that panels show. Axes follow the curves, not their bands, which are cut off where they leave the panel.
fn heights<'a>(panels: &'a [&Panel]) -> impl Iterator<Item = f64> + 'a {
    let points = panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
    let means = points.filter(|point| point.x.is_finite()).map(|point| point.mean);
    means.chain(panels.iter().flat_map(|panel| &panel.references).map(|reference| reference.value))
}

#[cfg(test)]
mod tests {
    use super::super::{Curve, PanelRow, Point};
    use super::*;

    #[test]
    fn axes_follow_the_curves_and_not_their_bands() {
        for half in [0.0, 0.05, 3.0] {
            let point = |(x, mean): (f64, f64)| Point { x, mean, low: mean - half, high: mean + half };
            let curve = Curve { method: 0, points: [(1.0, 0.4), (2.0, 0.6)].map(point).into() };
            let panel = Panel { curves: vec![curve], references: Vec::new() };
            let row = PanelRow { title: String::new(), panels: vec![panel] };
            let figure = CurveFigure { rows: vec![row], ..CurveFigure::default() };
            let y = &Layout::of(&figure, Room::default()).fields[0][0].y;
            assert!((y.low - 0.388).abs() < 1e-12 && (y.high - 0.612).abs() < 1e-12, "{half}: {} to {}", y.low, y.high);
        }
    }
}
