//! Stand-in for the run loop: a seeded formula.
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

use crate::rows::{MetricName, RoundProgress, Row, RunOutcome};
use crate::spec::{Experiment, Learner};
use foltr_simulation::datasets::Fold;

/// Runs one experiment on one fold with one seed.
pub fn run_one(
    experiment: &Experiment,
    _fold: &Fold,
    fold_number: usize,
    seed: u64,
    progress: &dyn Fn(RoundProgress),
    sink: &mut dyn FnMut(Row),
    stop: &AtomicBool,
) -> Result<RunOutcome> {
    let started = std::time::Instant::now();
    let schedule = experiment.schedule();
    let n_rounds = schedule.map_or(0, |schedule| schedule.n_rounds);
    let per_round = schedule.map_or(0, |schedule| schedule.interactions_per_round());
    let users = experiment.users.as_ref().map_or(0, |users| users.name().len()) as f64;
    let (speed, ceiling) = match (experiment.learner, experiment.federation.as_ref().map(|f| f.optimiser)) {
        (Learner::Pdgd { .. }, Some(crate::spec::ServerOptimiser::Momentum { .. })) => (60_000.0, 0.74),
        (Learner::Pdgd { .. }, _) => (150_000.0, 0.73),
        (Learner::Evolution { .. }, _) => (300_000.0, 0.69),
        (Learner::CentralisedPdgd { .. }, _) => (30_000.0, 0.745),
        _ => (1.0, 0.7),
    };
    let noise =
        |round: usize| ((seed as f64 * 12.9898 + round as f64 * 78.233 + users).sin() * 43_758.545).fract() * 0.008;
    let drift = ((seed as f64 * 3.7 + users).sin()) * 0.012;
    let value = |round: usize| {
        let x = (round * per_round) as f64;
        0.42 + (ceiling - 0.004 * users - 0.42) * (1.0 - (-x / speed).exp()) + noise(round) + drift
    };
    for round in 0..=n_rounds {
        if stop.load(Ordering::Relaxed) {
            return Ok(RunOutcome { params: vec![], n_interactions: 0, training_seconds: 0.0, interrupted: true });
        }
        std::thread::sleep(std::time::Duration::from_micros(300));
        if round > 0 {
            let metric = MetricName::OnlineNdcg(experiment.metrics.cutoff);
            sink(Row { fold: fold_number, seed, round, metric, value: value(round) - 0.1 });
        }
        if experiment.metrics.evaluate.at(round, n_rounds) {
            for &split in &experiment.metrics.evaluate_on {
                for &metric in &experiment.metrics.offline {
                    let metric = MetricName::Offline(split, metric);
                    sink(Row { fold: fold_number, seed, round, metric, value: value(round) });
                }
            }
        }
        progress(RoundProgress { round, n_rounds, value: Some(value(round)) });
    }
    Ok(RunOutcome {
        params: vec![],
        n_interactions: (n_rounds * per_round) as u64,
        training_seconds: started.elapsed().as_secs_f64(),
        interrupted: false,
    })
}
