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
use crate::rows::{ClientValue, Forgotten, MetricName, RoundProgress, Row, RunOutcome, Work};
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
            use MetricName::{Unlearning, UnlearningCost, UnlearningOnline};
            if !matches!(row.metric, Unlearning(..) | UnlearningOnline(_) | UnlearningCost(_)) {
                sink(row);
            }
        })?;
        let evaluator = RunEvaluator::new(&training, fold, Some(&setup.data), Some(&setup.any_user))?;
        let mut recorder = Recorder::new(setup.shape, evaluator, sink);
        let settings = setup.settings(&training, input.seed)?;
        let cost = training.plan().message_cost(setup.shape.n_params())?;
        let shards = training.federation.as_ref().and_then(|federation| federation.shards);
        let outcome = match shards {
            Some(shards) => {
                self.forget_in_shards(&setup, (settings, cost), &training.metrics, shards, &mut recorder)?
            }
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

    /// One federation: the method, round by round, for every request.
    fn forget(
        &self,
        setup: &RunSetup,
        (settings, cost): (&FederationSettings, MessageCost),
        measures: &Measures,
        rows: &mut Recorder<'_, '_>,
        (input, progress): (&RunInput<'_>, &(dyn Fn(RoundProgress) + Sync)),
    ) -> Result<RunOutcome> {
        let latest = self.histories[0].latest().context("the newest model is missing in the history")?;
        let (method, partition) = (&self.request.method, &setup.data.clients);
        let mut met = Met { ranker: latest.ranker(), ..Met::new(self.histories.clone()) };
        let mut round = 0;
        for leavers in self.request.requests() {
            let request = Request { method, settings, partition, history: &met.histories[0], leavers, cost };
            let mut timed = Instant::now();
            let mut unlearning = UnlearningRun::new(&request)?;
            if round == 0 {
                rows.unlearning(0, &latest.ranker());
            }
            let n_rounds = round + unlearning.n_rounds() as usize;
            while let Some(stats) = unlearning.round()? {
                met.seconds += timed.elapsed();
                round += 1;
                if stats.n_clients > 0 {
                    let value = stats.ndcg / stats.n_clients as f64;
                    rows.send(round, MetricName::UnlearningOnline(measures.cutoff), value);
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
            met.seconds += timed.elapsed();
            met.work.add(&unlearned.cost);
            met.ranker = unlearned.params;
            met.go_on(vec![unlearned.history], leavers, cost);
        }
        Ok(self.outcome(setup, met, round, measures, rows))
    }

    /// Shards: those of the leavers are rolled back and trained again.
    fn forget_in_shards(
        &self,
        setup: &RunSetup,
        (settings, cost): (FederationSettings, MessageCost),
        measures: &Measures,
        shards: u32,
        rows: &mut Recorder<'_, '_>,
    ) -> Result<RunOutcome> {
        let isolation = ShardIsolation { shards };
        let fits = self.request.method == Unlearning::ShardIsolation(isolation);
        ensure!(fits, "this run has {shards} shards: the method must be shard-isolation with as many");
        let mut met = Met::new(self.histories.clone());
        for (number, leavers) in self.request.requests().enumerate() {
            let (settings, histories) = (settings.clone(), met.histories.clone());
            let mut run = ShardedRun::resume(settings, isolation, &setup.data.clients, histories)?;
            if number == 0 {
                rows.unlearning(0, &run.ranker());
            }
            let started = Instant::now();
            met.work.add(&run.forget(leavers, cost)?);
            met.seconds += started.elapsed();
            met.ranker = run.ranker();
            met.go_on(run.into_histories(), leavers, cost);
        }
        let n_rounds = met.work.rounds as usize;
        Ok(self.outcome(setup, met, n_rounds, measures, rows))
    }

    /// Histories in which somebody was forgotten now, before and after.
    pub(crate) fn changed<'h>(&'h self, histories: &'h [History]) -> impl Iterator<Item = (&'h History, &'h History)> {
        changed(&self.histories, histories)
    }

    fn outcome(
        &self,
        setup: &RunSetup,
        met: Met,
        n_rounds: usize,
        measures: &Measures,
        rows: &mut Recorder<'_, '_>,
    ) -> RunOutcome {
        let Met { ranker, histories, work, seconds, guarantee, privacy } = met;
        rows.unlearning(n_rounds.max(1), &ranker);
        rows.flush();
        if measures.unlearning_cost {
            let of = |(work, value)| (MetricName::UnlearningCost(work), value);
            Work::of(&work).map(of).into_iter().for_each(|(name, value)| rows.send(n_rounds.max(1), name, value));
        }
        let privacy = privacy.expect("a request was met");
        let forgotten = Forgotten::new(&self.request, guarantee, work, seconds, &histories, privacy);
        RunOutcome {
            ranker: Some((setup.shape, ranker)),
            histories,
            forgotten: Some(forgotten),
            ..RunOutcome::default()
        }
    }
}

fn changed<'h>(before: &'h [History], after: &'h [History]) -> impl Iterator<Item = (&'h History, &'h History)> {
    before.iter().zip(after).filter(|(before, after)| before.head() != after.head())
}

/// What requests have done so far.
struct Met {
    ranker: Params,
    histories: Vec<History>,
    work: Cost,
    seconds: Duration,
    guarantee: Assurance,
    privacy: Option<Accounting>,
}

impl Met {
    fn new(histories: Vec<History>) -> Self {
        let (ranker, work, seconds) = (Vec::new(), Cost::default(), Duration::ZERO);
        Self { ranker, histories, work, seconds, guarantee: Assurance::Exact, privacy: None }
    }

    /// Goes on from the histories that a request has left. Leavers have paid until they left.
    fn go_on(&mut self, after: Vec<History>, leavers: &[u32], cost: MessageCost) {
        // All changed histories prove the same: shards forget in one way.
        let proven = changed(&self.histories, &after).find_map(|(_, after)| after.guarantees().pop());
        let guarantee = std::mem::replace(&mut self.guarantee, Assurance::Exact);
        self.guarantee = guarantee.weaker(proven.unwrap_or(Assurance::Exact));
        let account = |(before, after): (&History, &History)| cost.account(before, after, leavers);
        let paid = changed(&self.histories, &after).map(account).reduce(Accounting::most);
        let paid = paid.unwrap_or_else(|| cost.account(&self.histories[0], &self.histories[0], &[]));
        self.privacy = Some(self.privacy.map_or(paid, |before| before.most(paid)));
        self.histories = after;
    }
}
