//! What the tables and figures of a report are about: metrics with a course, and one number a run.

use std::cmp::Reverse;

use super::Results;
use crate::distinct;
use crate::expect::{At, Basis};
use crate::names::name_of;
use crate::statistics::Estimate;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::Split;

/// A number that each run has once: a column of the tables.
#[derive(Clone, Debug)]
pub struct Measure {
    pub name: String,
    pub metric: MetricName,
    pub at: At,
    pub group: Group,
    pub less_is_better: bool,
}

/// Which table a measure stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    HeldOut,
    TrainingQueries,
    /// Of the lists that users saw on the way.
    Online,
    TimeAndMessages,
}

impl Measure {
    pub fn values(&self, results: &Results, setting: usize) -> Vec<f64> {
        results.runs_of(setting).filter_map(|run| self.at.of(run, self.metric)).collect()
    }

    pub fn estimates(&self, results: &Results) -> Vec<Option<Estimate>> {
        (0..results.grid.settings.len()).map(|setting| Estimate::of(&self.values(results, setting))).collect()
    }

    pub fn basis(&self, results: &Results, setting: usize) -> Basis {
        self.at.basis(results, setting)
    }

    /// Bases of all settings that have the number; with more than one, not all can be compared.
    pub fn bases(&self, results: &Results, estimates: &[Option<Estimate>]) -> Vec<Basis> {
        let measured = estimates.iter().enumerate().filter(|(_, estimate)| estimate.is_some());
        distinct(measured.map(|(setting, _)| self.basis(results, setting)))
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
    metrics(results).into_iter().flat_map(of_metric).collect()
}

/// Of rankers and of what goes on growing the end counts; of what users saw, the mean and two discounted sums.
fn of_metric(metric: MetricName) -> Vec<Measure> {
    let name = name_of(metric);
    let of = |name: String, at: At, group: Group, less_is_better| Measure { name, metric, at, group, less_is_better };
    let mean = |less_is_better| of(format!("{name}, mean"), At::Part(0.0, 1.0), Group::Online, less_is_better);
    match metric {
        MetricName::OnlineNdcg(_) => {
            let sum = |of_what: &str, at| of(format!("{name}, discounted by {of_what}"), at, Group::Online, false);
            vec![sum("round", At::DiscountedSum), sum("interaction", At::DiscountedByInteraction), mean(false)]
        }
        MetricName::SimulatedTime
        | MetricName::RefusedMessages
        | MetricName::DroppedSteps
        | MetricName::UnlearningCost(_) => {
            vec![of(name, At::Final, Group::TimeAndMessages, true)]
        }
        MetricName::PromotionRank => vec![of(name, At::Final, Group::HeldOut, false)],
        MetricName::WorseOff(..) => vec![of(name, At::Final, group_of(metric), true)],
        _ if metric.split().is_some() => vec![of(name, At::Final, group_of(metric), false)],
        _ => vec![mean(matches!(metric, MetricName::AttackerShare | MetricName::RefusedReleases))],
    }
}

fn group_of(metric: MetricName) -> Group {
    if metric.split() == Some(Split::Train) { Group::TrainingQueries } else { Group::HeldOut }
}
