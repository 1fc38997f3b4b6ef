//! Curves: a metric over rounds, interactions or simulated time, or one number a label of an axis; and distributions.

use std::collections::BTreeMap;

use foltr_experiment::results::Run;
use foltr_experiment::rows::MetricName;

use super::{Drawing, METRIC, Selection};
use crate::names::axis_name;
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Reference, Scale, Sharing};
use crate::statistics::Estimate;

/// What a course may be drawn over; anything else is an axis.
pub const OVER: [&str; 3] = ["rounds", "interactions", "simulated-time"];

/// More points than these cannot be seen.
const MAX_POINTS: usize = 250;

const N_STEPS: usize = 100;

type Course = Vec<(f64, f64)>;

impl Drawing<'_> {
    pub(super) fn curves(&self) -> CurveFigure {
        let x_label = match self.spec.x.as_str() {
            "interactions" => "interactions of all clients together".into(),
            "simulated-time" => "simulated time, in rounds of a usual client".into(),
            other => axis_name(other),
        };
        CurveFigure {
            title: self.spec.title.clone(),
            subtitle: self.subtitle(if self.spec.bands { " with 95 % confidence bands" } else { "" }),
            x_label,
            y_label: self.y_label(),
            rows: self.panels(|row, column| self.panel(row, column)),
            methods: self.methods(),
            columns: self.names(&self.columns),
            x_scale: if self.spec.log_x { Scale::Logarithmic } else { Scale::default() },
            x_sharing: Sharing::Row,
            y_sharing: Sharing::Panel,
        }
    }

    /// Which share of the clients has a ranker that is worth at most so much to them.
    pub(super) fn clients(&self) -> CurveFigure {
        let curve = |method: usize, query: &Selection| {
            let mut values: Vec<f64> = self.selector.clients(query).into_values().collect();
            values.sort_unstable_by(f64::total_cmp);
            let last = values.len().checked_sub(1)?;
            let point = |step: usize| {
                let share = step as f64 / N_STEPS as f64;
                Point { x: values[(share * last as f64).round() as usize], mean: share, low: share, high: share }
            };
            Some(Curve { method, points: (0..=N_STEPS).map(point).collect() })
        };
        let panel = |row: &Selection, column: &Selection| {
            let lines = self.lines.iter().enumerate();
            let curves = lines.filter_map(|(method, line)| curve(method, &self.query(&[row, column, line])));
            Panel { curves: curves.collect(), references: Vec::new() }
        };
        CurveFigure {
            title: self.spec.title.clone(),
            subtitle: "share of clients whose ranker is worth at most this much to them; all runs together".into(),
            x_label: self.y_label(),
            y_label: "share of clients".into(),
            rows: self.panels(panel),
            methods: self.names(&self.lines),
            columns: self.names(&self.columns),
            x_sharing: Sharing::Row,
            ..CurveFigure::default()
        }
    }

    fn panels(&self, panel: impl Fn(&Selection, &Selection) -> Panel) -> Vec<PanelRow> {
        let row = |row: &Selection| PanelRow {
            title: self.name(row),
            panels: self.columns.iter().map(|column| panel(row, column)).collect(),
        };
        self.rows.iter().map(row).collect()
    }

    fn panel(&self, row: &Selection, column: &Selection) -> Panel {
        let mut panel = Panel::default();
        for (method, line) in self.lines.iter().enumerate() {
            let query = self.query(&[row, column, line]);
            let mut points =
                if OVER.contains(&self.spec.x.as_str()) { self.points(&query) } else { self.points_along(&query) };
            if !self.spec.bands {
                points.iter_mut().for_each(|point| (point.low, point.high) = (point.mean, point.mean));
            }
            match points[..] {
                [] => {}
                // What was trained offline has one value, whatever the round.
                [point] if OVER.contains(&self.spec.x.as_str()) => {
                    panel.references.push(Reference { method, value: point.mean });
                }
                _ => panel.curves.push(Curve { method, points }),
            }
        }
        panel.references.extend(self.level_lines(row, column));
        panel
    }

    /// Names of lines, then of level lines that are no lines.
    fn methods(&self) -> Vec<String> {
        let mut methods = self.names(&self.lines);
        for name in self.names(&self.levels) {
            if !methods.contains(&name) {
                methods.push(name);
            }
        }
        methods
    }

    fn level_lines(&self, row: &Selection, column: &Selection) -> Vec<Reference> {
        let Some(references) = &self.spec.references else { return Vec::new() };
        let methods = self.methods();
        let level = |level: &Selection| {
            let query = Selection::default().with(METRIC, &references.metric).with_at(&self.spec.at);
            let query = query.and(&references.fixed);
            let sample = self.selector.sample(&query.and(row).and(column).and(level));
            let value = Estimate::of(&sample.into_values().collect::<Vec<_>>())?.mean;
            let name = self.name(level);
            Some(Reference { method: methods.iter().position(|known| *known == name)?, value })
        };
        self.levels.iter().filter_map(level).collect()
    }

    /// One point a label of an axis with numbers.
    fn points_along(&self, query: &Selection) -> Vec<Point> {
        let axis = &self.spec.x;
        let labels = self.selector.labels_of(axis, query);
        let point = |label: &String| {
            let x = label.parse::<f64>().ok()?;
            Some(at(x, &self.estimate(&query.with(axis, label))?))
        };
        let mut points: Vec<Point> = labels.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    }

    fn points(&self, query: &Selection) -> Vec<Point> {
        let mut courses = self.courses(query);
        if let Some(other) = &self.spec.relative_to {
            let others = self.courses(&query.and(other));
            courses = courses
                .into_iter()
                .filter_map(|(key, course)| {
                    let other = others.get(&key)?;
                    Some((key, course.into_iter().zip(other).map(|((x, a), (_, b))| (x, a - b)).collect()))
                })
                .collect();
        }
        let runs: Vec<Course> = courses.into_values().collect();
        let n_points = runs.iter().map(Vec::len).min().unwrap_or(0);
        let point = |idx: usize| {
            let estimate = Estimate::of(&runs.iter().map(|run| run[idx].1).collect::<Vec<_>>())?;
            Some(at(runs[0][idx].0, &estimate))
        };
        (0..n_points).filter_map(point).collect()
    }

    /// (fold, seed) -> course: the mean over settings, smoothed and thinned.
    fn courses(&self, query: &Selection) -> BTreeMap<(usize, u64), Course> {
        let Some(&metric) = query.metrics().first() else { return BTreeMap::new() };
        let mut by_run: BTreeMap<(usize, u64), Vec<Course>> = BTreeMap::new();
        for setting in self.selector.settings(query) {
            for run in self.selector.runs(setting, query) {
                let course = self.course(run, metric);
                if !course.is_empty() {
                    by_run.entry((run.fold, run.seed)).or_default().push(course);
                }
            }
        }
        by_run.into_iter().map(|(key, courses)| (key, mean_course(&courses))).collect()
    }

    /// From the initial ranker on, which is round 0, for what is measured of rankers.
    fn course(&self, run: &Run, metric: MetricName) -> Course {
        let schedule = self.selector.results.grid.settings[run.setting].experiment.schedule();
        let per_round = schedule.map_or(1, |schedule| schedule.interactions_per_round());
        let times: BTreeMap<usize, f64> = run.rows.course(MetricName::SimulatedTime).into_iter().collect();
        let x = |round: usize| match self.spec.x.as_str() {
            "interactions" => (round * per_round) as f64,
            "simulated-time" => times.get(&round).copied().unwrap_or(round as f64),
            _ => round as f64,
        };
        let rows = run.rows.course(metric).into_iter();
        let course: Course = rows.map(|(round, value)| (x(round), value)).collect();
        // The initial ranker is no part of any mean: it has not learned.
        let (initial, learned) = course.split_at(usize::from(course.first().is_some_and(|first| first.0 == 0.0)));
        // A long course is thinned out; what lies between two points goes into the later one.
        let step = learned.len().div_ceil(self.spec.most_points.unwrap_or(MAX_POINTS)).max(1);
        let window = self.spec.smooth.max(step).min(learned.len()).max(1);
        initial.iter().copied().chain(smooth(learned, window).into_iter().step_by(step)).collect()
    }
}

fn at(x: f64, estimate: &Estimate) -> Point {
    let (low, high) = estimate.band();
    Point { x, mean: estimate.mean, low, high }
}

fn mean_course(courses: &[Course]) -> Course {
    let n_points = courses.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |idx: usize| courses.iter().map(|course| course[idx].1).sum::<f64>() / courses.len() as f64;
    (0..n_points).map(|idx| (courses[0][idx].0, mean(idx))).collect()
}

/// A plain moving average without padding (spec section 3): shorter by `window - 1` points, and empty when shorter than a
/// window. `KO19` averages four measurements, the plot script of `WLZZ21` ten. The mean of a window stands at its last
/// measurement, so that no point of a curve knows what came after it.
fn smooth(course: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    let mean = |window: &[(f64, f64)]| {
        let sum: f64 = window.iter().map(|(_, value)| value).sum();
        (window[window.len() - 1].0, sum / window.len() as f64)
    };
    course.windows(window.max(1)).map(mean).collect()
}

#[test]
fn four_measurements_by_hand() {
    let course: Vec<(f64, f64)> = (1..).map(f64::from).zip([1.0, 3.0, 2.0, 6.0, 5.0]).collect();
    // (1 + 3 + 2 + 6) / 4 and (3 + 2 + 6 + 5) / 4, at the last of each four.
    assert_eq!(smooth(&course, 4), [(4.0, 3.0), (5.0, 4.0)]);
    assert_eq!(smooth(&course, 0), course);
    assert_eq!(smooth(&course, 10), []);
}
