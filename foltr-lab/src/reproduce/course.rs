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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::about::About;
    use crate::grid::Grid;
    use crate::results::Run;
    use crate::rows::Row;

    const METRIC: MetricName = MetricName::OnlineMaxRr;

    /// Two kinds of users; two runs a setting, whose values are their round, and ten more in the second run.
    fn results() -> Results {
        let text = include_str!("../../../specs/foltr-es/figure-3.toml");
        let grid = Grid::from_toml(text, &["learner.stream=[\"separate\"]".into()]).expect("a sound file");
        let run = |setting: usize, fold: usize| {
            let value = |round: usize| round as f64 + 10.0 * (fold - 1) as f64;
            let rows = (1..=10).map(|round| Row { round, metric: METRIC, value: value(round) }).collect();
            Run {
                setting,
                fold,
                seed: 1,
                key: String::new(),
                rows,
                n_interactions: 0,
                training_seconds: 0.0,
                clients: Vec::new(),
            }
        };
        let runs = (0..grid.settings.len()).flat_map(|setting| [run(setting, 1), run(setting, 2)]).collect();
        Results { grid, runs, about: About::default() }
    }

    #[test]
    fn settings_are_found_by_all_their_labels_and_numbers_by_their_value() {
        let results = results();
        let found =
            select(&results, &[("users.preset", "informational"), ("privacy.probability", "0.50")]).expect("one");
        let setting = &results.grid.settings[found];
        assert_eq!(setting.label("users.preset"), Some("informational"));
        assert_eq!(setting.label("privacy.probability"), Some("0.5"));
        assert!(select(&results, &[("users.preset", "informational")]).is_err(), "four settings");
        assert!(select(&results, &[("users.preset", "drunk"), ("privacy.probability", "0.5")]).is_err(), "none");
    }

    #[test]
    fn parts_of_a_course_by_hand() {
        let results = results();
        assert_eq!(over(&results, 3, METRIC, WHOLE), [5.5, 15.5]);
        assert_eq!(over(&results, 3, METRIC, END), [10.0, 20.0]);
        // Less than a round is still one round.
        assert_eq!(over(&results, 3, METRIC, 0.0..0.01), [1.0, 11.0]);
        assert_eq!(difference(&[1.0, 2.0], &[0.5, 1.5]), (0.5, "+0.5000 ± 0.0000".into()));
    }

    #[test]
    fn points_are_smoothed_and_lie_over_interactions() {
        let points = points(&results(), 0, METRIC, Smoothing::FoltrEs, Some(2));
        let places: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.mean)).collect();
        // Rounds of 2,000 clients with four interactions; (11 + 12 + 13 + 14) / 4 stands at the fourth.
        assert_eq!(places[..2], [(32_000.0, 12.5), (40_000.0, 13.5)]);
        assert_eq!(places.len(), 7);
    }
}
