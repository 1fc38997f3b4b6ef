//! A run that starts from the history of a finished one: clients leave and are forgotten, and what that does to those who
//! stay is measured.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use foltr_federation::unlearn::{Accounting, MessageCost, ShardIsolation};
use foltr_federation::{Assurance, History, Unlearning};
use foltr_rank::Params;
use foltr_simulation::datasets::Fold;
use foltr_simulation::federation_run::FederationSettings;
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::{Cost, Request, UnlearningRun};

use super::RunInput;
use super::evaluator::RunEvaluator;
use super::recorder::Recorder;
use super::setup::RunSetup;
use crate::history_files;
use crate::job::training_of;
use crate::rows::{ClientValue, Forgotten, MetricName, RoundProgress, Row, RunOutcome};
use crate::spec::{Experiment, Measures, UnlearningRequest};
use crate::store::RunRecord;

/// A finished run, and who leaves it.
pub struct Parent {
    pub(crate) folder: PathBuf,
    request: UnlearningRequest,
    pub(crate) record: RunRecord,
    clients: Vec<ClientValue>,
    pub(crate) histories: Vec<History>,
}

impl Parent {
    pub(crate) fn read(folder: &Path, request: &UnlearningRequest) -> Result<Self> {
        let record = RunRecord::verify(folder)?;
        let clients = record.clients(folder)?;
        let histories = history_files::read(folder)?;
        Ok(Self { folder: folder.into(), request: request.clone(), record, clients, histories })
    }

    /// Meets the request. Rows are those of the training and those of this request.
    pub(super) fn run(
        &self,
        (experiment, fold): (&Experiment, &Fold),
        input: &RunInput<'_>,
        progress: &(dyn Fn(RoundProgress) + Sync),
        sink: &mut dyn FnMut(Row),
    ) -> Result<RunOutcome> {
        let training = training_of(experiment);
        let setup = RunSetup::new(&training, fold, input.seed)?;
        ensure!(
            self.histories.iter().all(|history| history.header().settings == setup.fingerprint),
            "the history in {} is of a run with other settings or other data",
            self.folder.display()
        );
        self.record.rows(&self.folder)?.read(|row| {
            if !matches!(row.metric, MetricName::Unlearning(..) | MetricName::UnlearningOnline(_)) {
                sink(row);
            }
        })?;
        let evaluator = RunEvaluator::new(&training, fold, Some(&setup.data), Some(&setup.any_user))?;
        let mut recorder = Recorder::new(setup.shape, evaluator, sink);
        let settings = setup.settings(&training, input.seed)?;
        let cost = training.plan().message_cost(setup.shape.n_params())?;
        let shards = training.federation.as_ref().and_then(|federation| federation.shards);
        let outcome = match shards {
            Some(shards) => self.forget_in_shards(&setup, (settings, cost), shards, &mut recorder)?,
            None => self.forget(&setup, (&settings, cost), &training.metrics, &mut recorder, (input, progress))?,
        };
        let asked = outcome.ranker.as_ref().filter(|_| training.metrics.by_query);
        let queries = asked.map(|(_, params)| recorder.queries(params)).unwrap_or_default();
        Ok(RunOutcome {
            queries,
            clients: self.clients.clone(),
            n_interactions: self.record.n_interactions,
            training_seconds: self.record.training_seconds,
            ..outcome
        })
    }

    /// One federation: the method, round by round.
    fn forget(
        &self,
        setup: &RunSetup,
        (settings, cost): (&FederationSettings, MessageCost),
        measures: &Measures,
        rows: &mut Recorder<'_, '_>,
        (input, progress): (&RunInput<'_>, &(dyn Fn(RoundProgress) + Sync)),
    ) -> Result<RunOutcome> {
        let (history, leavers) = (&self.histories[0], &self.request.clients);
        let latest = history.latest().context("the newest model is missing in the history")?;
        let (method, partition) = (&self.request.method, &setup.data.clients);
        let request = Request { method, settings, partition, history, leavers, cost };
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
            if input.stop.load(Ordering::Relaxed) {
                return Ok(RunOutcome { interrupted: true, ..RunOutcome::default() });
            }
            timed = Instant::now();
        }
        let unlearned = unlearning.finish();
        seconds += timed.elapsed();
        rows.unlearning(round.max(1), &unlearned.params);
        rows.flush();
        let taken = (unlearned.cost, seconds);
        Ok(self.outcome(setup, unlearned.params, vec![unlearned.history], cost, taken))
    }

    /// Shards: those of the leavers are rolled back and trained again.
    fn forget_in_shards(
        &self,
        setup: &RunSetup,
        (settings, cost): (FederationSettings, MessageCost),
        shards: u32,
        rows: &mut Recorder<'_, '_>,
    ) -> Result<RunOutcome> {
        let isolation = ShardIsolation { shards };
        let fits = self.request.method == Unlearning::ShardIsolation(isolation);
        ensure!(fits, "this run has {shards} shards: the method must be shard-isolation with as many");
        let mut run = ShardedRun::resume(settings, isolation, &setup.data.clients, self.histories.clone())?;
        rows.unlearning(0, &run.ranker());
        let started = Instant::now();
        let work = run.forget(&self.request.clients, cost)?;
        let seconds = started.elapsed();
        let ranker = run.ranker();
        rows.unlearning(work.rounds.max(1) as usize, &ranker);
        rows.flush();
        Ok(self.outcome(setup, ranker, run.into_histories(), cost, (work, seconds)))
    }

    /// Histories in which somebody was forgotten now, before and after.
    pub(crate) fn changed<'h>(&'h self, histories: &'h [History]) -> impl Iterator<Item = (&'h History, &'h History)> {
        self.histories.iter().zip(histories).filter(|(before, after)| before.head() != after.head())
    }

    fn outcome(
        &self,
        setup: &RunSetup,
        ranker: Params,
        histories: Vec<History>,
        cost: MessageCost,
        (work, seconds): (Cost, Duration),
    ) -> RunOutcome {
        // All changed histories prove the same: shards forget in one way.
        let proven = |(_, after): (_, &History)| after.guarantees().pop();
        let guarantee = self.changed(&histories).find_map(proven).unwrap_or(Assurance::Exact);
        let account = |(before, after): (&History, &History)| cost.account(before, after, &self.request.clients);
        let none = || cost.account(&self.histories[0], &self.histories[0], &[]);
        let privacy = self.changed(&histories).map(account).reduce(Accounting::most).unwrap_or_else(none);
        let forgotten = Some(Forgotten::new(&self.request, guarantee, work, seconds, &histories, privacy));
        RunOutcome { ranker: Some((setup.shape, ranker)), histories, forgotten, ..RunOutcome::default() }
    }
}
