//! Figures 4 to 6 of `WLZZ21`, 3.8 to 3.10 of `W24`: how many clients, and how many interactions of each in a round.

use anyhow::Result;

use super::super::{Study, Wanted};
use super::curves::course;
use super::values::{Group, curve_heights, finals, groups, in_use, level_name, users_of};
use super::{BATCH_BUDGET, BATCH_ROUNDS, CLIENTS, Collection, Spec, judge, shared};
use crate::plot::{Curve, Figure, Panel};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};

const NDCG: MetricName = MetricName::Offline(Split::Test, Metric::Ndcg(10));

/// The share of the interactions that is early.
const EARLY: f64 = 0.2;

/// What the x-axis counts.
#[derive(Clone, Copy)]
enum Along {
    Rounds,
    Interactions,
}

/// The number of clients, with and without noise: finding 11.
pub fn figure_4(study: &mut Study<'_>) -> Result<()> {
    for wanted in [Wanted::Mq2007, Wanted::Mslr] {
        let collection = Collection::of(study, wanted);
        let mut more = rounds(study, &collection);
        if !collection.is_mslr() {
            more.push("clients.interactions=4".into());
        }
        let results = run(study, &collection, CLIENTS, &more)?;
        draw(study, &collection, &results, "number of clients", Along::Rounds)?;
        collection.conclude(study, 11, judge::clients_matter_with_noise(&finals(&results, NDCG)));
    }
    Ok(())
}

/// Batches at equal rounds: the first part of finding 12.
pub fn figure_5(study: &mut Study<'_>) -> Result<()> {
    for wanted in [Wanted::Mq2007, Wanted::Mslr] {
        let collection = Collection::of(study, wanted);
        let more = [rounds(study, &collection), fewer_clients(study)].concat();
        let results = run(study, &collection, BATCH_ROUNDS, &more)?;
        draw(study, &collection, &results, "interactions of a client in a round, equal rounds", Along::Rounds)?;
        let heights = groups(&results, |_| true, |setting| curve_heights(&results.curve(setting, NDCG)));
        collection.conclude(study, 12, judge::larger_batches_are_better(&heights));
    }
    Ok(())
}

/// Batches at equal interactions: the second part of finding 12.
pub fn figure_6(study: &mut Study<'_>) -> Result<()> {
    for wanted in [Wanted::Mq2007, Wanted::Mslr] {
        let collection = Collection::of(study, wanted);
        let mut more = fewer_clients(study);
        let budget = study.either(40_000, 400_000) * if collection.is_mslr() { 1 } else { 10 };
        more.push(format!("federation.budget={budget}"));
        let results = run(study, &collection, BATCH_BUDGET, &more)?;
        draw(study, &collection, &results, "interactions of a client in a round, equal budget", Along::Interactions)?;
        let judged = judge::batches_are_equal_at_equal_budget(&finals(&results, NDCG), &early(&results));
        collection.conclude(study, 12, judged);
    }
    Ok(())
}

/// As many rounds as the paper has for the collection, or fewer.
fn rounds(study: &Study<'_>, collection: &Collection) -> Vec<String> {
    let n = if collection.is_mslr() { study.either(100, 200) } else { study.either(200, 1000) };
    vec![format!("federation.rounds={n}")]
}

/// A hundred clients instead of a thousand for a small budget: by finding 11 they learn the same.
fn fewer_clients(study: &Study<'_>) -> Vec<String> {
    if study.is_quick() { vec!["clients.n_clients=100".into()] } else { Vec::new() }
}

fn run(study: &mut Study<'_>, collection: &Collection, spec: Spec, more: &[String]) -> Result<Results> {
    shared(study, collection, spec, if collection.is_mslr() { "-mslr" } else { "-mq2007" }, more)
}

/// The ranker in use over the early interactions, from where every batch has moved it once.
fn early(results: &Results) -> Vec<Group> {
    let schedules = results.grid.settings.iter().filter_map(|setting| setting.experiment.schedule());
    let per_round: Vec<usize> = schedules.clone().map(|schedule| schedule.interactions_per_round()).collect();
    let budget = schedules.map(|schedule| schedule.n_interactions()).min().unwrap_or(0);
    let (step, from) = (per_round.iter().copied().min().unwrap_or(1), per_round.iter().copied().max().unwrap_or(1));
    let to = (budget as f64 * EARLY) as usize;
    groups(results, |_| true, |setting| in_use(&results.curve(setting, NDCG), per_round[setting], step, from, to))
}

/// One panel a kind of users, one colour a level.
fn draw(study: &mut Study<'_>, collection: &Collection, results: &Results, what: &str, along: Along) -> Result<()> {
    let mut methods: Vec<String> = Vec::new();
    let mut panels: Vec<Panel> = Vec::new();
    for (idx, setting) in results.grid.settings.iter().enumerate() {
        let (level, users) = (level_name(setting), users_of(setting));
        let method = methods.iter().position(|method| *method == level).unwrap_or_else(|| {
            methods.push(level.clone());
            methods.len() - 1
        });
        let per_round = match along {
            Along::Rounds => 1,
            Along::Interactions => setting.experiment.schedule().map_or(1, |it| it.interactions_per_round()),
        };
        let curve = Curve { method, points: course(results, idx, NDCG, per_round as f64) };
        match panels.iter_mut().find(|panel| panel.title == users) {
            Some(panel) => panel.curves.push(curve),
            None => panels.push(Panel { title: users, curves: vec![curve] }),
        }
    }
    let n_runs = results.runs_of(0).count();
    let x_label = match along {
        Along::Rounds => "rounds",
        Along::Interactions => "interactions of all clients together",
    };
    let figure = Figure {
        title: format!("FPDGD by {what}: {}", collection.data.name),
        subtitle: format!("mean of {n_runs} runs, bands of one standard deviation, moving average of up to 10 rounds"),
        x_label: x_label.into(),
        y_label: "nDCG@10 on test queries".into(),
        methods,
        panels,
    };
    study.figure(if collection.is_mslr() { "mslr" } else { "mq2007" }, &figure)
}
