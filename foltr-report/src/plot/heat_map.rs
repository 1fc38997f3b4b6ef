//! Heat maps: a table of numbers on colours.

use std::fmt::Write as _;

use super::canvas::{Anchor, Canvas, Font, GRID, HEADING, LABEL, SUBTITLE, TICK, path};
use super::format::Room;
use super::palette::Palette;
use super::text::{widest_word, wrap};
use super::{LEAST_WIDTH, number};

const MARGIN: f64 = 24.0;
const CELL_HEIGHT: f64 = 34.0;
const LEAST_CELL: f64 = 74.0;
/// A column does not grow beyond this for its title.
const WIDEST_CELL: f64 = 150.0;
const WIDEST_ROW_TITLE: f64 = 260.0;
/// On both sides of a number.
const CELL_MARGIN: f64 = 19.0;
/// The same where there is little room.
const LEAST_CELL_MARGIN: f64 = 5.0;
const ABOVE_KEY: f64 = 18.0;
/// Of a figure whose width is given.
const ROW_TITLE_SHARE: f64 = 0.35;
const KEY: (f64, f64) = (220.0, 12.0);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    pub title: String,
    pub subtitle: String,
    pub columns: Vec<String>,
    pub rows: Vec<String>,
    /// By row and column; missing ones and those that are not finite are empty.
    pub cells: Vec<Vec<f64>>,
    pub digits: usize,
    pub palette: Palette,
    pub note: String,
}

struct Layout {
    width: f64,
    left: f64,
    top: f64,
    cell: f64,
    rows: Vec<(Vec<String>, f64)>,
    columns: Vec<Vec<String>>,
    ends: (f64, f64),
}

impl HeatMap {
    pub(super) fn compose(&self, room: Room) -> Canvas {
        let layout = self.layout(room);
        let mut canvas = Canvas::of("heat-map");
        canvas.head(MARGIN, layout.width - 2.0 * MARGIN, &self.title, &self.subtitle);
        for (column, lines) in layout.columns.iter().enumerate() {
            let x = layout.left + (column as f64 + 0.5) * layout.cell;
            let first = layout.top - 9.0 - lines.len().saturating_sub(1) as f64 * HEADING.line();
            canvas.lines((x, first), Anchor::Middle, HEADING, lines);
        }
        let mut y = layout.top;
        for (row, (lines, height)) in layout.rows.iter().enumerate() {
            let first = y + (height - lines.len() as f64 * LABEL.line()) / 2.0 + 0.95 * LABEL.size;
            canvas.lines((layout.left - 12.0, first), Anchor::End, LABEL, lines);
            for column in 0..layout.columns.len() {
                let cell = self.cells.get(row).and_then(|cells| cells.get(column)).copied();
                self.add_cell(&mut canvas, &layout, (row, column), (y, *height), cell);
            }
            y += height;
        }
        let bottom = self.add_key(&mut canvas, &layout, y + ABOVE_KEY);
        let note = wrap(&self.note, SUBTITLE.size, layout.width - 2.0 * MARGIN);
        let height = canvas.lines((MARGIN, bottom + 24.0), Anchor::Start, SUBTITLE, &note);
        canvas.size = (layout.width, bottom + height + 20.0);
        canvas
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flatten().copied().filter(|value| value.is_finite())
    }

    /// Columns fill the room; numbers set how narrow they may be, and text how high rows must be.
    fn layout(&self, room: Room) -> Layout {
        let n_columns = self.columns.len().max(self.cells.iter().map(Vec::len).max().unwrap_or(0));
        let n_rows = self.rows.len().max(self.cells.len());
        let widest = self.values().map(|value| LABEL.width(&self.number(value))).fold(0.0, f64::max);
        let word = self.columns.iter().map(|title| widest_word(title, HEADING.size)).fold(0.0, f64::max);
        let cell = (widest + 2.0 * CELL_MARGIN).max((word + 10.0).min(WIDEST_CELL)).max(LEAST_CELL);
        let title = |titles: &[String], idx: usize| titles.get(idx).cloned().unwrap_or_default();
        let widest_title = room.width.map_or(WIDEST_ROW_TITLE, |width| WIDEST_ROW_TITLE.min(ROW_TITLE_SHARE * width));
        let row_lines = |idx| wrap(&title(&self.rows, idx), LABEL.size, widest_title);
        let mut rows: Vec<_> = (0..n_rows)
            .map(row_lines)
            .map(|lines| (lines.clone(), CELL_HEIGHT.max(lines.len() as f64 * LABEL.line() + 8.0)))
            .collect();
        let title_width = rows.iter().flat_map(|(lines, _)| lines).map(|line| LABEL.width(line)).fold(0.0, f64::max);
        let left = MARGIN + title_width + 12.0;
        let cell = match room.width {
            Some(width) => {
                let least = (widest + 2.0 * LEAST_CELL_MARGIN).max((word + 10.0).min(WIDEST_CELL));
                ((width - left - MARGIN) / n_columns.max(1) as f64).max(least)
            }
            None => cell,
        };
        let columns: Vec<_> =
            (0..n_columns).map(|idx| wrap(&title(&self.columns, idx), HEADING.size, cell - 8.0)).collect();
        let width = (left + n_columns as f64 * cell + MARGIN).max(room.width.unwrap_or(LEAST_WIDTH));
        let head = Canvas::default().head(MARGIN, width - 2.0 * MARGIN, &self.title, &self.subtitle);
        let deepest = columns.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let (low, high) =
            self.values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let top = head + 20.0 + deepest * HEADING.line();
        if let Some(height) = room.height {
            let used = top + rows.iter().map(|(_, height)| height).sum::<f64>() + self.below(width);
            let more = ((height - used) / n_rows.max(1) as f64).max(0.0);
            rows.iter_mut().for_each(|(_, height)| *height += more);
        }
        Layout { width, left, top, cell, rows, columns, ends: self.palette.ends(low, high) }
    }

    /// Height of what stands below the cells.
    fn below(&self, width: f64) -> f64 {
        let n_lines = wrap(&self.note, SUBTITLE.size, width - 2.0 * MARGIN).len();
        ABOVE_KEY + KEY.1 + n_lines as f64 * SUBTITLE.line() + 20.0
    }

    fn number(&self, value: f64) -> String {
        number(value, self.digits)
    }

    fn add_cell(
        &self,
        canvas: &mut Canvas,
        layout: &Layout,
        (row, column): (usize, usize),
        (top, height): (f64, f64),
        value: Option<f64>,
    ) {
        let left = layout.left + column as f64 * layout.cell;
        let rect = |fill: &str| {
            format!(
                r#"<rect x="{left:.1}" y="{top:.1}" width="{:.1}" height="{height:.1}" fill="{fill}" stroke="white" stroke-width="1.5"/>"#,
                layout.cell
            )
        };
        let middle = (left + layout.cell / 2.0, top + height / 2.0 + 5.0);
        let Some(value) = value.filter(|value| value.is_finite()) else {
            canvas.add(&rect("#f2f2f2"));
            canvas.label(middle, Anchor::Middle, SUBTITLE, "\u{2013}");
            return;
        };
        let (low, high) = layout.ends;
        let (fill, ink) = self.palette.colours((value - low) / (high - low));
        canvas.add(&format!(
            r#"<g class="cell" data-row="{row}" data-column="{column}" data-value="{value}">{}"#,
            rect(&fill)
        ));
        canvas.label(middle, Anchor::Middle, Font { fill: ink, ..LABEL }, &self.number(value));
        canvas.add("</g>");
    }

    /// The colours with the values at their ends. Returns where it ends.
    fn add_key(&self, canvas: &mut Canvas, layout: &Layout, top: f64) -> f64 {
        let (width, height) = KEY;
        let left = (layout.width - width) / 2.0;
        let n_steps = 44;
        let step = width / f64::from(n_steps);
        let mut bar = String::new();
        for idx in 0..n_steps {
            let (fill, _) = self.palette.colours((f64::from(idx) + 0.5) / f64::from(n_steps));
            let x = left + f64::from(idx) * step;
            // A little wider than a step, against hairlines between them.
            let _ = write!(
                bar,
                r#"<rect x="{x:.1}" y="{top:.1}" width="{:.1}" height="{height}" fill="{fill}"/>"#,
                step + 0.4
            );
        }
        canvas.add(&bar);
        canvas.add(&format!(
            r#"<path d="{}Z" fill="none" stroke="{GRID}"/>"#,
            path([(left, top), (left + width, top), (left + width, top + height), (left, top + height)].into_iter())
        ));
        canvas.label((left - 8.0, top + 11.0), Anchor::End, TICK, &self.number(layout.ends.0));
        canvas.label((left + width + 8.0, top + 11.0), Anchor::Start, TICK, &self.number(layout.ends.1));
        top + height
    }
}
