//! Bar charts: groups of bars with error bars, one look a method. Where bars from zero would hide the differences, points
//! on an axis that follows the values, and a line that says so.

use std::fmt::Write as _;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Font, GRID, INK, LABEL, SOFT_INK, TICK};
use super::format::Room;
use super::legend::{Legend, box_swatch, point_swatch};
use super::style::{colour, fill, hatches, marker};
use super::text::{escape, widest_word, wrap};
use super::{LEAST_WIDTH, number, tick_width};

const HEIGHT: f64 = 300.0;
const LEAST_HEIGHT: f64 = 80.0;
const WIDEST_BAR: f64 = 44.0;
const NARROWEST_BAR: f64 = 18.0;
/// Where there is little room.
const LEAST_BAR: f64 = 13.0;
const N_TRIES: usize = 5;
/// All bars together are about this wide, if they can be.
const WIDTH: f64 = 760.0;
const BETWEEN_GROUPS: f64 = 26.0;
const RIGHT_MARGIN: f64 = 24.0;
/// From a bar's end to its number.
const NUMBER_GAP: f64 = 5.0;
const NUMBER: Font = Font { has_halo: true, ..TICK };
/// Bars that differ by less than this share of the longest are points.
const LEAST_SPREAD: f64 = 0.3;

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
    /// Without what is left empty at the right.
    used: f64,
    height: f64,
    legend: Legend,
    legend_top: f64,
    size: (f64, f64),
    left: f64,
    top: f64,
    axis: Axis,
    bar: f64,
    group: f64,
    names: Vec<Vec<String>>,
    /// Numbers read upwards where bars are narrower than they.
    is_upright: bool,
    /// The axis need not have 0.
    has_points: bool,
    subtitle: String,
}

impl Layout {
    fn y(&self, value: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.axis.share(value)?) * self.height)
    }

    /// Ends of an error bar may lie beyond the axis.
    fn within(&self, value: f64) -> f64 {
        value.clamp(self.axis.low, self.axis.high)
    }
}

impl BarFigure {
    pub(super) fn compose(&self, room: Room) -> Canvas {
        let layout = self.layout(room);
        let mut canvas = Canvas::of("bars");
        canvas.add(&hatches(self.methods.len()));
        canvas.head(layout.left, layout.width - layout.left - RIGHT_MARGIN, &self.title, &layout.subtitle);
        let right = layout.left + self.groups.len().max(1) as f64 * layout.group;
        for &tick in &layout.axis.ticks {
            let y = layout.y(tick).unwrap_or(layout.top);
            canvas.line((layout.left, y), (right, y), if tick == 0.0 { SOFT_INK } else { GRID });
            canvas.label((layout.left - 9.0, y + 4.5), Anchor::End, TICK, &layout.axis.label(tick));
        }
        canvas.y_label(layout.top + layout.height / 2.0, &wrap(&self.y_label, LABEL.size, layout.height));
        for (idx, group) in self.groups.iter().enumerate() {
            self.add_group(&mut canvas, &layout, idx, group);
        }
        let swatch = if layout.has_points { point_swatch } else { box_swatch };
        layout.legend.draw(&mut canvas, &self.methods, (layout.width / 2.0, layout.legend_top), swatch);
        canvas.size = layout.size;
        canvas
    }

    fn number(&self, value: f64) -> Option<String> {
        self.digits.map(|digits| number(value, digits))
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars).filter(|bar| bar.value.is_finite())
    }

    fn layout(&self, room: Room) -> Layout {
        let (n_groups, n_bars) = (self.groups.len().max(1) as f64, self.methods.len().max(1) as f64);
        let mut bar = (WIDTH / n_groups / n_bars).clamp(NARROWEST_BAR, WIDEST_BAR);
        let mut layout = self.layout_with(bar, HEIGHT, room);
        for _ in 0..N_TRIES {
            let (mut height, used) = (layout.height, layout.used);
            if let Some(width) = room.width {
                bar = (bar + (width - used) / n_groups / n_bars).max(LEAST_BAR);
                height = HEIGHT.min(0.6 * width);
            }
            if let Some(wanted) = room.height {
                height = (layout.height + wanted - layout.size.1).max(LEAST_HEIGHT);
            }
            layout = self.layout_with(bar, height, room);
        }
        layout
    }

    fn layout_with(&self, bar: f64, height: f64, room: Room) -> Layout {
        let (n_groups, n_bars) = (self.groups.len().max(1) as f64, self.methods.len().max(1) as f64);
        let word = self.groups.iter().map(|group| widest_word(&group.name, LABEL.size)).fold(0.0, f64::max);
        let group = (n_bars * bar + BETWEEN_GROUPS).max(word + 14.0);
        let numbers = self.bars().filter_map(|bar| self.number(bar.value));
        let widest = numbers.map(|number| TICK.width(&number)).fold(0.0, f64::max);
        let is_upright = widest + 4.0 > bar;
        let axis = self.axis(if is_upright { widest } else { TICK.size }, height);
        let y_label = wrap(&self.y_label, LABEL.size, height);
        let left = 14.0 + y_label.len() as f64 * LABEL.line() + tick_width(&axis) + 17.0;
        let used = left + n_groups * group + RIGHT_MARGIN;
        let width = used.max(room.width.unwrap_or(LEAST_WIDTH));
        let has_points = self.has_points();
        let start = if axis.low > 0.0 { axis.label(axis.low) } else { axis.label(axis.high) };
        let subtitle = match (has_points, axis.low <= 0.0 && axis.high >= 0.0) {
            (true, false) => joined(&self.subtitle, &format!("the axis starts at {start}, not at 0")),
            _ => self.subtitle.clone(),
        };
        let head = Canvas::default().head(left, width - left - RIGHT_MARGIN, &self.title, &subtitle);
        let names: Vec<_> = self.groups.iter().map(|it| wrap(&it.name, LABEL.size, group - 8.0)).collect();
        let deepest = names.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let top = head + 24.0;
        let legend_top = top + height + 14.0 + deepest * LABEL.line() + 14.0;
        let legend = Legend::of(&self.methods, width - 2.0 * RIGHT_MARGIN);
        let size = (width, legend_top + legend.height() + 12.0);
        Layout {
            width,
            used,
            height,
            legend,
            legend_top,
            size,
            left,
            top,
            axis,
            bar,
            group,
            names,
            is_upright,
            has_points,
            subtitle,
        }
    }

    /// The least and the largest value; none without bars.
    fn range(&self) -> Option<(f64, f64)> {
        let low = self.bars().map(|bar| bar.value).reduce(f64::min)?;
        Some((low, self.bars().map(|bar| bar.value).fold(low, f64::max)))
    }

    fn has_points(&self) -> bool {
        let Some((low, high)) = self.range() else { return false };
        low * high > 0.0 && self.bars().count() > 1 && high - low < LEAST_SPREAD * low.abs().max(high.abs())
    }

    /// What the axis must have: all values, with 0 for bars. Of error bars beside points no more than the values span.
    fn ends(&self) -> Vec<f64> {
        let ends = self.bars().flat_map(|bar| [bar.value, bar.low, bar.high]);
        match self.range().filter(|_| self.has_points()) {
            Some((low, high)) => ends.map(|end| end.clamp(low - (high - low), high + (high - low))).collect(),
            None => ends.chain([0.0]).collect(),
        }
    }

    /// An axis with all ends, and room for numbers of this height beyond them.
    fn axis(&self, number_height: f64, height: f64) -> Axis {
        let ends = self.ends();
        let n_ticks = ((height / 45.0) as usize).clamp(2, 6);
        let axis = Axis::around(ends.iter().copied(), n_ticks);
        let share = (number_height + 2.0 * NUMBER_GAP) / height;
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
        Axis::around(ends.iter().copied().chain(more), n_ticks)
    }

    fn add_group(&self, canvas: &mut Canvas, layout: &Layout, idx: usize, group: &BarGroup) {
        let middle = layout.left + (idx as f64 + 0.5) * layout.group;
        canvas.lines((middle, layout.top + layout.height + 20.0), Anchor::Middle, LABEL, &layout.names[idx]);
        let first = middle - self.methods.len() as f64 * layout.bar / 2.0;
        for bar in &group.bars {
            let left = first + bar.method as f64 * layout.bar;
            let Some(end) = layout.y(bar.value) else { continue };
            let name = escape(self.methods.get(bar.method).map_or("", String::as_str));
            let (Bar { method, value, .. }, shapes) = (bar, draw_bar(layout, bar, left, end));
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

fn draw_bar(layout: &Layout, bar: &Bar, left: f64, end: f64) -> String {
    let mut out = String::new();
    if layout.has_points {
        out += &error_bar(layout, bar, left + layout.bar / 2.0, colour(bar.method));
        return out + &marker(bar.method, (left + layout.bar / 2.0, end));
    }
    let Some(zero) = layout.y(0.0) else { return out };
    let _ = write!(
        out,
        r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="{}"/>"#,
        left + 1.5,
        zero.min(end),
        layout.bar - 3.0,
        (zero - end).abs(),
        fill(bar.method)
    );
    out + &error_bar(layout, bar, left + layout.bar / 2.0, INK)
}

/// Empty without an interval; an end beyond the axis has no cap.
fn error_bar(layout: &Layout, bar: &Bar, x: f64, stroke: &str) -> String {
    let [low, high] = [bar.low, bar.high].map(|end| layout.within(end));
    let (Some(y_low), Some(y_high), true) = (layout.y(low), layout.y(high), bar.low < bar.high) else {
        return String::new();
    };
    let cap = |end: f64, shown: f64, y: f64| match end == shown {
        true => format!("M{:.1} {y:.1}h7", x - 3.5),
        false => String::new(),
    };
    let caps = cap(bar.low, low, y_low) + &cap(bar.high, high, y_high);
    format!(
        r#"<path class="error-bar" d="M{x:.1} {y_low:.1}V{y_high:.1}{caps}" fill="none" stroke="{stroke}" stroke-width="1.3"/>"#
    )
}

fn joined(subtitle: &str, more: &str) -> String {
    [subtitle, more].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Beyond the bar and its error bar, away from 0.
fn add_number(canvas: &mut Canvas, layout: &Layout, bar: &Bar, x: f64, number: &str) {
    let is_below = bar.value < 0.0;
    let end = if is_below { bar.low.min(bar.value) } else { bar.high.max(bar.value) };
    let Some(y) = layout.y(layout.within(end)) else { return };
    match (layout.is_upright, is_below) {
        (false, false) => canvas.label((x, y - NUMBER_GAP), Anchor::Middle, NUMBER, number),
        (false, true) => canvas.label((x, y + NUMBER_GAP + 0.75 * TICK.size), Anchor::Middle, NUMBER, number),
        (true, false) => canvas.upright((x + 4.5, y - NUMBER_GAP), Anchor::Start, NUMBER, number),
        (true, true) => canvas.upright((x + 4.5, y + NUMBER_GAP), Anchor::End, NUMBER, number),
    }
}
