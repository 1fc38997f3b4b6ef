//! FOLtR-ES on MQ2008: 2,000 clients, B = 4, p = .9, 2 million interactions, five folds (spec section 4 and Table 3 of
//! KO19). Needs real data: set `FOLTR_DATA`. `FOLTR_FULL=1` takes three seeds instead of one.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use foltr_lab::data;
use foltr_lab::run::run_one;
use foltr_lab::spec::Experiment;
use foltr_simulation::datasets::Fold;
use rayon::prelude::*;

const USERS: [&str; 3] = ["navigational", "informational", "perfect"];
const LINEAR: &str = "kind = \"linear\"";
const TWO_LAYER: &str = "kind = \"mlp\"\nhidden = 10\nactivation = \"relu\"";

fn experiment(ranker: &str, users: &str, stream: &str) -> Experiment {
    let text = format!(
        r#"
seeds = [1]

[data]
kind = "folder"
path = "MQ2008"

[clients]
n_clients = 2000
interactions = 4

[users]
kind = "cascade"
preset = "{users}"

[ranker]
{ranker}
initialisation = {{ kind = "zero" }}

[learner]
kind = "evolution"
sigma = 0.01
antithetic = true
reward = "max-rr"
stream = "{stream}"

[federation]
budget = 2000000
optimiser = {{ kind = "adam", rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }}

[privacy]
kind = "randomised-response"
probability = 0.9

[metrics]
offline = ["expected-maxrr"]
evaluate_on = ["train", "test"]
evaluate = "first-and-last"
"#
    );
    Experiment::from_toml(&text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// Folds of MQ2008, or nothing and a word about it.
fn folds() -> Option<Vec<(usize, Fold)>> {
    let folder = std::env::var_os(data::DATA_VARIABLE)?;
    if !Path::new(&folder).join("MQ2008").is_dir() {
        return None;
    }
    let experiment = experiment(LINEAR, USERS[0], "separate");
    Some(data::load(&experiment.data).expect("MQ2008 can be read"))
}

fn seeds() -> Vec<u64> {
    if std::env::var_os("FOLTR_FULL").is_some() { vec![7, 107, 207] } else { vec![7] }
}

/// Expected MaxRR on train and test queries, mean over folds and seeds, by users.
fn measure(folds: &[(usize, Fold)], ranker: &str, stream: &str) -> Vec<[f64; 2]> {
    let seeds = seeds();
    let mean = |users: &&str| {
        let experiment = experiment(ranker, users, stream);
        let jobs: Vec<(&(usize, Fold), u64)> =
            folds.iter().flat_map(|fold| seeds.iter().map(move |&seed| (fold, seed))).collect();
        let values: Vec<[f64; 2]> = jobs
            .par_iter()
            .map(|((number, fold), seed)| {
                let mut values = Vec::new();
                let mut sink = |row: foltr_lab::rows::Row| {
                    if row.round > 0 && row.metric.to_string().ends_with("expected-maxrr") {
                        values.push(row.value);
                    }
                };
                let stop = AtomicBool::new(false);
                run_one(&experiment, fold, *number, *seed, &|_| {}, &mut sink, &stop).expect("a run");
                [values[0], values[1]]
            })
            .collect();
        let n = values.len() as f64;
        [0, 1].map(|split| values.iter().map(|value| value[split]).sum::<f64>() / n)
    };
    USERS.iter().map(mean).collect()
}

fn tell(what: &str, values: &[[f64; 2]], expected: [[f64; 3]; 2]) {
    for (split, expected) in ["train", "test"].iter().zip(expected).enumerate().map(|(i, (name, e))| ((i, name), e)) {
        let ours: Vec<String> = values.iter().map(|value| format!("{:.4}", value[split.0])).collect();
        println!("{what:22} {:5}  ours {}  expected {expected:?}", split.1, ours.join(" "));
    }
}

/// How many of the six cells lie within the tolerance.
fn n_close(values: &[[f64; 2]], expected: [[f64; 3]; 2], tolerance: f64) -> usize {
    let cells = (0..2).flat_map(|split| (0..3).map(move |users| (split, users)));
    cells.filter(|&(split, users)| (values[users][split] - expected[split][users]).abs() <= tolerance).count()
}

#[test]
fn separate_streams_reach_the_specified_values() {
    let Some(folds) = folds() else {
        println!("skipped: FOLTR_DATA names no folder with MQ2008");
        return;
    };
    let linear = measure(&folds, LINEAR, "separate");
    let two_layer = measure(&folds, TWO_LAYER, "separate");
    let expected_linear = [[0.478, 0.739, 0.433], [0.461, 0.732, 0.419]];
    let expected_two_layer = [[0.479, 0.736, 0.434], [0.465, 0.730, 0.422]];
    tell("linear, separate", &linear, expected_linear);
    tell("two-layer, separate", &two_layer, expected_two_layer);
    assert_eq!(n_close(&linear, expected_linear, 0.01), 6, "{linear:?}");
    assert_eq!(n_close(&two_layer, expected_two_layer, 0.01), 6, "{two_layer:?}");
    for (a, b) in linear.iter().flatten().zip(two_layer.iter().flatten()) {
        assert!((a - b).abs() <= 0.01, "linear {a} and two-layer {b}");
    }
}

#[test]
fn the_published_stream_reaches_table_3() {
    let Some(folds) = folds() else {
        println!("skipped: FOLTR_DATA names no folder with MQ2008");
        return;
    };
    let linear = measure(&folds, LINEAR, "published");
    let two_layer = measure(&folds, TWO_LAYER, "published");
    let table_linear = [[0.469, 0.720, 0.415], [0.458, 0.715, 0.401]];
    let table_two_layer = [[0.481, 0.734, 0.430], [0.464, 0.731, 0.414]];
    tell("linear, published", &linear, table_linear);
    tell("two-layer, published", &two_layer, table_two_layer);
    let n_close = n_close(&linear, table_linear, 0.015) + n_close(&two_layer, table_two_layer, 0.015);
    assert!(n_close >= 10, "{n_close} of 12 cells within .015");
}
