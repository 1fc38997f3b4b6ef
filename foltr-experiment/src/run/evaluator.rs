//! By what the rankers of a run are judged: held-out queries, with the labels of whoever uses the ranker.
//!
//! Where clients want different things (intents) the global ranker is worth the mean over clients of what it is worth to
//! each. A client's own ranker is judged by the client's own labels, and in a user log on its own queries.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use foltr_rank::learn::OwnRanker;
use foltr_rank::metric::WithoutRelevant;
use foltr_rank::{Params, Shape};
use foltr_simulation::click::Users;
use foltr_simulation::client_data::ClientData;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{Fold, Owners};
use foltr_simulation::partition::Needs;
use rayon::prelude::*;

use crate::evaluate::Evaluator;
use crate::partition::AssignedData;
use crate::spec::{Experiment, Measures, Metric, Split};

/// Judges the rankers of one run.
pub(super) struct RunEvaluator<'a> {
    splits: Vec<SplitJudge<'a>>,
    metrics: Vec<Metric>,
    clients: Option<Clients<'a>>,
}

/// All queries of a split, once for each group of clients.
pub(super) struct SplitJudge<'a> {
    pub(super) split: Split,
    groups: Vec<Evaluator<'a>>,
    /// Share of clients in each group.
    shares: Vec<f64>,
    /// Queries of each client, where clients have queries of their own.
    own_queries: Option<Vec<Vec<usize>>>,
}

/// Clients that differ in what they want or search for.
struct Clients<'a> {
    partition: &'a ClientData,
    n_clients: u32,
}

impl<'a> RunEvaluator<'a> {
    /// Of a run on this fold.
    ///
    /// # Errors
    /// If the fold does not have what the experiment wants to evaluate on.
    pub(super) fn new(
        experiment: &Experiment,
        fold: &'a Fold,
        held: Option<&'a AssignedData>,
        users: Option<&'a Users>,
    ) -> Result<Self> {
        let folds = held.map_or(std::slice::from_ref(fold), |held| held.groups.as_slice());
        let n_clients = experiment.clients.as_ref().map_or(1, |clients| clients.n_clients as u32);
        // Only there is client c the user with number c.
        let has_users = experiment.partition.is_some_and(|partition| partition.needs() == Some(Needs::Users));
        let differ = folds.len() > 1 || has_users || experiment.personalisation.is_some();
        let clients = held.filter(|_| differ).map(|held| Clients { partition: &held.clients, n_clients });
        let mut shares = vec![0.0; folds.len()];
        match &clients {
            Some(Clients { partition, .. }) if folds.len() > 1 => {
                let each = 1.0 / f64::from(n_clients);
                (0..n_clients).for_each(|client| shares[partition.holding(client).group as usize] += each);
            }
            _ => shares[0] = 1.0,
        }
        let measures = &experiment.metrics;
        let of_split = |&split: &Split| SplitJudge::new(split, measures, folds, shares.clone(), users, has_users);
        let splits = measures.evaluate_on.iter().map(of_split).collect::<Result<_>>()?;
        Ok(Self { splits, metrics: measures.offline.clone(), clients })
    }

    pub(super) fn splits(&self) -> &[SplitJudge<'a>] {
        &self.splits
    }

    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Which group a client belongs to.
    pub(super) fn group(&self, client: u32) -> u32 {
        self.clients.as_ref().map_or(0, |clients| clients.partition.holding(client).group)
    }

    /// Every metric by client, on a split, of the ranker that `ranker` names for each client. Nothing if clients do not
    /// differ.
    pub(super) fn by_client(
        &self,
        split: &SplitJudge<'_>,
        ranker: impl Fn(u32) -> OwnRanker + Sync,
    ) -> Option<Vec<Vec<f64>>> {
        let clients = self.clients.as_ref()?;
        Some(match &split.own_queries {
            Some(queries) => {
                let of_client = |client: u32| {
                    let OwnRanker { shape, params } = ranker(client);
                    split.groups[0].over(shape, &params, &queries[client as usize])
                };
                (0..clients.n_clients).into_par_iter().map(of_client).collect()
            }
            None => clients.by_group(split, ranker),
        })
    }
}

impl Clients<'_> {
    /// Clients of one group with equal rankers are judged together.
    fn by_group(&self, split: &SplitJudge<'_>, ranker: impl Fn(u32) -> OwnRanker) -> Vec<Vec<f64>> {
        let mut known: HashMap<(u32, Vec<u32>), usize> = HashMap::new();
        let mut distinct: Vec<(u32, OwnRanker)> = Vec::new();
        let number_of = |client: u32| {
            let (group, own) = (self.partition.holding(client).group, ranker(client));
            let bits = own.params.iter().map(|param| param.to_bits()).collect();
            *known.entry((group, bits)).or_insert_with(|| {
                distinct.push((group, own));
                distinct.len() - 1
            })
        };
        let numbers: Vec<usize> = (0..self.n_clients).map(number_of).collect();
        let mut values = vec![Vec::new(); distinct.len()];
        for (group, evaluator) in (0..).zip(&split.groups) {
            let members = || distinct.iter().enumerate().filter(move |(_, (of, _))| *of == group);
            let models: Vec<Params> = members().map(|(_, (_, own))| own.params.clone()).collect();
            let Some((_, (_, first))) = members().next() else { continue };
            let judged = evaluator.evaluate(first.shape, &models);
            members().zip(judged).for_each(|((i, _), judged)| values[i] = judged);
        }
        numbers.into_iter().map(|number| values[number].clone()).collect()
    }
}

impl<'a> SplitJudge<'a> {
    fn new(
        split: Split,
        measures: &Measures,
        folds: &'a [Fold],
        shares: Vec<f64>,
        users: Option<&'a Users>,
        has_users: bool,
    ) -> Result<Self> {
        let group = |fold: &'a Fold| evaluator(split, measures, fold, users);
        let groups = folds.iter().map(group).collect::<Result<_>>()?;
        let owners = folds[0].owners.as_ref().filter(|_| has_users);
        let own_queries = owners.map(|owners| queries_by_user(owners, split));
        Ok(Self { split, groups, shares, own_queries })
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
    Ok(Evaluator::new(data, &measures.offline, without, users, measures.list_length))
}
