//! `foltr bench --growth`: how costs grow with clients, rounds and runs, as the section of BENCHMARKS.md.
//!
//! An exponent is the slope of a line through the logarithms: 1 where twice as much costs twice as much.

pub mod memory;
mod training;

use std::fmt::Write;

use anyhow::Result;
use foltr_federation::aggregate::Bulyan;
use foltr_federation::{Aggregation, Combined, Participation};
use foltr_rank::rng::Streams;

use super::rules::some_round;
use super::{Work, best_seconds, on_threads};
use crate::output::note;

/// The section, measured anew.
pub fn section() -> Result<String> {
    let mut text = String::from("## Growth\n\n`foltr bench --growth`, one thread unless said otherwise.\n");
    let parts: [(&str, fn() -> Result<String>); 6] = [
        ("Bulyan", bulyan),
        ("participation", participation),
        ("memory", memory::table),
        ("raw features", training::raw_features),
        ("rankers of one's own", training::own_rankers),
        ("few clients", training::threads),
    ];
    for (name, measure) in parts {
        note(format_args!("measuring {name} ..."));
        write!(text, "\n{}", on_threads(1, measure)??)?;
    }
    Ok(text)
}

fn bulyan() -> Result<String> {
    let milliseconds = |n: u32| {
        let (global, round) = some_round(n, 46, 0);
        let mut rule = Aggregation::Bulyan(Bulyan { attackers: n / 5 }).start();
        let mut combined = Combined::default();
        let seconds = best_seconds(|| {
            rule.aggregate(&global, &round, &mut combined).expect("enough clients");
            Work::units(1.0)
        });
        1e3 * seconds
    };
    let clients = [100, 200, 400, 800, 1600];
    let times = clients.map(milliseconds);
    let points: Vec<(f64, f64)> = clients.iter().map(|&n| f64::from(n)).zip(times).collect();
    let title = "**Bulyan**, clients of a round (46 parameters, a fifth of them attackers): milliseconds a round";
    Ok(series(title, &points, |n| grouped(n), |time| format!("{time:.2}")))
}

fn participation() -> Result<String> {
    let microseconds = |n_clients: u32| {
        let (coins, streams) = (Participation::PoissonSampling(10.0 / f64::from(n_clients)), Streams::new(1));
        let mut round = 0;
        let seconds = best_seconds(|| {
            round += 1;
            std::hint::black_box(coins.draw(&streams, round, n_clients));
            Work::units(1.0)
        });
        1e6 * seconds
    };
    let clients = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let points: Vec<(f64, f64)> =
        clients.into_iter().map(|n_clients| (f64::from(n_clients), microseconds(n_clients))).collect();
    let title = "**Participation**, population of which ten are expected in a round: microseconds to draw them";
    Ok(series(title, &points, |n| grouped(n), |time| format!("{time:.2}")))
}

fn grouped(number: f64) -> String {
    foltr_report::table::grouped(number.round() as u64)
}

/// One line of sizes, one of what they cost, and the exponent.
fn series(title: &str, points: &[(f64, f64)], size: impl Fn(f64) -> String, cost: impl Fn(f64) -> String) -> String {
    let sizes: Vec<String> = points.iter().map(|point| size(point.0)).collect();
    let costs: Vec<String> = points.iter().map(|point| cost(point.1)).collect();
    let rule = "---|".repeat(points.len());
    format!(
        "{title}; exponent {:.2}:\n\n| {} |\n|{rule}\n| {} |\n",
        exponent(points),
        sizes.join(" | "),
        costs.join(" | ")
    )
}

/// The slope of the line through the logarithms with the least squared errors.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(size, cost)| (size.ln(), cost.ln())).collect();
    let n = logs.len() as f64;
    let (x_mean, y_mean) =
        (logs.iter().map(|log| log.0).sum::<f64>() / n, logs.iter().map(|log| log.1).sum::<f64>() / n);
    let product: f64 = logs.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    product / logs.iter().map(|(x, _)| (x - x_mean).powi(2)).sum::<f64>()
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
        let table = series("Squares", &points(2), |n| format!("{n}"), |cost| format!("{cost}"));
        assert_eq!(table, "Squares; exponent 2.00:\n\n| 1 | 2 | 8 | 10 |\n|---|---|---|---|\n| 3 | 12 | 192 | 300 |\n");
    }
}
