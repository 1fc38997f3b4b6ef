//! The legend: every method with its line or its box, in as many rows as it needs.

use super::canvas::{Anchor, Canvas, LABEL};
use super::style::{colour, dashes, fill, marker};
use super::text::{escape, wrap};

const SWATCH: f64 = 30.0;
const AFTER_SWATCH: f64 = 8.0;
const BETWEEN: f64 = 28.0;
const BETWEEN_ROWS: f64 = 5.0;

struct Entry {
    method: usize,
    lines: Vec<String>,
    width: f64,
}

/// Methods in rows that are not wider than the figure.
pub struct Legend {
    rows: Vec<Vec<Entry>>,
}

impl Legend {
    pub fn of(methods: &[String], available: f64) -> Self {
        let mut rows: Vec<Vec<Entry>> = Vec::new();
        let mut used = f64::INFINITY;
        for (method, name) in methods.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let lines = wrap(name, LABEL.size, available - SWATCH - AFTER_SWATCH);
            let text = lines.iter().map(|line| LABEL.width(line)).fold(0.0, f64::max);
            let width = SWATCH + AFTER_SWATCH + text;
            if used + width > available {
                rows.push(Vec::new());
                used = 0.0;
            }
            used += width + BETWEEN;
            if let Some(row) = rows.last_mut() {
                row.push(Entry { method, lines, width });
            }
        }
        Self { rows }
    }

    fn row_height(row: &[Entry]) -> f64 {
        let n_lines = row.iter().map(|entry| entry.lines.len()).max().unwrap_or(1);
        n_lines as f64 * LABEL.line() + BETWEEN_ROWS
    }

    pub fn height(&self) -> f64 {
        self.rows.iter().map(|row| Self::row_height(row)).sum()
    }

    /// Draws it below `top`, each row around the middle.
    pub fn draw(
        &self,
        canvas: &mut Canvas,
        methods: &[String],
        (middle, top): (f64, f64),
        swatch: fn(usize, f64, f64) -> String,
    ) {
        let mut y = top + LABEL.size;
        for row in &self.rows {
            let row_width = row.iter().map(|entry| entry.width + BETWEEN).sum::<f64>() - BETWEEN;
            let mut x = middle - row_width / 2.0;
            for entry in row {
                let name = escape(&methods[entry.method]);
                canvas.add(&format!(
                    r#"<g class="legend" data-series="{}" data-name="{name}">{}"#,
                    entry.method,
                    swatch(entry.method, x, y - 5.0)
                ));
                canvas.lines((x + SWATCH + AFTER_SWATCH, y), Anchor::Start, LABEL, &entry.lines);
                canvas.add("</g>");
                x += entry.width + BETWEEN;
            }
            y += Self::row_height(row);
        }
    }
}

pub fn line_swatch(method: usize, x: f64, y: f64) -> String {
    format!(
        r#"<path d="M{x:.1} {y:.1}h{SWATCH}" stroke="{}" stroke-width="2.2"{}/>{}"#,
        colour(method),
        dashes(method),
        marker(method, (x + SWATCH / 2.0, y))
    )
}

pub fn point_swatch(method: usize, x: f64, y: f64) -> String {
    marker(method, (x + SWATCH / 2.0 + 4.0, y))
}

pub fn box_swatch(method: usize, x: f64, y: f64) -> String {
    let fill = fill(method);
    format!(r#"<rect x="{:.1}" y="{:.1}" width="22" height="13" fill="{fill}"/>"#, x + 8.0, y - 6.5)
}
