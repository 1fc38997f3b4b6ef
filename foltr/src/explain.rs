//! What does an experiment hide, from whom, and under which assumptions? Facts behind `foltr privacy explain`.
//!
//! Numbers come from the [accountant]; what they mean depends on what an observer sees, and
//! that is said here. `docs/explain.md` describes the JSON form of [`Explained`].

mod facts;
mod render;

use anyhow::{Result, ensure};
use foltr_federation::accountant::{self, Guarantee, PrivacyCost};
use foltr_federation::privacy::{self, Claim};
use serde::Serialize;

use foltr_experiment::data;
use foltr_experiment::grid::Grid;
use foltr_experiment::spec::{Data, Experiment};

/// Delta where neither the command line nor the experiment names one.
const USUAL_DELTA: f64 = 1e-5;

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
    /// Messages that a client may send in the whole run: one in every round.
    pub messages: usize,
    /// Of a paper, or of the file itself.
    pub claim: Option<Claim>,
    pub guarantees: Vec<ObserverGuarantee>,
    #[serde(flatten)]
    pub words: privacy::Explanation,
}

/// What holds against one observer. Without a guarantee, nothing is hidden or nothing is proven.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ObserverGuarantee {
    pub against: Observer,
    pub sees: &'static str,
    /// Of one list and the clicks on it.
    pub interaction: Option<Guarantee>,
    /// Of all that is behind one message.
    pub message: Option<Guarantee>,
    /// Of everything that one client does in the whole run.
    pub run: Option<Guarantee>,
    /// The same without any delta: costs of messages simply added up.
    pub run_without_delta: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observer {
    /// Who runs the server, or reads its mail.
    Server,
    /// Who sees sums of rounds or published models only.
    SumsAndModels,
    OtherClients,
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
    let own_delta = || experiment.privacy.whole_run().or(experiment.budget).map(|budget| budget.delta);
    let delta = delta.or_else(own_delta).unwrap_or(USUAL_DELTA);
    ensure!(delta > 0.0 && delta < 1.0, "--delta {delta}: must be above 0 and below 1");
    let n_params = n_params(experiment, widths)?;
    let facts = facts::Facts::of(experiment, n_params, delta)?;
    Ok(Explanation {
        settings: Vec::new(),
        learner: experiment.learner.name(),
        mechanism: experiment.privacy.name(),
        n_params,
        interactions: facts.interactions,
        messages: facts.messages,
        claim: facts.claim()?,
        guarantees: facts.guarantees()?,
        words: facts.words()?,
    })
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

/// What one message costs, and what that adds up to.
#[derive(Clone, Copy, Debug)]
struct Price {
    cost: PrivacyCost,
    messages: u32,
    delta: f64,
}

impl Price {
    /// What holds against an observer to whom a message costs this much; nothing without a price.
    fn against(price: Option<Self>, against: Observer, sees: &'static str) -> ObserverGuarantee {
        let nothing =
            ObserverGuarantee { against, sees, interaction: None, message: None, run: None, run_without_delta: None };
        let Some(price) = price else { return nothing };
        // Without a delta wherever one can do without.
        let pure = finite(Guarantee { epsilon: price.cost.epsilon(), delta: 0.0 });
        let message = pure.or_else(|| finite(price.cost.after(1, price.delta)));
        let interaction = match price.cost.per_interaction() {
            Some(epsilon) => finite(Guarantee { epsilon, delta: 0.0 }),
            None => message,
        };
        let added_up = f64::from(price.messages) * price.cost.epsilon();
        let run_without_delta = Some(added_up).filter(|epsilon| epsilon.is_finite());
        ObserverGuarantee { interaction, message, run: price.run(), run_without_delta, ..nothing }
    }

    /// The smallest epsilon.
    fn run(&self) -> Option<Guarantee> {
        let bounds = accountant::bounds(&[(self.cost, self.messages)], self.delta);
        bounds.into_iter().min_by(|a, b| a.epsilon.total_cmp(&b.epsilon))
    }
}

fn finite(guarantee: Guarantee) -> Option<Guarantee> {
    guarantee.epsilon.is_finite().then_some(guarantee)
}

#[cfg(test)]
mod tests;
