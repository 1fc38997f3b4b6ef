//! `summary.json`: what an experiment's runs say together.
//!
//! Online performance is sum over rounds of .9995^round times the round's mean nDCG, rounds from 0: what all published
//! numbers are (spec section 3), though the papers' formula discounts by interaction.

use std::collections::BTreeMap;

use foltr_rank::metric::{ONLINE_DISCOUNT, online_performance};
use serde::Serialize;

use crate::rows::{MetricName, Row, RunOutcome};
use crate::spec::Experiment;
use crate::statistics::Estimate;

/// All rows of one run, with its outcome.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// In the order in which the run wrote them.
    pub rows: Vec<Row>,
    /// How it ended.
    pub outcome: RunOutcome,
}

/// What the runs of one experiment say together.
#[derive(Clone, Debug, Serialize)]
pub struct Summary<'a> {
    /// The experiment with every default filled in.
    pub experiment: &'a Experiment,
    /// Rounds of a complete run; 0 for an offline baseline.
    pub n_rounds: usize,
    /// Complete runs, which all numbers below are over.
    pub n_runs: usize,
    /// Runs that were stopped before their last round; they count nowhere.
    pub n_interrupted: usize,
    /// Every offline metric of the final ranker, by name.
    #[serde(rename = "final")]
    pub final_values: BTreeMap<String, Estimate>,
    /// How good the lists were that users saw; none for an offline baseline.
    pub online: Option<Online>,
    /// Simulated interactions of all runs.
    pub n_interactions: u64,
    /// Training time of all runs, without evaluation.
    pub training_seconds: f64,
    /// The one divided by the other, for a run that may share its processor with others.
    pub interactions_per_second: Option<f64>,
}

/// How good the lists were that users saw while the ranker learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Online {
    /// Cut-off of the nDCG.
    pub cutoff: usize,
    /// Plain mean over rounds of the mean nDCG.
    pub mean_ndcg: Estimate,
    /// Discounted sum over rounds.
    pub discounted_sum: Estimate,
    /// The discount of one round.
    pub discount: f64,
}

impl<'a> Summary<'a> {
    /// Of the runs of one experiment.
    pub fn of(experiment: &'a Experiment, runs: &[RunRecord]) -> Self {
        let complete: Vec<&RunRecord> = runs.iter().filter(|run| !run.outcome.interrupted).collect();
        let n_interactions = complete.iter().map(|run| run.outcome.n_interactions).sum();
        let training_seconds: f64 = complete.iter().map(|run| run.outcome.training_seconds).sum();
        Self {
            experiment,
            n_rounds: experiment.schedule().map_or(0, |schedule| schedule.n_rounds),
            n_runs: complete.len(),
            n_interrupted: runs.len() - complete.len(),
            final_values: final_values(&complete),
            online: online(experiment.metrics.cutoff, &complete),
            n_interactions,
            training_seconds,
            interactions_per_second: (n_interactions > 0 && training_seconds > 0.0)
                .then(|| n_interactions as f64 / training_seconds),
        }
    }
}

/// The last value of every offline metric in every run, over runs.
fn final_values(runs: &[&RunRecord]) -> BTreeMap<String, Estimate> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        let mut last: BTreeMap<MetricName, &Row> = BTreeMap::new();
        for row in run.rows.iter().filter(|row| matches!(row.metric, MetricName::Offline(..))) {
            let newest = last.entry(row.metric).or_insert(row);
            if row.round >= newest.round {
                *newest = row;
            }
        }
        for (metric, row) in last {
            values.entry(metric.to_string()).or_default().push(row.value);
        }
    }
    values.into_iter().filter_map(|(metric, values)| Some((metric, Estimate::of(&values)?))).collect()
}

fn online(cutoff: usize, runs: &[&RunRecord]) -> Option<Online> {
    let (mut means, mut sums) = (Vec::new(), Vec::new());
    for run in runs {
        let shown: Vec<f64> =
            run.rows.iter().filter(|row| row.metric == MetricName::OnlineNdcg(cutoff)).map(|row| row.value).collect();
        if !shown.is_empty() {
            means.push(shown.iter().sum::<f64>() / shown.len() as f64);
            sums.push(online_performance(&shown));
        }
    }
    Some(Online {
        cutoff,
        mean_ndcg: Estimate::of(&means)?,
        discounted_sum: Estimate::of(&sums)?,
        discount: ONLINE_DISCOUNT,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Metric, Split};

    fn run(seed: u64, value: f64, n_rounds: usize, interrupted: bool) -> RunRecord {
        let offline = MetricName::Offline(Split::Test, Metric::Ndcg(10));
        let rows = (1..=n_rounds).flat_map(|round| {
            [
                Row { fold: 1, seed, round, metric: MetricName::OnlineNdcg(10), value },
                Row { fold: 1, seed, round, metric: offline, value: value + round as f64 },
            ]
        });
        let outcome = RunOutcome { params: vec![], n_interactions: 10, training_seconds: 0.5, interrupted };
        RunRecord { rows: rows.collect(), outcome }
    }

    #[test]
    fn a_constant_online_value_gives_the_published_sum_of_discounts() {
        // Spec section 3: .8 in each of 10,000 rounds is 1589.2328.
        let run = run(1, 0.8, 10_000, false);
        let online = online(10, &[&run]).expect("one run");
        assert!((online.discounted_sum.mean - 1589.2328).abs() < 1e-4, "{}", online.discounted_sum.mean);
        assert!((online.mean_ndcg.mean - 0.8).abs() < 1e-12);
    }

    #[test]
    fn the_final_value_is_the_last_round_of_complete_runs() {
        let experiment = crate::demo::experiments(1, 8000).remove(0).experiment;
        let runs = [run(1, 0.25, 3, false), run(2, 0.75, 3, false), run(3, 100.0, 2, true)];
        let summary = Summary::of(&experiment, &runs);
        assert_eq!((summary.n_runs, summary.n_interrupted), (2, 1));
        assert_eq!(summary.final_values["test-ndcg@10"].mean, 3.5);
        assert_eq!(summary.interactions_per_second, Some(20.0));
    }
}
