//! The page: everything put into the template, which escapes each text.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use askama::Template;
use rayon::prelude::*;

use super::comparison::Comparison;
use super::facts::{Fact, commands, facts, missing, provenance, setting_name};
use super::figures::{Section, SectionFigure, base, sections};
use super::measures::{measures, metrics};
use super::roles::{ChoiceError, Choices, Roles};
use super::tables::{ResultTable, Tables};
use super::{Report, Results};
use crate::expect::figure::Drawing;
use crate::expect::select::Selector;
use crate::plot::{self, CurveFigure, Figure, Format, line_swatch};
use foltr_experiment::rows::MetricName;

/// Lines of a panel whose bands would hide each other.
const CROWDED: usize = 6;

const FAILED: &str = "the page cannot be composed";

pub struct Page {
    pub html: String,
    sections: Vec<Section>,
    pub(super) tables: Vec<ResultTable>,
    y_labels: Vec<(MetricName, String)>,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Content<'a> {
    report: &'a Report,
    facts: Vec<Fact>,
    provenance: Vec<Fact>,
    commands: Vec<String>,
    style: &'static str,
    script: &'static str,
    numbers: String,
    missing: Vec<String>,
    tables: &'a [ResultTable],
    baseline: Option<String>,
    has_query_tests: bool,
    /// Of the setting that has most.
    n_runs: usize,
    /// Swatch and name.
    legend: Vec<(String, String)>,
    is_crowded: bool,
    sections: &'a [Section],
    settings: Vec<(String, String)>,
}

impl Page {
    pub fn of(report: &Report, choices: &Choices) -> Result<Self> {
        let results = &report.results;
        let roles = Roles::of(results, choices)?;
        let comparison = Comparison::of(report, &roles, choices)?;
        let y_labels = y_labels(results, choices)?;
        let selector = Selector::of(results, None);
        let measures = measures(results);
        let sections = sections(&selector, &roles, &measures);
        let spec = base(results, &roles);
        let drawing = Drawing::of(&spec, &[], &selector);
        let n_settings = results.grid.settings.len();
        let line_of = |setting| drawing.lines.iter().position(|line| selector.is_selected(setting, line));
        let line_of = (0..n_settings).map(line_of).collect();
        let (queries, comparison) = (&report.queries, &comparison);
        let tables = Tables { results, queries, roles: &roles, comparison, line_of }.all(&measures);
        let cells = || tables.iter().flat_map(ResultTable::cells);
        let has_query_tests = cells().any(|cell| cell.has_query_test);
        let is_tested = cells().any(|cell| cell.has_run_test || cell.has_query_test);
        let names = drawing.names(&drawing.lines).into_iter().enumerate();
        let settings = results.grid.settings.iter().enumerate();
        let content = Content {
            report,
            facts: facts(results),
            provenance: provenance(results),
            commands: commands(report),
            style: include_str!("../../templates/report.css"),
            script: include_str!("../../templates/report.js"),
            numbers: numbers(&sections).context("the numbers of the curves cannot be written")?,
            missing: missing(results),
            tables: &tables,
            baseline: comparison.name().filter(|_| is_tested),
            has_query_tests,
            n_runs: (0..n_settings).map(|setting| results.runs_of(setting).count()).max().unwrap_or(0),
            legend: names.map(|(idx, name)| (line_swatch(idx, 0.0, 6.0), name)).filter(|it| !it.1.is_empty()).collect(),
            is_crowded: drawing.lines.len() > CROWDED,
            sections: &sections,
            settings: settings
                .map(|(idx, setting)| Ok((setting_name(results, idx), setting.experiment.to_toml()?)))
                .collect::<Result<_>>()
                .context(FAILED)?,
        };
        results.check_unchanged()?;
        Ok(Self { html: content.render().context(FAILED)?, sections, tables, y_labels })
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = (&Section, &SectionFigure)> {
        self.sections.iter().flat_map(|section| section.figures.iter().map(move |it| (section, it)))
    }

    /// With the name of the vertical axis that was chosen for the figure's metric. The horizontal axis of what has no
    /// course keeps its name.
    pub(super) fn format_of(&self, figure: &SectionFigure, format: &Format) -> Format {
        let y_label = self.y_labels.iter().find(|(metric, _)| *metric == figure.metric).map(|(_, text)| text.clone());
        let has_course = figure.file_name.starts_with("curves");
        Format { y_label, x_label: format.x_label.clone().filter(|_| has_course), ..format.clone() }
    }

    /// Writes the figures into a folder as SVG, PNG and PDF; returns the files.
    pub fn write_figures(&self, folder: &Path, format: &Format) -> Result<Vec<PathBuf>> {
        let figures: Vec<_> = self.figures().collect();
        let write = |(section, it): &(&Section, &SectionFigure)| {
            let figure = it.figure.clone().titled(format!("{}: {}", section.title, it.title));
            plot::write(&figure.formatted(&self.format_of(it, format)), &folder.join(&it.file_name))
        };
        let files: Vec<[PathBuf; 3]> = figures.par_iter().map(write).collect::<Result<_>>()?;
        Ok(files.into_iter().flatten().collect())
    }

    /// Writes the tables into a folder as LaTeX, CSV and Markdown; returns the files.
    pub fn write_tables(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let files: Vec<[PathBuf; 3]> = self.tables.iter().map(|table| table.write(folder)).collect::<Result<_>>()?;
        Ok(files.into_iter().flatten().collect())
    }
}

fn y_labels(results: &Results, choices: &Choices) -> Result<Vec<(MetricName, String)>, ChoiceError> {
    let known = metrics(results);
    let find = |(metric, text): &(String, String)| {
        let found = known.iter().find(|it| it.to_string() == *metric).map(|&it| (it, text.clone()));
        let names = || known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| ChoiceError::Metric { metric: metric.clone(), known: names() })
    };
    choices.y_labels.iter().map(find).collect()
}

/// For the script: by panel of all curves on the page, line by line, the points as `[x, mean, low, high]`. As JSON that
/// cannot end the element it stands in.
fn numbers(sections: &[Section]) -> serde_json::Result<String> {
    // Seven digits are more than anyone reads.
    let short = |value: f64| format!("{value:.6e}").parse::<f64>().unwrap_or(value);
    let panels = |figure: &CurveFigure| -> Vec<Vec<(usize, Vec<[f64; 4]>)>> {
        let panels = figure.rows.iter().flat_map(|row| &row.panels);
        panels
            .map(|panel| {
                let curves = panel.curves.iter().map(|curve| {
                    let points = curve.points.iter().filter(|point| point.mean.is_finite());
                    (curve.method, points.map(|it| [it.x, it.mean, it.low, it.high].map(short)).collect())
                });
                let references =
                    panel.references.iter().map(|it| (it.method, vec![[0.0, it.value, it.value, it.value]]));
                curves.chain(references).collect()
            })
            .collect()
    };
    let figures = sections.iter().flat_map(|section| &section.figures);
    let curves =
        figures.filter_map(|it| if let Figure::Curves(figure) = &it.figure { Some(panels(figure)) } else { None });
    Ok(serde_json::to_string(&curves.flatten().collect::<Vec<_>>())?.replace('<', "\\u003c"))
}
