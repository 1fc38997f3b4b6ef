//! `foltr bench --growth`: how costs grow with clients, rounds and runs, as the section of BENCHMARKS.md.
//!
//! An exponent is the slope of a line through the logarithms: 1 where twice as much costs twice as much.

pub mod memory;
mod training;

use anyhow::Result;
use foltr_federation::aggregate::Bulyan;
use foltr_federation::{Aggregation, Combined, Participation};
use foltr_rank::rng::Streams;
use serde::Serialize;

use super::rules::some_round;
use super::{Work, best_seconds, on_threads};
use crate::output::progress;

/// What several sizes of one thing cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    what: String,
    sizes: Vec<String>,
    costs: Vec<f64>,
    /// None where the sizes are names of cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    exponent: Option<f64>,
}

type Part = fn() -> Result<Vec<Measured>>;

/// All parts whose name has `only` in it.
pub fn measure_all(only: &str) -> Result<Vec<Measured>> {
    let parts: [(&str, Part); 7] = [
        ("bulyan", bulyan),
        ("participation", participation),
        ("rows", memory::rows),
        ("histories", memory::histories),
        ("raw-features", training::raw_features),
        ("own-rankers", training::own_rankers),
        ("few-clients", training::threads),
    ];
    let mut measured = Vec::new();
    for (name, measure) in parts.into_iter().filter(|(name, _)| name.contains(only)) {
        progress(format_args!("measuring {name} ..."));
        measured.extend(on_threads(1, measure)??);
    }
    Ok(measured)
}

pub fn section(measured: &[Measured]) -> String {
    let tables: Vec<String> = measured.iter().map(Measured::table).collect();
    format!("## Growth\n\n`foltr bench --growth`, one thread unless said otherwise.\n\n{}", tables.join("\n"))
}

fn bulyan() -> Result<Vec<Measured>> {
    let milliseconds = |n: u32| {
        let (global, round) = some_round(n, 46, 0);
        let mut rule = Aggregation::Bulyan(Bulyan { attackers: n / 5 }).start();
        let mut combined = Combined::default();
        let seconds = best_seconds(|| {
            rule.aggregate(&global, &round, &mut combined).expect("enough clients");
            Work::units(1.0)
        });
        (f64::from(n), 1e3 * seconds)
    };
    let what = "**Bulyan**, clients of a round (46 parameters, a fifth of them attackers): milliseconds a round";
    Ok(vec![Measured::series(what, &[100, 200, 400, 800, 1600].map(milliseconds))])
}

fn participation() -> Result<Vec<Measured>> {
    let microseconds = |n_clients: u32| {
        let (coins, streams) = (Participation::PoissonSampling(10.0 / f64::from(n_clients)), Streams::new(1));
        let mut round = 0;
        let seconds = best_seconds(|| {
            round += 1;
            std::hint::black_box(coins.draw(&streams, round, n_clients));
            Work::units(1.0)
        });
        (f64::from(n_clients), 1e6 * seconds)
    };
    let what = "**Participation**, population of which ten are expected in a round: microseconds to draw them";
    Ok(vec![Measured::series(what, &[1_000, 10_000, 100_000, 1_000_000, 10_000_000].map(microseconds))])
}

impl Measured {
    /// Of sizes that are numbers.
    fn series(what: &str, points: &[(f64, f64)]) -> Self {
        Self {
            what: what.into(),
            sizes: points.iter().map(|(size, _)| foltr_report::table::grouped(size.round() as u64)).collect(),
            costs: points.iter().map(|(_, cost)| *cost).collect(),
            exponent: Some(exponent(points)),
        }
    }

    fn named(what: &str, points: impl IntoIterator<Item = (String, f64)>) -> Self {
        let (sizes, costs) = points.into_iter().unzip();
        Self { what: what.into(), sizes, costs, exponent: None }
    }

    /// One line of sizes and one of what they cost.
    fn table(&self) -> String {
        let exponent = self.exponent.map_or_else(String::new, |exponent| format!("; exponent {exponent:.2}"));
        let costs: Vec<String> = self.costs.iter().map(|&cost| three_digits(cost)).collect();
        let rule = "---|".repeat(costs.len());
        format!("{}{exponent}:\n\n| {} |\n|{rule}\n| {} |\n", self.what, self.sizes.join(" | "), costs.join(" | "))
    }
}

fn three_digits(cost: f64) -> String {
    match cost {
        ..10.0 => format!("{cost:.2}"),
        ..100.0 => format!("{cost:.1}"),
        _ => foltr_report::table::grouped(cost.round() as u64),
    }
}

/// The slope of the line through the logarithms with the least squared errors.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|point| point.0.ln()), mean(&|point| point.1.ln()));
    let covariance = mean(&|point| (point.0.ln() - x) * (point.1.ln() - y));
    covariance / mean(&|point| (point.0.ln() - x).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_by_hand() {
        let points = |power: i32| [1.0, 2.0, 8.0, 10.0].map(|size: f64| (size, 3.0 * size.powi(power)));
        for power in [0, 1, 3] {
            assert!((exponent(&points(power)) - f64::from(power)).abs() < 1e-12);
        }
        let table = Measured::series("Squares", &points(2)).table();
        assert_eq!(
            table,
            "Squares; exponent 2.00:\n\n| 1 | 2 | 8 | 10 |\n|---|---|---|---|\n| 3.00 | 12.0 | 192 | 300 |\n"
        );
    }
}
