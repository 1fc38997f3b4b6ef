//! Beyond the papers: what it costs not to wait for slow clients, at equal interactions.
//!
//! Synchronous rounds, buffered aggregation (`NMZYHR22` Nguyen et al.: *Federated Learning with Buffered Asynchronous
//! Aggregation*, AISTATS 2022) and the naive averaging that it replaces. The server rate of each method is chosen on
//! validation queries; numbers are of test queries, with other seeds.

use anyhow::{Context, Result};

use super::course::{USERS, difference, points, select};
use super::study::mean;
use super::{Entry, StandIn, Study, Wanted};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Scale, Sharing};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};
use crate::statistics::{Estimate, Smoothing};
use crate::table::table;

const SPEC: &str = include_str!("../../../specs/asynchrony/methods.toml");

pub(super) const ENTRY: Entry = Entry {
    id: "asynchrony",
    paper: "beyond the papers",
    what: "What it costs not to wait for stragglers: synchronous, buffered and naive",
    run,
};

/// The most nDCG@10 that not waiting may cost.
const LIMIT: f64 = 0.01;

const SYNCHRONOUS: usize = 0;
const BUFFERED: usize = 1;

/// A way to aggregate.
struct Method {
    name: &'static str,
    /// Label in the experiment file, whose rate is chosen.
    label: &'static str,
    /// What is changed in that after the choice.
    changes: &'static [&'static str],
}

const METHODS: [Method; 6] = [
    Method { name: "synchronous, waits", label: "synchronous", changes: &[] },
    Method { name: "buffered", label: "buffered", changes: &[] },
    Method { name: "naive, staleness in updates", label: "naive", changes: &[] },
    Method { name: "naive, staleness in rounds", label: "naive-by-rounds", changes: &[] },
    Method { name: "buffered, equal weights", label: "buffered", changes: &["asynchrony.staleness_exponent=0.0"] },
    Method { name: "buffered, no rate limit", label: "buffered", changes: &["asynchrony.rate_limit=10"] },
];

/// Naive averaging, in either reading.
const NAIVE: [usize; 2] = [2, 3];

/// What is drawn; the others hide each other.
const DRAWN: usize = 4;

fn run(study: &mut Study<'_>) -> Result<()> {
    let synthetic = StandIn {
        section: "{ kind = \"synthetic\", shape = \"mq2007\", queries = 1000, validation_queries = 300, \
                  test_queries = 300, seed = 1 }"
            .into(),
        name: "synthetic mq2007".into(),
        is_the_papers: false,
    };
    let real = study.data(Wanted::Mq2008);
    if study.is_quick() {
        collection(study, "mq2008", &real.only_folds(&[1]), 1)?;
    } else {
        collection(study, "mq2008", &real, 3)?;
        collection(study, "synthetic", &synthetic, 5)?;
    }
    study.note("100 clients, 30 % of them ten times slower, 5 interactions a message, durations vary by up to half");
    study.note("the rate limit hardly matters here: few clients come twice while ten messages are collected");
    if study.is_quick() {
        study.note("200,000 interactions, one fold, one seed");
    }
    Ok(())
}

fn ndcg(split: Split) -> MetricName {
    MetricName::Offline(split, Metric::Ndcg(10))
}

/// Runs of one method under one kind of users, with the rate that was chosen.
struct Outcome {
    rate: String,
    results: Results,
}

impl Outcome {
    fn values(&self) -> Vec<f64> {
        self.results.final_values(0, ndcg(Split::Test))
    }

    fn online(&self) -> f64 {
        mean(&super::course::over(&self.results, 0, MetricName::OnlineNdcg(10), super::course::WHOLE))
    }

    fn time(&self) -> f64 {
        mean(&self.results.final_values(0, MetricName::SimulatedTime))
    }
}

fn collection(study: &mut Study<'_>, slug: &str, data: &StandIn, n_seeds: u64) -> Result<()> {
    let mut common = vec![data.setting()];
    if study.is_quick() {
        common.push("federation.budget=200_000".into());
    }
    let choice = ["seeds=[101]", "metrics.evaluate_on=[\"validation\"]", "metrics.evaluate=\"first-and-last\""];
    let choice: Vec<String> = common.iter().cloned().chain(choice.map(str::to_owned)).collect();
    let tried = study.grid(&format!("{slug}-choice"), SPEC, &choice)?;
    let seeds: Vec<u64> = (1..=n_seeds).collect();
    let mut outcomes = Vec::new();
    for (idx, method) in METHODS.iter().enumerate() {
        let mut of_users = Vec::new();
        for users in USERS {
            let rate = best_rate(&tried, method.label, users)?;
            let mut overrides = common.clone();
            overrides.extend([
                format!("seeds={seeds:?}"),
                "metrics.evaluate_on=[\"test\"]".into(),
                format!("users.preset={users}"),
                format!("federation.optimiser.rate={rate}"),
            ]);
            overrides.push(format!("grid.axis.method={{ chosen = {} }}", replacement(method.label)?));
            overrides.extend(method.changes.iter().map(|&change| change.to_owned()));
            let results = study.grid(&format!("{slug}-{idx}-{users}"), SPEC, &overrides)?;
            of_users.push(Outcome { rate, results });
        }
        outcomes.push(of_users);
    }
    judge(study, &data.name, &outcomes);
    study.table(&format!("nDCG@10 of test queries, {}", data.name), &told(&outcomes));
    let figure = figure(&data.name, &outcomes);
    study.figure(&format!("curves-{slug}"), figure)
}
