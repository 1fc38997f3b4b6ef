//! After the last round: clients that leave are forgotten, and what that does to those who stay is watched.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use foltr_federation::{Assurance, History};
use foltr_rank::Params;
use foltr_simulation::federation_run::FederationRun;
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::{Request, UnlearningRun};

use super::Trainer;
use super::measured::Rows;
use crate::rows::{Forgotten, MetricName};
use crate::spec::{Experiment, Leaving, Measures};

/// What is left of a run at its end.
pub(super) struct Ended {
    pub(super) ranker: Params,
    pub(super) histories: Vec<History>,
    pub(super) forgotten: Option<Forgotten>,
    /// Ctrl-C came while clients were being forgotten.
    pub(super) interrupted: bool,
}

impl Ended {
    fn trained(ranker: Params, histories: Vec<History>) -> Self {
        Self { ranker, histories, forgotten: None, interrupted: false }
    }
}

/// Ends a run. Whoever leaves is forgotten, unless the run was interrupted.
pub(super) fn end(
    trainer: Trainer<'_>,
    experiment: &Experiment,
    rows: &mut Rows<'_, '_>,
    interrupted: bool,
    stop: &AtomicBool,
) -> Result<Ended> {
    let ranker = trainer.ranker();
    let leaving = experiment.unlearning.as_ref().filter(|_| !interrupted);
    match (trainer, leaving) {
        (Trainer::Federated(run), Some(leaving)) => forget(*run, leaving, &experiment.metrics, rows, stop),
        (Trainer::Sharded(run), Some(leaving)) => forget_in_shards(*run, leaving, rows),
        (Trainer::Federated(run), None) => Ok(Ended::trained(ranker, run.into_history().into_iter().collect())),
        (Trainer::Sharded(run), None) => Ok(Ended::trained(ranker, run.into_histories())),
        (Trainer::Asynchronous(_) | Trainer::Centralised(_), _) => Ok(Ended::trained(ranker, Vec::new())),
    }
}

/// Carries the method out round by round.
fn forget(
    run: FederationRun<'_>,
    leaving: &Leaving,
    measures: &Measures,
    rows: &mut Rows<'_, '_>,
    stop: &AtomicBool,
) -> Result<Ended> {
    let (settings, partition) = (run.settings().clone(), run.partition());
    rows.unlearning(0, &run.ranker());
    let history = run.into_history().context("nothing was kept")?;
    let request = Request { settings: &settings, partition, history: &history, leavers: &leaving.clients };
    let mut seconds = Duration::ZERO;
    let mut timed = Instant::now();
    let mut unlearning = UnlearningRun::new(&leaving.method, &request)?;
    let n_rounds = unlearning.n_rounds() as usize;
    let mut round = 0;
    while let Some(tally) = unlearning.round()? {
        seconds += timed.elapsed();
        round += 1;
        if tally.n_clients > 0 {
            rows.send(round, MetricName::UnlearningOnline(measures.cutoff), tally.ndcg / tally.n_clients as f64);
        }
        if round < n_rounds && measures.evaluate.at(round, n_rounds) {
            rows.unlearning(round, &unlearning.ranker());
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Ended { interrupted: true, ..Ended::trained(unlearning.ranker(), vec![history]) });
        }
        timed = Instant::now();
    }
    let unlearned = unlearning.finish();
    seconds += timed.elapsed();
    rows.unlearning(round.max(1), &unlearned.params);
    rows.flush();
    let histories = vec![unlearned.history];
    let forgotten = Forgotten::new(leaving, unlearned.guarantee, unlearned.cost, seconds, &histories);
    Ok(Ended { ranker: unlearned.params, histories, forgotten: Some(forgotten), interrupted: false })
}

/// Rolls the shards of the leavers back and lets them come again.
fn forget_in_shards(mut run: ShardedRun<'_>, leaving: &Leaving, rows: &mut Rows<'_, '_>) -> Result<Ended> {
    rows.unlearning(0, &run.ranker());
    let started = Instant::now();
    let cost = run.forget(&leaving.clients)?;
    let seconds = started.elapsed();
    let ranker = run.ranker();
    rows.unlearning(cost.rounds.max(1) as usize, &ranker);
    rows.flush();
    let histories = run.into_histories();
    let forgotten = Forgotten::new(leaving, Assurance::Exact, cost, seconds, &histories);
    Ok(Ended { ranker, histories, forgotten: Some(forgotten), interrupted: false })
}
