//! The tables: every setting with mean, interval, number of runs, and how it compares with the baseline.

use super::Results;
use super::by_query::QueryMeans;
use super::comparison::{Compared, Comparison};
use super::facts::method;
use super::measures::{Group, Measure};
use super::roles::{Roles, labels};
use crate::expect::{At, Basis};
use crate::names::axis_names;
use crate::plot::colour;
use crate::statistics::Estimate;

pub struct ResultTable {
    pub id: &'static str,
    pub title: &'static str,
    /// Names of the columns that tell settings apart.
    pub axes: Vec<String>,
    pub measures: Vec<String>,
    pub rows: Vec<ResultRow>,
    /// What cannot be compared, and why.
    pub notes: Vec<String>,
    /// What must be said to read it outside of the page.
    pub caption: String,
}

pub struct ResultRow {
    /// Under [`ResultTable::axes`].
    pub labels: Vec<RowLabel>,
    pub colour: &'static str,
    /// Under [`ResultTable::measures`]; none where it was not measured.
    pub cells: Vec<Option<ResultCell>>,
    pub n: usize,
    /// Whether it is the first with its users and data.
    pub is_first: bool,
}

pub struct RowLabel {
    /// A dash where a setting has no label.
    pub text: String,
    pub is_long: bool,
    /// Whether the colour of the line stands beside it.
    pub has_chip: bool,
    /// Whether others are compared with it because of this label.
    pub is_baseline: bool,
}

#[derive(Clone)]
pub struct ResultCell {
    pub mean: String,
    /// Half the interval; empty with fewer than three runs.
    pub half_width: String,
    pub value: f64,
    /// Whether no other setting with the same users and data has a better mean.
    pub is_best: bool,
    /// Of the test over runs.
    pub mark: &'static str,
    pub query_mark: &'static str,
    /// The tests in words, or why there are none.
    pub test: String,
    pub has_run_test: bool,
    pub has_query_test: bool,
}

impl ResultTable {
    pub fn cells(&self) -> impl Iterator<Item = &ResultCell> {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten())
    }

    /// What must be said outside of the page: runs, intervals, tests and their correction.
    fn set_caption(&mut self, baseline: Option<&str>) {
        let most = self.rows.iter().map(|row| row.n).max().unwrap_or(0);
        let runs = match self.n_of_all() {
            Some(1) => "single runs".to_owned(),
            Some(n) => format!("means over {n} runs"),
            None => format!("means over at most {most} runs"),
        };
        let interval = if most > 2 { ", ± half of Student's 95 % confidence interval" } else { "" };
        let mut text = format!("{}: {runs}{interval}. Bold: the best mean among comparable settings.", self.title);
        let baseline = baseline.unwrap_or_default();
        if self.cells().any(|cell| cell.has_run_test) {
            text += &format!(
                " △ ▽: higher or lower than the baseline ({baseline}) with p < 0.05, ▲ ▼ with p < 0.01, by a two-tailed \
                 t-test over runs (paired where folds and seeds pair up, else Welch's), Bonferroni-corrected over the tests \
                 of a column."
            );
        }
        if self.cells().any(|cell| cell.has_query_test) {
            text += &format!(
                " † ‡: different from the baseline ({baseline}) with p < 0.05 and p < 0.01 by a paired t-test over queries, of \
                 means over seeds, Bonferroni-corrected."
            );
        }
        self.caption = text;
    }
}

const TABLES: [(&str, &str, Group); 4] = [
    ("final-ranker", "Final ranker, on held-out queries", Group::HeldOut),
    ("training-queries", "Final ranker, on training queries", Group::TrainingQueries),
    ("online", "Online performance, of the lists that users saw", Group::Online),
    ("time-and-messages", "Time and messages", Group::TimeAndMessages),
];

/// Labels longer than this may be broken anywhere.
const LONG: usize = 26;

pub struct Tables<'a> {
    pub results: &'a Results,
    pub queries: &'a QueryMeans,
    pub roles: &'a Roles,
    pub comparison: &'a Comparison,
    pub line_of: Vec<Option<usize>>,
}

impl Tables<'_> {
    /// Those in which anything was measured.
    pub fn all(&self, measures: &[Measure]) -> Vec<ResultTable> {
        let table = |(id, title, group)| {
            let measures: Vec<&Measure> = measures.iter().filter(|it| it.group == group).collect();
            self.table(id, title, &measures)
        };
        let mut tables: Vec<ResultTable> = TABLES.into_iter().filter_map(table).collect();
        tables.iter_mut().for_each(|table| table.set_caption(self.comparison.name().as_deref()));
        tables
    }

    /// Settings with the same data and users stand together.
    fn table(&self, id: &'static str, title: &'static str, measures: &[&Measure]) -> Option<ResultTable> {
        let Self { results, roles, .. } = self;
        let settings = &results.grid.settings;
        let (columns, notes): (Vec<_>, Vec<_>) = measures.iter().map(|measure| self.column(measure)).unzip();
        let is_shown = |column: &Vec<Option<ResultCell>>| column.iter().any(Option::is_some);
        let names = measures.iter().zip(&columns).filter(|(_, column)| is_shown(column)).map(|(it, _)| it.name.clone());
        let (names, columns): (Vec<String>, Vec<_>) =
            (names.collect(), columns.iter().filter(|it| is_shown(it)).collect());
        let places: Vec<&String> = [&roles.rows, &roles.columns].into_iter().flatten().collect();
        let others = results.grid.axes().into_iter().filter(|axis| !places.contains(&axis));
        let axes: Vec<String> = places.iter().map(|axis| (*axis).clone()).chain(others).collect();
        let is_measured = |setting: &usize| columns.iter().any(|column| column[*setting].is_some());
        let mut order: Vec<usize> = (0..settings.len()).filter(is_measured).collect();
        let place = |&setting: &usize| {
            let label = |axis: &&String| settings[setting].label(axis);
            let position = |axis: &&String| labels(results, axis).iter().position(|known| *known == label(axis));
            places.iter().map(position).collect::<Vec<_>>()
        };
        order.sort_by_cached_key(place);
        let row = |(idx, &setting): (usize, &usize)| ResultRow {
            labels: self.row_labels(setting, &axes),
            colour: colour(self.line_of[setting].unwrap_or(0)),
            cells: columns.iter().map(|column| column[setting].clone()).collect(),
            n: results.runs_of(setting).count(),
            is_first: idx == 0 || place(&order[idx - 1]) != place(&setting),
        };
        let rows: Vec<ResultRow> = order.iter().enumerate().map(row).collect();
        (!rows.is_empty()).then(|| ResultTable {
            id,
            title,
            axes: if axes.is_empty() { vec!["learner".into()] } else { axis_names(&axes) },
            measures: names,
            rows,
            notes: notes.into_iter().flatten().collect(),
            caption: String::new(),
        })
    }

    /// Labels in the order of the table's axes; the learner for a setting without axes.
    fn row_labels(&self, setting: usize, axes: &[String]) -> Vec<RowLabel> {
        let Self { results, roles, comparison, .. } = self;
        let label = |text: String, has_chip, is_baseline| {
            let is_long = text.chars().count() > LONG;
            RowLabel { text, is_long, has_chip, is_baseline }
        };
        if axes.is_empty() {
            return vec![label(method(results, setting), true, false)];
        }
        let with_chip = roles.lines.first().or(axes.first());
        let baseline = comparison.baseline.as_ref().filter(|_| comparison.partner.contains(&Some(setting)));
        let of_axis = |axis: &String| {
            let text = results.grid.settings[setting].label(axis).unwrap_or("–").to_owned();
            label(text, with_chip == Some(axis), baseline.is_some_and(|(of, _)| of == axis))
        };
        axes.iter().map(of_axis).collect()
    }

    /// A cell a setting, and what to note below the table.
    fn column(&self, measure: &Measure) -> (Vec<Option<ResultCell>>, Vec<String>) {
        let Self { results, roles, comparison, .. } = self;
        let tests = comparison.tests(results, self.queries, measure);
        let estimates = measure.estimates(results);
        let place = |setting: usize| {
            let label = |axis| results.grid.settings[setting].label(axis);
            [&roles.columns, &roles.rows].map(|axis| axis.as_deref().and_then(label))
        };
        let is_best = |setting: usize, mean: f64| {
            let is_rival = |other: &usize| *other != setting && place(*other) == place(setting);
            let mut rivals = (0..estimates.len()).filter(|it| is_rival(it) && estimates[*it].is_some());
            let is_no_better = |other: f64| if measure.less_is_better { other >= mean } else { other <= mean };
            let is_beaten = |other: usize| {
                let no_better = estimates[other].is_none_or(|estimate| is_no_better(estimate.mean));
                no_better && comparison.is_comparable(results, measure, [setting, other])
            };
            rivals.clone().next().is_some() && rivals.all(is_beaten)
        };
        let largest = estimates.iter().flatten().map(|estimate| estimate.mean.abs()).fold(0.0, f64::max);
        let cell = |setting: usize| {
            let estimate = estimates[setting]?;
            let test = tests[setting].as_ref();
            Some(ResultCell {
                mean: with_digits_of(largest, estimate.mean),
                half_width: estimate.shown_half_width().map(|half| with_digits_of(largest, half)).unwrap_or_default(),
                value: estimate.mean,
                is_best: is_best(setting, estimate.mean),
                mark: test.map(Compared::mark).unwrap_or_default(),
                query_mark: test.map(Compared::query_mark).unwrap_or_default(),
                test: test.map(Compared::description).unwrap_or_default(),
                has_run_test: test.is_some_and(Compared::has_run_test),
                has_query_test: test.is_some_and(Compared::has_query_test),
            })
        };
        ((0..estimates.len()).map(cell).collect(), notes(results, measure, &estimates))
    }
}

/// Why numbers of a column are not compared with each other, or are missing.
fn notes(results: &Results, measure: &Measure, estimates: &[Option<Estimate>]) -> Vec<String> {
    let bases = measure.bases(results, estimates);
    let mut notes = Vec::new();
    if bases.len() > 1 {
        let each: Vec<String> = bases.iter().map(Basis::describe).collect();
        notes.push(format!(
            "{}: settings with different lengths are not compared, neither by a test nor for the best, because a longer \
             sum is larger ({}).",
            measure.name,
            each.join("; ")
        ));
    }
    let is_averaged = |setting: &foltr_experiment::grid::Setting| {
        setting.training().is_ok_and(|experiment| experiment.metrics.online.rounds_a_row() > 1)
    };
    let is_sum = matches!(measure.at, At::DiscountedSum | At::DiscountedByInteraction);
    if is_sum && results.grid.settings.iter().any(is_averaged) {
        notes.push(format!(
            "{}: none where rows are means over several rounds (metrics.online), which cannot be discounted.",
            measure.name
        ));
    }
    notes
}

/// A number with as many digits as are read in a column whose largest is `scale`: four decimals below 10, fewer above.
fn with_digits_of(scale: f64, value: f64) -> String {
    match scale.abs() {
        size if size >= 1000.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
