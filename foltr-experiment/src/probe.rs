//! What the runs of a grid will cost, from a few rounds of each kind of setting.

mod networks;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use foltr_rank::learn::CentralisedPdgd;
use foltr_rank::row_stride;
use foltr_simulation::datasets::Fold;

use crate::evaluate::SNAPSHOTS;
use crate::execute::{DataCache, Plan};
use crate::job::Job;
use crate::run::{RunInput, run_job};
use crate::spec::{Asynchrony, ClickModel, Evaluate, Experiment, Learner};

/// Interactions that a probe simulates at most, unless one round has more.
const INTERACTIONS: usize = 20_000;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// On one thread.
    pub seconds: f64,
    /// Besides the data.
    pub bytes: usize,
}

/// The cost of a run of every setting. Settings that differ only in what does not matter share a probe.
pub fn probe(plan: &Plan, collections: &DataCache) -> Result<Vec<Cost>> {
    let mut known: HashMap<String, Rates> = HashMap::new();
    let mut costs = Vec::new();
    for (i, setting) in plan.grid.settings.iter().enumerate() {
        if let Some(mimic) = setting.experiment.mimic() {
            let fold = plan.jobs.iter().find(|job| job.setting == i).map_or(1, |job| job.fold);
            let seconds = networks::seconds(mimic, collections.store(mimic)?, fold)?;
            costs.push(Cost { seconds, bytes: 0 });
            continue;
        }
        let experiment = setting.experiment.training();
        let with_fold = experiment.and_then(|it| Some((it, collections.all_folds(&it.data).next()?)));
        let Some((experiment, fold)) = with_fold else {
            costs.push(Cost::default());
            continue;
        };
        let rates = match known.entry(kind_of(experiment)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(Rates::measure(experiment, fold)?),
        };
        costs.push(rates.cost(experiment, fold));
    }
    Ok(costs)
}

/// Seconds of jobs on one thread. Equal settings run once, and methods of unlearning share their training.
pub fn seconds<'a>(jobs: impl IntoIterator<Item = &'a Job>, costs: &[Cost]) -> f64 {
    let mut trainings = HashSet::new();
    let trained = jobs.into_iter().filter(|job| trainings.insert(job.parent().unwrap_or(&job.key)));
    trained.map(|job| costs[job.setting].seconds).sum()
}

/// What decides about the speed of a setting.
fn kind_of(experiment: &Experiment) -> String {
    let metrics = (&experiment.metrics.offline, &experiment.metrics.evaluate_on);
    let users = experiment.users.as_ref().map(ClickModel::name);
    let (learner, privacy) = (experiment.learner.name(), experiment.privacy.name());
    let Experiment { data, partition, ranker, personalisation, asynchrony, adoption, .. } = experiment;
    let Experiment { attack, defence, history, .. } = experiment;
    let sections = (data, partition, ranker, personalisation, asynchrony, adoption, attack, defence, history);
    format!("{sections:?} {users:?} {learner} {privacy} {metrics:?}")
}

/// Seconds for one interaction and for one evaluated ranker.
#[derive(Clone, Copy, Debug)]
struct Rates {
    interaction: f64,
    evaluation: f64,
}

impl Rates {
    fn measure(experiment: &Experiment, fold: &Fold) -> Result<Self> {
        let short = shortened(experiment);
        let started = Instant::now();
        let seed = experiment.seeds.first().copied().unwrap_or(1);
        let never = AtomicBool::new(false);
        let outcome = run_job(&RunInput::new(&short, fold, seed, &never), &|_| {}, &mut |_| {})?;
        let total = started.elapsed().as_secs_f64();
        let n_rounds = short.schedule().map_or(0, |schedule| schedule.n_rounds);
        let n_evaluated = short.metrics.evaluate.count(n_rounds).max(1);
        let evaluation = (total - outcome.training_seconds) / n_evaluated as f64;
        if outcome.n_interactions == 0 {
            return Ok(Self { interaction: 0.0, evaluation: total });
        }
        Ok(Self { interaction: outcome.training_seconds / outcome.n_interactions as f64, evaluation })
    }

    fn cost(&self, experiment: &Experiment, fold: &Fold) -> Cost {
        let n_features = fold.train.n_features();
        let n_params = experiment.ranker.map_or(n_features, |ranker| ranker.shape(n_features).n_params());
        // Snapshots that wait to be evaluated, the model, its step, its optimiser and one client's copy.
        let bytes = (SNAPSHOTS + 8) * n_params * size_of::<f32>();
        let Some(schedule) = experiment.schedule() else {
            return Cost { seconds: self.evaluation, bytes };
        };
        // Messages that are on their way, and versions that naive averaging must remember.
        let n_stored = match experiment.asynchrony {
            None => 0,
            Some(Asynchrony::Buffered(_)) => schedule.n_clients,
            Some(Asynchrony::Naive(naive)) => {
                schedule.n_clients + (naive.max_staleness as usize).min(schedule.n_rounds * schedule.n_clients)
            }
        };
        let bytes = bytes + (n_stored * n_params + values_of_clients(experiment, n_features)) * size_of::<f32>();
        let n_evaluated = experiment.metrics.evaluate.count(schedule.n_rounds);
        let seconds = self.interaction * schedule.n_interactions() as f64 + self.evaluation * n_evaluated as f64;
        Cost { seconds, bytes }
    }
}

/// Values that clients store from round to round, and the models of clusters.
fn values_of_clients(experiment: &Experiment, n_features: usize) -> usize {
    if let (Some(rule), Some(clients)) = (experiment.adoption, &experiment.clients) {
        let per_list = experiment.metrics.list_length * row_stride(n_features);
        return clients.n_clients * rule.lists as usize * per_list;
    }
    let (Some(method), Some(ranker), Some(clients)) =
        (experiment.personalisation, experiment.ranker, &experiment.clients)
    else {
        return 0;
    };
    let shape = ranker.shape(n_features);
    clients.n_clients * method.state_len(shape) + method.n_clusters() * shape.n_params()
}

/// The same experiment with as many rounds as a moment has.
fn shortened(experiment: &Experiment) -> Experiment {
    let mut short = Experiment { unlearning: None, ..experiment.clone() };
    let Some(schedule) = experiment.schedule() else { return short };
    // Not fewer than are evaluated together, if a round is small.
    let n_rounds = (INTERACTIONS / schedule.interactions_per_round().max(1)).clamp(1, SNAPSHOTS - 1);
    let n_rounds = n_rounds.min(schedule.n_rounds);
    if let Some(federation) = &mut short.federation {
        (federation.rounds, federation.budget) = (Some(n_rounds), None);
    }
    if let Learner::CentralisedPdgd(CentralisedPdgd { budget, interactions_per_round, .. }) = &mut short.learner {
        *budget = n_rounds * *interactions_per_round;
    }
    short.metrics.evaluate = Evaluate::EveryRound;
    short
}
