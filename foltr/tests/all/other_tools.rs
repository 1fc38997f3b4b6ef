//! Our metrics beside those of trec_eval (as pytrec_eval) and ir-measures, through the files that `foltr rank` and
//! `foltr qrels` write. Where conventions differ, the difference itself is tested; `docs/metrics.md` tells it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use foltr_experiment::model::Model;
use foltr_experiment::spec::Normalisation;
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Activation, Initialisation, Shape};
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::letor::{ReadOptions, read_letor, write_letor};
use foltr_test::require;
use serde_json::{Value, json};

use crate::binary;

/// Sums are made in another order; every other digit is the same.
const SAME: f64 = 1e-9;
/// ir-measures asks a script that prints five digits for nDCG with exponential gain.
const FIVE_DIGITS: f64 = 5.1e-6;

/// trec_eval divides single-precision numbers for bpref.
const SINGLE: f64 = 1e-6;

const OURS: [&str; 9] =
    ["ndcg@10", "ndcg-linear@10", "mrr@10", "mrr@1000000", "p@10", "recall@10", "err@10", "map", "bpref"];

fn foltr(arguments: &[&str]) -> String {
    binary::stdout(&binary::foltr().args(arguments).assert().success())
}

/// Rankers with few and with many ties: random weights, one feature only, a hidden layer, all scores equal.
fn models(n_features: usize) -> [(&'static str, Model); 4] {
    let linear = Shape::Linear { n_features };
    let mlp = Shape::Mlp { n_features, n_hidden: 4, activation: Activation::Relu };
    let random = |shape, client| {
        Initialisation::FanIn.params(shape, &mut Streams::new(3).open(Purpose::Initialisation, client, 0))
    };
    let mut one = vec![0.0; n_features];
    one[n_features - 6] = 1.0;
    [
        ("random", Model { shape: linear, normalise: Normalisation::Query, params: random(linear, 0) }),
        ("one-feature", Model { shape: linear, normalise: Normalisation::None, params: one }),
        ("hidden", Model { shape: mlp, normalise: Normalisation::None, params: random(mlp, 1) }),
        ("zero", Model { shape: linear, normalise: Normalisation::None, params: vec![0.0; n_features] }),
    ]
}

/// What foltr says about one model: by query, and the means with and without queries that have nothing relevant.
struct Ours {
    queries: BTreeMap<String, Value>,
    zero: BTreeMap<String, f64>,
    skip: BTreeMap<String, f64>,
    n_queries: f64,
    n_with_relevant: f64,
}

fn ours(model: &str, data: &str) -> Ours {
    let metrics: Vec<&str> = OURS.iter().flat_map(|metric| ["--metric", metric]).collect();
    let evaluate = |more: &[&str]| -> Value {
        let json = foltr(&[&["evaluate", model, data, "--json"], &metrics[..], more].concat());
        serde_json::from_str::<Value>(&json).expect("JSON")[0].take()
    };
    let (zero, skip) = (
        evaluate(&["--queries-without-relevant", "zero", "--per-query"]),
        evaluate(&["--queries-without-relevant", "skip"]),
    );
    let means = |part: &Value| -> BTreeMap<String, f64> {
        let metrics = part["metrics"].as_array().expect("metrics").iter();
        metrics
            .map(|it| (it["metric"].as_str().expect("a name").into(), it["value"].as_f64().expect("a value")))
            .collect()
    };
    let queries = zero["queries"].as_array().expect("queries").iter();
    Ours {
        queries: queries.map(|it| (it["query"].as_str().expect("an id").into(), it["values"].clone())).collect(),
        n_queries: zero["metrics"][0]["n_queries"].as_f64().expect("a count"),
        n_with_relevant: skip["metrics"][0]["n_queries"].as_f64().expect("a count"),
        zero: means(&zero),
        skip: means(&skip),
    }
}

fn close(ours: &Value, theirs: &Value, tolerance: f64, what: &str) {
    let (ours, theirs) = (ours.as_f64().expect(what), theirs.as_f64().expect(what));
    assert!((ours - theirs).abs() <= tolerance, "{what}: {ours} against {theirs}");
}

/// Reciprocal rank within ten when of equal scores the earlier document comes first.
fn earlier_first(data: &Dataset, query_idx: usize) -> f64 {
    let first = data.labels(query_idx).iter().take(10).position(|&label| label > 0);
    first.map_or(0.0, |position| 1.0 / (position + 1) as f64)
}

fn compare(name: &str, ours: &Ours, theirs: &Value, data: &Dataset) {
    for (query, values) in &ours.queries {
        let what = |metric: &str| format!("{name}, query {query}, {metric}");
        // Ties included: document names make trec_eval's order ours.
        for (metric, theirs_too, tolerance) in [
            ("ndcg-linear@10", "ndcg_cut_10", SAME),
            ("mrr@1000000", "recip_rank", SAME),
            ("p@10", "P_10", SAME),
            ("recall@10", "recall_10", SAME),
            ("map", "map", SAME),
            ("bpref", "bpref", SINGLE),
        ] {
            close(&values[metric], &theirs["trec_eval"][query][theirs_too], tolerance, &what(metric));
        }
        close(&values["ndcg@10"], &theirs["trec_eval_gains"][query]["ndcg_cut_10"], SAME, &what("ndcg@10"));
    }
    let ir_measures = theirs["ir_measures"].as_object().expect("metrics");
    for metric in OURS.iter().filter(|metric| **metric != "mrr@1000000") {
        let called =
            metric.parse::<foltr_experiment::spec::Metric>().expect("a metric").ir_measures_name().expect("a name");
        let found = ir_measures.get(&called);
        let Some(found) = require("python", found, &format!("ir-measures lacks what it measures {called} with (perl)"))
        else {
            continue;
        };
        assert_eq!(found["name"], called.as_str(), "ir-measures writes its names like this");
        let tolerance = match *metric {
            "ndcg@10" | "err@10" => FIVE_DIGITS,
            "bpref" => SINGLE,
            _ => SAME,
        };
        for (query, values) in &ours.queries {
            close(&values[metric], &found["queries"][query], tolerance, &format!("{name}, query {query}, {called}"));
        }
        // Its means count a query without relevant documents as 0; ours do so when told to.
        close(&json!(ours.zero[*metric]), &found["mean"], tolerance, &format!("{name}, mean of {called}"));
        let from_skip = ours.skip[*metric] * ours.n_with_relevant / ours.n_queries;
        close(&json!(from_skip), &found["mean"], tolerance, &format!("{name}, mean of {called} over all queries"));
    }
    for (metric, called) in [("ndcg-linear@10", "nDCG@10"), ("p@10", "P@10"), ("map", "AP"), ("ndcg@10", BY_GAINS)] {
        let found = &theirs["ir_measures_with_ties"][called];
        close(&json!(ours.zero[metric]), &found["mean"], SAME, &format!("{name} with ties, mean of {called}"));
    }
    if name.ends_with("zero") {
        // The one that breaks ties the other way round: RR with a cut-off.
        let found = &theirs["ir_measures_with_ties"]["RR@10"]["queries"];
        for query_idx in 0..data.n_queries() {
            let expected = json!(earlier_first(data, query_idx));
            close(&expected, &found[data.query_id(query_idx)], SAME, "RR@10 of ties");
        }
        let differs = |(query, values): (&String, &Value)| values["mrr@10"] != found[query];
        assert!(ours.queries.iter().any(differs), "RR@10 breaks ties as we do now: docs/metrics.md is outdated");
    }
}

/// Our nDCG from labels, in one name that ir-measures measures with every digit.
const BY_GAINS: &str = "nDCG(gains={0:0,1:1,2:3,3:7,4:15})@10";

fn agrees_on(python: &Path, file: &Path, n_features: usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let data = file.to_str().expect("UTF-8");
    // Names by place have trec_eval's order of equal scores; original names go with scores that are never equal.
    let by_place = ["--ids", "place"];
    foltr(&[&["qrels", data, "--out", &path("labels")], &by_place[..]].concat());
    foltr(&[&["qrels", data, "--gain", "exponential", "--out", &path("gains")], &by_place[..]].concat());
    foltr(&["qrels", data, "--out", &path("named-labels")]);
    let names: Vec<String> = OURS
        .iter()
        .filter_map(|metric| metric.parse::<foltr_experiment::spec::Metric>().expect("a metric").ir_measures_name())
        .collect();
    let (mut all_ours, mut jobs) = (Vec::new(), Vec::new());
    for (name, model) in models(n_features) {
        let (model_file, run, strict) =
            (path(&format!("{name}.safetensors")), path(name), path(&format!("{name}.strict")));
        model.write(Path::new(&model_file), None).expect("written");
        foltr(&[&["rank", &model_file, data, "--out", &run], &by_place[..]].concat());
        foltr(&["rank", &model_file, data, "--scores", "rank", "--out", &strict]);
        jobs.push(json!({"labels": path("labels"), "named_labels": path("named-labels"), "gains": path("gains"),
            "run": run, "run_without_ties": strict, "names": names, "by_gains": BY_GAINS}));
        all_ours.push((format!("{} {name}", file.display()), ours(&model_file, data)));
    }
    let theirs = asked(python, &Value::Array(jobs));
    let data = read_letor(file, &ReadOptions::default()).expect("data");
    for ((name, ours), theirs) in all_ours.iter().zip(theirs.as_array().expect("answers")) {
        assert_eq!(ours.queries.len(), data.n_queries());
        compare(name, ours, theirs, &data);
    }
    println!("{}: {} queries, {} models agree", file.display(), data.n_queries(), all_ours.len());
}

fn asked(python: &Path, jobs: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/other_tools.py");
    let mut child =
        Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    serde_json::to_writer(child.stdin.take().expect("a pipe"), jobs).expect("taken");
    let done = child.wait_with_output().expect("ended");
    assert!(done.status.success(), "{:?}", done.status);
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// Generated queries with grades 0 to 4, every fifth without anything relevant.
fn grades_to_four() -> Dataset {
    let shape = Synthetic { n_train: 60, n_validation: 1, n_test: 1, ..Synthetic::new(SyntheticShape::Mslr) };
    let data = shape.generate(1).expect("data").train;
    let mut labels = data.all_labels().to_vec();
    (0..data.n_queries()).step_by(5).for_each(|query_idx| labels[data.docs(query_idx)].fill(0));
    assert_eq!(data.max_label(), 4);
    data.with_labels(labels)
}

#[test]
fn metrics_are_those_of_trec_eval_and_ir_measures() {
    let Some(python) = foltr_test::python("ir_measures, pytrec_eval") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let generated = folder.path().join("generated.txt");
    write_letor(&grades_to_four(), &generated).expect("written");
    agrees_on(&python, &generated, 136);
    if let Some(real) = foltr_test::data("MQ2008/Fold1/test.txt") {
        agrees_on(&python, &real, 46);
        let qrels = foltr(&["qrels", real.to_str().expect("UTF-8")]);
        assert!(qrels.starts_with("18219 0 GX"), "original names: {}", &qrels[..40]);
    }
}
