//! Where the panels of learning curves are, and what their axes span.

use super::super::axis::{Axis, Scale};
use super::super::canvas::{Canvas, HEADING, LABEL, TICK};
use super::super::legend::Legend;
use super::super::text::wrap;
use super::{CurveFigure, Panel, Sharing};

/// Panels of a figure with one row, and of one with more.
const LARGE: (f64, f64) = (330.0, 290.0);
const SMALL: (f64, f64) = (270.0, 185.0);
/// So many columns are as small as many rows.
const MANY_COLUMNS: usize = 4;
const RIGHT_MARGIN: f64 = 20.0;
const TICK_LENGTH: f64 = 5.0;
/// From a tick to its label.
const TICK_GAP: f64 = 9.0;
const LEAST_WIDTH: f64 = 460.0;

/// Where things are. Panels are numbered by row and column.
pub struct Layout {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub panel: (f64, f64),
    pub legend: Legend,
    pub legend_top: f64,
    pub x_label_top: f64,
    /// Base line of the column titles' last line.
    pub titles_bottom: f64,
    pub column_titles: Vec<Vec<String>>,
    pub row_titles: Vec<Vec<String>>,
    pub y_label: Vec<String>,
    pub x_label: Vec<String>,
    tops: Vec<f64>,
    lefts: Vec<f64>,
    axes: Vec<Vec<(Axis, Axis)>>,
}

impl Layout {
    pub fn of(figure: &CurveFigure) -> Self {
        let n_rows = figure.rows.len().max(1);
        let n_columns = figure.rows.iter().map(|row| row.panels.len()).max().unwrap_or(0).max(1);
        let panel = if n_rows == 1 && n_columns < MANY_COLUMNS { LARGE } else { SMALL };
        let axes = axes(figure, panel);
        let (x_width, y_width) = label_widths(&axes);
        let row_titles: Vec<_> = figure.rows.iter().map(|row| wrap(&row.title, HEADING.size, panel.1)).collect();
        let column_titles: Vec<_> =
            figure.columns.iter().take(n_columns).map(|title| wrap(title, HEADING.size, panel.0)).collect();
        let column_gap = (x_width + 10.0).max(if figure.y_sharing == Sharing::Panel { y_width + 30.0 } else { 26.0 });
        let row_gap = if figure.x_sharing == Sharing::Figure { 24.0 } else { 46.0 };
        let grid_height = n_rows as f64 * panel.1 + (n_rows - 1) as f64 * row_gap;
        let grid_width = n_columns as f64 * panel.0 + (n_columns - 1) as f64 * column_gap;
        let y_label = wrap(&figure.y_label, LABEL.size, grid_height);
        let left = 14.0 + lines(&y_label, LABEL.line()) + y_width + TICK_GAP + 8.0;
        let n_title_lines = row_titles.iter().map(Vec::len).max().unwrap_or(0);
        let right = (n_title_lines as f64 * HEADING.line() + 8.0).max(x_width / 2.0 + 4.0) + RIGHT_MARGIN;
        let width = (left + grid_width + right).max(LEAST_WIDTH);
        // Composed once for its height; drawn again later.
        let head = Canvas::default().head(left, width - left - RIGHT_MARGIN, &figure.title, &figure.subtitle);
        let deepest = column_titles.iter().map(Vec::len).max().unwrap_or(0);
        let titles_bottom = head + 12.0 + deepest as f64 * HEADING.line();
        let top = titles_bottom + 10.0;
        let x_label = wrap(&figure.x_label, LABEL.size, grid_width.max(LEAST_WIDTH - left - RIGHT_MARGIN));
        let x_label_top = top + grid_height + TICK_LENGTH + 20.0;
        let legend_top = x_label_top + lines(&x_label, LABEL.line()) + 14.0;
        let legend = Legend::of(&figure.methods, width - 2.0 * RIGHT_MARGIN);
        Self {
            width,
            height: legend_top + legend.height() + 12.0,
            left,
            panel,
            legend,
            legend_top,
            x_label_top,
            titles_bottom,
            column_titles,
            row_titles,
            y_label,
            x_label,
            tops: (0..n_rows).map(|row| top + row as f64 * (panel.1 + row_gap)).collect(),
            lefts: (0..n_columns).map(|column| left + column as f64 * (panel.0 + column_gap)).collect(),
            axes,
        }
    }

    /// Upper left corner of a panel.
    pub fn corner(&self, row: usize, column: usize) -> (f64, f64) {
        (self.lefts[column], self.tops[row])
    }

    /// The axes of a panel.
    pub fn axes(&self, row: usize, column: usize) -> &(Axis, Axis) {
        &self.axes[row][column]
    }

    /// Left and right end of all panels.
    pub fn span(&self) -> (f64, f64) {
        (self.left, self.lefts.last().map_or(self.left, |last| last + self.panel.0))
    }

    /// Upper and lower end of all panels.
    pub fn vertical_span(&self) -> (f64, f64) {
        (self.tops.first().copied().unwrap_or(0.0), self.tops.last().map_or(0.0, |last| last + self.panel.1))
    }

    /// Where a value is drawn; none for what cannot be shown.
    pub fn place(&self, (row, column): (usize, usize), x: f64, y: f64) -> Option<(f64, f64)> {
        let (left, top) = self.corner(row, column);
        let (x_axis, y_axis) = self.axes(row, column);
        Some((left + x_axis.share(x)? * self.panel.0, top + (1.0 - y_axis.share(y)?) * self.panel.1))
    }
}

fn lines(lines: &[String], height: f64) -> f64 {
    lines.len() as f64 * height
}

/// Axes of every panel, each around the values of all panels that share it.
fn axes(figure: &CurveFigure, panel: (f64, f64)) -> Vec<Vec<(Axis, Axis)>> {
    let places = || {
        let rows = figure.rows.iter().enumerate();
        rows.flat_map(|(row_idx, row)| {
            row.panels.iter().enumerate().map(move |(column, panel)| (row_idx, column, panel))
        })
    };
    let shared = |sharing: Sharing, row: usize, column: usize| -> Vec<&Panel> {
        let is_with = |other_row, other_column| match sharing {
            Sharing::Figure => true,
            Sharing::Row => other_row == row,
            Sharing::Panel => (other_row, other_column) == (row, column),
        };
        places().filter(|&(row, column, _)| is_with(row, column)).map(|(.., panel)| panel).collect()
    };
    let n_y_ticks = if panel == LARGE { 6 } else { 5 };
    let axes_of = |row: usize, column: usize| {
        let (x, y) = (shared(figure.x_sharing, row, column), shared(figure.y_sharing, row, column));
        (x_axis(&x, figure.x_scale), Axis::around(y.iter().flat_map(|panel| heights(panel)), n_y_ticks))
    };
    let row_axes = |(idx, row): (usize, &super::PanelRow)| (0..row.panels.len()).map(|it| axes_of(idx, it)).collect();
    figure.rows.iter().enumerate().map(row_axes).collect()
}

fn x_axis(panels: &[&Panel], scale: Scale) -> Axis {
    let points = panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
    Axis::of(scale, points.filter(|point| point.mean.is_finite()).map(|point| point.x), 4)
}

/// All values that a panel shows.
fn heights(panel: &Panel) -> impl Iterator<Item = f64> {
    let points = panel.curves.iter().flat_map(|curve| &curve.points).filter(|point| point.x.is_finite());
    let curves = points.flat_map(|point| [point.low, point.mean, point.high]);
    curves.chain(panel.references.iter().map(|reference| reference.value))
}

/// The widest label of all x axes, and of all y axes.
fn label_widths(axes: &[Vec<(Axis, Axis)>]) -> (f64, f64) {
    let widest = |axis: &Axis| axis.ticks.iter().map(|&tick| TICK.width(&axis.label(tick))).fold(0.0, f64::max);
    let all = axes.iter().flatten();
    all.fold((0.0, 0.0), |(x, y): (f64, f64), (x_axis, y_axis)| (x.max(widest(x_axis)), y.max(widest(y_axis))))
}
