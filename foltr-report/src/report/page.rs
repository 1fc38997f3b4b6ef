//! The page: everything put into the template, which escapes each text.

use askama::Template;
use serde::Serialize;

use super::bars::{BarChart, bar_charts};
use super::comparison::Comparison;
use super::curves::{Chart, PanelData, charts};
use super::heat_map::{HeatMap, heat_maps};
use super::panel::{self, FIELD};
use super::roles::{ChoiceError, Choices, Roles};
use super::tables::{ResultTable, table};
use super::{MeasureOf, Report, spread};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A choice that the results do not have.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The numbers for the script cannot be written.
    #[error("the numbers of the curves cannot be written: {0}")]
    Numbers(#[from] serde_json::Error),
    /// A figure cannot be drawn or written.
    #[error(transparent)]
    Figure(#[from] crate::plot::PlotError),
    /// The template cannot be filled in.
    #[error("the page cannot be composed: {0}")]
    Template(#[from] askama::Error),
}

/// All that the template looks at.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    report: &'a Report,
    style: &'static str,
    script: &'static str,
    numbers: String,
    is_complete: bool,
    missing: Vec<String>,
    tables: Vec<(&'static str, &'static str, ResultTable)>,
    baseline: Option<String>,
    has_intervals: bool,
    legend: Vec<(usize, String, &'a str)>,
    bars: Vec<BarChart>,
    charts: Vec<Chart>,
    heat_maps: Vec<HeatMap>,
    /// Name and address of each picture of the spread over clients.
    spreads: Vec<(String, String)>,
    settings: Vec<(String, &'a str)>,
}

/// What the script needs to know.
#[derive(Serialize)]
struct Numbers<'a> {
    series: &'a [String],
    field: [f64; 4],
    width: f64,
    height: f64,
    panels: &'a [PanelData],
}

/// The page as HTML.
///
/// # Errors
/// If a choice names what the results do not have.
pub fn html(report: &Report, choices: &Choices) -> Result<String, PageError> {
    let roles = Roles::of(report, choices)?;
    let comparison = Comparison::of(report, &roles, choices)?;
    let (charts, panels) = charts(report, &roles);
    let kinds = [
        ("final", "Final ranker, on held-out queries", MeasureOf::FinalRanker),
        ("online", "Online performance, of the lists that users saw", MeasureOf::ShownLists),
    ];
    let told = |(id, title, of)| Some((id, title, table(report, &roles, &comparison, of)?));
    let has_tests = (0..report.measures.len()).any(|idx| comparison.verdicts(report, idx).iter().any(Option::is_some));
    let page = Page {
        style: include_str!("../../templates/report.css"),
        script: include_str!("../../templates/report.js"),
        numbers: embedded(&roles, &panels)?,
        is_complete: report.n_finished() >= report.n_planned,
        missing: missing(report),
        tables: kinds.into_iter().filter_map(told).collect(),
        baseline: comparison
            .baseline
            .filter(|_| has_tests)
            .map(|(axis, label)| format!("{} = {label}", report.axes[axis])),
        has_intervals: report.settings.iter().any(|setting| setting.runs.len() > 1),
        legend: roles.names.iter().enumerate().map(|(idx, name)| (idx, panel::class(idx), name.as_str())).collect(),
        bars: bar_charts(report, &roles),
        charts,
        heat_maps: heat_maps(report, &roles),
        spreads: spread::figures(report, &roles)
            .into_iter()
            .map(|(metric, figure)| (metric, spread::data_address(&figure.svg())))
            .collect(),
        settings: (0..report.settings.len())
            .map(|idx| (name(report, idx), report.settings[idx].experiment.as_str()))
            .collect(),
        report,
    };
    Ok(page.render()?)
}

/// Numbers as JSON that cannot end the element it stands in.
fn embedded(roles: &Roles, panels: &[PanelData]) -> serde_json::Result<String> {
    let numbers = Numbers { series: &roles.names, field: FIELD, width: panel::WIDTH, height: panel::HEIGHT, panels };
    Ok(serde_json::to_string(&numbers)?.replace('<', "\\u003c"))
}

/// Settings that lack runs, in words.
fn missing(report: &Report) -> Vec<String> {
    let lacking = |(idx, planned): (usize, usize)| {
        let n = report.settings[idx].runs.len();
        (n < planned).then(|| format!("{}: {n} of {planned} runs", name(report, idx)))
    };
    let planned = report.settings.iter().enumerate().filter_map(|(idx, setting)| Some((idx, setting.n_planned?)));
    planned.filter_map(lacking).collect()
}

/// All labels of a setting in one line.
fn name(report: &Report, setting: usize) -> String {
    let result = &report.settings[setting];
    let words = |(axis, label): (&String, &Option<String>)| Some(format!("{axis} = {}", label.as_ref()?));
    let name = report.axes.iter().zip(&result.labels).filter_map(words).collect::<Vec<_>>().join(", ");
    if name.is_empty() { result.method.clone() } else { name }
}
