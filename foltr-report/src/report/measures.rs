//! What the tables and figures of a report are about: metrics with a course, and one number a run.

use std::cmp::Reverse;

use super::Results;
use crate::distinct;
use crate::expect::At;
use crate::statistics::Estimate;
use foltr_experiment::rows::MetricName;

/// A number that each run has once: a column of the tables.
pub struct Measure {
    pub name: String,
    pub metric: MetricName,
    pub at: At,
    /// Of the lists that users saw on the way, not of the final ranker.
    pub is_online: bool,
    pub less_is_better: bool,
}

impl Measure {
    pub fn values(&self, results: &Results, setting: usize) -> Vec<f64> {
        results.runs_of(setting).filter_map(|run| self.at.of(run, self.metric)).collect()
    }

    pub fn estimates(&self, results: &Results) -> Vec<Option<Estimate>> {
        (0..results.grid.settings.len()).map(|setting| Estimate::of(&self.values(results, setting))).collect()
    }
}

/// All metrics of all settings: test, validation, training queries, then what users saw.
pub fn metrics(results: &Results) -> Vec<MetricName> {
    let mut metrics = distinct((0..results.grid.settings.len()).flat_map(|setting| results.metrics(setting)));
    metrics.sort_by_key(|&metric| match metric {
        MetricName::Offline(split, _) => (0, Reverse(Some(split)), metric),
        _ => (1, Reverse(metric.split()), metric),
    });
    metrics
}

pub fn measures(results: &Results) -> Vec<Measure> {
    let measure = |name: String, metric: MetricName, at: At| {
        let is_online = at != At::Final;
        let less_is_better = match metric {
            MetricName::WorseOff(..)
            | MetricName::SimulatedTime
            | MetricName::RefusedMessages
            | MetricName::DroppedSteps => !is_online,
            MetricName::AttackerShare => is_online,
            _ => false,
        };
        Measure { name, metric, at, is_online, less_is_better }
    };
    // Of what goes on growing the end is shown, not the mean.
    let is_final = |metric: &MetricName| {
        metric.split().is_some()
            || matches!(
                metric,
                MetricName::SimulatedTime
                    | MetricName::PromotionRank
                    | MetricName::RefusedMessages
                    | MetricName::DroppedSteps
            )
    };
    let (offline, online): (Vec<MetricName>, Vec<MetricName>) = metrics(results).into_iter().partition(is_final);
    let offline = offline.into_iter().map(|metric| measure(metric.to_string(), metric, At::Final));
    let sums = online.iter().filter(|metric| matches!(metric, MetricName::OnlineNdcg(_)));
    let sums = sums.map(|&metric| measure("online nDCG, discounted sum".into(), metric, At::DiscountedSum));
    let means = online.iter().map(|&metric| measure(format!("{metric}, mean"), metric, At::Part(0.0, 1.0)));
    offline.chain(sums).chain(means).collect()
}
