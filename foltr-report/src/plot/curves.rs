//! Learning curves with confidence bands as small multiples: rows and columns of panels, one look a method.

mod draw;
mod layout;

pub use super::axis::Scale;
use super::canvas::Canvas;

/// A grid of panels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveFigure {
    /// Above all panels.
    pub title: String,
    /// A smaller line below the title: what the reader must know to read the figure.
    pub subtitle: String,
    /// Below the panels.
    pub x_label: String,
    /// Left of the panels.
    pub y_label: String,
    /// Methods in the order of the legend. A curve's look is its method's.
    pub methods: Vec<String>,
    /// Titles above the columns, from left to right.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<PanelRow>,
    /// How x is spread.
    pub x_scale: Scale,
    /// Which panels have the same x axis.
    pub x_sharing: Sharing,
    /// Which panels have the same y axis.
    pub y_sharing: Sharing,
}

/// Which panels have an axis in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// All.
    #[default]
    Figure,
    /// Those of a row.
    Row,
    /// None.
    Panel,
}

/// Panels side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PanelRow {
    /// At the right end; empty if there is nothing to say.
    pub title: String,
    /// From left to right.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// At most one a method.
    pub curves: Vec<Curve>,
    /// Methods that have one value rather than a course.
    pub references: Vec<Reference>,
}

/// One method's course.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Index of [`CurveFigure::methods`].
    pub method: usize,
    /// From left to right. Points that are not finite are left out.
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

/// A horizontal line, such as a baseline that was trained offline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Index of [`CurveFigure::methods`].
    pub method: usize,
    /// Its height.
    pub value: f64,
}

impl CurveFigure {
    /// The figure as SVG. Text stays text, with fallbacks for fonts that are not installed.
    ///
    /// Every panel is a `<g class="panel">` with its place and axes as data; every curve in it, with its band and
    /// markers, a `<g class="series" data-series="INDEX" data-name="NAME">`.
    pub fn svg(&self) -> String {
        let (canvas, size) = self.compose();
        canvas.finish("curves", size, &self.title, &self.subtitle)
    }

    pub(super) fn compose(&self) -> (Canvas, (f64, f64)) {
        let layout = layout::Layout::of(self);
        (draw::draw(self, &layout), (layout.width, layout.height))
    }
}
