//! `[[figure]]`: results as curves, bars, heat maps and tables.

mod cells;
mod courses;

use std::collections::BTreeMap;

use foltr_experiment::collection::ResolvedCollection;
use foltr_experiment::study::{COLLECTION_AXIS, Names};
use serde::Deserialize;

use super::check::Checker;
use super::reduce::At;
use super::select::{METRIC, Selection, Selector};
use crate::names::{axis_name, label_name, metric_name};
use crate::plot::{Bar, BarFigure, BarGroup, Figure, Format, HeatMap, Length, Palette};
use crate::table::TextTable;
use cells::Gain;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    #[serde(default = "usual_name")]
    pub name: String,
    pub kind: Kind,
    #[serde(default)]
    pub title: String,
    /// Several are an axis `metric`.
    pub metric: Names,
    #[serde(default)]
    pub at: At,
    #[serde(default, rename = "where")]
    pub fixed: Selection,
    #[serde(default)]
    pub lines: Names,
    #[serde(default)]
    pub columns: Names,
    #[serde(default)]
    pub rows: Names,
    #[serde(default = "rounds")]
    pub x: String,
    #[serde(default)]
    pub log_x: bool,
    #[serde(default)]
    pub smooth: usize,
    /// Whether curves have confidence bands; those of many noisy lines hide all of them.
    #[serde(default = "yes")]
    pub bands: bool,
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    pub relative_to: Option<Selection>,
    pub gain: Option<Gain>,
    pub worst_over: Option<String>,
    pub references: Option<LevelLines>,
    /// On paper, such as `8.5cm`.
    pub width: Option<Length>,
    pub height: Option<Length>,
    /// In points; titles grow with the labels.
    pub font_size: Option<f64>,
    /// Title and what stands below it.
    #[serde(default = "yes")]
    pub show_title: bool,
    pub x_label: Option<String>,
    pub y_label: Option<String>,
    #[serde(default)]
    pub entry: Names,
    #[serde(default)]
    pub only_on: Names,
    /// Whether settings that lack an axis of `lines` are lines of their own.
    #[serde(skip)]
    pub with_unlabelled: bool,
    #[serde(skip)]
    pub most_points: Option<usize>,
}

/// Level lines in every panel: one number for each of the figure's `lines`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelLines {
    pub metric: String,
    #[serde(default, rename = "where")]
    pub fixed: Selection,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Curves,
    Bars,
    HeatMap,
    Table,
    /// The distribution over clients; only in reports.
    #[serde(skip)]
    Clients,
}

fn usual_name() -> String {
    "figure".into()
}

fn rounds() -> String {
    "rounds".into()
}

fn yes() -> bool {
    true
}

pub enum Drawn {
    Figure(Figure),
    Table(TextTable),
}

impl FigureSpec {
    /// Whether one entry may have both.
    fn may_meet(&self, other: &Self) -> bool {
        let entries = [&self.entry.0, &other.entry.0];
        entries.iter().any(|names| names.is_empty()) || entries[0].iter().any(|name| entries[1].contains(name))
    }

    pub(super) fn format(&self) -> Format {
        let Self { width, height, font_size, x_label, y_label, .. } = self.clone();
        Format { width, height, font_size, without_title: !self.show_title, x_label, y_label }
    }

    /// Nothing may be asked for that the kind of figure does not have.
    fn check_format(&self, checker: &mut Checker<'_>) {
        let is_table = self.kind == Kind::Table;
        let of_pictures = [
            ("width", self.width.is_some()),
            ("height", self.height.is_some()),
            ("font_size", self.font_size.is_some()),
            ("show_title", !self.show_title),
        ];
        for (key, _) in of_pictures.into_iter().filter(|(_, is_given)| is_table && *is_given) {
            checker.refuse(key, "requires a figure: a table has none");
        }
        if self.font_size.is_some_and(|size| !(size > 0.0 && size.is_finite())) {
            checker.refuse("font_size", "must be a positive number of points");
        }
        if self.x_label.is_some() && self.kind != Kind::Curves {
            checker.refuse("x_label", "requires curves");
        }
        if self.y_label.is_some() && !matches!(self.kind, Kind::Curves | Kind::Bars) {
            checker.refuse("y_label", "requires curves or bars");
        }
    }

    pub(super) fn check(&self, checker: &mut Checker<'_>, others: &[Self]) {
        self.check_format(checker);
        if others.iter().any(|known| known.name == self.name && known.may_meet(self)) {
            checker.refuse("name", "another figure has this name");
        }
        checker.check_names(&self.entry, &self.only_on);
        if self.kind == Kind::Curves && self.worst_over.is_some() {
            checker.refuse("worst_over", "requires a table or heat map");
        }
        if self.gain.is_some() && !matches!(self.kind, Kind::Table | Kind::HeatMap | Kind::Bars) {
            checker.refuse("gain", "requires a table, heat map or bars");
        }
        if self.gain.is_some() && self.relative_to.is_some() {
            checker.refuse("gain", "is relative to its own ends: remove `relative_to`");
        }
        if !super::is_about(&self.entry, &self.only_on, checker.study) {
            return;
        }
        self.metric.0.iter().for_each(|metric| checker.check_metric(metric, "metric"));
        checker.check_selection(&self.fixed, "where");
        if let Some(LevelLines { metric, fixed }) = &self.references {
            checker.check_metric(metric, "references.metric");
            checker.check_selection(fixed, "references.where");
        }
        self.relative_to.iter().for_each(|relative_to| checker.check_selection(relative_to, "relative_to"));
        if let Some(Gain { from, to }) = &self.gain {
            checker.check_selection(from, "gain.from");
            checker.check_selection(to, "gain.to");
        }
        let x = Some(&self.x).filter(|x| !courses::OVER.contains(&x.as_str()));
        let axes = [("lines", &self.lines), ("columns", &self.columns), ("rows", &self.rows)];
        let axes = axes.into_iter().flat_map(|(key, axes)| axes.0.iter().map(move |axis| (key, axis)));
        for (key, axis) in axes.chain(x.map(|x| ("x", x))).chain(self.worst_over.iter().map(|it| ("worst_over", it))) {
            checker.check_axis(axis, key);
        }
    }
}

pub struct Drawing<'a> {
    spec: &'a FigureSpec,
    selector: &'a Selector<'a>,
    start: Selection,
    pub lines: Vec<Selection>,
    levels: Vec<Selection>,
    columns: Vec<Selection>,
    rows: Vec<Selection>,
    data: String,
}

impl<'a> Drawing<'a> {
    pub fn of(spec: &'a FigureSpec, collections: &[(String, ResolvedCollection)], selector: &'a Selector<'a>) -> Self {
        let mut start = Selection::default().with_labels(METRIC, &spec.metric.0).with_at(&spec.at).and(&spec.fixed);
        if !spec.only_on.0.is_empty() && selector.has_axis(COLLECTION_AXIS) {
            let allowed = collections.iter().map(|(name, _)| name).filter(|name| spec.only_on.0.contains(name));
            start = start.with_labels(COLLECTION_AXIS, &allowed.cloned().collect::<Vec<_>>());
        }
        // Collections have rows of their own, wherever they are not named.
        let mut rows = spec.rows.0.clone();
        let named = spec.lines.0.iter().chain(&spec.columns.0).chain(&rows).chain([&spec.x]).chain(&spec.worst_over);
        if selector.has_axis(COLLECTION_AXIS) && !named.into_iter().any(|axis| axis == COLLECTION_AXIS) {
            rows.insert(0, COLLECTION_AXIS.into());
        }
        let combinations = |axes: &[String], with_unlabelled: bool| {
            let Some(place) = axes.iter().position(|axis| axis == METRIC) else {
                return selector.combinations(axes, &start, with_unlabelled);
            };
            let others = [&axes[..place], &axes[place + 1..]].concat();
            let others = selector.combinations(&others, &start, with_unlabelled);
            let of_other = |other: Selection| spec.metric.0.iter().map(move |metric| other.with(METRIC, metric));
            others.into_iter().flat_map(of_other).collect()
        };
        let references = spec.references.iter();
        let levels = references.flat_map(|levels| selector.combinations(&spec.lines.0, &levels.fixed, false));
        let data: Vec<&str> = collections.iter().map(|(_, data)| data.name.as_str()).collect();
        Self {
            spec,
            selector,
            lines: combinations(&spec.lines.0, spec.with_unlabelled),
            levels: levels.collect(),
            columns: combinations(&spec.columns.0, false),
            rows: combinations(&rows, false),
            start,
            data: data.join(", "),
        }
    }

    pub fn draw(&self) -> Drawn {
        match self.spec.kind {
            Kind::Curves => Drawn::Figure(Figure::Curves(self.curves())),
            Kind::Bars => Drawn::Figure(Figure::Bars(self.bars())),
            Kind::HeatMap => Drawn::Figure(Figure::HeatMap(self.heat_map())),
            Kind::Table => Drawn::Table(self.table()),
            Kind::Clients => Drawn::Figure(Figure::Curves(self.clients())),
        }
    }

    fn query(&self, parts: &[&Selection]) -> Selection {
        parts.iter().fold(self.start.clone(), |query, part| query.and(part))
    }

    fn name(&self, selection: &Selection) -> String {
        let name = |(axis, label): (&str, &str)| {
            if let Some(name) = self.spec.names.get(label) {
                return name.clone();
            }
            if axis == METRIC { metric_name(label) } else { label_name(axis, label) }
        };
        let pairs = selection.iter().filter_map(|(axis, _)| Some((axis, selection.one(axis)?)));
        pairs.map(name).collect::<Vec<_>>().join(", ")
    }

    pub fn names(&self, selections: &[Selection]) -> Vec<String> {
        selections.iter().map(|selection| self.name(selection)).collect()
    }

    fn y_label(&self) -> String {
        let measure = match &self.spec.metric.0[..] {
            [metric] => metric_name(metric),
            _ => "value".into(),
        };
        match (&self.spec.relative_to, &self.spec.gain) {
            (Some(_), _) => format!("{measure}, difference"),
            (None, Some(_)) => format!("{measure}, % of the gain"),
            (None, None) => measure,
        }
    }

    fn subtitle(&self, bands: &str) -> String {
        let settings = self.selector.settings(&self.start);
        let n = settings.iter().map(|&setting| self.selector.results.runs_of(setting).count()).max().unwrap_or(0);
        let runs = match n {
            0 | 1 => "one run".into(),
            2 => "2 runs".into(),
            n => format!("{n} runs{bands}"),
        };
        [self.data.as_str(), &runs].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    fn bars(&self) -> BarFigure {
        let mut groups = Vec::new();
        for row in &self.rows {
            for column in &self.columns {
                let bar = |(method, line): (usize, &Selection)| {
                    let estimate = self.cell(&[row, column, line])?.estimate;
                    let (low, high) = estimate.band();
                    Some(Bar { method, value: estimate.mean, low, high })
                };
                let bars: Vec<Bar> = self.lines.iter().enumerate().filter_map(bar).collect();
                let name = [self.name(row), self.name(column)].join(" ").trim().to_owned();
                groups.push(BarGroup { name, bars });
            }
        }
        groups.retain(|group| !group.bars.is_empty());
        BarFigure {
            title: self.spec.title.clone(),
            subtitle: self.subtitle(" with 95 % confidence intervals"),
            y_label: self.y_label(),
            methods: self.names(&self.lines),
            groups,
            digits: Some(if self.spec.gain.is_some() { 1 } else { 3 }),
        }
    }

    /// Rows of a table are rows and lines of the figure.
    fn table_rows(&self) -> Vec<(&Selection, &Selection)> {
        self.rows.iter().flat_map(|row| self.lines.iter().map(move |line| (row, line))).collect()
    }

    fn heat_map(&self) -> HeatMap {
        let cell = |parts: &[&Selection]| self.cell(parts).map_or(f64::NAN, |cell| cell.estimate.mean);
        let rows = self.table_rows();
        let cells =
            rows.iter().map(|(row, line)| self.columns.iter().map(|column| cell(&[row, line, column])).collect());
        let is_difference = self.spec.relative_to.is_some();
        HeatMap {
            title: self.spec.title.clone(),
            subtitle: format!("{}: {}", self.y_label(), self.subtitle("")),
            columns: self.names(&self.columns),
            rows: rows.iter().map(|(row, line)| joined(&[self.name(row), self.name(line)])).collect(),
            cells: cells.collect(),
            digits: if self.spec.gain.is_some() { 1 } else { 3 },
            palette: if is_difference { Palette::Diverging { centre: 0.0 } } else { Palette::Sequential },
            note: self
                .spec
                .worst_over
                .as_ref()
                .map_or_else(String::new, |axis| format!("the least over {}", axis_name(axis))),
        }
    }

    fn table(&self) -> TextTable {
        let cell = |parts: &[&Selection]| self.cell(parts).map_or_else(|| "-".into(), |cell| self.text(&cell));
        let header = [String::new()].into_iter().chain(self.names(&self.columns)).collect();
        let line = |(row, line): &(&Selection, &Selection)| {
            let name = joined(&[self.name(row), self.name(line)]);
            [name].into_iter().chain(self.columns.iter().map(|column| cell(&[row, line, column]))).collect()
        };
        let rows = self.table_rows().iter().map(line).collect();
        let title = if self.spec.title.is_empty() { self.spec.name.clone() } else { self.spec.title.clone() };
        let worst = self
            .spec
            .worst_over
            .as_ref()
            .map_or_else(String::new, |axis| format!(", the least over {}", axis_name(axis)));
        let caption = format!("{title} ({}{worst}; {})", self.y_label(), self.subtitle(""));
        TextTable { caption, header, rows }
    }
}

fn joined(names: &[String]) -> String {
    names.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
