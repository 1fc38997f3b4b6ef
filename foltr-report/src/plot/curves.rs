//! Learning curves with confidence bands as small multiples: rows and columns of panels, one look a method.

mod draw;
mod layout;

use super::axis::Scale;
use super::canvas::Canvas;
use super::format::Room;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveFigure {
    pub title: String,
    /// What the reader must know to read the figure.
    pub subtitle: String,
    pub x_label: String,
    pub y_label: String,
    /// In the order of the legend. A curve's look is its method's.
    pub methods: Vec<String>,
    pub columns: Vec<String>,
    pub rows: Vec<PanelRow>,
    pub x_scale: Scale,
    pub x_sharing: Sharing,
    pub y_sharing: Sharing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    #[default]
    Figure,
    Row,
    Panel,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PanelRow {
    pub title: String,
    pub panels: Vec<Panel>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// At most one a method.
    pub curves: Vec<Curve>,
    /// Methods that have one value rather than a course.
    pub references: Vec<Reference>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Index of [`CurveFigure::methods`].
    pub method: usize,
    /// From left to right. Points that are not finite are left out.
    pub points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// A horizontal line, such as a baseline that was trained offline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Index of [`CurveFigure::methods`].
    pub method: usize,
    pub value: f64,
}

impl CurveFigure {
    pub(super) fn compose(&self, room: Room) -> Canvas {
        draw::draw(self, &layout::Layout::of(self, room))
    }
}
