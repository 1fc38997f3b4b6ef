//! `foltr evaluate`: how good trained rankers are on labelled queries.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use foltr_rank::metric::WithoutRelevant;
use serde::Serialize;

use super::End;
use super::models::{Columns, identity};
use crate::cli::EvaluateArgs;
use crate::output::{self, note, say};
use foltr_experiment::evaluate::Evaluator;
use foltr_experiment::model::{Model, ModelFile, Provenance};
use foltr_experiment::run::SplitValues;
use foltr_experiment::selection::{Part, load_for};
use foltr_experiment::spec::{Metric, Split};
use foltr_experiment::trained::{self, Overrides, TrainedRanker, evaluate_all};
use foltr_report::distinct;
use foltr_report::table::{grouped, table};

const USUAL: [Metric; 4] = [Metric::Ndcg(10), Metric::Mrr(10), Metric::Precision(10), Metric::AveragePrecision];

/// What a ranker is worth on the queries of one split.
#[derive(Debug, Serialize)]
struct Evaluated {
    #[serde(skip_serializing_if = "Option::is_none")]
    fold: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<Split>,
    n_queries: usize,
    metrics: Vec<Measured>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queries: Vec<Query>,
}

#[derive(Debug, Serialize)]
struct Measured {
    metric: Metric,
    ir_measures: Option<String>,
    /// Queries that entered the mean.
    n_queries: usize,
    value: f64,
}

#[derive(Debug, Serialize)]
struct Query {
    query: String,
    /// By metric; nothing where the query does not enter the mean.
    values: BTreeMap<String, Option<f64>>,
}

/// A ranker of a result folder.
#[derive(Debug, Serialize)]
struct OfRun<'a> {
    #[serde(flatten)]
    ranker: &'a TrainedRanker,
    queries_without_relevant: WithoutRelevant,
    evaluated: Vec<Evaluated>,
}

pub fn run(arguments: &EvaluateArgs) -> Result<End> {
    match &arguments.data {
        Some(data) => of_file(arguments, data),
        None => of_folder(arguments),
    }
}

fn of_file(arguments: &EvaluateArgs, path: &Path) -> Result<End> {
    let ModelFile { model, provenance, .. } = ModelFile::read(&arguments.model)?;
    let (parts, warnings) = load_for(&model, path, &arguments.selection.selection())?;
    let of_other_folds = provenance.and_then(|from| other_folds(&from, path, &parts));
    warnings.iter().chain(&of_other_folds).for_each(|warning| note(format_args!("warning: {warning}")));
    let metrics = if arguments.metrics.is_empty() { &USUAL[..] } else { &arguments.metrics };
    let metrics = distinct(metrics.iter().copied());
    let without = arguments.queries_without_relevant.unwrap_or(WithoutRelevant::Skip);
    let mut all = Vec::new();
    for part in &parts {
        let values = values(&model, part, &metrics, without).with_context(|| path.display().to_string())?;
        let (fold, split) = part.fold_and_split.unzip();
        all.push(Evaluated { fold, split, ..Evaluated::new(values, arguments.per_query) });
    }
    output::answer(&all)?;
    let has_place = all.iter().any(|part| part.fold.is_some());
    let place = |part: &Evaluated| -> Vec<String> {
        let fold = part.fold.map(|fold| fold.to_string());
        fold.into_iter().chain(part.split.map(|split| split.name().to_owned())).collect()
    };
    let rows: Vec<(Vec<String>, &Evaluated)> = all.iter().map(|part| (place(part), part)).collect();
    say(render(if has_place { &["fold", "split"] } else { &[] }, &rows));
    Ok(End::Done)
}

/// A warning if a model is measured on other folds of the data that it was trained on.
fn other_folds(from: &Provenance, path: &Path, parts: &[Part]) -> Option<String> {
    let folds = parts.iter().filter_map(|part| part.fold_and_split.map(|(fold, _)| fold));
    let others: Vec<String> = distinct(folds.filter(|&fold| fold != from.fold)).iter().map(usize::to_string).collect();
    let is_same = path.file_name().is_some_and(|name| name.to_string_lossy() == from.data);
    let (numbers, data, own) = (others.join(", "), &from.data, from.fold);
    (is_same && !others.is_empty()).then(|| {
        format!(
            "the model was trained on fold {own} of {data}; queries of fold {numbers} may be among its training queries"
        )
    })
}

fn of_folder(arguments: &EvaluateArgs) -> Result<End> {
    let selection = arguments.selection.selection();
    let overrides = Overrides {
        folds: selection.folds,
        splits: distinct(selection.splits),
        metrics: distinct(arguments.metrics.iter().copied()),
        queries_without_relevant: arguments.queries_without_relevant,
    };
    let all = evaluate_all(&arguments.model, &overrides)?;
    let of_run = |found: &trained::Evaluated| -> Vec<Evaluated> {
        let one = |values: &SplitValues| {
            let split = Some(values.split);
            Evaluated { split, ..Evaluated::new(values.clone(), arguments.per_query) }
        };
        found.splits.iter().map(one).collect()
    };
    let evaluated: Vec<Vec<Evaluated>> = all.iter().map(of_run).collect();
    if output::is_json() {
        let pairs = all.iter().zip(evaluated);
        let of_runs = pairs.map(|(found, evaluated)| OfRun {
            ranker: &found.ranker,
            queries_without_relevant: found.queries_without_relevant,
            evaluated,
        });
        output::answer(&of_runs.collect::<Vec<_>>())?;
        return Ok(End::Done);
    }
    let columns = Columns::of(all.iter().map(|found| &found.ranker));
    let header: Vec<&str> = columns.header().into_iter().chain(["split"]).collect();
    let mut rows = Vec::new();
    for (found, parts) in all.iter().zip(&evaluated) {
        for part in parts {
            let split = part.split.map(|split| split.name().to_owned());
            rows.push((identity(&columns, &found.ranker).into_iter().chain(split).collect(), part));
        }
    }
    say(render(&header, &rows));
    Ok(End::Done)
}

fn values(model: &Model, part: &Part, metrics: &[Metric], without: WithoutRelevant) -> Result<SplitValues> {
    let data = &part.data;
    let is_without = (0..data.n_queries()).all(|query| !data.has_relevant(query));
    ensure!(
        !(is_without && without == WithoutRelevant::Skip),
        "no query has a relevant document, so nothing can be averaged; use --queries-without-relevant zero"
    );
    let undefined = metrics.iter().find(|metric| metric.largest_label() < data.max_label());
    if let Some(metric) = undefined {
        bail!("there is a label {}, but {metric} is defined up to {}", data.max_label(), metric.largest_label());
    }
    let evaluator = Evaluator::new(data, metrics, without, None, 0);
    let means = evaluator.evaluate(model.shape, std::slice::from_ref(&model.params));
    Ok(SplitValues {
        split: part.fold_and_split.map_or(Split::Test, |(_, split)| split),
        means: metrics.iter().copied().zip(means.into_iter().flatten()).collect(),
        query_ids: (0..data.n_queries()).map(|query| data.query_id(query).to_owned()).collect(),
        by_query: evaluator.by_query(model.shape, &model.params),
    })
}

impl Evaluated {
    fn new(values: SplitValues, per_query: bool) -> Self {
        let count = |i: usize| values.by_query.iter().filter(|values| values[i].is_some()).count();
        let measured = |(i, &(metric, value)): (usize, &(Metric, f64))| Measured {
            metric,
            ir_measures: metric.ir_measures_name(),
            n_queries: count(i),
            value,
        };
        let metrics = values.means.iter().enumerate().map(measured).collect();
        let n_queries = values.query_ids.len();
        let names: Vec<String> = values.means.iter().map(|(metric, _)| metric.to_string()).collect();
        let queries = values.query_ids.into_iter().zip(values.by_query);
        let named = |(query, values)| Query { query, values: names.iter().cloned().zip(values).collect() };
        let queries = if per_query { queries.map(named).collect() } else { Vec::new() };
        Self { fold: None, split: None, n_queries, metrics, queries }
    }
}

/// One table of means, and below it the queries if there are any. The first cells of a row say which ranker and queries.
fn render(words: &[&str], all: &[(Vec<String>, &Evaluated)]) -> String {
    let row = |place: &[String], mean: &Measured| {
        let name = mean.ir_measures.clone().unwrap_or_else(|| "-".into());
        let n_queries = grouped(mean.n_queries as u64);
        [place, &[mean.metric.to_string(), name, n_queries, format!("{:.6}", mean.value)]].concat()
    };
    let rows = all.iter().flat_map(|(place, part)| part.metrics.iter().map(move |mean| row(place, mean))).collect();
    let header = [words, &["metric", "in ir-measures", "queries", "value"]].concat();
    let mut text = table(&header, words.len() + 2, rows);
    let names = distinct(all.iter().flat_map(|(_, part)| part.metrics.iter().map(|mean| mean.metric.to_string())));
    let cell = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.6}"));
    let of_query = |place: &[String], query: &Query| -> Vec<String> {
        let values = names.iter().map(|name| cell(query.values.get(name).copied().flatten()));
        place.iter().cloned().chain([query.query.clone()]).chain(values).collect()
    };
    let rows: Vec<Vec<String>> =
        all.iter().flat_map(|(place, part)| part.queries.iter().map(|query| of_query(place, query))).collect();
    if !rows.is_empty() {
        let header: Vec<&str> =
            words.iter().copied().chain(["query"]).chain(names.iter().map(String::as_str)).collect();
        let _ = write!(text, "\n\n{}", table(&header, words.len() + 1, rows));
    }
    text
}
