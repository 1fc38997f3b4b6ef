//! `foltr bench`: how fast this machine runs the hot paths, beside how fast its memory can be read.
//!
//! Data are made before the clock starts. Every case runs several short windows and reports the best one: on a shared
//! machine the fastest window is the least disturbed. A fraction is the features an operation reads at least once,
//! divided by what the measured bandwidth delivers in the same time; data that stays in a cache can exceed 1.

mod bandwidth;
mod cases;
mod growth;
mod rules;

use std::time::{Duration, Instant};

use crate::command::WrongUsage;
use crate::output::{self, say};
use anyhow::{Context, Result};
use serde::Serialize;

/// Windows of a case, and how long each is.
const N_WINDOWS: usize = 7;
const WINDOW: Duration = Duration::from_millis(250);

#[derive(Clone, Debug, Serialize)]
pub struct Case {
    pub name: &'static str,
    pub shape: &'static str,
    pub threads: usize,
    pub unit: &'static str,
    /// In the best window.
    pub per_second: f64,
    pub microseconds: f64,
    /// Bytes that must be read for a unit, as a fraction of the measured bandwidth.
    pub bandwidth_fraction: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// One thread reading whole queries in random order from more than 1 GiB.
    pub bandwidth_gb_per_s: f64,
    pub cases: Vec<Case>,
}

struct Work {
    units: f64,
    /// Time that does not count, such as restoring a model.
    uncounted: Duration,
}

impl Work {
    const fn units(units: f64) -> Self {
        Self { units, uncounted: Duration::ZERO }
    }
}

fn best_seconds(mut work: impl FnMut() -> Work) -> f64 {
    work();
    let mut best = f64::INFINITY;
    for _ in 0..N_WINDOWS {
        let started = Instant::now();
        let (mut units, mut uncounted) = (0.0, Duration::ZERO);
        while started.elapsed() < WINDOW + uncounted {
            let done = work();
            units += done.units;
            uncounted += done.uncounted;
        }
        best = best.min((started.elapsed() - uncounted).as_secs_f64() / units);
    }
    best
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("no threads for the benchmark")?;
    Ok(pool.install(work))
}

/// Measures all cases, or rules, whose name has `only` in it.
pub fn run(of_rules: bool, only: Option<&str>) -> Result<()> {
    let only = only.unwrap_or_default();
    if of_rules {
        let times = rules::measure_all(only)?;
        ensure_some(&times, only)?;
        say(format_args!("microseconds of a round, one thread, clients x parameters\n{}", rules::table(&times)));
        return Ok(output::answer(&times)?);
    }
    let report = cases::measure(only, |name| output::progress(format_args!("measuring {name} ...")))?;
    ensure_some(&report.cases, only)?;
    say(table(&report));
    say(format_args!("memory bandwidth, one thread, random queries: {:.1} GB/s", report.bandwidth_gb_per_s));
    Ok(output::answer(&report)?)
}

fn ensure_some<T>(measured: &[T], only: &str) -> Result<()> {
    let message = || format!("--only `{only}`: there is no such name; foltr bench prints all of them");
    if measured.is_empty() { Err(WrongUsage(message()).into()) } else { Ok(()) }
}

/// Prints the section of BENCHMARKS.md that says how costs grow, or those parts whose name has `only` in it.
pub fn growth(only: Option<&str>) -> Result<()> {
    let only = only.unwrap_or_default();
    let measured = growth::measure_all(only)?;
    ensure_some(&measured, only)?;
    say(growth::section(&measured));
    Ok(output::answer(&measured)?)
}

/// Prints the peak of this process's memory after one part of that.
pub fn growth_part(part: &str) -> Result<()> {
    say(growth::memory::part(part)?);
    Ok(())
}

fn table(report: &Report) -> String {
    let row = |case: &Case| {
        vec![
            case.name.to_owned(),
            case.shape.to_owned(),
            case.unit.to_owned(),
            case.threads.to_string(),
            foltr_report::table::grouped(case.per_second.round() as u64),
            format!("{:.3}", case.microseconds),
            format!("{:.0} %", 100.0 * case.bandwidth_fraction),
        ]
    };
    let header = ["case", "shape", "unit", "threads", "per second", "microseconds", "of bandwidth"];
    foltr_report::table::table(&header, 3, report.cases.iter().map(row).collect())
}
