//! `summary.json`: what the runs of every setting say together.
//!
//! Online performance is sum over rounds of .9995^round times the round's mean nDCG, rounds from 0: what all published
//! numbers are (spec section 3). The papers' formula, which discounts by interaction, stands beside it. Nothing here depends on time or
//! machine: the same results are the same bytes, in however many pieces they were computed.

use std::collections::BTreeMap;

use foltr_rank::metric::ONLINE_DISCOUNT;
use serde::Serialize;

use crate::expect::At;
use crate::statistics::Estimate;
use foltr_experiment::grid::AnyExperiment;
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;

#[derive(Clone, Debug, Serialize)]
pub struct Summary<'a> {
    pub axes: Vec<String>,
    pub settings: Vec<SettingSummary<'a>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SettingSummary<'a> {
    pub labels: BTreeMap<&'a str, &'a str>,
    /// 0 for an offline baseline.
    pub n_rounds: usize,
    pub n_runs: usize,
    /// Every offline metric of the final ranker.
    #[serde(rename = "final")]
    pub final_values: BTreeMap<String, Estimate>,
    /// None for an offline baseline.
    pub online: Option<Online>,
    pub experiment: &'a AnyExperiment,
}

/// How good the lists were that users saw while the ranker learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Online {
    pub cutoff: usize,
    pub mean_ndcg: Estimate,
    /// None where rows are means over several rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discounted_sum: Option<Estimate>,
    /// Discounted by interaction instead of by round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discounted_by_interaction: Option<Estimate>,
    pub discount: f64,
}

impl<'a> Summary<'a> {
    pub fn of(results: &'a Results) -> Self {
        let settings = (0..results.grid.settings.len()).map(|setting| SettingSummary::of(results, setting));
        Self { axes: results.grid.axes(), settings: settings.collect() }
    }
}

impl<'a> SettingSummary<'a> {
    pub fn of(results: &'a Results, setting: usize) -> Self {
        let about = &results.grid.settings[setting];
        let offline = results.metrics(setting).into_iter().filter(|metric| metric.split().is_some());
        let last = |metric: MetricName| Some((metric.to_string(), estimate(results, setting, metric, &At::Final)?));
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

fn estimate(results: &Results, setting: usize, metric: MetricName, at: &At) -> Option<Estimate> {
    Estimate::of(&results.runs_of(setting).filter_map(|run| at.of(run, metric)).collect::<Vec<f64>>())
}

fn online(results: &Results, setting: usize) -> Option<Online> {
    let cutoff = results.grid.settings[setting].training().ok()?.metrics.cutoff;
    let estimate = |at: &At| estimate(results, setting, MetricName::OnlineNdcg(cutoff), at);
    Some(Online {
        cutoff,
        mean_ndcg: estimate(&At::Part(0.0, 1.0))?,
        discounted_sum: estimate(&At::DiscountedSum),
        discounted_by_interaction: estimate(&At::DiscountedByInteraction),
        discount: ONLINE_DISCOUNT,
    })
}
