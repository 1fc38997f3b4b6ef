//! Baselines that learn from labels at once.

use std::time::Instant;

use anyhow::Result;
use foltr_rank::Shape;
use foltr_simulation::click::Users;
use foltr_simulation::datasets::Fold;

use super::evaluator::{RunEvaluator, queries_of};
use super::recorder::Recorder;
use crate::baseline::{least_squares, random_ndcg, ranking_svm};
use crate::rows::{MetricName, Row, RunOutcome};
use crate::spec::{Experiment, Learner, Metric};

pub(super) fn run_baseline(experiment: &Experiment, fold: &Fold, sink: &mut dyn FnMut(Row)) -> Result<RunOutcome> {
    let users = experiment.users.as_ref().map(|users| users.build(fold.max_label())).transpose()?;
    let any_user = users.map(|users| Users::any_of(&users));
    let evaluator = RunEvaluator::new(experiment, fold, None, any_user.as_ref())?;
    let mut rows = Recorder::new(Shape::Linear { n_features: fold.train.n_features() }, evaluator, sink);
    let started = Instant::now();
    let params = match experiment.learner {
        Learner::LeastSquares(_) => Some(least_squares(&fold.train)),
        Learner::RankingSvm(svm) => Some(ranking_svm(&fold.train, svm.c)),
        Learner::Random(_) => None,
        other => anyhow::bail!("{} has no schedule: its rounds or budget are missing", other.name()),
    };
    let training_seconds = started.elapsed().as_secs_f64();
    match &params {
        Some(params) => rows.snapshot(0, params),
        None => random_ranking(experiment, fold, &mut rows)?,
    }
    rows.flush();
    let shape = rows.shape;
    let asked = params.as_ref().filter(|_| experiment.metrics.by_query);
    let queries = asked.map(|params| rows.queries(params)).unwrap_or_default();
    Ok(RunOutcome { ranker: params.map(|params| (shape, params)), queries, training_seconds, ..RunOutcome::default() })
}

fn random_ranking(experiment: &Experiment, fold: &Fold, rows: &mut Recorder<'_, '_>) -> Result<()> {
    let measures = &experiment.metrics;
    for &split in &measures.evaluate_on {
        let data = queries_of(split, fold)?;
        for &metric in &measures.offline {
            let Metric::Ndcg(k) = metric else { continue };
            let value = random_ndcg(data, k, measures.queries_without_relevant);
            rows.send(0, MetricName::Offline(split, metric), value);
        }
    }
    Ok(())
}
