//! `foltr evaluate`: how good a trained ranker is on labelled queries.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use foltr_rank::metric::WithoutRelevant;
use serde::Serialize;

use super::End;
use crate::cli::EvaluateArgs;
use foltr_experiment::evaluate::Evaluator;
use foltr_experiment::model::Model;
use foltr_experiment::selection::{Part, load_for};
use foltr_experiment::spec::{Metric, Split};
use foltr_report::distinct;
use foltr_report::table::{grouped, table};

const USUAL: [Metric; 4] = [Metric::Ndcg(10), Metric::Mrr(10), Metric::Precision(10), Metric::AveragePrecision];

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

pub fn run(arguments: &EvaluateArgs) -> Result<End> {
    let model = Model::read(&arguments.model)?;
    let parts = load_for(&model, &arguments.data, &arguments.selection.selection())?;
    let metrics = if arguments.metrics.is_empty() { &USUAL[..] } else { &arguments.metrics };
    let metrics = distinct(metrics.iter().copied());
    let evaluate = |part: &Part| evaluated(&model, part, &metrics, arguments);
    let all = parts.iter().map(evaluate).collect::<Result<Vec<_>>>()?;
    let text = if arguments.json { serde_json::to_string_pretty(&all)? } else { render(&all, &metrics) };
    super::print(&(text + "\n"))
}

fn evaluated(model: &Model, part: &Part, metrics: &[Metric], arguments: &EvaluateArgs) -> Result<Evaluated> {
    let without = arguments.queries_without_relevant;
    let data = &part.data;
    let is_without = (0..data.n_queries()).all(|query| !data.has_relevant(query));
    ensure!(
        !(is_without && without == WithoutRelevant::Skip),
        "{}: no query has a relevant document, so nothing can be averaged; use --queries-without-relevant zero",
        arguments.data.display()
    );
    let evaluator = Evaluator::new(data, metrics, without, None, 0);
    let means = evaluator.evaluate(model.shape, std::slice::from_ref(&model.params));
    let means = means.into_iter().next().context("one model, one list of means")?;
    let by_query = evaluator.by_query(model.shape, &model.params);
    let measured = metrics.iter().zip(means).enumerate().map(|(i, (&metric, value))| Measured {
        metric,
        ir_measures: metric.ir_measures_name(),
        n_queries: by_query.iter().filter(|values| values[i].is_some()).count(),
        value,
    });
    let named = |(query_idx, values): (usize, &Vec<Option<f64>>)| Query {
        query: data.query_id(query_idx).into(),
        values: metrics.iter().map(Metric::to_string).zip(values.iter().copied()).collect(),
    };
    let queries = if arguments.per_query { by_query.iter().enumerate().map(named).collect() } else { Vec::new() };
    let (fold, split) = part.fold_and_split.unzip();
    Ok(Evaluated { fold, split, n_queries: data.n_queries(), metrics: measured.collect(), queries })
}

/// One table of means, and below it the queries if there are any.
fn render(all: &[Evaluated], metrics: &[Metric]) -> String {
    let has_place = all.iter().any(|part| part.fold.is_some());
    let words: &[&str] = if has_place { &["fold", "split"] } else { &[] };
    let place = |part: &Evaluated| -> Vec<String> {
        let fold = part.fold.map(|fold| fold.to_string());
        fold.into_iter().chain(part.split.map(|split| split.name().to_owned())).collect()
    };
    let row = |part: &Evaluated, mean: &Measured| {
        let name = mean.ir_measures.clone().unwrap_or_else(|| "-".into());
        let cells = [mean.metric.to_string(), name, grouped(mean.n_queries as u64), format!("{:.6}", mean.value)];
        [place(part), cells.into()].concat()
    };
    let rows = all.iter().flat_map(|part| part.metrics.iter().map(move |mean| row(part, mean))).collect();
    let mut text = table(&[words, &["metric", "in ir-measures", "queries", "value"]].concat(), words.len() + 2, rows);
    if all.iter().any(|part| !part.queries.is_empty()) {
        let names: Vec<String> = metrics.iter().map(Metric::to_string).collect();
        let header: Vec<&str> =
            words.iter().copied().chain(["query"]).chain(names.iter().map(String::as_str)).collect();
        let cell = |value: &Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.6}"));
        let row = |part: &Evaluated, query: &Query| {
            let values = names.iter().map(|name| cell(&query.values[name]));
            place(part).into_iter().chain([query.query.clone()]).chain(values).collect::<Vec<_>>()
        };
        let rows = all.iter().flat_map(|part| part.queries.iter().map(move |query| row(part, query))).collect();
        let _ = write!(text, "\n{}", table(&header, words.len() + 1, rows));
    }
    text
}
