//! Learning curves of this paper: mean over runs with a band of one standard deviation, smoothed as its plots are.

use std::collections::BTreeMap;

use crate::plot::Point;
use crate::results::Results;
use crate::rows::MetricName;
use crate::statistics::Estimate;

/// The window of the paper's plots, in rounds (spec section 3).
const WINDOW: usize = 10;
/// Points of a drawn curve: more cannot be seen.
const MOST_POINTS: usize = 120;

/// The course of a metric from the first round on, with `per_round` steps of the x-axis a round.
///
/// Round 0 is left out: a ranker of zeros scores all documents alike, and its value tells only how ties are broken.
pub fn course(results: &Results, setting: usize, metric: MetricName, per_round: f64) -> Vec<Point> {
    points(&results.curve(setting, metric), per_round)
}

fn points(curve: &BTreeMap<usize, Vec<f64>>, per_round: f64) -> Vec<Point> {
    let rounds: Vec<(usize, Estimate)> =
        curve.range(1..).filter_map(|(&round, values)| Some((round, Estimate::of(values)?))).collect();
    let window = WINDOW.min(rounds.len() / 5).max(1);
    let smooth: Vec<Point> = rounds.windows(window).map(|window| point(window, per_round)).collect();
    let step = smooth.len().div_ceil(MOST_POINTS).max(1);
    let last = smooth.len().saturating_sub(1);
    let is_kept = |(i, point): (usize, Point)| (i % step == 0 || i == last).then_some(point);
    smooth.into_iter().enumerate().filter_map(is_kept).collect()
}

/// The mean of a window, at its last round: nothing is drawn before it is known.
fn point(window: &[(usize, Estimate)], per_round: f64) -> Point {
    let n = window.len() as f64;
    let mean = window.iter().map(|(_, it)| it.mean).sum::<f64>() / n;
    let deviation = window.iter().map(|(_, it)| it.standard_deviation.unwrap_or(0.0)).sum::<f64>() / n;
    let round = window.last().map_or(0, |(round, _)| *round);
    Point { x: round as f64 * per_round, mean, low: mean - deviation, high: mean + deviation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_where_they_are_drawn() {
        // 60 rounds: a window of ten, so the first point is that of round 10, the mean of 1 to 10.
        let curve: BTreeMap<usize, Vec<f64>> = (0..=60).map(|r| (r, vec![r as f64 - 1.0, r as f64 + 1.0])).collect();
        let points = points(&curve, 100.0);
        assert_eq!((points[0].x, points[0].mean), (1000.0, 5.5));
        assert!((points[0].high - points[0].mean - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(points.last().map(|point| (point.x, point.mean)), Some((6000.0, 55.5)));
    }

    #[test]
    fn long_curves_are_thinned_and_keep_their_end() {
        let curve: BTreeMap<usize, Vec<f64>> = (0..=1000).map(|round| (round, vec![round as f64])).collect();
        let points = points(&curve, 1.0);
        assert!(points.len() <= MOST_POINTS + 1, "{}", points.len());
        assert_eq!(points.last().map(|point| point.x), Some(1000.0));
    }
}
