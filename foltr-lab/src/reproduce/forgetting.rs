//! A federation that is trained once and asked to forget in several ways, for studies that need more of a run than its
//! rows: parameters, and what each way took.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use foltr_federation::{Assurance, History, Keeping, Unlearning};
use foltr_rank::Params;
use foltr_simulation::federation_run::{FederationRun, FederationSettings};
use foltr_simulation::unlearning::{Cost, Request, UnlearningRun};
use serde::{Deserialize, Serialize};

use super::Interrupted;
use super::each::Task;
use crate::evaluate::Evaluator;
use crate::run::Stage;
use crate::spec::Metric;

/// A federation, before it is trained.
pub struct Federation<'a> {
    pub stage: &'a Stage,
    pub settings: FederationSettings,
    keeping: Keeping,
    evaluator: Evaluator<'a>,
    stop: &'a AtomicBool,
}

/// A federation after its last round.
pub struct Trained {
    pub ranker: Params,
    pub history: History,
    pub price: Price,
}

/// What something took, with one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub local_steps: u64,
    pub messages: u64,
    pub bytes: u64,
    pub seconds: f64,
}

/// What is left after a request.
pub struct Forgot {
    pub params: Params,
    pub guarantee: Assurance,
    pub price: Price,
    /// Rankers on the way, without the last.
    pub course: Vec<Params>,
    /// Mean nDCG of the lists shown in each round.
    pub online: Vec<f64>,
}

impl Price {
    pub fn of(cost: Cost, seconds: f64) -> Self {
        Self { local_steps: cost.local_steps, messages: cost.messages, bytes: cost.bytes, seconds }
    }
}

impl<'a> Federation<'a> {
    /// That of a task, on a stage that was made for it.
    pub fn new(task: &Task<'a>, stage: &'a Stage) -> Result<Self> {
        let experiment = &task.setting.experiment;
        let measures = &experiment.metrics;
        let without = measures.queries_without_relevant;
        Ok(Self {
            stage,
            settings: stage.settings(experiment, task.seed)?,
            keeping: experiment.keeping().context("an experiment that keeps something")?,
            evaluator: Evaluator::new(&task.fold.test, &[Metric::Ndcg(10)], without, None, measures.list_length),
            stop: task.stop,
        })
    }

    /// The same federation without some of its clients, from the beginning.
    pub fn without(&self, clients: &[u32]) -> FederationSettings {
        let mut absent = [self.settings.absent.as_slice(), clients].concat();
        absent.sort_unstable();
        FederationSettings { absent, ..self.settings.clone() }
    }

    /// Trains with these settings.
    pub fn train(&self, settings: &FederationSettings) -> Result<Trained> {
        let started = Instant::now();
        let run = FederationRun::new(settings.clone(), &self.stage.held.partition)?;
        let mut run = run.with_history(self.keeping, self.stage.fingerprint)?;
        for _ in 0..self.stage.n_rounds {
            self.go_on()?;
            run.round()?;
        }
        let cost = Cost::of(self.stage.n_rounds as u32, run.effort(), run.rule().kind(), self.stage.initial.len());
        let (ranker, price) = (run.ranker(), Price::of(cost, started.elapsed().as_secs_f64()));
        Ok(Trained { ranker, history: run.into_history().context("a history was asked for")?, price })
    }

    /// Asks a trained federation to forget. Of the way there about so many rankers are kept.
    pub fn forget(&self, trained: &Trained, method: &Unlearning, leavers: &[u32], n_watched: usize) -> Result<Forgot> {
        let partition = &self.stage.held.partition;
        let request = Request { settings: &self.settings, partition, history: &trained.history, leavers };
        let started = Instant::now();
        let mut run = UnlearningRun::new(method, &request)?;
        let stride = (run.n_rounds() as usize).div_ceil(n_watched.max(1)).max(1);
        let (mut course, mut online, mut round) = (Vec::new(), Vec::new(), 0_usize);
        while let Some(tally) = run.round()? {
            self.go_on()?;
            round += 1;
            if tally.n_clients > 0 {
                online.push(tally.ndcg / tally.n_clients as f64);
            }
            if n_watched > 0 && round.is_multiple_of(stride) {
                course.push(run.ranker());
            }
        }
        let unlearned = run.finish();
        let price = Price::of(unlearned.cost, started.elapsed().as_secs_f64());
        Ok(Forgot { params: unlearned.params, guarantee: unlearned.guarantee, price, course, online })
    }

    /// nDCG@10 of rankers on test queries.
    pub fn quality(&self, rankers: &[Params]) -> Vec<f64> {
        self.evaluator.evaluate(self.stage.shape, rankers).into_iter().map(|values| values[0]).collect()
    }

    fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
    }
}
