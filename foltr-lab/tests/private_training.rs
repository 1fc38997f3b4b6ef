//! Training under a guarantee for the whole run: what it costs with many clients, with few, and where a budget ends it.
//!
//! The first needs real data: set `FOLTR_DATA`. `foltr reproduce privacy-table privacy-clients` has all collections.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use foltr_lab::data;
use foltr_lab::grid::Grid;
use foltr_lab::rows::{MetricName, Row};
use foltr_lab::run::run_one;
use foltr_lab::spec::{Metric, Split};
use rayon::prelude::*;

const SPEC: &str = include_str!("../../specs/privacy/candidates.toml");

const TINY: &str = "data={ kind = \"synthetic\", shape = \"tiny\", queries = 50, seed = 1 }";

/// Rows of one run with these overrides on one fold.
fn rows(overrides: &[&str], fold: usize) -> anyhow::Result<Vec<Row>> {
    let fixed = ["seeds=[1]", "users.preset=navigational", "federation.optimiser.rate=50.0"];
    let overrides: Vec<String> = fixed.iter().chain(overrides).map(|&text| text.to_owned()).collect();
    let grid = Grid::from_toml(SPEC, &overrides).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let experiment = &grid.settings[0].experiment;
    let folds = data::load(&experiment.data)?;
    let (number, data) = &folds[fold % folds.len()];
    let mut rows = Vec::new();
    let stop = AtomicBool::new(false);
    run_one(experiment, data, *number, 1, &|_| {}, &mut |row| rows.push(row), &stop)?;
    Ok(rows)
}

/// Mean over folds of the final nDCG@10 of test queries.
fn final_ndcg(overrides: &[&str]) -> f64 {
    let metric = MetricName::Offline(Split::Test, Metric::Ndcg(10));
    let of_fold = |fold: usize| {
        let rows = rows(overrides, fold).unwrap_or_else(|error| panic!("{error:#}"));
        rows.iter().rfind(|row| row.metric == metric).map_or(f64::NAN, |row| row.value)
    };
    (0..5_usize).into_par_iter().map(of_fold).collect::<Vec<_>>().iter().sum::<f64>() / 5.0
}

#[test]
fn a_guarantee_is_nearly_free_for_a_thousand_clients_and_ruins_ten() {
    let at_hand =
        std::env::var_os(data::DATA_VARIABLE).is_some_and(|folder| Path::new(&folder).join("MQ2008").is_dir());
    if !at_hand {
        eprintln!("skipped: {} names no folder with MQ2008", data::DATA_VARIABLE);
        return;
    }
    let thousand = ["clients.n_clients=1000", "clients.interactions=8", "privacy.clip=0.2"];
    let ten = ["clients.n_clients=10", "clients.interactions=800", "privacy.clip=1.0", "federation.optimiser.rate=5.0"];
    let none = ["privacy={ kind = \"none\" }"];
    let with = |base: &[&'static str], epsilon: &'static str| final_ndcg(&[base, &[epsilon][..]].concat());
    let open = final_ndcg(&[&thousand[..2], &none].concat());
    let (large, small) = (with(&thousand, "privacy.epsilon=4.5"), with(&thousand, "privacy.epsilon=1.2"));
    let broken = with(&ten, "privacy.epsilon=1.2");
    println!("no privacy {open:.4}, 4.5: {large:.4}, 1.2: {small:.4}, 1.2 for ten clients: {broken:.4}");
    // Five folds with one seed: a difference of two means scatters by about .003.
    assert!(open - large < 0.010, "{open:.4} to {large:.4}");
    assert!(open - small < 0.015, "{open:.4} to {small:.4}");
    assert!(open - broken > 0.05, "ten clients cannot have this: {open:.4} to {broken:.4}");
}

#[test]
fn a_run_ends_before_its_budget_would_be_exceeded() {
    let noise = "privacy={ kind = \"gaussian\", clip = 0.1, noise_multiplier = 10.0, mode = \"sealed\" }";
    let overrides = |epsilon| [TINY, "clients.n_clients=20", "federation.rounds=60", noise, epsilon];
    // mu = sqrt(k)/10: epsilon at delta = 1e-5 is 1.22 after 10 rounds, 1.30 after 11.
    let last = |epsilon| -> usize {
        let text = SPEC.replace("budget = 400_000", "");
        assert_ne!(text, SPEC);
        let overrides: Vec<String> = overrides(epsilon).map(str::to_owned).to_vec();
        let grid = Grid::from_toml(&text, &overrides).unwrap_or_else(|problems| panic!("{problems:#?}"));
        let experiment = &grid.settings[0].experiment;
        let folds = data::load(&experiment.data).expect("generated");
        let mut last = 0;
        let stop = AtomicBool::new(false);
        run_one(experiment, &folds[0].1, 1, 1, &|_| {}, &mut |row| last = last.max(row.round), &stop).expect("a run");
        last
    };
    let known = |rounds: u32| foltr_federation::accountant::gaussian::epsilon(f64::from(rounds).sqrt() / 10.0, 1e-5);
    let ended = last("budget={ epsilon = 1.25, delta = 1e-5 }");
    assert!(known(ended as u32) <= 1.25 && known(ended as u32 + 1) > 1.25, "{ended} rounds");
    assert_eq!(last("budget={ epsilon = 100.0, delta = 1e-5 }"), 60);
}

#[test]
fn a_budget_that_no_round_fits_is_an_error() {
    let noise = "privacy={ kind = \"gaussian\", clip = 0.1, noise_multiplier = 0.1, mode = \"clear\" }";
    let error = rows(&[TINY, "clients.n_clients=20", noise, "budget={ epsilon = 1.0, delta = 1e-5 }"], 0);
    let told = format!("{:#}", error.expect_err("one round costs more"));
    assert!(told.contains("not even one round"), "{told}");
}
