//! A figure as PDF of one page: the same paths as in the picture, so that it can be scaled and needs no fonts.

use std::io::Write;

use anyhow::Result;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use resvg::usvg::Transform;
use resvg::usvg::tiny_skia_path::PathSegment;
use resvg::usvg::{Fill, FillRule, Group, LineCap, LineJoin, Node, Paint, PaintOrder, Path, Pattern, Stroke, Tree};

/// Points a unit of a figure, of which an inch has 96.
const POINTS: f32 = 0.75;

pub fn pdf(tree: &Tree) -> Result<Vec<u8>> {
    let [catalog, pages, page, content] = [1, 2, 3, 4].map(Ref::new);
    let (width, height) = (tree.size().width() * POINTS, tree.size().height() * POINTS);
    let mut painter = Painter { content: Content::new(), opacities: Vec::new() };
    // The y of a figure goes down, that of a page goes up.
    painter.content.transform([POINTS, 0.0, 0.0, -POINTS, 0.0, height]);
    painter.group(tree.root());
    let Painter { content: drawn, opacities } = painter;
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(&drawn.finish())?;
    let bytes = zlib.finish()?;
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut of_page = pdf.page(page);
    of_page.parent(pages).media_box(Rect::new(0.0, 0.0, width, height)).contents(content);
    let mut resources = of_page.resources();
    let mut states = resources.ext_g_states();
    for (idx, &opacity) in opacities.iter().enumerate() {
        let mut state =
            states.insert(Name(state_name(idx).as_bytes())).start::<pdf_writer::writers::ExtGraphicsState<'_>>();
        state.non_stroking_alpha(opacity).stroking_alpha(opacity);
    }
    states.finish();
    resources.finish();
    of_page.finish();
    pdf.stream(content, &bytes).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}

fn state_name(idx: usize) -> String {
    format!("o{idx}")
}

struct Painter {
    content: Content,
    /// A PDF names opacities by graphics states: one for each of these.
    opacities: Vec<f32>,
}

impl Painter {
    fn group(&mut self, group: &Group) {
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group),
                Node::Path(path) if path.is_visible() => self.path(path, path.abs_transform()),
                // Figures have no images, and their letters are paths.
                _ => {}
            }
        }
    }

    fn path(&mut self, path: &Path, transform: Transform) {
        let Transform { sx, ky, kx, sy, tx, ty } = transform;
        self.content.save_state().transform([sx, ky, kx, sy, tx, ty]);
        let is_stroked_first = path.paint_order() == PaintOrder::StrokeAndFill;
        if is_stroked_first {
            self.stroke(path);
        }
        if let Some(fill) = path.fill() {
            self.fill(path, fill);
        }
        if !is_stroked_first {
            self.stroke(path);
        }
        self.content.restore_state();
    }

    fn fill(&mut self, path: &Path, fill: &Fill) {
        self.content.save_state();
        self.opacity(fill.opacity().get());
        match fill.paint() {
            Paint::Pattern(pattern) => self.tiles(path, pattern),
            paint => {
                let [red, green, blue] = colour(paint);
                self.content.set_fill_rgb(red, green, blue);
                self.segments(path);
                match fill.rule() {
                    FillRule::NonZero => self.content.fill_nonzero(),
                    FillRule::EvenOdd => self.content.fill_even_odd(),
                };
            }
        }
        self.content.restore_state();
    }

    fn stroke(&mut self, path: &Path) {
        let Some(stroke) = path.stroke() else { return };
        self.content.save_state();
        self.opacity(stroke.opacity().get());
        let [red, green, blue] = colour(stroke.paint());
        self.content.set_stroke_rgb(red, green, blue).set_line_width(stroke.width().get());
        self.line_style(stroke);
        self.segments(path);
        self.content.stroke().restore_state();
    }

    fn line_style(&mut self, stroke: &Stroke) {
        self.content.set_line_cap(match stroke.linecap() {
            LineCap::Butt => LineCapStyle::ButtCap,
            LineCap::Round => LineCapStyle::RoundCap,
            LineCap::Square => LineCapStyle::ProjectingSquareCap,
        });
        self.content.set_line_join(match stroke.linejoin() {
            LineJoin::Round => LineJoinStyle::RoundJoin,
            LineJoin::Bevel => LineJoinStyle::BevelJoin,
            LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
        });
        if let Some(dashes) = stroke.dasharray() {
            self.content.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
        }
    }

    /// A hatched area: every tile that touches it, cut off at its border.
    fn tiles(&mut self, path: &Path, pattern: &Pattern) {
        self.segments(path);
        self.content.clip_nonzero().end_path();
        let (area, tile) = (path.bounding_box(), pattern.rect());
        let steps = |low: f32, high: f32, start: f32, step: f32| {
            ((low - start) / step).floor() as i32..=((high - start) / step).ceil() as i32
        };
        for row in steps(area.top(), area.bottom(), tile.y(), tile.height()) {
            for column in steps(area.left(), area.right(), tile.x(), tile.width()) {
                let (x, y) = (column as f32 * tile.width() + tile.x(), row as f32 * tile.height() + tile.y());
                self.content.save_state().transform([1.0, 0.0, 0.0, 1.0, x, y]);
                self.content.rect(0.0, 0.0, tile.width(), tile.height()).clip_nonzero().end_path();
                self.group(pattern.root());
                self.content.restore_state();
            }
        }
    }

    fn opacity(&mut self, opacity: f32) {
        if opacity == 1.0 {
            return;
        }
        let known = self.opacities.iter().position(|&known| known == opacity);
        let idx = known.unwrap_or_else(|| {
            self.opacities.push(opacity);
            self.opacities.len() - 1
        });
        self.content.set_parameters(Name(state_name(idx).as_bytes()));
    }

    fn segments(&mut self, path: &Path) {
        let mut last = (0.0, 0.0);
        for segment in path.data().segments() {
            match segment {
                PathSegment::MoveTo(to) => {
                    self.content.move_to(to.x, to.y);
                    last = (to.x, to.y);
                }
                PathSegment::LineTo(to) => {
                    self.content.line_to(to.x, to.y);
                    last = (to.x, to.y);
                }
                // A quadratic curve as a cubic one: its control point counts two thirds at both ends.
                PathSegment::QuadTo(by, to) => {
                    let towards = |from: f32, by: f32| from + 2.0 / 3.0 * (by - from);
                    let first = (towards(last.0, by.x), towards(last.1, by.y));
                    let second = (towards(to.x, by.x), towards(to.y, by.y));
                    self.content.cubic_to(first.0, first.1, second.0, second.1, to.x, to.y);
                    last = (to.x, to.y);
                }
                PathSegment::CubicTo(first, second, to) => {
                    self.content.cubic_to(first.x, first.y, second.x, second.y, to.x, to.y);
                    last = (to.x, to.y);
                }
                PathSegment::Close => {
                    self.content.close_path();
                }
            }
        }
    }
}

/// Between 0 and 1. Figures have no gradients.
fn colour(paint: &Paint) -> [f32; 3] {
    match paint {
        Paint::Color(colour) => [colour.red, colour.green, colour.blue].map(|part| f32::from(part) / 255.0),
        _ => [0.0; 3],
    }
}
