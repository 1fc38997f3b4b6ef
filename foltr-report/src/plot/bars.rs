//! Bar charts: groups of bars with error bars, one look a method.

use std::fmt::Write as _;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Font, GRID, INK, LABEL, SOFT_INK, TICK};
use super::legend::{Legend, box_swatch};
use super::style::{fill, hatches};
use super::text::{escape, widest_word, wrap};
use super::{LEAST_WIDTH, number, tick_width};

const HEIGHT: f64 = 300.0;
const WIDEST_BAR: f64 = 44.0;
const NARROWEST_BAR: f64 = 18.0;
/// All bars together are about this wide, if they can be.
const WIDTH: f64 = 760.0;
const BETWEEN_GROUPS: f64 = 26.0;
const RIGHT_MARGIN: f64 = 24.0;
/// From a bar's end to its number.
const NUMBER_GAP: f64 = 5.0;
const NUMBER: Font = Font { has_halo: true, ..TICK };

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarFigure {
    pub title: String,
    pub subtitle: String,
    pub y_label: String,
    /// In the order of the legend and of the bars of a group.
    pub methods: Vec<String>,
    pub groups: Vec<BarGroup>,
    /// Digits of the numbers above the bars; none without numbers.
    pub digits: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarGroup {
    pub name: String,
    /// At most one a method. Bars that are not finite are left out.
    pub bars: Vec<Bar>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Index of [`BarFigure::methods`].
    pub method: usize,
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

struct Layout {
    width: f64,
    left: f64,
    top: f64,
    axis: Axis,
    bar: f64,
    group: f64,
    names: Vec<Vec<String>>,
    /// Numbers read upwards where bars are narrower than they.
    is_upright: bool,
}

impl Layout {
    fn y(&self, value: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.axis.share(value)?) * HEIGHT)
    }
}

impl BarFigure {
    pub(super) fn compose(&self) -> Canvas {
        let layout = self.layout();
        let mut canvas = Canvas::of("bars");
        canvas.add(&hatches(self.methods.len()));
        canvas.head(layout.left, layout.width - layout.left - RIGHT_MARGIN, &self.title, &self.subtitle);
        let right = layout.left + self.groups.len().max(1) as f64 * layout.group;
        for &tick in &layout.axis.ticks {
            let y = layout.y(tick).unwrap_or(layout.top);
            canvas.line((layout.left, y), (right, y), if tick == 0.0 { SOFT_INK } else { GRID });
            canvas.label((layout.left - 9.0, y + 4.5), Anchor::End, TICK, &layout.axis.label(tick));
        }
        canvas.y_label(layout.top + HEIGHT / 2.0, &wrap(&self.y_label, LABEL.size, HEIGHT));
        for (idx, group) in self.groups.iter().enumerate() {
            self.add_group(&mut canvas, &layout, idx, group);
        }
        let deepest = layout.names.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let legend_top = layout.top + HEIGHT + 14.0 + deepest * LABEL.line() + 14.0;
        let legend = Legend::of(&self.methods, layout.width - 2.0 * RIGHT_MARGIN);
        legend.draw(&mut canvas, &self.methods, (layout.width / 2.0, legend_top), box_swatch);
        canvas.size = (layout.width, legend_top + legend.height() + 12.0);
        canvas
    }

    fn number(&self, value: f64) -> Option<String> {
        self.digits.map(|digits| number(value, digits))
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars).filter(|bar| bar.value.is_finite())
    }

    fn layout(&self) -> Layout {
        let n_groups = self.groups.len().max(1) as f64;
        let n_bars = self.methods.len().max(1) as f64;
        let bar = (WIDTH / n_groups / n_bars).clamp(NARROWEST_BAR, WIDEST_BAR);
        let word = self.groups.iter().map(|group| widest_word(&group.name, LABEL.size)).fold(0.0, f64::max);
        let group = (n_bars * bar + BETWEEN_GROUPS).max(word + 14.0);
        let numbers = self.bars().filter_map(|bar| self.number(bar.value));
        let widest = numbers.map(|number| TICK.width(&number)).fold(0.0, f64::max);
        let is_upright = widest + 4.0 > bar;
        let axis = self.axis(if is_upright { widest } else { TICK.size });
        let y_label = wrap(&self.y_label, LABEL.size, HEIGHT);
        let left = 14.0 + y_label.len() as f64 * LABEL.line() + tick_width(&axis) + 17.0;
        let width = (left + n_groups * group + RIGHT_MARGIN).max(LEAST_WIDTH);
        let head = Canvas::default().head(left, width - left - RIGHT_MARGIN, &self.title, &self.subtitle);
        let names = self.groups.iter().map(|it| wrap(&it.name, LABEL.size, group - 8.0)).collect();
        Layout { width, left, top: head + 24.0, axis, bar, group, names, is_upright }
    }

    /// An axis with 0, all values, and room for numbers of this height beyond them.
    fn axis(&self, number_height: f64) -> Axis {
        let ends: Vec<f64> = self.bars().flat_map(|bar| [bar.value, bar.low, bar.high]).chain([0.0]).collect();
        let axis = Axis::around(ends.iter().copied(), 6);
        let share = (number_height + 2.0 * NUMBER_GAP) / HEIGHT;
        let beyond = |axis: &Axis, room: f64| -> Vec<f64> {
            let signed = |end: &f64| end + (room * (axis.high - axis.low)).copysign(*end);
            ends.iter().filter(|end| **end != 0.0 && end.is_finite()).map(signed).collect()
        };
        let has_room = beyond(&axis, share).iter().all(|end| (axis.low..=axis.high).contains(end));
        if self.digits.is_none() || has_room {
            return axis;
        }
        // The axis grows by what is added, at both ends perhaps: hence the share of what remains.
        let more = beyond(&axis, share / (1.0 - 2.0 * share).max(0.2));
        Axis::around(ends.iter().copied().chain(more), 6)
    }

    fn add_group(&self, canvas: &mut Canvas, layout: &Layout, idx: usize, group: &BarGroup) {
        let middle = layout.left + (idx as f64 + 0.5) * layout.group;
        canvas.lines((middle, layout.top + HEIGHT + 20.0), Anchor::Middle, LABEL, &layout.names[idx]);
        let first = middle - self.methods.len() as f64 * layout.bar / 2.0;
        for bar in &group.bars {
            let left = first + bar.method as f64 * layout.bar;
            let (Some(zero), Some(end)) = (layout.y(0.0), layout.y(bar.value)) else { continue };
            let name = escape(self.methods.get(bar.method).map_or("", String::as_str));
            let (Bar { method, value, .. }, shapes) = (bar, draw_bar(layout, bar, left, zero, end));
            canvas.add(&format!(
                r#"<g class="series" data-series="{method}" data-name="{name}" data-value="{value}"><title>{name}: {value}</title>{shapes}"#
            ));
            if let Some(number) = self.number(bar.value) {
                add_number(canvas, layout, bar, left + layout.bar / 2.0, &number);
            }
            canvas.add("</g>");
        }
    }
}

fn draw_bar(layout: &Layout, bar: &Bar, left: f64, zero: f64, end: f64) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="{}"/>"#,
        left + 1.5,
        zero.min(end),
        layout.bar - 3.0,
        (zero - end).abs(),
        fill(bar.method)
    );
    if let (Some(low), Some(high), true) = (layout.y(bar.low), layout.y(bar.high), bar.low < bar.high) {
        let x = left + layout.bar / 2.0;
        let _ = write!(
            out,
            r#"<path d="M{:.1} {low:.1}h7M{x:.1} {low:.1}V{high:.1}M{:.1} {high:.1}h7" fill="none" stroke="{INK}" stroke-width="1.3"/>"#,
            x - 3.5,
            x - 3.5
        );
    }
    out
}

/// Beyond the bar and its error bar, away from 0.
fn add_number(canvas: &mut Canvas, layout: &Layout, bar: &Bar, x: f64, number: &str) {
    let is_below = bar.value < 0.0;
    let end = if is_below { bar.low.min(bar.value) } else { bar.high.max(bar.value) };
    let Some(y) = layout.y(end) else { return };
    match (layout.is_upright, is_below) {
        (false, false) => canvas.label((x, y - NUMBER_GAP), Anchor::Middle, NUMBER, number),
        (false, true) => canvas.label((x, y + NUMBER_GAP + 0.75 * TICK.size), Anchor::Middle, NUMBER, number),
        (true, false) => canvas.upright((x + 4.5, y - NUMBER_GAP), Anchor::Start, NUMBER, number),
        (true, true) => canvas.upright((x + 4.5, y + NUMBER_GAP), Anchor::End, NUMBER, number),
    }
}
