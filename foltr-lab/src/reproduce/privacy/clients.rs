//! The same guarantee for 10 to 10,000 clients: noise is shared by all, so the few pay more.

use anyhow::{Context, Result};

use super::choice::{Candidates, choose, told_loss};
use super::{Collection, INTERACTIONS, USERS, collections};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Scale, Sharing};
use crate::reproduce::Study;
use crate::statistics::Estimate;
use crate::table::table;

pub(super) const SPEC: &str = include_str!("../../../../specs/privacy/candidates.toml");

/// Numbers of clients, few to many.
const N_CLIENTS: [usize; 4] = [10, 100, 1000, 10_000];

/// With so many clients, both guarantees may cost at most this much.
const MANY: (usize, f64) = (10_000, 0.005);

/// A loss that leaves nothing worth having.
const RUINOUS: f64 = 0.05;

/// Guarantees of the lines; no privacy comes first.
const EPSILONS: [f64; 2] = [4.5, 1.2];

/// Rounds to choose from, in interactions of a client: about 50 or 25 rounds, or 20 to 5 where clients are so many that
/// they would have less than one interaction a round.
fn schedules(n_clients: usize) -> Vec<usize> {
    let rounds: &[usize] = if n_clients > 1000 { &[20, 10, 5] } else { &[50, 25] };
    rounds.iter().map(|n_rounds| INTERACTIONS / n_clients / n_rounds).collect()
}

/// Server rates to choose from: a mean over few clients is of longer local walks, and needs a smaller factor.
fn rates(n_clients: usize) -> &'static [f64] {
    match n_clients {
        0..=10 => &[1.0, 5.0],
        11..=100 => &[5.0, 20.0],
        _ => &[50.0, 200.0, 400.0],
    }
}

/// Clip norms to choose from.
fn clips(n_clients: usize) -> &'static [f64] {
    if n_clients > 100 { &[0.1, 0.2] } else { &[0.3, 1.0] }
}

/// Without any protection; more rounds are free then, so small batches are there too.
pub(super) fn unprotected(n_clients: usize) -> Candidates<'static> {
    let mut interactions = schedules(n_clients);
    interactions.push((INTERACTIONS / n_clients / 200).max(1));
    interactions.sort_unstable();
    interactions.dedup();
    without_privacy("none", n_clients, &interactions)
}

/// Without any protection, but with as few rounds as noise allows: what is lost here, noise is not to blame for.
pub(super) fn few_rounds(n_clients: usize) -> Candidates<'static> {
    without_privacy("few-rounds", n_clients, &schedules(n_clients))
}

fn without_privacy(slug: &str, n_clients: usize, interactions: &[usize]) -> Candidates<'static> {
    Candidates {
        slug: format!("{n_clients}-{slug}"),
        spec: SPEC,
        overrides: vec![
            format!("clients.n_clients={n_clients}"),
            format!("clients.interactions={interactions:?}"),
            format!("federation.optimiser.rate={:?}", rates(n_clients)),
            "privacy={ kind = \"none\" }".into(),
        ],
    }
}

/// Clipped updates, Gaussian noise.
pub(super) fn gaussian(n_clients: usize, epsilon: f64) -> Candidates<'static> {
    Candidates {
        slug: format!("{n_clients}-gaussian-{epsilon}"),
        spec: SPEC,
        overrides: vec![
            format!("clients.n_clients={n_clients}"),
            format!("clients.interactions={:?}", schedules(n_clients)),
            format!("federation.optimiser.rate={:?}", rates(n_clients)),
            format!("privacy.clip={:?}", clips(n_clients)),
            format!("privacy.epsilon={epsilon}"),
        ],
    }
}

/// One number of clients: means of no privacy and of each guarantee, and the losses, by users.
struct Level {
    n_clients: usize,
    values: Vec<[Vec<f64>; 3]>,
    losses: Vec<[Estimate; 2]>,
}

pub(super) fn clients(study: &mut Study<'_>) -> Result<()> {
    let mut rows = Vec::new();
    for collection in collections(study) {
        let numbers: &[usize] = study.either(&N_CLIENTS[..3], &N_CLIENTS);
        let levels = numbers.iter().map(|&n| level(study, &collection, n)).collect::<Result<Vec<_>>>()?;
        judge(study, &collection, &levels);
        study.table(&format!("loss of nDCG@10 against no privacy, {}", collection.data.name), &shown(&levels));
        rows.push(panels(&collection, &levels));
    }
    let figure = CurveFigure {
        title: "What a guarantee costs, by the number of clients".into(),
        subtitle: "(epsilon, 1e-5) of one client over the whole run; 400,000 interactions in all".into(),
        x_label: "clients".into(),
        y_label: "nDCG@10".into(),
        methods: vec!["no privacy".into(), "epsilon 4.5".into(), "epsilon 1.2".into()],
        columns: USERS.map(|users| format!("{users} users")).to_vec(),
        rows,
        x_scale: Scale::Logarithmic,
        x_sharing: Sharing::Figure,
        y_sharing: Sharing::Row,
    };
    study.figure("clients", figure)
}

fn level(study: &mut Study<'_>, collection: &Collection, n_clients: usize) -> Result<Level> {
    let n_seeds = study.either(1, 3);
    let none = choose(study, collection, &unprotected(n_clients), n_seeds)?;
    let large = choose(study, collection, &gaussian(n_clients, EPSILONS[0]), n_seeds)?;
    let small = choose(study, collection, &gaussian(n_clients, EPSILONS[1]), n_seeds)?;
    let mut level = Level { n_clients, values: Vec::new(), losses: Vec::new() };
    for ((none, large), small) in none.into_iter().zip(large).zip(small) {
        let of = |own: &super::choice::Chosen| own.loss_against(&none).context("runs pair up");
        level.losses.push([of(&large)?, of(&small)?]);
        level.values.push([none.test, large.test, small.test]);
    }
    Ok(level)
}

/// Many clients make privacy nearly free; where it is ruinous is said in words.
fn judge(study: &mut Study<'_>, collection: &Collection, levels: &[Level]) {
    for level in levels {
        for (users, losses) in USERS.iter().zip(&level.losses) {
            for (epsilon, loss) in EPSILONS.iter().zip(losses) {
                let place = format!("{}, {users} users, {} clients", collection.data.name, level.n_clients);
                if level.n_clients == MANY.0 {
                    let claim = format!("{place}: ({epsilon}, 1e-5) costs at most {} of nDCG@10", MANY.1);
                    study.claim(claim, loss.mean <= MANY.1, told_loss(loss));
                } else if loss.mean > RUINOUS {
                    study.note(format!(
                        "{place}: ({epsilon}, 1e-5) is not to be had, it costs {:.3} of nDCG@10",
                        loss.mean
                    ));
                }
            }
        }
    }
}

fn shown(levels: &[Level]) -> String {
    let header = ["clients", "users", "no privacy", "epsilon 4.5", "loss", "epsilon 1.2", "loss"];
    let rows = levels.iter().flat_map(|level| {
        let of_users = USERS.iter().zip(&level.values).zip(&level.losses);
        of_users.map(|((users, values), losses)| {
            let mean = |i: usize| format!("{:.4}", crate::reproduce::study::mean(&values[i]));
            let loss = |i: usize| told_loss(&losses[i]);
            vec![level.n_clients.to_string(), (*users).to_owned(), mean(0), mean(1), loss(0), mean(2), loss(1)]
        })
    });
    table(&header, 2, rows.collect())
}

fn panels(collection: &Collection, levels: &[Level]) -> PanelRow {
    let panel = |users: usize| {
        let point = |level: &Level, method: usize| point(level.n_clients as f64, &level.values[users][method]);
        let curve = |method| Curve { method, points: levels.iter().filter_map(|level| point(level, method)).collect() };
        Panel { curves: (0..3).map(curve).collect(), references: Vec::new() }
    };
    PanelRow { title: collection.data.name.clone(), panels: (0..USERS.len()).map(panel).collect() }
}

/// A point of a curve, from the runs behind it.
fn point(x: f64, runs: &[f64]) -> Option<Point> {
    let estimate = Estimate::of(runs)?;
    let half = if estimate.half_width().is_finite() { estimate.half_width() } else { 0.0 };
    Some(Point { x, mean: estimate.mean, low: estimate.mean - half, high: estimate.mean + half })
}
