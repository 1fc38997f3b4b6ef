//! The main job: four methods under three kinds of users on synthetic data, ending with a table and a figure.
//!
//! Centralised PDGD and FPDGD as in spec sections 6 and 8, FOLtR-ES as in section 4. The server momentum closes most of
//! the gap between federated and centralised learning, which is a gap of step size: an average over 1000 clients
//! divides every step by 1000.

use std::collections::BTreeMap;

use foltr_rank::Initialisation;
use foltr_rank::learn::evolution::Reward;

use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point};
use crate::rows::{MetricName, Row};
use crate::spec::{
    Clients, Data, EvolutionStream, Experiment, Federation, Learner, Measures, Metric, Normalise, Preset, Privacy,
    Ranker, ServerOptimiser, Split, SyntheticShape, Updates, Users, in_words,
};
use crate::statistics::Estimate;
use crate::summary::RunRecord;

/// Interactions of every run.
pub const BUDGET: usize = 400_000;

const N_CLIENTS: usize = 1000;

/// Methods in the order of the table and the legend.
pub const METHODS: [&str; 4] = ["Centralised PDGD", "FPDGD + server momentum", "FPDGD", "FOLtR-ES"];

/// Users in the order of the table and the panels.
pub const USERS: [Preset; 3] = [Preset::Perfect, Preset::Navigational, Preset::Informational];

/// One method under one kind of users.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Index of [`METHODS`].
    pub method: usize,
    /// Index of [`USERS`].
    pub users: usize,
    /// What is run.
    pub experiment: Experiment,
}

/// All methods under all users, with seeds 1 to `n_seeds` and `budget` interactions each.
pub fn experiments(n_seeds: u64, budget: usize) -> Vec<Entry> {
    let pairs = (0..USERS.len()).flat_map(|users| (0..METHODS.len()).map(move |method| (users, method)));
    pairs
        .map(|(users, method)| Entry { method, users, experiment: experiment(method, users, n_seeds, budget) })
        .collect()
}

/// The data of the main job.
pub const fn data() -> Data {
    Data::Synthetic {
        shape: SyntheticShape::Tiny,
        queries: 1000,
        validation_queries: Some(0),
        test_queries: Some(500),
        seed: 1,
        normalise: Normalise::None,
    }
}

fn experiment(method: usize, users: usize, n_seeds: u64, budget: usize) -> Experiment {
    let clients = |interactions| Some(Clients { n_clients: N_CLIENTS, interactions, cohort: None });
    let federation = |optimiser| Some(Federation { rounds: None, budget: Some(budget), optimiser });
    let pdgd = Learner::Pdgd { learning_rate: 0.1, updates: Updates::Immediate };
    let evolution =
        Learner::Evolution { sigma: 0.01, antithetic: true, reward: Reward::MaxRr, stream: EvolutionStream::Separate };
    let centralised = Learner::CentralisedPdgd {
        learning_rate: 0.1,
        batch: 1,
        decay: None,
        budget,
        interactions_per_round: 2 * N_CLIENTS,
    };
    let average = ServerOptimiser::LearningRate { rate: 1.0 };
    let momentum = ServerOptimiser::Momentum { rate: 10.0, momentum: 0.9 };
    let adam = ServerOptimiser::Adam { rate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    let (learner, clients, federation) = match method {
        0 => (centralised, None, None),
        1 => (pdgd, clients(2), federation(momentum)),
        2 => (pdgd, clients(2), federation(average)),
        _ => (evolution, clients(4), federation(adam)),
    };
    Experiment {
        seeds: (1..=n_seeds).collect(),
        data: data(),
        clients,
        users: Some(Users::Cascade { preset: USERS[users], grades: Some(3) }),
        ranker: Some(Ranker::Linear { initialisation: Initialisation::Zero }),
        learner,
        federation,
        privacy: Privacy::None,
        metrics: Measures::default(),
    }
}

/// Learning curves of all entries, one panel a kind of users.
pub fn figure(entries: &[(Entry, Vec<RunRecord>)], n_seeds: u64) -> CurveFigure {
    let panel = |users: usize| Panel {
        curves: entries
            .iter()
            .filter(|(entry, _)| entry.users == users)
            .map(|(entry, runs)| Curve { method: entry.method, points: learning_curve(&entry.experiment, runs) })
            .collect(),
        references: Vec::new(),
    };
    let bands =
        if n_seeds > 1 { format!("mean of {n_seeds} runs with 95 % confidence bands") } else { "one run".into() };
    CurveFigure {
        title: "Federated online learning to rank".into(),
        subtitle: format!("synthetic data, {N_CLIENTS} clients; {bands}"),
        x_label: "interactions of all clients together".into(),
        y_label: "nDCG@10 on test queries".into(),
        methods: METHODS.iter().map(|&method| method.to_owned()).collect(),
        columns: USERS.iter().map(|users| format!("{} users", in_words(users))).collect(),
        rows: vec![PanelRow { title: String::new(), panels: (0..USERS.len()).map(panel).collect() }],
        ..CurveFigure::default()
    }
}

/// Test nDCG@10 over interactions: mean and confidence interval over runs.
///
/// Without round 0: a ranker of zeros scores all documents alike, and its value tells only how ties are broken.
pub fn learning_curve(experiment: &Experiment, runs: &[RunRecord]) -> Vec<Point> {
    let per_round = experiment.schedule().map_or(0, |schedule| schedule.interactions_per_round());
    let wanted = MetricName::Offline(Split::Test, Metric::Ndcg(10));
    let mut rounds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for Row { round, value, .. } in
        runs.iter().flat_map(|run| &run.rows).filter(|row| row.metric == wanted && row.round > 0)
    {
        rounds.entry(*round).or_default().push(*value);
    }
    let point = |(round, values): (usize, Vec<f64>)| {
        let estimate = Estimate::of(&values)?;
        let (low, high) = estimate.confidence_interval_95.unwrap_or((estimate.mean, estimate.mean));
        Some(Point { x: (round * per_round) as f64, mean: estimate.mean, low, high })
    };
    rounds.into_iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::RunOutcome;

    #[test]
    fn every_method_gets_the_same_budget() {
        for entry in experiments(2, BUDGET) {
            assert_eq!(entry.experiment.check(), [], "{}", METHODS[entry.method]);
            let schedule = entry.experiment.schedule().expect("all learn online");
            assert_eq!(schedule.n_interactions(), BUDGET, "{}", METHODS[entry.method]);
        }
    }

    #[test]
    fn a_curve_is_drawn_over_interactions_from_the_first_round_on() {
        let metric = MetricName::Offline(Split::Test, Metric::Ndcg(10));
        let row = |seed, round, value| Row { fold: 1, seed, round, metric, value };
        let outcome = RunOutcome { params: vec![], n_interactions: 0, training_seconds: 0.0, interrupted: false };
        let run = |seed, value| RunRecord {
            rows: vec![row(seed, 0, 0.0), row(seed, 1, value), row(seed, 2, value)],
            outcome: outcome.clone(),
        };
        let entry = experiments(2, BUDGET).remove(2);
        let curve = learning_curve(&entry.experiment, &[run(1, 0.5), run(2, 0.75)]);
        let places: Vec<(f64, f64)> = curve.iter().map(|point| (point.x, point.mean)).collect();
        assert_eq!(places, [(2000.0, 0.625), (4000.0, 0.625)]);
        assert!(curve[0].low < 0.5 && curve[0].high > 0.75);
    }
}
