//! What the curves of a grid say: settings found by their labels, means over a part of the course, smoothed points.

use std::ops::Range;

use anyhow::{Context, Result};

use super::study::mean;
use crate::plot::Point;
use crate::results::Results;
use crate::rows::MetricName;
use crate::statistics::{Estimate, Smoothing};

/// More points than these cannot be seen.
const MAX_POINTS: usize = 250;

/// Users in the order of all figures.
pub(super) const USERS: [&str; 3] = ["perfect", "navigational", "informational"];

/// The whole of a course.
pub(super) const WHOLE: Range<f64> = 0.0..1.0;

/// The last tenth of a course.
pub(super) const END: Range<f64> = 0.9..1.0;

/// The setting with these labels. Axes that the grid does not have are passed over.
///
/// # Errors
/// If none or more than one setting has these labels.
pub(super) fn select(results: &Results, wanted: &[(&str, &str)]) -> Result<usize> {
    let settings = results.grid.settings.iter().enumerate();
    let mut found = settings.filter(|(_, setting)| {
        wanted.iter().all(|(axis, label)| setting.label(axis).is_none_or(|found| is_same(found, label)))
    });
    let (first, _) = found.next().with_context(|| format!("no setting has the labels {wanted:?}"))?;
    anyhow::ensure!(found.next().is_none(), "several settings have the labels {wanted:?}");
    Ok(first)
}

/// The same label, or the same number in other words.
fn is_same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    a == b || matches!((number(a), number(b)), (Some(a), Some(b)) if a == b)
}

/// Rounds and values of each run, of all folds or of one.
fn by_run(results: &Results, setting: usize, metric: MetricName, fold: Option<usize>) -> Vec<Vec<(usize, f64)>> {
    let runs = results.runs_of(setting).filter(|run| fold.is_none_or(|fold| run.fold == fold));
    let of_metric = |run: &crate::results::Run| {
        run.rows.iter().filter(|row| row.metric == metric).map(|row| (row.round, row.value)).collect()
    };
    runs.map(of_metric).collect()
}

/// The mean over a part of the course (as shares of its rounds), one a run.
pub(super) fn over(results: &Results, setting: usize, metric: MetricName, part: Range<f64>) -> Vec<f64> {
    let of_run = |values: &Vec<(usize, f64)>| {
        let n = values.len() as f64;
        // At least one round, however short the course.
        let start = ((part.start * n) as usize).min(values.len().saturating_sub(1));
        let end = ((part.end * n) as usize).clamp(start + 1, values.len().max(start + 1));
        mean(&values.get(start..end).unwrap_or_default().iter().map(|(_, value)| *value).collect::<Vec<_>>())
    };
    by_run(results, setting, metric, None).iter().map(of_run).collect()
}

/// A curve over interactions, smoothed, with confidence intervals over the runs of all folds or of one.
///
/// The ranker before the first round is left out: its zeros tell only how ties are broken.
pub(super) fn points(
    results: &Results,
    setting: usize,
    metric: MetricName,
    smoothing: Smoothing,
    fold: Option<usize>,
) -> Vec<Point> {
    let schedule = results.grid.settings[setting].experiment.schedule();
    let per_round = schedule.map_or(0, |schedule| schedule.interactions_per_round());
    let smooth = |run: &Vec<(usize, f64)>| {
        let course: Vec<(f64, f64)> = run
            .iter()
            .filter(|(round, _)| *round > 0)
            .map(|(round, value)| ((round * per_round) as f64, *value))
            .collect();
        // A long course is thinned out; what lies between two points goes into the later one.
        let step = course.len().div_ceil(MAX_POINTS).max(1);
        let smoothing = if step > smoothing.window() { Smoothing::Window(step) } else { smoothing };
        smoothing.smooth(&course).into_iter().step_by(step).collect::<Vec<_>>()
    };
    let runs: Vec<Vec<(f64, f64)>> = by_run(results, setting, metric, fold).iter().map(smooth).collect();
    let n_points = runs.iter().map(Vec::len).min().unwrap_or(0);
    let point = |idx: usize| {
        let estimate = Estimate::of(&runs.iter().map(|run| run[idx].1).collect::<Vec<_>>())?;
        let (low, high) = estimate.confidence_interval_95.unwrap_or((estimate.mean, estimate.mean));
        Some(Point { x: runs[0][idx].0, mean: estimate.mean, low, high })
    };
    (0..n_points).filter_map(point).collect()
}

/// The difference of two lists of runs that pair up: its mean, and that with its confidence interval in words.
pub(super) fn difference(a: &[f64], b: &[f64]) -> (f64, String) {
    let pairs: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let Some(estimate) = Estimate::of(&pairs) else { return (f64::NAN, "no runs".into()) };
    let interval =
        estimate.confidence_interval_95.map_or_else(String::new, |_| format!(" ± {:.4}", estimate.half_width()));
    (estimate.mean, format!("{:+.4}{interval}", estimate.mean))
}

/// In words: how many runs a figure shows.
pub(super) fn bands(n_runs: usize) -> String {
    if n_runs > 1 { format!("{n_runs} runs with 95 % confidence bands") } else { "one run".into() }
}
