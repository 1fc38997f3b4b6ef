//! Clients that leave are forgotten, and what that does to those who stay is measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use foltr_federation::unlearn::ShardIsolation;
use foltr_federation::{Assurance, History, Unlearning};
use foltr_rank::Params;
use foltr_simulation::federation_run::FederationSettings;
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::{Request, UnlearningRun};

use super::parent::Parent;
use super::recorder::Recorder;
use super::setup::RunSetup;
use crate::rows::{Forgotten, MetricName, RoundProgress};
use crate::spec::Measures;

/// What a method leaves.
pub(super) struct Ended {
    pub(super) ranker: Params,
    pub(super) histories: Vec<History>,
    /// None if it was interrupted.
    pub(super) forgotten: Option<Forgotten>,
}

/// One federation: the method, round by round.
pub(super) fn forget(
    parent: &Parent,
    setup: &RunSetup,
    settings: &FederationSettings,
    measures: &Measures,
    rows: &mut Recorder<'_, '_>,
    (progress, stop): (&(dyn Fn(RoundProgress) + Sync), &AtomicBool),
) -> Result<Ended> {
    let (history, leaving) = (&parent.histories[0], &parent.request);
    let latest = history.latest().context("the newest model is missing in the history")?;
    let (method, partition) = (&leaving.method, &setup.data.clients);
    let request = Request { method, settings, partition, history, leavers: &leaving.clients };
    let mut seconds = Duration::ZERO;
    let mut timed = Instant::now();
    let mut unlearning = UnlearningRun::new(&request)?;
    rows.unlearning(0, &latest.ranker());
    let n_rounds = unlearning.n_rounds() as usize;
    let mut round = 0;
    while let Some(stats) = unlearning.round()? {
        seconds += timed.elapsed();
        round += 1;
        if stats.n_clients > 0 {
            rows.send(round, MetricName::UnlearningOnline(measures.cutoff), stats.ndcg / stats.n_clients as f64);
        }
        if round < n_rounds && measures.evaluate.at(round, n_rounds) {
            rows.unlearning(round, &unlearning.ranker());
        }
        progress(RoundProgress { n_new: 1, message: Some(format!("unlearning {round}/{n_rounds}")) });
        if stop.load(Ordering::Relaxed) {
            return Ok(Ended { ranker: unlearning.ranker(), histories: Vec::new(), forgotten: None });
        }
        timed = Instant::now();
    }
    let unlearned = unlearning.finish();
    seconds += timed.elapsed();
    rows.unlearning(round.max(1), &unlearned.params);
    rows.flush();
    let histories = vec![unlearned.history];
    let forgotten = Forgotten::new(leaving, unlearned.guarantee, unlearned.cost, seconds, &histories);
    Ok(Ended { ranker: unlearned.params, histories, forgotten: Some(forgotten) })
}

/// Shards: those of the leavers are rolled back and come again.
pub(super) fn forget_in_shards(
    parent: &Parent,
    setup: &RunSetup,
    settings: FederationSettings,
    shards: u32,
    rows: &mut Recorder<'_, '_>,
) -> Result<Ended> {
    let (isolation, leaving) = (ShardIsolation { shards }, &parent.request);
    let fits = leaving.method == Unlearning::ShardIsolation(isolation);
    ensure!(fits, "this run has {shards} shards: the method must be shard-isolation with as many");
    let mut run = ShardedRun::resume(settings, isolation, &setup.data.clients, parent.histories.clone())?;
    rows.unlearning(0, &run.ranker());
    let started = Instant::now();
    let cost = run.forget(&leaving.clients)?;
    let seconds = started.elapsed();
    let ranker = run.ranker();
    rows.unlearning(cost.rounds.max(1) as usize, &ranker);
    rows.flush();
    let histories = run.into_histories();
    let forgotten = Forgotten::new(leaving, Assurance::Exact, cost, seconds, &histories);
    Ok(Ended { ranker, histories, forgotten: Some(forgotten) })
}
