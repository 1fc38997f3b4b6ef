//! What the curves of a grid say: settings found by their labels, means over a part of the course, smoothed points.

use std::ops::Range;

use anyhow::{Context, Result};

use super::study::mean;
use crate::plot::{Curve, Point};
use crate::results::Results;
use crate::rows::MetricName;
use crate::statistics::Estimate;

/// More points than these cannot be seen.
const MAX_POINTS: usize = 250;

/// Users in the order of all figures.
pub(super) const USERS: [&str; 3] = ["perfect", "navigational", "informational"];

/// The setting with these labels. Axes that the grid does not have are passed over.
///
/// # Errors
/// If none or more than one setting has these labels.
pub(super) fn select(results: &Results, wanted: &[(&str, &str)]) -> Result<usize> {
    let fits = |labels: &[(String, String)]| {
        wanted.iter().all(|(axis, label)| {
            let found = labels.iter().find(|(name, _)| name == axis);
            found.is_none_or(|(_, found)| is_same(found, label))
        })
    };
    let mut found =
        results.grid.settings.iter().enumerate().filter(|(_, setting)| fits(&setting.labels)).map(|(index, _)| index);
    let first = found.next().with_context(|| format!("no setting has the labels {wanted:?}"))?;
    anyhow::ensure!(found.next().is_none(), "several settings have the labels {wanted:?}");
    Ok(first)
}

/// The same label, or the same number in other words.
fn is_same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    a == b || matches!((number(a), number(b)), (Some(a), Some(b)) if a == b)
}

/// The mean over a part of the course (as shares of its rounds), one a run.
pub(super) fn over(results: &Results, setting: usize, metric: MetricName, part: Range<f64>) -> Vec<f64> {
    let runs = by_run(results, setting, metric);
    let of_run = |values: &Vec<(usize, f64)>| {
        let n = values.len() as f64;
        let last = values.len().saturating_sub(1);
        // At least one round, however short the course.
        let start = ((part.start * n) as usize).min(last);
        let end = ((part.end * n) as usize).clamp(start + 1, values.len());
        mean(&values[start..end].iter().map(|(_, value)| *value).collect::<Vec<_>>())
    };
    runs.iter().map(of_run).collect()
}

/// Rounds and values of each run.
fn by_run(results: &Results, setting: usize, metric: MetricName) -> Vec<Vec<(usize, f64)>> {
    let curve = results.curve(setting, metric);
    let n_runs = curve.values().map(Vec::len).max().unwrap_or(0);
    let of_run = |run: usize| curve.iter().filter_map(|(round, values)| Some((*round, *values.get(run)?))).collect();
    (0..n_runs).map(of_run).collect()
}

/// A curve over interactions: a moving average without padding over `window` values, with confidence intervals over
/// runs. The round before the first is left out: a ranker of zeros tells only how ties are broken.
pub(super) fn curve(results: &Results, setting: usize, metric: MetricName, window: usize, method: usize) -> Curve {
    let experiment = &results.grid.settings[setting].experiment;
    let per_round = experiment.schedule().map_or(0, |schedule| schedule.interactions_per_round());
    let rounds: Vec<(usize, Vec<f64>)> =
        results.curve(setting, metric).into_iter().filter(|(round, _)| *round > 0).collect();
    let step = rounds.len().div_ceil(MAX_POINTS).max(1);
    let window = window.max(step).clamp(1, rounds.len().max(1));
    let point = |window: &[(usize, Vec<f64>)]| {
        let n_runs = window.iter().map(|(_, values)| values.len()).min()?;
        let of_run = |run: usize| mean(&window.iter().map(|(_, values)| values[run]).collect::<Vec<_>>());
        let estimate = Estimate::of(&(0..n_runs).map(of_run).collect::<Vec<_>>())?;
        let (low, high) = estimate.confidence_interval_95.unwrap_or((estimate.mean, estimate.mean));
        let (last, _) = window.last()?;
        Some(Point { x: (last * per_round) as f64, mean: estimate.mean, low, high })
    };
    Curve { method, points: rounds.windows(window).step_by(step).filter_map(point).collect() }
}

/// A line at the same height from the left to the right: what a method without a course reaches.
pub(super) fn level(value: f64, n_interactions: f64, method: usize) -> Curve {
    let point = |x| Point { x, mean: value, low: value, high: value };
    Curve { method, points: vec![point(0.0), point(n_interactions)] }
}

/// The difference of two lists of runs that pair up: mean and confidence interval, in words.
pub(super) fn difference(a: &[f64], b: &[f64]) -> (f64, String) {
    let pairs: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let Some(estimate) = Estimate::of(&pairs) else { return (f64::NAN, "no runs".into()) };
    (estimate.mean, format!("{:+.4} ± {:.4}", estimate.mean, estimate.half_width()))
}
