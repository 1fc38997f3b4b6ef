//! Training under a guarantee for the whole run: where a budget ends it.

use foltr_test::ExperimentFile;

use super::{experiment, run};

/// The last round of a run of at most 60 rounds with Gaussian noise and this budget.
fn last_round(noise_multiplier: f64, epsilon: f64) -> anyhow::Result<usize> {
    let noise = format!("kind = \"gaussian\"\nclip = 0.1\nnoise_multiplier = {noise_multiplier:?}\nmode = \"sealed\"");
    let file = ExperimentFile::fpdgd()
        .set("seeds", "[1]")
        .set("data.queries", "50")
        .set("clients.n_clients", "20")
        .set("federation.rounds", "60")
        .section("privacy", &noise)
        .section("budget", &format!("epsilon = {epsilon:?}\ndelta = 1e-5"));
    let (rows, _) = run(&experiment(&file))?;
    Ok(rows.iter().map(|row| row.round).max().unwrap_or(0))
}

#[test]
fn a_run_ends_before_its_budget_would_be_exceeded() {
    // mu = sqrt(k)/10: epsilon at delta = 1e-5 is 1.22 after 10 rounds, 1.30 after 11.
    let known = |rounds: u32| foltr_federation::accountant::gaussian::epsilon(f64::from(rounds).sqrt() / 10.0, 1e-5);
    let ended = last_round(10.0, 1.25).expect("a run");
    assert!(known(ended as u32) <= 1.25 && known(ended as u32 + 1) > 1.25, "{ended} rounds");
    assert_eq!(last_round(10.0, 100.0).expect("a run"), 60);
}

#[test]
fn a_budget_that_no_round_fits_is_an_error() {
    let message = format!("{:#}", last_round(0.1, 1.0).expect_err("one round costs more"));
    assert!(message.contains("not even one round"), "{message}");
}
