//! The results of a folder on the screen.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::mimic::Written;
use crate::choice::ChoiceMade;
use crate::judged_study::JudgedStudy;
use crate::output::{chat, say};
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::Split;
use foltr_report::names::{axis_names, metric_name};
use foltr_report::summary::{SettingSummary, Summary};
use foltr_report::table::{grouped, table, with_interval};
use foltr_report::{distinct, mimic};

/// Settings that a table shows; all are in summary.json.
const MOST_SHOWN: usize = 60;

/// The results of a folder as one document.
#[derive(Serialize)]
pub struct Answer<'a> {
    pub folder: &'a Path,
    /// One of several studies that share the runs of the folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<&'a Path>,
    n_runs: usize,
    n_finished: usize,
    #[serde(flatten)]
    summary: Summary<'a>,
    /// Rankers of mimic learning, a setting a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mimic: Vec<mimic::Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<&'a ChoiceMade>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<&'a JudgedStudy>,
    pub interrupted: bool,
}

impl<'a> Answer<'a> {
    pub fn of(results: &'a Results, out: &'a Path, study: Option<&'a Path>) -> Result<Self> {
        let mimic = (0..results.grid.settings.len())
            .filter(|&i| results.grid.settings[i].experiment.mimic().is_some())
            .map(|i| Ok(mimic::Summary::of(&mimic::evaluations(results, i)?)));
        Ok(Self {
            folder: out,
            study,
            n_runs: results.about.n_runs,
            n_finished: results.runs.len(),
            summary: Summary::of(results),
            mimic: mimic.collect::<Result<_>>()?,
            choice: None,
            files: Vec::new(),
            judged: None,
            interrupted: false,
        })
    }
}

pub fn print(results: &Results, out: &Path) -> Result<()> {
    let settings = &results.grid.settings;
    let is_mimic = |i: &usize| settings[*i].experiment.mimic().is_some();
    (0..settings.len()).filter(is_mimic).take(MOST_SHOWN).try_for_each(|i| print_mimic(results, i))?;
    if !(0..settings.len()).all(|i| is_mimic(&i)) {
        say(render(results));
    }
    if settings.len() > MOST_SHOWN {
        say(format_args!("{MOST_SHOWN} of {} settings; all are in summary.json", settings.len()));
    }
    let (seconds, n) = (results.about.training_seconds, results.about.n_interactions);
    if n > 0 && seconds > 0.0 {
        say(format_args!("{} interactions, {} a second and thread", grouped(n), grouped((n as f64 / seconds) as u64)));
    }
    chat(format_args!("rows:    {}\nsummary: {}", out.join("rows.csv").display(), out.join("summary.json").display()));
    chat(format_args!("a page:  foltr report {}", out.display()));
    Ok(())
}

fn print_mimic(results: &Results, setting: usize) -> Result<()> {
    let evaluations = mimic::evaluations(results, setting)?;
    if evaluations.is_empty() {
        say("no query was judged: there is nothing to evaluate");
        return Ok(());
    }
    let summary = mimic::Summary::of(&evaluations);
    let name = results.grid.settings[setting].name();
    say(format_args!("{}{}{}", name, if name.is_empty() { "" } else { "\n" }, summary.render()));
    if summary.line("bm25").is_some() {
        say("p: paired t-test of nDCG@20 by query, means over seeds; weight: chosen on validation queries");
    }
    Ok(())
}

/// One line a setting: labels, final value of every offline metric, online values, number of runs.
fn render(results: &Results) -> String {
    let axes = results.grid.axes();
    let shown: Vec<SettingSummary<'_>> =
        (0..results.grid.settings.len().min(MOST_SHOWN)).map(|i| SettingSummary::of(results, i)).collect();
    let metrics = shown_metrics(results);
    let mut header: Vec<String> = axis_names(&axes);
    header.extend(metrics.iter().map(|metric| metric_name(metric)));
    let is_online = shown.iter().any(|setting| setting.online.is_some());
    if is_online {
        header.extend(["online nDCG, mean".into(), "discounted by round".into()]);
    }
    header.push("runs".into());
    let rows = shown.iter().map(|setting| {
        let mut row: Vec<String> =
            axes.iter().map(|axis| (*setting.labels.get(axis.as_str()).unwrap_or(&"")).to_owned()).collect();
        let value = |metric: &String| setting.final_values.get(metric).map(with_interval).unwrap_or_default();
        row.extend(metrics.iter().map(value));
        if is_online {
            let pair = setting.online.map_or([None; 2], |online| [Some(online.mean_ndcg), online.discounted_sum]);
            row.extend(pair.map(|one| one.as_ref().map(with_interval).unwrap_or_default()));
        }
        row.push(setting.n_runs.to_string());
        row
    });
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let table = table(&header, axes.len(), rows.collect());
    let lengths = |it: &usize| {
        let schedule = results.grid.settings[*it].experiment.schedule()?;
        Some((schedule.n_rounds, schedule.interactions_per_round()))
    };
    let n_lengths = distinct((0..shown.len()).filter_map(|it| lengths(&it))).len();
    match is_online && n_lengths > 1 {
        true => format!("{table}\nDiscounted sums of runs of different lengths cannot be compared."),
        false => table,
    }
}

/// All offline metrics, or those of test queries alone when there are too many for a screen.
fn shown_metrics(results: &Results) -> Vec<String> {
    let all = (0..results.grid.settings.len()).flat_map(|i| results.metrics(i));
    let mut metrics: Vec<MetricName> = distinct(all.filter(|metric| metric.split().is_some()));
    if metrics.len() > 4 {
        metrics.retain(|metric| metric.split() == Some(Split::Test));
    }
    metrics.iter().map(ToString::to_string).collect()
}
