//! What does an experiment hide, from whom, and under which assumptions? Facts behind `foltr privacy explain`.
//!
//! What holds is for [`FederationPlan::guarantee`](foltr_federation::FederationPlan::guarantee) to say; here are the
//! settings of a grid, and what is known of an experiment beside its plan. `docs/explain.md` describes the JSON form of
//! [`Explained`].

mod defence;
mod render;

use anyhow::{Result, ensure};
use foltr_federation::plan::ANY_MODEL;
use foltr_federation::privacy::{self, Adjacency, Claim, Noise};
use foltr_federation::{Observer, ObserverGuarantee};
use serde::Serialize;

use defence::DefenceScope;
use foltr_experiment::data;
use foltr_experiment::grid::Grid;
use foltr_experiment::spec::{Data, Experiment};

/// What every setting of a grid hides, each explanation once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// Of this form; grows when a reader would have to change.
    pub version: u32,
    pub explanations: Vec<Explanation>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The settings, each as its place on every axis of the grid.
    pub settings: Vec<Vec<(String, String)>>,
    pub learner: &'static str,
    pub mechanism: &'static str,
    /// Parameters of the model, where a number depends on them.
    pub n_params: Option<usize>,
    pub interactions: usize,
    /// Messages that a client may send in training: one in every round.
    pub messages: usize,
    /// Messages that a client which stays may send again while others are forgotten.
    pub replayed: usize,
    /// Of a paper, or of the file itself.
    pub claim: Option<Claim>,
    /// Which runs a guarantee compares, by name; and in words, empty where nothing is promised.
    pub adjacency: Option<Adjacency>,
    pub neighbours: &'static str,
    pub noise: Noise,
    /// Against how many attackers `[defence]` is set up.
    pub defence: Option<DefenceScope>,
    pub guarantees: Vec<ObserverGuarantee>,
    #[serde(flatten)]
    pub words: privacy::Explanation,
}

impl Explained {
    /// At this delta or the experiment's own.
    pub fn of(grid: &Grid, delta: Option<f64>) -> Result<Self> {
        let mut explanations: Vec<Explanation> = Vec::new();
        let mut widths: Vec<(Data, usize)> = Vec::new();
        for setting in &grid.settings {
            let new = explain(setting.training()?, delta, &mut widths)?;
            let is_same = |known: &Explanation| Explanation { settings: Vec::new(), ..known.clone() } == new;
            let known = explanations.iter().position(is_same).unwrap_or(explanations.len());
            if known == explanations.len() {
                explanations.push(new);
            }
            explanations[known].settings.push(setting.labels.clone());
        }
        Ok(Self { version: 1, explanations })
    }
}

fn explain(experiment: &Experiment, delta: Option<f64>, widths: &mut Vec<(Data, usize)>) -> Result<Explanation> {
    let delta = delta.unwrap_or_else(|| experiment.plan().delta());
    ensure!(delta > 0.0 && delta < 1.0, "--delta {delta}: must be above 0 and below 1");
    let n_params = n_params(experiment, widths)?;
    let unprotected = Explanation {
        settings: Vec::new(),
        learner: experiment.learner.name(),
        mechanism: experiment.privacy.name(),
        n_params,
        interactions: experiment.schedule().map_or(0, |schedule| schedule.interactions),
        messages: 0,
        replayed: 0,
        claim: None,
        adjacency: None,
        neighbours: "",
        noise: Noise::None,
        defence: DefenceScope::of(experiment),
        guarantees: Vec::new(),
        words: privacy::Explanation::default(),
    };
    if !experiment.learner.is_federated() {
        return Ok(without_clients(experiment, unprotected));
    }
    let (plan, width) = (experiment.plan(), n_params.unwrap_or(ANY_MODEL));
    let guarantee = plan.guarantee(width, delta)?;
    let mut words = guarantee.words;
    let warms_up = experiment.partition.and_then(|partition| partition.shared()).is_some();
    if warms_up && guarantee.adjacency.is_some() {
        let sentence = "Queries that all clients share, and the clicks of a warm-up on them, are public.";
        words.assumptions.push(sentence.into());
    }
    Ok(Explanation {
        messages: guarantee.rounds,
        replayed: guarantee.replayed_rounds,
        claim: plan.privacy.claim(&plan.mechanism_context(width))?,
        adjacency: guarantee.adjacency,
        neighbours: guarantee.adjacency.map_or("", Adjacency::words),
        noise: guarantee.noise,
        guarantees: guarantee.observers,
        words,
        ..unprotected
    })
}

/// What is said of a learner that has all clicks in one place, or none at all.
fn without_clients(experiment: &Experiment, explanation: Explanation) -> Explanation {
    let (summary, guarantees) = if experiment.learner.is_baseline() {
        ("learns from labels; there are no clients and no clicks", Vec::new())
    } else {
        ("all interactions are in one place", vec![ObserverGuarantee::nothing(Observer::Server, "every click")])
    };
    let words = privacy::Explanation { summary: format!("No privacy mechanism: {summary}"), ..Default::default() };
    Explanation { guarantees, words, ..explanation }
}

/// Parameters of the model, where a number depends on them: read from the file, or else from the data.
fn n_params(experiment: &Experiment, widths: &mut Vec<(Data, usize)>) -> Result<Option<usize>> {
    let Some(ranker) = experiment.ranker.filter(|_| experiment.privacy.depends_on_model()) else { return Ok(None) };
    let named = experiment.data.n_features();
    let known = || widths.iter().find(|(data, _)| *data == experiment.data).map(|(_, width)| *width);
    if let Some(width) = named.or_else(known) {
        return Ok(Some(ranker.shape(width).n_params()));
    }
    let folds = data::load(&experiment.data)?;
    let widest = folds.iter().map(|(_, fold)| fold.train.n_features()).max().unwrap_or(0);
    widths.push((experiment.data.clone(), widest));
    Ok(Some(ranker.shape(widest).n_params()))
}

#[cfg(test)]
mod tests;
