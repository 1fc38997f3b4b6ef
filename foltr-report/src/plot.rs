//! Figures as SVG and PNG: learning curves, grouped bars, heat maps.
//!
//! The SVG is composed here, so that every label has its place. The PNG is drawn from it with an embedded font (Noto
//! Sans, SIL Open Font License 1.1), because a fresh machine may have none.

pub(crate) mod axis;
mod bars;
mod canvas;
mod curves;
mod heat_map;
mod legend;
mod outline;
mod palette;
mod sheet;
mod style;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::path::{Path, PathBuf};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree};

pub use bars::{Bar, BarFigure, BarGroup};
pub use curves::{Curve, CurveFigure, Panel, PanelRow, Point, Reference, Scale, Sharing};
pub use heat_map::{Cell, HeatMap};
pub use palette::Palette;
pub use sheet::sheet;
pub use style::COLOURS;

/// Pixels of the PNG for each unit of the SVG.
const PNG_SCALE: f32 = 2.0;

/// Any figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Learning curves in panels.
    Curves(CurveFigure),
    /// Grouped bars.
    Bars(BarFigure),
    /// A table of coloured numbers.
    HeatMap(HeatMap),
}

impl Figure {
    /// The figure as SVG.
    pub fn svg(&self) -> String {
        match self {
            Self::Curves(figure) => figure.svg(),
            Self::Bars(figure) => figure.svg(),
            Self::HeatMap(figure) => figure.svg(),
        }
    }

    /// Width and height of the SVG.
    fn size(&self) -> (f64, f64) {
        let (width, height) = match self {
            Self::Curves(figure) => figure.compose().1,
            Self::Bars(figure) => figure.compose().1,
            Self::HeatMap(figure) => figure.compose().1,
        };
        (width.ceil(), height.ceil())
    }
}

impl From<CurveFigure> for Figure {
    fn from(figure: CurveFigure) -> Self {
        Self::Curves(figure)
    }
}

impl From<BarFigure> for Figure {
    fn from(figure: BarFigure) -> Self {
        Self::Bars(figure)
    }
}

impl From<HeatMap> for Figure {
    fn from(figure: HeatMap) -> Self {
        Self::HeatMap(figure)
    }
}

/// Why a figure could not be drawn or written.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The SVG is not one that can be drawn.
    #[error("the figure cannot be drawn: {0}")]
    Svg(#[from] usvg::Error),
    /// The picture has no pixels, or too many.
    #[error("a picture of {0} x {1} pixels cannot be drawn")]
    Size(u32, u32),
    /// The picture could not be encoded.
    #[error("the figure cannot be encoded as PNG: {0}")]
    Png(String),
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Draws an SVG as PNG, with the embedded font.
///
/// # Errors
/// If the SVG is not sound.
pub fn png(svg: &str) -> Result<Vec<u8>, PlotError> {
    let tree = Tree::from_str(&outline::outlined(svg), &Options::default())?;
    let size = tree.size();
    let (width, height) = ((size.width() * PNG_SCALE).ceil() as u32, (size.height() * PNG_SCALE).ceil() as u32);
    let mut pixels = Pixmap::new(width, height).ok_or(PlotError::Size(width, height))?;
    resvg::render(&tree, Transform::from_scale(PNG_SCALE, PNG_SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PlotError::Png(error.to_string()))
}

/// Writes `STEM.svg` and `STEM.png`; returns both paths.
///
/// # Errors
/// If a file cannot be written.
pub fn write(svg: &str, stem: &Path) -> Result<(PathBuf, PathBuf), PlotError> {
    let picture = png(svg)?;
    // Not `with_extension`, which would take the end off a stem such as `figure-3.1`.
    let ending = |ending: &str| {
        let mut path = stem.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    let (svg_path, png_path) = (ending(".svg"), ending(".png"));
    for (path, bytes) in [(&svg_path, svg.as_bytes()), (&png_path, picture.as_slice())] {
        std::fs::write(path, bytes).map_err(|source| PlotError::Write { path: path.clone(), source })?;
    }
    Ok((svg_path, png_path))
}
