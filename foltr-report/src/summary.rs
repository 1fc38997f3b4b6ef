//! `summary.json`: what the runs of every setting say together.
//!
//! Online performance is sum over rounds of .9995^round times the round's mean nDCG, rounds from 0: what all published
//! numbers are (spec section 3), though the papers' formula discounts by interaction. Nothing here depends on time or
//! machine: the same results are the same bytes, in however many pieces they were computed.

use std::collections::BTreeMap;

use foltr_rank::metric::ONLINE_DISCOUNT;
use serde::Serialize;

use crate::statistics::Estimate;
use foltr_experiment::grid::AnyExperiment;
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;

/// What the runs of all settings say.
#[derive(Clone, Debug, Serialize)]
pub struct Summary<'a> {
    /// Axes of the grid, slowest first.
    pub axes: Vec<String>,
    /// One entry a setting, in the order of the grid.
    pub settings: Vec<SettingSummary<'a>>,
}

/// What the runs of one setting say together.
#[derive(Clone, Debug, Serialize)]
pub struct SettingSummary<'a> {
    /// Its place on every axis.
    pub labels: BTreeMap<&'a str, &'a str>,
    /// Rounds of a run; 0 for an offline baseline.
    pub n_rounds: usize,
    /// Finished runs, which all numbers below are over.
    pub n_runs: usize,
    /// Every offline metric of the final ranker, by name.
    #[serde(rename = "final")]
    pub final_values: BTreeMap<String, Estimate>,
    /// How good the lists were that users saw; none for an offline baseline.
    pub online: Option<Online>,
    /// The experiment with every default filled in.
    pub experiment: &'a AnyExperiment,
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
    /// Of a result folder.
    pub fn of(results: &'a Results) -> Self {
        let settings = (0..results.grid.settings.len()).map(|setting| SettingSummary::of(results, setting));
        Self { axes: results.grid.axes(), settings: settings.collect() }
    }
}

impl<'a> SettingSummary<'a> {
    /// Of the runs of one setting.
    pub fn of(results: &'a Results, setting: usize) -> Self {
        let about = &results.grid.settings[setting];
        let offline = results.metrics(setting).into_iter().filter(|metric| metric.split().is_some());
        let last =
            |metric: MetricName| Some((metric.to_string(), Estimate::of(&results.final_values(setting, metric))?));
        Self {
            labels: about.labels.iter().map(|(axis, label)| (axis.as_str(), label.as_str())).collect(),
            n_rounds: about.experiment.schedule().map_or(0, |schedule| schedule.n_rounds),
            n_runs: results.runs_of(setting).count(),
            final_values: offline.filter_map(last).collect(),
            online: online(results, setting),
            experiment: &about.experiment,
        }
    }
}

fn online(results: &Results, setting: usize) -> Option<Online> {
    let cutoff = results.grid.settings[setting].training().ok()?.metrics.cutoff;
    let metric = MetricName::OnlineNdcg(cutoff);
    let means: Vec<f64> = results
        .runs_of(setting)
        .filter_map(|run| {
            let shown = || run.rows.iter().filter(|row| row.metric == metric).map(|row| row.value);
            let n = shown().count();
            (n > 0).then(|| shown().sum::<f64>() / n as f64)
        })
        .collect();
    Some(Online {
        cutoff,
        mean_ndcg: Estimate::of(&means)?,
        discounted_sum: Estimate::of(&results.online(setting))?,
        discount: ONLINE_DISCOUNT,
    })
}
