//! From a result folder to what a page tells.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::curves::{most_points, thinned};
use super::spread::hundredths;
use super::{ClientSpread, Fact, Measure, MeasureOf, Report, SettingResult};
use crate::statistics::Estimate;
use crate::table::grouped;
use foltr_experiment::grid::Setting;
use foltr_experiment::manifest::Manifest;
use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::{ClickModel, Experiment, in_words};

/// Reads a result folder.
///
/// # Errors
/// If it is none, or a file in it is damaged.
pub fn read(folder: &Path) -> Result<Report> {
    let results = Results::open(folder)?;
    let path = folder.join("resolved.toml");
    let resolved = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    // A folder may be called `.`.
    let name = folder.canonicalize().unwrap_or_else(|_| folder.into());
    let name = name.file_name().map_or_else(|| "results".into(), |name| name.to_string_lossy().into_owned());
    Ok(Report { resolved, ..report(&results, &name)? })
}

/// What the results of a folder of this name say.
///
/// # Errors
/// If an experiment cannot be written as TOML.
pub fn report(results: &Results, name: &str) -> Result<Report> {
    let metrics = metrics(results);
    let columns = columns(&metrics);
    let axes = results.grid.axes();
    let again = quoted(&format!("{name}-again"));
    let settings =
        (0..results.grid.settings.len()).map(|setting| setting_result(results, setting, &axes, &metrics, &columns));
    Ok(Report {
        title: format!("Results of {name}"),
        facts: facts(results, &axes),
        measures: columns.iter().map(Column::measure).collect(),
        metrics: metrics.iter().map(ToString::to_string).collect(),
        settings: settings.collect::<Result<_>>()?,
        n_planned: results.about.n_runs,
        resolved: String::new(),
        provenance: provenance(&results.about),
        commands: vec![
            format!("foltr run {} --out {again}", quoted(&format!("{name}/resolved.toml"))),
            format!("foltr report {again}"),
        ],
        axes,
    })
}

/// A path as a shell wants it.
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+".contains(letter);
    if path.chars().all(is_plain) { path.into() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// A column of the tables.
enum Column {
    Final(MetricName),
    OnlineMean(MetricName),
    DiscountedSum,
}

impl Column {
    fn measure(&self) -> Measure {
        let (name, of) = match self {
            Self::Final(metric) => (metric.to_string(), MeasureOf::FinalRanker),
            Self::OnlineMean(metric) => (format!("{metric}, mean"), MeasureOf::ShownLists),
            Self::DiscountedSum => ("online nDCG, discounted sum".into(), MeasureOf::ShownLists),
        };
        let less_is_better = matches!(self, Self::Final(MetricName::WorseOff(..) | MetricName::SimulatedTime))
            || matches!(self, Self::OnlineMean(MetricName::AttackerShare));
        Measure { name, of, less_is_better }
    }

    fn values(&self, results: &Results, setting: usize) -> Vec<f64> {
        match self {
            Self::Final(metric) => results.final_values(setting, *metric),
            Self::OnlineMean(metric) => results.runs_of(setting).filter_map(|run| mean(run, *metric)).collect(),
            Self::DiscountedSum => results.online(setting),
        }
    }
}

fn mean(run: &Run, metric: MetricName) -> Option<f64> {
    let values: Vec<f64> = run.rows.iter().filter(|row| row.metric == metric).map(|row| row.value).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// All metrics of all settings: test, validation, training queries, then what users saw.
fn metrics(results: &Results) -> Vec<MetricName> {
    let mut metrics: Vec<MetricName> = (0..results.grid.settings.len()).flat_map(|i| results.metrics(i)).collect();
    metrics.sort_by_key(|&metric| match metric {
        MetricName::Offline(split, _) => (0, Reverse(Some(split)), metric),
        _ => (1, Reverse(metric.split()), metric),
    });
    metrics.dedup();
    metrics
}

fn columns(metrics: &[MetricName]) -> Vec<Column> {
    // Of what goes on growing the end is told, not the mean.
    let is_offline = |metric: &&MetricName| {
        metric.split().is_some() || matches!(**metric, MetricName::SimulatedTime | MetricName::PromotionRank)
    };
    let offline = metrics.iter().filter(is_offline).map(|&metric| Column::Final(metric));
    let online: Vec<MetricName> = metrics.iter().filter(|metric| !is_offline(metric)).copied().collect();
    let has_sum = online.iter().any(|metric| matches!(metric, MetricName::OnlineNdcg(_)));
    let sum = has_sum.then_some(Column::DiscountedSum);
    offline.chain(sum).chain(online.into_iter().map(Column::OnlineMean)).collect()
}

fn setting_result(
    results: &Results,
    setting: usize,
    axes: &[String],
    metrics: &[MetricName],
    columns: &[Column],
) -> Result<SettingResult> {
    let about: &Setting = &results.grid.settings[setting];
    let experiment = &about.experiment;
    let n_folds = n_folds(results, setting);
    let most = most_points(metrics.len() * results.grid.settings.len());
    Ok(SettingResult {
        labels: axes.iter().map(|axis| about.label(axis).map(str::to_owned)).collect(),
        method: experiment.training().map_or_else(|| "mimic".into(), |it| in_words(&it.learner)),
        n_planned: (n_folds > 0).then(|| n_folds * experiment.seeds_of_runs().len()),
        runs: results.runs_of(setting).map(|run| (run.fold, run.seed)).collect(),
        values: columns.iter().map(|column| column.values(results, setting)).collect(),
        courses: metrics.iter().map(|&metric| course(results, setting, metric, most)).collect(),
        clients: client_spreads(results, setting),
        interactions_per_round: experiment.schedule().map(|schedule| schedule.interactions_per_round()),
        experiment: experiment.to_toml()?,
    })
}

/// One for each metric that clients have values of.
fn client_spreads(results: &Results, setting: usize) -> Vec<ClientSpread> {
    let mut by_metric: BTreeMap<MetricName, Vec<f64>> = BTreeMap::new();
    for client in results.runs_of(setting).flat_map(|run| &run.clients) {
        by_metric.entry(client.metric).or_default().push(client.value);
    }
    let spread = |(metric, values): (MetricName, Vec<f64>)| ClientSpread {
        metric: metric.to_string(),
        hundredths: hundredths(values),
    };
    by_metric.into_iter().map(spread).collect()
}

/// Folds of a setting's data, as run.json has them.
fn n_folds(results: &Results, setting: usize) -> usize {
    let start = format!("{} fold ", results.grid.settings[setting].experiment.data_name());
    results
        .about
        .data
        .keys()
        .filter(|key| key.strip_prefix(&start).is_some_and(|fold| fold.parse::<usize>().is_ok()))
        .count()
}

/// A metric over rounds, thinned before anything is estimated.
///
/// Without round 0, unless there is no other: a ranker of zeros scores all documents alike, and its value tells only how
/// ties are broken.
fn course(results: &Results, setting: usize, metric: MetricName, most: usize) -> Vec<(usize, Estimate)> {
    let mut rounds = results.curve(setting, metric);
    if rounds.len() > 1 {
        rounds.remove(&0);
    }
    let estimate = |(round, values): (usize, Vec<f64>)| Some((round, Estimate::of(&values)?));
    thinned(rounds.into_iter().collect(), most).into_iter().filter_map(estimate).collect()
}

/// Texts of all settings, each once.
fn each_once(results: &Results, text: impl Fn(&Experiment) -> Option<String>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in results.grid.settings.iter().filter_map(|setting| text(setting.training().ok()?)) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(", ")
}

fn facts(results: &Results, axes: &[String]) -> Vec<Fact> {
    let settings = &results.grid.settings;
    let swept = axes.iter().map(|axis| {
        let mut labels: Vec<&str> = settings.iter().filter_map(|setting| setting.label(axis)).collect();
        labels.sort_unstable();
        labels.dedup();
        format!("{axis} ({})", labels.len())
    });
    let methods = match axes.iter().find(|axis| *axis == "method") {
        Some(axis) => {
            let mut names: Vec<&str> = Vec::new();
            for name in settings.iter().filter_map(|setting| setting.label(axis)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names.join(", ")
        }
        None => each_once(results, |experiment| Some(experiment.learner.name().to_owned())),
    };
    let budget = |experiment: &Experiment| Some(grouped(experiment.schedule()?.n_interactions() as u64));
    let clients = |experiment: &Experiment| Some(grouped(experiment.clients.as_ref()?.n_clients as u64));
    let about = &results.about;
    let all = [
        ("Data", each_once(results, |experiment| Some(experiment.data.name()))),
        ("Users", each_once(results, |experiment| experiment.users.as_ref().map(ClickModel::name))),
        ("Methods", methods),
        ("Swept", swept.collect::<Vec<_>>().join(", ")),
        ("Settings and runs", format!("{} settings, {} runs", settings.len(), about.n_runs)),
        ("Clients", each_once(results, clients)),
        ("Interactions a run", each_once(results, budget)),
        ("Interactions of all runs", grouped(about.n_interactions)),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| Fact::new(name, value)).collect()
}

/// Who computed it, on what, where.
fn provenance(about: &Manifest) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("Version of foltr", about.version.clone()),
        Fact::new("Hash of its code", about.code_hash.clone()),
        Fact::new("Training time", format!("{:.1} s, the sum of all runs, without evaluation", about.training_seconds)),
    ];
    facts.extend(about.data.iter().map(|(name, hash)| Fact::new(&format!("Data: {name}"), hash.clone())));
    facts.extend(about.starts.iter().enumerate().map(|(idx, start)| {
        let machine = &start.machine;
        let shard = start.shard.as_ref().map(|shard| format!(", share {shard}")).unwrap_or_default();
        let told = format!(
            "{} runs in {:.1} s with {} threads{shard}; {}, {} logical processors, {}",
            start.n_finished, start.seconds, start.threads, machine.processor, machine.n_processors, machine.system
        );
        Fact::new(&format!("Start {}", idx + 1), told)
    }));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted_whatever_the_folder_is_called() {
        assert_eq!(quoted("out/fpdgd-1.2"), "out/fpdgd-1.2");
        assert_eq!(quoted("it's; mine"), r"'it'\''s; mine'");
    }
}
