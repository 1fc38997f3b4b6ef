//! Figures 4 to 6 of `WLZZ21`, 3.8 to 3.10 of `W24`: how many clients, and how many interactions of each in a round.

use anyhow::Result;

use super::super::{Study, Wanted};
use super::curves::course;
use super::values::{Group, USERS, curve_heights, finals, groups, in_use, level_name, users_of};
use super::{BATCH_BUDGET, BATCH_ROUNDS, CLIENTS, Collection, Spec, judge, shared};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};

const NDCG: MetricName = MetricName::Offline(Split::Test, Metric::Ndcg(10));

/// What is varied, and what the x-axis counts.
#[derive(Clone, Copy)]
enum Along {
    Clients,
    Batches { by_interactions: bool },
}

impl Along {
    /// Before a level in the legend.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Clients => "clients: ",
            Self::Batches { .. } => "B = ",
        }
    }

    const fn x_label(self) -> &'static str {
        match self {
            Self::Batches { by_interactions: true } => "interactions of all clients together",
            _ => "rounds",
        }
    }
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
        draw(study, &collection, &results, "number of clients", Along::Clients)?;
        collection.conclude(study, 11, judge::clients_matter_with_noise(&finals(&results, NDCG)));
    }
    Ok(())
}

/// Batches at equal rounds: the first part of finding 12.
pub fn figure_5(study: &mut Study<'_>) -> Result<()> {
    for wanted in [Wanted::Mq2007, Wanted::Mslr] {
        let collection = Collection::of(study, wanted);
        let more = [rounds(study, &collection), fewer_clients(study, 100)].concat();
        let results = run(study, &collection, BATCH_ROUNDS, &more)?;
        draw(
            study,
            &collection,
            &results,
            "interactions of a client in a round, equal rounds",
            Along::Batches { by_interactions: false },
        )?;
        let heights = groups(&results, |_| true, |setting| curve_heights(&results.curve(setting, NDCG)));
        collection.conclude(study, 12, judge::larger_batches_are_better(&heights));
    }
    Ok(())
}

/// Batches at equal interactions: the second part of finding 12.
pub fn figure_6(study: &mut Study<'_>) -> Result<()> {
    for wanted in [Wanted::Mq2007, Wanted::Mslr] {
        let collection = Collection::of(study, wanted);
        // Noise comes with every round, so fewer clients would set small batches back: only where time must be saved.
        let (clients, budget) = match (study.is_quick(), collection.is_mslr()) {
            (true, true) => (fewer_clients(study, 250), 100_000),
            (true, false) | (false, true) => (Vec::new(), 400_000),
            (false, false) => (Vec::new(), 4_000_000),
        };
        let more = [clients, vec![format!("federation.budget={budget}")]].concat();
        let results = run(study, &collection, BATCH_BUDGET, &more)?;
        draw(
            study,
            &collection,
            &results,
            "interactions of a client in a round, equal budget",
            Along::Batches { by_interactions: true },
        )?;
        let [early, later] = rankers_in_use(&results);
        let judged = judge::batches_are_equal_at_equal_budget(&finals(&results, NDCG), &early, &later);
        collection.conclude(study, 12, judged);
    }
    Ok(())
}

/// As many rounds as the paper has for the collection, or fewer.
fn rounds(study: &Study<'_>, collection: &Collection) -> Vec<String> {
    // Nothing is judged on generated data.
    let few = if collection.has_real_queries() { 100 } else { 50 };
    let n = if collection.is_mslr() { study.either(few, 200) } else { study.either(200, 1000) };
    vec![format!("federation.rounds={n}")]
}

/// Fewer clients instead of a thousand for a small budget.
fn fewer_clients(study: &Study<'_>, n: usize) -> Vec<String> {
    if study.is_quick() { vec![format!("clients.n_clients={n}")] } else { Vec::new() }
}

fn run(study: &mut Study<'_>, collection: &Collection, spec: Spec, more: &[String]) -> Result<Results> {
    shared(study, collection, spec, if collection.is_mslr() { "-mslr" } else { "-mq2007" }, more)
}

/// The rankers in use at two times: from the first update of the smallest batch to that of the largest, when the paper
/// sees small batches ahead, and from then to a fifth of the interactions.
fn rankers_in_use(results: &Results) -> [Vec<Group>; 2] {
    let schedules = results.grid.settings.iter().filter_map(|setting| setting.experiment.schedule());
    let per_round: Vec<usize> = schedules.clone().map(|schedule| schedule.interactions_per_round()).collect();
    let budget = schedules.map(|schedule| schedule.n_interactions()).min().unwrap_or(0);
    let (least, most) = (per_round.iter().copied().min().unwrap_or(1), per_round.iter().copied().max().unwrap_or(1));
    [(least, most), (most, budget / 5)].map(|(from, to)| {
        groups(results, |_| true, |idx| in_use(&results.curve(idx, NDCG), per_round[idx], least, from, to))
    })
}

/// One panel a kind of users, one look a level.
fn draw(study: &mut Study<'_>, collection: &Collection, results: &Results, what: &str, along: Along) -> Result<()> {
    let mut methods: Vec<String> = Vec::new();
    let mut panels = vec![Panel::default(); USERS.len()];
    for (idx, setting) in results.grid.settings.iter().enumerate() {
        let level = format!("{}{}", along.prefix(), level_name(setting));
        let method = methods.iter().position(|method| *method == level).unwrap_or_else(|| {
            methods.push(level);
            methods.len() - 1
        });
        let per_round = match along {
            Along::Batches { by_interactions: true } => {
                setting.experiment.schedule().map_or(1, |it| it.interactions_per_round())
            }
            _ => 1,
        };
        let curve = Curve { method, points: course(results, idx, NDCG, per_round as f64) };
        let place = USERS.iter().position(|users| *users == users_of(setting)).unwrap_or(0);
        panels[place].curves.push(curve);
    }
    let n_runs = results.runs_of(0).count();
    let figure = CurveFigure {
        title: format!("FPDGD by {what}: {}", collection.data.name),
        subtitle: format!("mean of {n_runs} runs, bands of one standard deviation, moving average of up to 10 rounds"),
        x_label: along.x_label().into(),
        y_label: "nDCG@10 on test queries".into(),
        methods,
        columns: USERS.map(|users| format!("{users} users")).into(),
        rows: vec![PanelRow { title: String::new(), panels }],
        ..CurveFigure::default()
    };
    study.figure(if collection.is_mslr() { "mslr" } else { "mq2007" }, figure)
}
