//! nDCG@10 over the true epsilon of the whole run, for every mechanism and three numbers of clients.

use anyhow::Result;
use foltr_rank::learn::evolution::Reward;

use super::calibration::{laplace_label, per_answer, per_message, probability};
use super::choice::{Candidates, choose};
use super::clients::{SPEC, gaussian, unprotected};
use super::{Collection, INTERACTIONS, USERS, collections};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Reference, Scale, Sharing};
use crate::reproduce::Study;
use crate::reproduce::study::mean;
use crate::table::table;

const EVOLUTION: &str = include_str!("../../../../specs/privacy/evolution.toml");

/// Guarantees over the whole run, from strict to nominal.
const EPSILONS: [f64; 4] = [1.2, 4.5, 20.0, 100.0];

/// Numbers of clients: one row of panels each.
const N_CLIENTS: [usize; 3] = [100, 1000, 10_000];

/// Documents in a list.
const LIST_LENGTH: usize = 10;

/// A mechanism at one epsilon: what to run.
type Line = (&'static str, fn(usize, f64, usize) -> Candidates<'static>);

/// Every mechanism. The arguments are clients, epsilon of the run, and parameters of the model.
const LINES: [Line; 7] = [
    ("Gaussian, sealed or trusted sum", |n, epsilon, _| gaussian(n, epsilon)),
    ("discrete Gaussian shares, sealed", discrete),
    ("distributed Laplace (FPDGD), made sound", laplace),
    ("Duchi, one bit, local", duchi),
    ("PrivUnit, local", priv_unit),
    ("FOLtR-ES, randomised response, local", randomised_response),
    ("FOLtR-ES, one interaction, local", sampled_response),
];

/// Few rounds: every one of them costs. 10,000 clients have 40 interactions each.
const fn n_rounds(n_clients: usize) -> usize {
    if n_clients > 1000 { 5 } else { 25 }
}

fn candidates(
    slug: &str,
    spec: &'static str,
    n_clients: usize,
    epsilon: f64,
    rates: &str,
    privacy: String,
) -> Candidates<'static> {
    Candidates {
        slug: format!("{n_clients}-{slug}-{epsilon}"),
        spec,
        overrides: vec![
            format!("clients.n_clients={n_clients}"),
            format!("clients.interactions={}", INTERACTIONS / n_clients / n_rounds(n_clients)),
            format!("federation.optimiser.rate={rates}"),
            format!("privacy={privacy}"),
        ],
    }
}

fn discrete(n: usize, epsilon: f64, _: usize) -> Candidates<'static> {
    let privacy = format!(
        "{{ kind = \"discrete-gaussian\", clip = [0.1, 0.3], epsilon = {epsilon}, delta = 1e-5, min_survivors = {n} }}"
    );
    candidates("discrete", SPEC, n, epsilon, "[20.0, 50.0]", privacy)
}

fn laplace(n: usize, epsilon: f64, n_params: usize) -> Candidates<'static> {
    let label = laplace_label(epsilon, 5.0, n_params, n_rounds(n) as u32);
    let privacy =
        format!("{{ kind = \"distributed-laplace\", epsilon = {label}, sensitivity = 5.0, clip = \"paper\" }}");
    candidates("laplace", SPEC, n, epsilon, "[0.1, 1.0]", privacy)
}

fn duchi(n: usize, epsilon: f64, _: usize) -> Candidates<'static> {
    let each = per_message(epsilon, n_rounds(n) as u32);
    let privacy = format!("{{ kind = \"duchi\", epsilon = {each}, bound = 0.1 }}");
    candidates("duchi", SPEC, n, epsilon, "[0.1, 1.0, 10.0]", privacy)
}

fn priv_unit(n: usize, epsilon: f64, _: usize) -> Candidates<'static> {
    let each = per_message(epsilon, n_rounds(n) as u32);
    let privacy = format!("{{ kind = \"priv-unit\", epsilon = {each}, norm = 0.1 }}");
    candidates("priv-unit", SPEC, n, epsilon, "[0.1, 1.0, 10.0]", privacy)
}

fn randomised_response(n: usize, epsilon: f64, _: usize) -> Candidates<'static> {
    let n_interactions = even(INTERACTIONS / n / n_rounds(n));
    let each = per_answer(epsilon, n_rounds(n) as u32, n_interactions as u32);
    let privacy = format!("{{ kind = \"randomised-response\", probability = {} }}", truth(each));
    evolution("response", n, epsilon, privacy)
}

fn sampled_response(n: usize, epsilon: f64, _: usize) -> Candidates<'static> {
    let each = per_message(epsilon, n_rounds(n) as u32);
    let privacy = format!("{{ kind = \"sampled-response\", probability = {} }}", truth(each));
    evolution("sampled", n, epsilon, privacy)
}

fn truth(epsilon: f64) -> f64 {
    probability(epsilon, Reward::MaxRr.n_outcomes(LIST_LENGTH))
}

fn evolution(slug: &str, n_clients: usize, epsilon: f64, privacy: String) -> Candidates<'static> {
    let mut made = candidates(slug, EVOLUTION, n_clients, epsilon, "[0.003, 0.03]", privacy);
    made.overrides[1] = format!("clients.interactions={}", even(INTERACTIONS / n_clients / n_rounds(n_clients)));
    made
}

/// Half of the interactions try the mirrored perturbation.
const fn even(n: usize) -> usize {
    n - n % 2
}

pub(super) fn curves(study: &mut Study<'_>) -> Result<()> {
    let numbers: &[usize] = study.either(&N_CLIENTS[1..2], &N_CLIENTS);
    // Two folds of one collection will do: mechanisms differ far more than folds and collections.
    for mut collection in collections(study).into_iter().take(1) {
        if !study.is_quick() {
            collection.data = collection.data.only_folds(&[1, 2]);
        }
        let rows = numbers.iter().map(|&n| row(study, &collection, n)).collect::<Result<Vec<_>>>()?;
        let figure = CurveFigure {
            title: format!("Effectiveness over the true epsilon, {}", collection.data.name),
            subtitle: "of one client over the whole run, delta = 1e-5; 400,000 interactions; settings chosen on \
                       validation queries; few runs: values scatter by about .01"
                .into(),
            x_label: "epsilon".into(),
            y_label: "nDCG@10".into(),
            methods: std::iter::once("no privacy".into()).chain(LINES.map(|(name, _)| name.to_owned())).collect(),
            columns: USERS.map(|users| format!("{users} users")).to_vec(),
            rows,
            x_scale: Scale::Logarithmic,
            x_sharing: Sharing::Figure,
            y_sharing: Sharing::Figure,
        };
        study.figure(&format!("curves-{}", collection.slug), figure)?;
    }
    study.note("every message counts: local mechanisms and FOLtR-ES divide their epsilon among the rounds");
    study.note(
        "settings to choose from: Gaussian 8 to 18, discrete Gaussian 4, Duchi and PrivUnit 3, the others 2; lines differ by \
         that too",
    );
    Ok(())
}

/// All mechanisms with one number of clients: a table, and a row of panels.
fn row(study: &mut Study<'_>, collection: &Collection, n_clients: usize) -> Result<PanelRow> {
    let n_params = if collection.is_large { 136 } else { 46 };
    let epsilons: &[f64] = study.either(&EPSILONS[..2], &EPSILONS);
    let none = choose(study, collection, &unprotected(n_clients), 1)?;
    let reference = |users: usize| Reference { method: 0, value: none[users].mean() };
    let mut panels: Vec<Panel> =
        (0..USERS.len()).map(|users| Panel { curves: Vec::new(), references: vec![reference(users)] }).collect();
    let mut cells = Vec::new();
    for (method, (name, line)) in (1..).zip(LINES) {
        let mut of_users = vec![Vec::new(); USERS.len()];
        for &epsilon in epsilons {
            let chosen = choose(study, collection, &line(n_clients, epsilon, n_params), 1)?;
            chosen.into_iter().zip(&mut of_users).for_each(|(chosen, points)| points.push((epsilon, chosen.test)));
        }
        for ((panel, points), users) in panels.iter_mut().zip(of_users).zip(USERS) {
            let means = points.iter().map(|(_, runs)| format!("{:.4}", mean(runs)));
            cells.push([name.to_owned(), users.to_owned()].into_iter().chain(means).collect());
            // Two runs have no interval worth drawing.
            let point =
                |(x, runs): &(f64, Vec<f64>)| Point { x: *x, mean: mean(runs), low: mean(runs), high: mean(runs) };
            let points = points.iter().map(point).collect();
            panel.curves.push(Curve { method, points });
        }
    }
    let words: Vec<String> = epsilons.iter().map(|epsilon| format!("epsilon {epsilon}")).collect();
    let header: Vec<&str> = ["mechanism", "users"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let title = format!("nDCG@10 of test queries, {}, {n_clients} clients", collection.data.name);
    study.table(&title, &table(&header, 2, cells));
    Ok(PanelRow { title: format!("{n_clients} clients"), panels })
}
