//! Numbers of bars, heat maps and tables: means, differences of runs that belong together, and shares of a gap.

use serde::Deserialize;

use super::Drawing;
use crate::expect::select::{Selection, gap_runs, pairs};
use crate::statistics::{Estimate, GapShare};
use crate::table::with_interval;

/// `gain`: numbers are shares of the gap between two selections, in per cent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    pub from: Selection,
    pub to: Selection,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub estimate: Estimate,
    /// The label that it is of, where it is the least over an axis.
    pub worst: Option<String>,
}

impl Drawing<'_> {
    /// What a cell shows: the least over an axis, if one is given. What is not a number is the least.
    pub fn cell(&self, parts: &[&Selection]) -> Option<Cell> {
        let query = self.query(parts);
        let Some(axis) = &self.spec.worst_over else {
            return self.estimate(&query).map(|estimate| Cell { estimate, worst: None });
        };
        let of_label = |label: String| {
            let with = query.with(axis, &label);
            let name = self.spec.names.get(&label).cloned().unwrap_or(label);
            Some(Cell { estimate: self.estimate(&with)?, worst: Some(name) })
        };
        let place = |cell: &Cell| if cell.estimate.mean.is_nan() { f64::NEG_INFINITY } else { cell.estimate.mean };
        let cells = self.selector.labels_of(axis, &query).into_iter().filter_map(of_label);
        cells.min_by(|a, b| place(a).total_cmp(&place(b)))
    }

    pub fn estimate(&self, query: &Selection) -> Option<Estimate> {
        let sample = self.selector.sample(query);
        if let Some(gain) = &self.spec.gain {
            let [from, to] = [&gain.from, &gain.to].map(|end| self.selector.sample(&query.and(end)));
            return GapShare::of(&gap_runs(&sample, &from, &to)).map(in_per_cent);
        }
        match &self.spec.relative_to {
            None => Estimate::of(&sample.into_values().collect::<Vec<_>>()),
            Some(other) => {
                let pairs = pairs(&sample, &self.selector.sample(&query.and(other)));
                Estimate::of(&pairs.into_iter().map(|(value, other)| value - other).collect::<Vec<_>>())
            }
        }
    }

    pub fn text(&self, cell: &Cell) -> String {
        let number = if self.spec.gain.is_some() { share(&cell.estimate) } else { with_interval(&cell.estimate) };
        cell.worst.as_ref().map_or_else(|| number.clone(), |worst| format!("{number} ({worst})"))
    }
}

/// Where there is no gap, no share of it is a number.
fn in_per_cent(GapShare { share, has_gap, n, confidence_interval_95 }: GapShare) -> Estimate {
    let mean = if has_gap { 100.0 * share } else { f64::NAN };
    let interval = confidence_interval_95.filter(|_| has_gap && n > 2);
    let confidence_interval_95 = interval.map(|(low, high)| (100.0 * low, 100.0 * high));
    Estimate { mean, standard_deviation: None, n, confidence_interval_95 }
}

/// The interval of a share need not have it in the middle: `92.1 [89.8, 94.3]`.
fn share(estimate: &Estimate) -> String {
    match estimate.confidence_interval_95 {
        Some((low, high)) => format!("{:.1} [{low:.1}, {high:.1}]", estimate.mean),
        None => format!("{:.1}", estimate.mean),
    }
}
