//! Which clicks can be read from what a server sees? An attack on real lists, for each mode.
//!
//! The server knows the queries, the lists shown, the global model and the learning rate: only the clicks are unknown
//! to it, and a PDGD update is a sum of one known vector for each list and each possible set of clicks on it. The attack
//! (`inversion/decoder.rs`) looks for the most likely sets. It is compared with chance: the share of interactions whose
//! clicks are the most frequent ones for a list of that length, which one can guess without seeing any message.

mod decoder;
mod scene;
mod table;
mod view;

use std::ops::Range;

use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::Serialize;

pub use scene::Scene;
use view::{View, views};

use super::{AuditBudget, Expected, Finding, Part, Verdict, epsilon::ALPHA, lower_limit, power};

/// Interactions of a client in a round.
const INTERACTIONS: [usize; 3] = [1, 2, 4];
/// What inverting a message counts in the progress bar, beside a sample.
const STEPS_A_CLIENT: u64 = 5_000;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inversion {
    /// What the server sees.
    pub view: String,
    /// Behind a message.
    pub n_interactions: usize,
    pub n_clients: usize,
    /// Share of click vectors recovered exactly.
    pub recovered: f64,
    /// Its lower 99.9 % confidence limit.
    pub lower_limit: f64,
    /// Share recovered without looking at any message.
    pub chance: f64,
    #[serde(skip)]
    pub expected: Expected,
    /// With this number of interactions.
    #[serde(skip)]
    pub is_judged: bool,
}

impl Inversion {
    /// The row of the audit, where the mode is judged.
    pub fn finding(&self) -> Option<Finding> {
        self.is_judged.then(|| Finding {
            mechanism: name(&self.view, self.n_interactions),
            claimed: self.chance,
            lower_bound: self.lower_limit,
            expected: self.expected,
            verdict: Verdict::of(self.expected, self.chance, self.lower_limit),
            part: Part::Inversion,
            what: format!("{:.1} % of click vectors recovered", 100.0 * self.recovered),
            unit: "share of click vectors recovered: by chance, and by the attack at least".into(),
            samples: (self.n_clients * self.n_interactions) as u64,
            detects: power::detects(&name(&self.view, self.n_interactions)),
        })
    }
}

/// Of a row.
fn name(view: &str, n_interactions: usize) -> String {
    format!("inversion, {view}, B = {n_interactions}")
}

/// Attacks so many clients in every view whose judged row has `only` in its name, or a multiple of that.
pub(super) fn invert_all(scene: &Scene, n_clients: usize, only: &str, bar: &ProgressBar) -> Vec<Inversion> {
    let invert = |view: &View, n| invert(scene, view, n, 0..(n_clients * view.times(n)) as u32, 1.0, bar);
    asked(only).iter().flat_map(|view| INTERACTIONS.map(|n| invert(view, n))).collect()
}

pub(super) fn judged_names() -> Vec<String> {
    views().iter().map(|view| name(view.name, view.judged())).collect()
}

fn asked(only: &str) -> Vec<View> {
    views().into_iter().filter(|view| name(view.name, view.judged()).contains(only)).collect()
}

/// What [`invert_all`] adds to a progress bar.
pub(super) fn n_steps(n_clients: usize, only: &str) -> u64 {
    let times: usize = asked(only).iter().flat_map(|view| INTERACTIONS.map(|n| view.times(n))).sum();
    (times * n_clients) as u64 * STEPS_A_CLIENT
}

/// What is judged in a sound view, with an error of its mechanism: its rows and how they are made, for
/// [`power`](super::power).
pub(super) fn with_errors(scene: &Scene) -> Vec<(String, &'static str, impl Fn(f64, u32) -> Inversion + '_)> {
    let sound = views().into_iter().filter(|view| view.expected == Expected::Sound);
    let row = |view: View| {
        let (n, error) = (view.judged(), view.error);
        let n_clients = (AuditBudget::FULL.n_clients * view.times(n)) as u32;
        let name = name(view.name, n);
        let run = move |error: f64, run: u32| {
            invert(scene, &view, n, run * n_clients..(run + 1) * n_clients, error, &ProgressBar::hidden())
        };
        (name, error, run)
    };
    sound.map(row).collect()
}

fn invert(
    scene: &Scene,
    view: &View,
    n_interactions: usize,
    clients: Range<u32>,
    error: f64,
    bar: &ProgressBar,
) -> Inversion {
    let (server, n_clients) = (view.observer(scene, n_interactions, error), clients.len());
    let attack = |client: u32| {
        let round = scene.play(client, n_interactions);
        let observed = server.observe(scene, &round, client);
        let guess = decoder::decode(scene, &round.shown, &observed, &server.noise, client);
        bar.inc(STEPS_A_CLIENT);
        let right = guess.iter().zip(&round.clicks).filter(|(guess, clicks)| guess == clicks).count();
        let by_chance = round.shown.iter().zip(&round.clicks);
        let by_chance =
            by_chance.filter(|(shown, clicks)| scene.most_frequent(shown.ranking.len()) == **clicks).count();
        (right as u64, by_chance as u64)
    };
    let counts: Vec<(u64, u64)> = clients.into_par_iter().map(attack).collect();
    let total = (n_clients * n_interactions) as u64;
    let (right, by_chance) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    Inversion {
        view: view.name.into(),
        n_interactions,
        n_clients,
        recovered: right as f64 / total as f64,
        lower_limit: lower_limit(right, total, ALPHA),
        chance: by_chance as f64 / total as f64,
        expected: view.expected,
        is_judged: view.is_judged(n_interactions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_simulation::datasets::{Synthetic, SyntheticShape};

    fn scene() -> Scene {
        let data = Synthetic { n_train: 100, n_test: 1, ..Synthetic::new(SyntheticShape::Mq2007) };
        Scene::new("synthetic".into(), data.generate(1).expect("a sound description").train, 3).expect("known grades")
    }

    fn recovered(scene: &Scene, name: &str, n_interactions: usize) -> Inversion {
        let view = views().into_iter().find(|view| view.name == name).expect("a view of this name");
        invert(scene, &view, n_interactions, 0..12, 1.0, &ProgressBar::hidden())
    }

    #[test]
    fn messages_in_the_clear_are_inverted() {
        let scene = scene();
        assert_eq!(recovered(&scene, "clear", 1).recovered, 1.0);
        assert!(recovered(&scene, "clear", 2).recovered > 0.95);
        assert!(recovered(&scene, "FPDGD's share of 1000", 2).recovered > 0.9);
    }

    #[test]
    fn under_much_noise_the_most_frequent_clicks_remain() {
        let attack = recovered(&scene(), "central, Gaussian sum of 4", 2);
        assert_eq!(attack.recovered, attack.chance);
        assert!(attack.finding().is_none());
        assert_eq!(
            recovered(&scene(), "central, Gaussian sum of 4", 1).finding().map(|it| it.verdict),
            Some(Verdict::Sound)
        );
    }

    #[test]
    fn a_table_holds_what_the_clicks_added() {
        let scene = scene();
        let round = scene.play(5, 3);
        let tables = table::TableMaker::new(&scene).tables(&round.shown, &round.clicks);
        let mut sum = vec![0.0; scene.global.len()];
        for (table, clicks) in tables.iter().zip(&round.clicks) {
            sum.iter_mut().zip(table.of(clicks.0 as usize)).for_each(|(sum, value)| *sum += value);
        }
        let largest = round.update.iter().zip(&sum).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest < 1e-6, "{largest}");
        assert!(round.update.iter().any(|value| value.abs() > 1e-3));
    }
}
