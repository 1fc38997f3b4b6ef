//! Figures as SVG, PNG and PDF: learning curves, grouped bars, heat maps.
//!
//! The SVG is composed here, so that every label has its place. PNG and PDF are drawn from it with an embedded font (Noto
//! Sans, SIL Open Font License 1.1), because a fresh machine may have none.

mod axis;
mod bars;
mod canvas;
mod curves;
mod format;
mod heat_map;
mod legend;
mod outline;
mod palette;
mod pdf;
mod style;
#[cfg(test)]
mod tests;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use axis::Axis;
pub use axis::Scale;
pub use bars::{Bar, BarFigure, BarGroup};
use canvas::Canvas;
pub use curves::{Curve, CurveFigure, Panel, PanelRow, Point, Reference, Sharing};
use format::Room;
pub use format::{Format, Length, LengthError};
pub use heat_map::HeatMap;
pub(crate) use legend::line_swatch;
pub use palette::Palette;
pub(crate) use style::colour;

/// Pixels of the PNG for each unit of the SVG.
const PNG_SCALE: f32 = 2.0;
/// 300 dots an inch, of 96 units each.
const PRINT_SCALE: f32 = 300.0 / 96.0;
const LEAST_WIDTH: f64 = 460.0;

#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    Curves(CurveFigure),
    Bars(BarFigure),
    HeatMap(HeatMap),
}

impl Figure {
    /// Text stays text, with fallbacks for fonts that are not installed.
    ///
    /// A panel of curves is a `<g class="panel">` with its place and axes as data; a curve in it with its band and
    /// markers, and a bar, is a `<g class="series" data-series="INDEX" data-name="NAME">`; a cell of a heat map is a
    /// `<g class="cell" data-row="R" data-column="C" data-value="V">`.
    pub fn svg(&self) -> String {
        self.compose(Room::default()).finish(&Format::default())
    }

    /// The same with the size, letters, title and axis names that are asked for.
    pub fn formatted(mut self, format: &Format) -> String {
        if format.without_title {
            let (title, subtitle) = self.head();
            (*title, *subtitle) = (String::new(), String::new());
        }
        match &mut self {
            Self::Curves(figure) => {
                replace(&mut figure.x_label, format.x_label.as_ref());
                replace(&mut figure.y_label, format.y_label.as_ref());
            }
            Self::Bars(figure) => replace(&mut figure.y_label, format.y_label.as_ref()),
            Self::HeatMap(_) => {}
        }
        self.compose(format.room()).finish(format)
    }

    pub(crate) fn subtitle(&self) -> &str {
        match self {
            Self::Curves(figure) => &figure.subtitle,
            Self::Bars(figure) => &figure.subtitle,
            Self::HeatMap(figure) => &figure.subtitle,
        }
    }

    fn head(&mut self) -> (&mut String, &mut String) {
        match self {
            Self::Curves(figure) => (&mut figure.title, &mut figure.subtitle),
            Self::Bars(figure) => (&mut figure.title, &mut figure.subtitle),
            Self::HeatMap(figure) => (&mut figure.title, &mut figure.subtitle),
        }
    }

    #[must_use]
    pub(crate) fn titled(mut self, title: String) -> Self {
        *self.head().0 = title;
        self
    }

    fn compose(&self, room: Room) -> Canvas {
        match self {
            Self::Curves(figure) => figure.compose(room),
            Self::Bars(figure) => figure.compose(room),
            Self::HeatMap(figure) => figure.compose(room),
        }
    }
}

fn replace(name: &mut String, by: Option<&String>) {
    if let Some(by) = by {
        name.clone_from(by);
    }
}

/// All figures as one SVG, from top to bottom.
pub fn sheet(figures: &[Figure]) -> String {
    let mut sheet = Canvas::of("sheet");
    for canvas in figures.iter().map(|figure| figure.compose(Room::default())) {
        let (width, height) = sheet.size;
        // A nested picture keeps its own coordinates.
        sheet.body.push_str(&canvas.finish(&Format::default()).replacen("<svg ", &format!("<svg y=\"{height}\" "), 1));
        sheet.size = (width.max(canvas.size.0.ceil()), height + canvas.size.1.ceil());
    }
    sheet.finish(&Format::default())
}

/// An SVG with letters as outlines of the embedded font.
fn tree(svg: &str) -> Result<Tree> {
    Tree::from_str(&outline::outlined(svg), &Options::default()).context("the figure cannot be drawn")
}

/// Draws an SVG as PNG, with the embedded font.
fn png(svg: &str) -> Result<Vec<u8>> {
    let tree = tree(svg)?;
    let size = tree.size();
    // A size in points is for print.
    let scale = if svg.lines().next().is_some_and(|head| head.contains("pt\"")) { PRINT_SCALE } else { PNG_SCALE };
    let (width, height) = ((size.width() * scale).ceil() as u32, (size.height() * scale).ceil() as u32);
    let mut pixels = Pixmap::new(width, height)
        .with_context(|| format!("a picture of {width} x {height} pixels cannot be drawn"))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().context("the figure cannot be encoded as PNG")
}

/// Draws an SVG as PDF.
pub fn pdf(svg: &str) -> Result<Vec<u8>> {
    pdf::pdf(&tree(svg)?)
}

/// Writes `STEM.svg`, `STEM.png` and `STEM.pdf`; returns their paths.
pub fn write(svg: &str, stem: &Path) -> Result<[PathBuf; 3]> {
    let contents = [svg.as_bytes(), &png(svg)?, &pdf(svg)?];
    // Not `with_extension`, which would take the end off a stem such as `figure-3.1`.
    let paths = [".svg", ".png", ".pdf"].map(|ending| {
        let mut path = stem.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    });
    for (path, bytes) in paths.iter().zip(contents) {
        std::fs::write(path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(paths)
}

/// A number with a typographic minus.
fn number(value: f64, digits: usize) -> String {
    format!("{value:.digits$}").replace('-', "\u{2212}")
}

fn tick_width(axis: &Axis) -> f64 {
    axis.ticks.iter().map(|&tick| canvas::TICK.width(&axis.label(tick))).fold(0.0, f64::max)
}
