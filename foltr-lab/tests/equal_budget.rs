//! Federated as good as centralised: with a server optimiser FPDGD closes the gap to centralised PDGD at an equal number
//! of interactions (1,000 clients, B = 2, 400,000 interactions). The server's rate is chosen on validation queries.
//!
//! Needs real data: set `FOLTR_DATA`. `FOLTR_FULL=1` adds the MQ2007 sample, synthetic `mslr`, more seeds and rates.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use foltr_lab::data;
use foltr_lab::rows::{MetricName, Row};
use foltr_lab::run::run_one;
use foltr_lab::spec::{Experiment, Split};
use foltr_simulation::datasets::Fold;
use rayon::prelude::*;

const USERS: [&str; 3] = ["perfect", "navigational", "informational"];

fn is_full() -> bool {
    std::env::var_os("FOLTR_FULL").is_some()
}

/// Name and `[data]` section of every collection at hand.
fn collections() -> Vec<(&'static str, &'static str)> {
    let Some(folder) = std::env::var_os(data::DATA_VARIABLE) else { return Vec::new() };
    let mut collections = vec![("MQ2008", "kind = \"folder\"\npath = \"MQ2008\"")];
    if is_full() {
        collections.push(("MQ2007, 85 % sample", "kind = \"folder\"\npath = \"MQ2007-85\""));
    }
    collections.retain(|(_, section)| {
        let path = section.split('"').nth(3).unwrap_or_default();
        Path::new(&folder).join(path).is_dir()
    });
    if is_full() {
        let synthetic = "kind = \"synthetic\"\nshape = \"mslr\"\nqueries = 2000\nseed = 1\nnormalise = \"query\"";
        collections.push(("synthetic mslr", synthetic));
    }
    collections
}

fn experiment(data: &str, users: &str, learning: &str) -> Experiment {
    let text = format!(
        r#"
seeds = [1]

[data]
{data}

[users]
kind = "cascade"
preset = "{users}"

[ranker]
kind = "linear"
initialisation = {{ kind = "zero" }}

[metrics]
evaluate_on = ["validation", "test"]
evaluate = {{ every = 20 }}

{learning}
"#
    );
    Experiment::from_toml(&text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn centralised(rate: f64) -> String {
    format!(
        "[learner]\nkind = \"centralised-pdgd\"\nlearning_rate = {rate:?}\nbatch = 1\nbudget = 400000\n\
         interactions_per_round = 2000\n"
    )
}

fn federated(optimiser: &str) -> String {
    format!(
        "[learner]\nkind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"\n\n\
         [clients]\nn_clients = 1000\ninteractions = 2\n\n\
         [federation]\nbudget = 400000\noptimiser = {{ {optimiser} }}\n"
    )
}

/// Server optimisers to choose from: a larger step, or momentum .9.
fn candidates() -> Vec<(String, String)> {
    let (rates, momenta): (&[f64], &[f64]) =
        if is_full() { (&[50.0, 100.0, 200.0, 400.0], &[5.0, 10.0, 20.0, 40.0]) } else { (&[100.0], &[10.0, 20.0]) };
    let plain = rates.iter().map(|rate| (format!("rate {rate}"), format!("kind = \"learning-rate\", rate = {rate:?}")));
    let heavy = momenta.iter().map(|rate| {
        (format!("momentum .9, rate {rate}"), format!("kind = \"momentum\", momentum = 0.9, rate = {rate:?}"))
    });
    plain.chain(heavy).collect()
}

/// Means over folds and seeds.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// Mean of the validation curve: what a rate is chosen by.
    validation: f64,
    /// nDCG@10 on test queries at the end.
    test: f64,
    /// Mean online nDCG@10 over all rounds.
    online: f64,
}

fn run(experiment: &Experiment, number: usize, fold: &Fold, seed: u64) -> Outcome {
    let mut values: BTreeMap<MetricName, Vec<(usize, f64)>> = BTreeMap::new();
    let mut sink = |row: Row| values.entry(row.metric).or_default().push((row.round, row.value));
    run_one(experiment, fold, number, seed, &|_| {}, &mut sink, &AtomicBool::new(false)).expect("a run");
    let mut outcome = Outcome::default();
    for (metric, curve) in &mut values {
        curve.sort_by_key(|&(round, _)| round);
        let mean = curve.iter().map(|(_, value)| value).sum::<f64>() / curve.len() as f64;
        match metric {
            MetricName::OnlineNdcg(_) => outcome.online = mean,
            MetricName::OnlineMaxRr | MetricName::SimulatedTime => {}
            MetricName::Offline(Split::Validation, _) => outcome.validation = mean,
            MetricName::Offline(..) => outcome.test = curve.last().map_or(0.0, |&(_, value)| value),
        }
    }
    outcome
}

fn mean(experiment: &Experiment, folds: &[(usize, Fold)], n_seeds: u64) -> Outcome {
    let jobs: Vec<(&(usize, Fold), u64)> =
        folds.iter().flat_map(|fold| (1..=n_seeds).map(move |seed| (fold, seed))).collect();
    let outcomes: Vec<Outcome> =
        jobs.par_iter().map(|((number, fold), seed)| run(experiment, *number, fold, *seed)).collect();
    let mean = |value: fn(&Outcome) -> f64| outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64;
    Outcome { validation: mean(|o| o.validation), test: mean(|o| o.test), online: mean(|o| o.online) }
}

/// The setting with the best validation curve.
fn chosen(candidates: Vec<(String, Outcome)>) -> (String, Outcome) {
    candidates.into_iter().max_by(|(_, a), (_, b)| a.validation.total_cmp(&b.validation)).expect("a candidate")
}

#[test]
fn a_server_optimiser_closes_the_gap_to_centralised_learning() {
    let collections = collections();
    if collections.is_empty() {
        println!("skipped: FOLTR_DATA names no folder with MQ2008");
        return;
    }
    let n_seeds = if is_full() { 5 } else { 2 };
    println!("test nDCG@10 at the end / mean online nDCG@10; mean of all folds and {n_seeds} seeds");
    for (name, section) in collections {
        let folds = data::load(&experiment(section, USERS[0], &centralised(0.1)).data).expect("data");
        for users in USERS {
            let of = |learning: &str| mean(&experiment(section, users, learning), &folds, n_seeds);
            let yardstick = of(&centralised(0.1));
            let averaged = of(&federated("kind = \"learning-rate\", rate = 1.0"));
            let tried = candidates().into_iter().map(|(name, optimiser)| (name, of(&federated(&optimiser))));
            let (optimiser, ours) = chosen(tried.collect());
            println!(
                "{name:20} {users:14} centralised {:.4} / {:.4}   FedAvg {:+.4} / {:5.1} %   {optimiser}: {:+.4} / {:5.1} %",
                yardstick.test,
                yardstick.online,
                averaged.test - yardstick.test,
                100.0 * averaged.online / yardstick.online,
                ours.test - yardstick.test,
                100.0 * ours.online / yardstick.online,
            );
            if is_full() {
                let tuned = [0.003, 0.01, 0.03, 0.1, 0.3].map(|rate| (rate.to_string(), of(&centralised(rate))));
                let (rate, tuned) = chosen(tuned.to_vec());
                println!("{:36}centralised with rate {rate} chosen: {:.4} / {:.4}", "", tuned.test, tuned.online);
            }
            assert!(ours.test - yardstick.test >= -0.005, "{name}, {users}: {ours:?} against {yardstick:?}");
            assert!(ours.online >= 0.95 * yardstick.online, "{name}, {users}: {ours:?} against {yardstick:?}");
        }
    }
}
