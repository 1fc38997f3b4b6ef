//! Learns the prior from simulated people of the kind `general`, on freely licensed text only, and writes it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use foltr_agent::feature::FEATURES;
use foltr_agent::prior;
use serde_json::json;

use super::campaign::FRECENCY;
use super::choosing::with_frecency;
use super::fit::{fit, reciprocal};
use super::measure::Mean;
use super::wish::{Variant, wishes};
use super::world::{List, System};

const SEARCHES: usize = 300;
/// Seeds of people from whom it is learnt begin here.
const FIRST: u64 = 10_000;
/// Of the weights, times their length squared.
const PENALTIES: [f32; 5] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2];

/// The largest penalty of those that are as good as the best one but for so much.
const AS_GOOD: f64 = 0.003;

/// The weights are chances of one choice; the agent draws its lists by them as well, and ten places drawn so are too much
/// chance (chosen by `choose`).
const TIMES: f32 = 4.0;

/// What simulated people know nothing about: which kinds of files somebody likes, and who wrote them.
pub fn is_learnt(feature: &str) -> bool {
    !feature.starts_with("is-") && !["language", "has-title", "bm25-author", "depth", "length"].contains(&feature)
}

/// People and their lists: they search by BM25 with frecency, so that the outcome does not depend on the prior before.
fn lists(n_people: u64) -> Result<Vec<Vec<List>>> {
    let worlds = super::learnt_from()?;
    anyhow::ensure!(!worlds.is_empty(), "there is nothing to learn from");
    let jobs: Vec<(usize, u64)> =
        (0..n_people).flat_map(|person| (0..worlds.len()).map(move |at| (at, FIRST + person))).collect();
    super::in_parallel(&jobs, |&(at, seed)| {
        let wishes = wishes(&worlds[at].collection, Variant::General, seed, SEARCHES);
        let system = System { keeps_lists: true, ..with_frecency(FRECENCY) };
        Ok(worlds[at].run(&system, &wishes, seed)?.lists)
    })
}

/// Each fourth of the people only chooses the penalty.
pub fn run(n_people: u64) -> Result<()> {
    let people = lists(n_people)?;
    // Jobs are in the order of people, with as many collections each.
    let n_worlds = people.len() / n_people as usize;
    let is_held_out = |at: usize| (at / n_worlds) % 4 == 3;
    let of = |held_out: bool| -> Vec<List> {
        let chosen = people.iter().enumerate().filter(|(at, _)| is_held_out(*at) == held_out);
        chosen.flat_map(|(_, lists)| lists.iter().cloned()).collect()
    };
    let (learnt, held_out) = (of(false), of(true));
    let value = |weights: &[f32]| {
        let values: Vec<f64> = held_out.iter().map(|list| reciprocal(list, weights)).collect();
        Mean::of(&values)
    };
    let mut bm25 = vec![0.0; FEATURES.len()];
    bm25[foltr_agent::feature::position("bm25").expect("a feature")] = 1.0;
    println!("| weights | MRR of {} searches of people held out |\n|---|---|", held_out.len());
    println!("| BM25 | {:.4} |\n| prior so far | {:.4} |", value(&bm25).mean, value(&prior::model()).mean);
    let models = super::in_parallel(&PENALTIES, |&penalty| {
        let weights = fit(&learnt, penalty, &is_learnt);
        let mean = value(&weights);
        Ok((penalty, weights, mean))
    })?;
    for (penalty, _, mean) in &models {
        println!("| penalty {penalty} | {:.4} (standard error {:.4}) |", mean.mean, mean.error);
    }
    let best = models.iter().map(|(_, _, mean)| mean.mean).fold(0.0, f64::max);
    let is_as_good = |it: &&(f32, Vec<f32>, Mean)| it.2.mean >= best - AS_GOOD;
    let (penalty, weights, mean) = models.iter().rev().find(is_as_good).expect("the best one is");
    write(n_people, learnt.len(), *penalty, weights, *mean)
}

fn write(n_people: u64, n_lists: usize, penalty: f32, weights: &[f32], mean: Mean) -> Result<()> {
    let weights: BTreeMap<&str, f64> = FEATURES
        .iter()
        .zip(weights)
        .filter(|(_, weight)| **weight != 0.0)
        .map(|(feature, weight)| (feature.name, (f64::from(TIMES * *weight) * 1_000.0).round() / 1_000.0))
        .collect();
    let model = json!({
        "made": "2026-11-18",
        "command": format!("cargo run --release -p foltr-agent --example refinding -- learn {n_people}"),
        "people": format!("{n_people} simulated people of the kind `general`, each on each text, {SEARCHES} searches (docs/campaigns/refinding-users.md)"),
        "text": "Linux man-pages 6.03 (one half of the pages), Rust's documentation (1,500 pages)",
        "method": "logistic regression on the document that was wanted, with a penalty",
        "lists": n_lists,
        "times": TIMES,
        "penalty": f64::from((penalty * 1e6).round()) / 1e6,
        "held_out_mrr": (mean.mean * 1e4).round() / 1e4,
        "schema": prior::schema_hash(),
        "weights": weights,
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("prior/model.json");
    std::fs::write(path, serde_json::to_string_pretty(&model)? + "\n")?;
    Ok(())
}
