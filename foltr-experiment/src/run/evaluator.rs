//! Evaluation of the rankers of a run: held-out queries, with the labels of whoever uses the ranker.
//!
//! Where clients want different things (intents) the global ranker is worth the mean over clients of what it is worth to
//! each. A client's own ranker is evaluated by the client's own labels, and in a user log on its own queries.

use anyhow::{Context, Result, bail, ensure};
use foltr_rank::learn::OwnRanker;
use foltr_rank::metric::WithoutRelevant;
use foltr_rank::{Params, Shape};
use foltr_simulation::click::Users;
use foltr_simulation::client_data::ClientData;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{Fold, Owners};
use foltr_simulation::partition::Needs;
use rayon::prelude::*;

use super::own_block::{OwnBlock, OwnRound};
use crate::evaluate::Evaluator;
use crate::partition::AssignedData;
use crate::spec::{Experiment, Measures, Metric, Split};

pub(super) struct RunEvaluator<'a> {
    pub(super) splits: Vec<SplitEvaluator<'a>>,
    pub(super) metrics: Vec<Metric>,
    /// None if clients do not differ in what they want or search for.
    partition: Option<&'a ClientData>,
    pub(super) n_clients: u32,
    /// The first clients, whose rankers do not count.
    n_attackers: usize,
}

/// All queries of a split, once for each group of clients.
pub(super) struct SplitEvaluator<'a> {
    pub(super) split: Split,
    groups: Vec<Evaluator<'a>>,
    shares: Vec<f64>,
    /// Queries of each client, where clients have queries of their own.
    own_queries: Option<Vec<Vec<usize>>>,
}

impl<'a> RunEvaluator<'a> {
    pub(super) fn new(
        experiment: &Experiment,
        fold: &'a Fold,
        client_data: Option<&'a AssignedData>,
        users: Option<&'a Users>,
    ) -> Result<Self> {
        let folds = client_data.map_or(std::slice::from_ref(fold), |data| data.groups.as_slice());
        let n_clients = experiment.clients.as_ref().map_or(1, |clients| clients.n_clients as u32);
        // Only there is client c the user with number c.
        let has_users = experiment.partition.is_some_and(|partition| partition.needs() == Some(Needs::Users));
        let differ =
            folds.len() > 1 || has_users || experiment.personalisation.is_some() || experiment.adoption.is_some();
        let partition = client_data.filter(|_| differ).map(|data| &data.clients);
        let mut shares = vec![0.0; folds.len()];
        match partition {
            Some(partition) if folds.len() > 1 => {
                let each = 1.0 / f64::from(n_clients);
                (0..n_clients).for_each(|client| shares[partition.holding(client).group as usize] += each);
            }
            _ => shares[0] = 1.0,
        }
        let measures = &experiment.metrics;
        let owners = folds[0].owners.as_ref().filter(|_| has_users);
        let of_split = |&split: &Split| -> Result<SplitEvaluator<'a>> {
            let group = |fold: &'a Fold| evaluator(split, measures, fold, users);
            let groups = folds.iter().map(group).collect::<Result<_>>()?;
            let own_queries = owners.map(|owners| queries_by_user(owners, split));
            Ok(SplitEvaluator { split, groups, shares: shares.clone(), own_queries })
        };
        let splits = measures.evaluate_on.iter().map(of_split).collect::<Result<_>>()?;
        // Who tests no releases has no model to be compared with that of others.
        let attackers = experiment.attack.filter(|_| experiment.adoption.is_some());
        let n_attackers = attackers.map_or(0, |attackers| attackers.attackers as usize);
        Ok(Self { splits, metrics: measures.offline.clone(), partition, n_clients, n_attackers })
    }

    pub(super) fn group(&self, client: u32) -> u32 {
        self.partition.map_or(0, |partition| partition.holding(client).group)
    }

    pub(super) const fn has_different_clients(&self) -> bool {
        self.partition.is_some()
    }

    /// Whose values a client shares: those of its group, or nobody's where clients have queries of their own.
    fn audience(&self, split: &SplitEvaluator<'_>, client: u32) -> u32 {
        if split.own_queries.is_some() { client } else { self.group(client) }
    }

    /// What the rankers of a block are worth on a split to the clients that use them, and global ones to all.
    pub(super) fn own_values(&self, split: &SplitEvaluator<'_>, block: &OwnBlock) -> OwnValues {
        let audiences: Vec<u32> = (0..self.n_clients).map(|client| self.audience(split, client)).collect();
        let mut uses: Vec<(u32, usize)> = Vec::new();
        for round in &block.rounds {
            uses.extend(audiences.iter().copied().zip(round.of_clients.iter().copied()));
            uses.extend(round.global.iter().flat_map(|&global| audiences.iter().map(move |&of| (of, global))));
            uses.sort_unstable();
            uses.dedup();
        }
        let of_audience = |uses: &[(u32, usize)]| split.of_audience(uses, &block.rankers);
        let parts: Vec<&[(u32, usize)]> = uses.chunk_by(|a, b| a.0 == b.0).collect();
        let values = match split.own_queries {
            Some(_) => parts.into_par_iter().map(of_audience).flatten_iter().collect(),
            None => parts.into_iter().flat_map(of_audience).collect(),
        };
        OwnValues { audiences, uses, values, n_attackers: self.n_attackers }
    }
}

/// What rankers are worth to clients on a split.
pub(super) struct OwnValues {
    /// The place of each client's labels and queries among those that are evaluated.
    audiences: Vec<u32>,
    /// Audience and ranker, in order.
    uses: Vec<(u32, usize)>,
    /// Every metric of each pair in `uses`.
    values: Vec<Vec<f64>>,
    n_attackers: usize,
}

impl OwnValues {
    fn value(&self, audience: u32, ranker: usize, metric: usize) -> f64 {
        self.uses.binary_search(&(audience, ranker)).map_or(f64::NAN, |place| self.values[place][metric])
    }

    /// A metric by client, of the rankers that they use after a round; not a number where that does not count.
    pub(super) fn own(&self, round: &OwnRound, metric: usize) -> Vec<f64> {
        let uses = self.audiences.iter().zip(&round.of_clients);
        let mut values: Vec<f64> = uses.map(|(&audience, &ranker)| self.value(audience, ranker, metric)).collect();
        values.iter_mut().take(self.n_attackers).for_each(|value| *value = f64::NAN);
        values
    }

    /// A metric by client, of the ranker of all.
    pub(super) fn global(&self, round: &OwnRound, metric: usize) -> Option<Vec<f64>> {
        let ranker = round.global?;
        Some(self.audiences.iter().map(|&audience| self.value(audience, ranker, metric)).collect())
    }
}

impl SplitEvaluator<'_> {
    /// Every metric of some rankers, in their order, to one audience.
    fn of_audience(&self, uses: &[(u32, usize)], rankers: &[OwnRanker]) -> Vec<Vec<f64>> {
        let mut values = vec![Vec::new(); uses.len()];
        let mut shapes: Vec<Shape> = Vec::new();
        for shape in uses.iter().map(|&(_, ranker)| rankers[ranker].shape) {
            if shapes.contains(&shape) {
                continue;
            }
            shapes.push(shape);
            let of_shape = || uses.iter().enumerate().filter(|(_, (_, ranker))| rankers[*ranker].shape == shape);
            let models: Vec<Params> = of_shape().map(|(_, &(_, ranker))| rankers[ranker].params.clone()).collect();
            let audience = uses[0].0 as usize;
            let evaluated = match &self.own_queries {
                Some(queries) => self.groups[0].over(shape, &models, &queries[audience]),
                None => self.groups[audience].evaluate(shape, &models),
            };
            of_shape().zip(evaluated).for_each(|((place, _), evaluated)| values[place] = evaluated);
        }
        values
    }

    /// Every metric of global rankers: the mean over clients of what each ranker is worth to them.
    pub(super) fn global(&self, shape: Shape, models: &[Params]) -> Vec<Vec<f64>> {
        if let [only] = self.groups.as_slice() {
            return only.evaluate(shape, models);
        }
        let mut means = Vec::new();
        for (evaluator, share) in self.groups.iter().zip(&self.shares) {
            let values = evaluator.evaluate(shape, models);
            means.resize(values.len(), vec![0.0; values.first().map_or(0, Vec::len)]);
            for (mean, value) in means.iter_mut().flatten().zip(values.iter().flatten()) {
                *mean += share * value;
            }
        }
        means
    }

    /// The id of every query, and every metric of a global ranker on it: the mean over clients, of groups in which the
    /// query counts. Nothing where it counts in none.
    pub(super) fn by_query(&self, shape: Shape, model: &Params) -> Vec<(&str, Vec<Option<f64>>)> {
        let groups: Vec<Vec<Vec<Option<f64>>>> = self.groups.iter().map(|it| it.by_query(shape, model)).collect();
        let value = |query: usize, metric: usize| {
            let values =
                groups.iter().zip(&self.shares).filter_map(|(group, &share)| Some((group[query][metric]?, share)));
            let (sum, shares) =
                values.fold((0.0, 0.0), |(sum, shares), (value, share)| (sum + share * value, shares + share));
            (shares > 0.0).then(|| sum / shares)
        };
        let n_metrics = |query: usize| groups[0][query].len();
        let of_query = |query: usize| (0..n_metrics(query)).map(|metric| value(query, metric)).collect();
        (0..groups[0].len()).map(|query| (self.groups[0].query_id(query), of_query(query))).collect()
    }
}

fn queries_by_user(owners: &Owners, split: Split) -> Vec<Vec<usize>> {
    let users: &[u32] = match split {
        Split::Train => &owners.train,
        // A log has none.
        Split::Validation => &[],
        Split::Test => &owners.test,
    };
    let mut queries = vec![Vec::new(); owners.n_users as usize];
    users.iter().enumerate().for_each(|(query, &user)| queries[user as usize].push(query));
    queries
}

pub(super) fn queries_of(split: Split, fold: &Fold) -> Result<&Dataset> {
    match split {
        Split::Train => Ok(&fold.train),
        Split::Validation => {
            fold.validation.as_ref().context("evaluate_on asks for validation queries, but the data has none")
        }
        Split::Test => Ok(&fold.test),
    }
}

fn evaluator<'a>(split: Split, measures: &Measures, fold: &'a Fold, users: Option<&'a Users>) -> Result<Evaluator<'a>> {
    let data = queries_of(split, fold)?;
    let without = measures.queries_without_relevant;
    let by_labels = measures.offline.iter().any(|&metric| metric != Metric::ExpectedMaxRr);
    let is_empty = (0..data.n_queries()).all(|query| !data.has_relevant(query));
    ensure!(
        !(without == WithoutRelevant::Skip && by_labels && is_empty),
        "no {} query has a relevant document, so nothing can be averaged; use queries_without_relevant = \"zero\"",
        split.name()
    );
    let undefined = measures.offline.iter().find(|metric| metric.largest_label() < data.max_label());
    if let Some(metric) = undefined {
        bail!("there is a label {}, but {metric} is defined up to {}", data.max_label(), metric.largest_label());
    }
    Ok(Evaluator::new(data, &measures.offline, without, users, measures.list_length))
}
