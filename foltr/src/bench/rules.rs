//! How long every rule of the scorecard takes: one round of n updates of d parameters, on one thread.

use anyhow::{Context, Result};
use foltr_federation::{Combined, Contributions, Defence};
use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;
use serde::Serialize;
use toml::{Table, Value};

use super::{Work, best_seconds};
use crate::catalogue::SPECS;
use crate::output::progress;

const CLIENTS: [u32; 3] = [10, 100, 1000];
/// A linear ranker on LETOR and MSLR features, and one with a hidden layer.
const PARAMS: [usize; 3] = [46, 136, 8800];
/// Different rounds, so that rules that remember have something to compare.
const DIFFERENT: u32 = 3;
/// Rounds after which a rule that remembers a window of ten rounds does all of its work.
const ROUNDS: usize = 12;

#[derive(Clone, Debug, Serialize)]
pub struct RuleTimes {
    defence: String,
    sizes: Vec<RuleTime>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct RuleTime {
    n_clients: u32,
    n_params: usize,
    /// Of a round; none if the rule refuses so few clients.
    microseconds: Option<f64>,
}

/// Of every defence whose name has `only` in it.
pub fn measure_all(only: &str) -> Result<Vec<RuleTimes>> {
    let mut all = Vec::new();
    for (name, section) in defences()?.into_iter().filter(|(name, _)| name.contains(only)) {
        progress(format_args!("measuring {name} ..."));
        let time = |n_clients, n_params| {
            let microseconds = defence(&section, n_clients).and_then(|defence| measure(defence, n_clients, n_params));
            RuleTime { n_clients, n_params, microseconds }
        };
        let sizes = CLIENTS.into_iter().flat_map(|clients| PARAMS.map(|params| time(clients, params)));
        all.push(RuleTimes { defence: name, sizes: sizes.collect() });
    }
    Ok(all)
}

pub fn table(all: &[RuleTimes]) -> String {
    let cell = |it: &RuleTime| it.microseconds.map_or_else(|| "-".into(), |microseconds| format!("{microseconds:.1}"));
    let row = |it: &RuleTimes| std::iter::once(it.defence.clone()).chain(it.sizes.iter().map(cell)).collect();
    let title = |it: &RuleTime| format!("{} x {}", it.n_clients, it.n_params);
    let titles: Vec<String> = all.first().into_iter().flat_map(|it| it.sizes.iter().map(title)).collect();
    let header: Vec<&str> = std::iter::once("defence").chain(titles.iter().map(String::as_str)).collect();
    foltr_report::table::table(&header, 1, all.iter().map(row).collect())
}

/// Sections of the scorecard that differ in what the server does.
fn defences() -> Result<Vec<(String, Table)>> {
    let (_, text) = SPECS.iter().find(|(name, _)| *name == "scorecard.toml").context("no scorecard")?;
    let file: Table = toml::from_str(text)?;
    let axis = file["grid"]["axis"]["defence"].as_table().context("no defences")?;
    let mut defences: Vec<(String, Table)> = Vec::new();
    for (name, label) in axis {
        let Some(section) = label.get("defence").and_then(Value::as_table) else { continue };
        let mut section = section.clone();
        section.remove("momentum");
        if !defences.iter().any(|(_, known)| *known == section) {
            defences.push((name.clone(), section));
        }
    }
    Ok(defences)
}

/// A fifth of the clients are assumed to attack.
fn defence(section: &Table, clients: u32) -> Option<Defence> {
    let mut section = section.clone();
    let assumed = Value::Integer(i64::from(clients / 5));
    if let Some(mixing) = section.get_mut("mixing") {
        *mixing = assumed.clone();
    }
    if let Some(attackers) = section.get_mut("rule").and_then(|rule| rule.get_mut("attackers")) {
        *attackers = assumed;
    }
    Value::Table(section).try_into().ok()
}

/// Microseconds of a round; none if the rule refuses so few clients.
fn measure(defence: Defence, clients: u32, params: usize) -> Option<f64> {
    let rounds: Vec<(Vec<f32>, Contributions)> =
        (0..DIFFERENT).map(|round| some_round(clients, params, round)).collect();
    let (mut rule, mut combined) = (defence.start(), Combined::default());
    let mut is_refused = false;
    let seconds = best_seconds(|| {
        for (global, round) in rounds.iter().cycle().take(ROUNDS) {
            is_refused |= rule.aggregate(global, round, &mut combined).is_err();
        }
        Work::units(ROUNDS as f64)
    });
    (!is_refused).then_some(1e6 * seconds)
}

/// A model, and noisy updates that point from it to the same summit.
pub(super) fn some_round(clients: u32, params: usize, round: u32) -> (Vec<f32>, Contributions) {
    let mut stream = Streams::new(1).open(Purpose::Data, clients, round);
    let global: Vec<f32> = (0..params).map(|_| stream.random::<f32>()).collect();
    let mut updates = Contributions::new(params);
    for client in 0..clients {
        let update: Vec<f32> = global.iter().map(|&at| 0.1 * (0.6 - at) + stream.random::<f32>() - 0.5).collect();
        updates.push(client, 5.0, &update);
    }
    (global, updates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defence_of_the_scorecard_is_measured_once() {
        let defences = defences().expect("a scorecard");
        let names: Vec<&str> = defences.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"krum") && names.contains(&"mixing-trimmed"), "{names:?}");
        assert!(!names.contains(&"growing-mixing-trimmed"), "momentum is no work of the server");
        assert!(defences.iter().all(|(_, section)| defence(section, 10).is_some()), "{names:?}");
    }
}
