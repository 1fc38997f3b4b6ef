//! Learning curves with confidence bands: one panel a kind of user, one colour a method, as SVG and PNG.
//!
//! The SVG is composed here, so that every label has its place. The PNG is drawn from it with an embedded font (Noto
//! Sans, SIL Open Font License 1.1), because a fresh machine may have none.

pub(crate) mod axis;
mod compose;
pub(crate) mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree};

pub use compose::svg;

/// The palette of `OI08` Okabe and Ito, which people with any kind of colour vision can tell apart; black and yellow
/// left out.
pub const COLOURS: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"];

/// Pixels of the PNG for each unit of the SVG.
const PNG_SCALE: f32 = 2.0;

/// A figure of one or more panels with the same axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Above all panels.
    pub title: String,
    /// A smaller line below the title: what the reader must know to read the figure.
    pub subtitle: String,
    /// Below the panels.
    pub x_label: String,
    /// Left of the panels.
    pub y_label: String,
    /// Methods in the order of the legend. A curve's colour is its method's.
    pub methods: Vec<String>,
    /// From left to right.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Above the panel.
    pub title: String,
    /// One a method.
    pub curves: Vec<Curve>,
}

/// One method's course.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Index of [`Figure::methods`].
    pub method: usize,
    /// From left to right.
    pub points: Vec<Point>,
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Interactions.
    pub x: f64,
    /// Mean over runs.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
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
    let mut options = Options { font_family: text::FAMILY.into(), ..Options::default() };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
    fonts.load_font_data(notosans::BOLD_TTF.to_vec());
    fonts.set_sans_serif_family(text::FAMILY);
    let tree = Tree::from_str(svg, &options)?;
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
pub fn write(figure: &Figure, stem: &Path) -> Result<(PathBuf, PathBuf), PlotError> {
    let text = svg(figure);
    let picture = png(&text)?;
    let (svg_path, png_path) = (stem.with_extension("svg"), stem.with_extension("png"));
    for (path, bytes) in [(&svg_path, text.as_bytes()), (&png_path, picture.as_slice())] {
        std::fs::write(path, bytes).map_err(|source| PlotError::Write { path: path.clone(), source })?;
    }
    Ok((svg_path, png_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn figure() -> Figure {
        let curve = |method: usize| Curve {
            method,
            points: (0..=10)
                .map(|step| {
                    let mean = 0.5 + 0.02 * f64::from(step) + 0.05 * method as f64;
                    Point { x: f64::from(step) * 1e4, mean, low: mean - 0.01, high: mean + 0.01 }
                })
                .collect(),
        };
        let panel = |title: &str| Panel { title: title.into(), curves: vec![curve(0), curve(1)] };
        Figure {
            title: "A <title> & more".into(),
            subtitle: "mean of 3 runs".into(),
            x_label: "interactions".into(),
            y_label: "nDCG@10".into(),
            methods: vec!["one".into(), "two".into()],
            panels: vec![panel("perfect"), panel("navigational")],
        }
    }

    #[test]
    fn the_png_shows_text_without_any_font_of_the_machine() {
        let with_text = png(&svg(&figure())).expect("a sound figure");
        let mut silent = figure();
        for text in [&mut silent.title, &mut silent.subtitle, &mut silent.x_label, &mut silent.y_label] {
            text.clear();
        }
        assert_eq!(with_text[..8], *b"\x89PNG\r\n\x1a\n");
        assert_ne!(with_text, png(&svg(&silent)).expect("a sound figure"));
    }

    #[test]
    fn all_labels_lie_inside_the_picture() {
        let options = Options { font_family: text::FAMILY.into(), ..Options::default() };
        let mut options = options;
        Arc::make_mut(&mut options.fontdb).load_font_data(notosans::REGULAR_TTF.to_vec());
        Arc::make_mut(&mut options.fontdb).load_font_data(notosans::BOLD_TTF.to_vec());
        let tree = Tree::from_str(&svg(&figure()), &options).expect("a sound figure");
        let content = tree.root().abs_bounding_box();
        assert!(content.left() >= 0.0 && content.top() >= 0.0, "{content:?}");
        assert!(content.right() <= tree.size().width() && content.bottom() <= tree.size().height(), "{content:?}");
    }

    #[test]
    fn a_figure_without_points_is_still_a_figure() {
        let mut empty = figure();
        empty.panels.iter_mut().for_each(|panel| panel.curves.clear());
        assert!(png(&svg(&empty)).is_ok());
    }
}
