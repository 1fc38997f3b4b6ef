//! Figures as SVG and PNG: learning curves, grouped bars, heat maps.
//!
//! The SVG is composed here, so that every label has its place. The PNG is drawn from it with an embedded font (Noto
//! Sans, SIL Open Font License 1.1), because a fresh machine may have none.

mod axis;
mod bars;
mod canvas;
mod curves;
mod heat_map;
mod legend;
mod outline;
mod palette;
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
pub use heat_map::HeatMap;
pub(crate) use legend::line_swatch;
pub use palette::Palette;
pub(crate) use style::colour;

/// Pixels of the PNG for each unit of the SVG.
const PNG_SCALE: f32 = 2.0;
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
        self.compose().finish()
    }

    #[must_use]
    pub(crate) fn titled(mut self, title: String) -> Self {
        match &mut self {
            Self::Curves(figure) => figure.title = title,
            Self::Bars(figure) => figure.title = title,
            Self::HeatMap(figure) => figure.title = title,
        }
        self
    }

    fn compose(&self) -> Canvas {
        match self {
            Self::Curves(figure) => figure.compose(),
            Self::Bars(figure) => figure.compose(),
            Self::HeatMap(figure) => figure.compose(),
        }
    }
}

/// All figures as one SVG, from top to bottom.
pub fn sheet(figures: &[Figure]) -> String {
    let mut sheet = Canvas::of("sheet");
    for canvas in figures.iter().map(Figure::compose) {
        let (width, height) = sheet.size;
        // A nested picture keeps its own coordinates.
        sheet.body.push_str(&canvas.finish().replacen("<svg ", &format!("<svg y=\"{height}\" "), 1));
        sheet.size = (width.max(canvas.size.0.ceil()), height + canvas.size.1.ceil());
    }
    sheet.finish()
}

/// Draws an SVG as PNG, with the embedded font.
fn png(svg: &str) -> Result<Vec<u8>> {
    let tree = Tree::from_str(&outline::outlined(svg), &Options::default()).context("the figure cannot be drawn")?;
    let size = tree.size();
    let (width, height) = ((size.width() * PNG_SCALE).ceil() as u32, (size.height() * PNG_SCALE).ceil() as u32);
    let mut pixels = Pixmap::new(width, height)
        .with_context(|| format!("a picture of {width} x {height} pixels cannot be drawn"))?;
    resvg::render(&tree, Transform::from_scale(PNG_SCALE, PNG_SCALE), &mut pixels.as_mut());
    pixels.encode_png().context("the figure cannot be encoded as PNG")
}

/// Writes `STEM.svg` and `STEM.png`; returns both paths.
pub fn write(svg: &str, stem: &Path) -> Result<(PathBuf, PathBuf)> {
    let picture = png(svg)?;
    // Not `with_extension`, which would take the end off a stem such as `figure-3.1`.
    let ending = |ending: &str| {
        let mut path = stem.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    let (svg_path, png_path) = (ending(".svg"), ending(".png"));
    for (path, bytes) in [(&svg_path, svg.as_bytes()), (&png_path, picture.as_slice())] {
        std::fs::write(path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok((svg_path, png_path))
}

/// A number with a typographic minus.
fn number(value: f64, digits: usize) -> String {
    format!("{value:.digits$}").replace('-', "\u{2212}")
}

fn tick_width(axis: &Axis) -> f64 {
    axis.ticks.iter().map(|&tick| canvas::TICK.width(&axis.label(tick))).fold(0.0, f64::max)
}
