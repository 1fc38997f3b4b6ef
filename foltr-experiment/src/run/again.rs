//! The ranker of a finished run, evaluated as the run itself did it.

use anyhow::Result;
use foltr_simulation::click::Users;
use foltr_simulation::datasets::Fold;

use super::evaluator::RunEvaluator;
use crate::model::Model;
use crate::partition::assign_data;
use crate::spec::{Experiment, Metric, Split};

/// What a ranker is worth on the queries of one split.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitValues {
    pub split: Split,
    pub means: Vec<(Metric, f64)>,
    pub query_ids: Vec<String>,
    /// The values of each query by metric, nothing where it does not enter the mean.
    pub by_query: Vec<Vec<Option<f64>>>,
}

/// Evaluates a ranker on the splits, by the metrics and with the clients of an experiment. The values are those of the
/// rows that a run writes about the same ranker.
pub fn evaluate_again(experiment: &Experiment, fold: &Fold, seed: u64, model: &Model) -> Result<Vec<SplitValues>> {
    let users = experiment.users.as_ref().map(|users| users.build(fold.max_label())).transpose()?;
    let any_user = users.as_deref().map(Users::any_of);
    let assigned = match users {
        Some(users) if experiment.schedule().is_some() => Some(assign_data(experiment, fold, users, seed)?),
        _ => None,
    };
    let evaluator = RunEvaluator::new(experiment, fold, assigned.as_ref(), any_user.as_ref())?;
    let mut all = Vec::new();
    for split in &evaluator.splits {
        let by_query = split.by_query(model.shape, &model.params);
        let (query_ids, by_query) = by_query.into_iter().map(|(query, values)| (query.to_owned(), values)).unzip();
        let means = split.global(model.shape, std::slice::from_ref(&model.params)).into_iter().flatten();
        all.push(SplitValues {
            split: split.split,
            means: evaluator.metrics.iter().copied().zip(means).collect(),
            query_ids,
            by_query,
        });
    }
    Ok(all)
}
