//! What a model file says about its ranker beside the weights: what scoring needs, and where the ranker comes from.

use anyhow::{Context, Result, anyhow, bail, ensure};
use foltr_rank::{Activation, Shape};
use serde::{Deserialize, Serialize};

use super::{KEY, Model};
use crate::job::Job;
use crate::spec::{Experiment, Measures, Metric, Normalisation, Split, WithoutRelevant};

/// Files of format 1 have a line of free text in place of `features` and `provenance`.
const FORMAT: u32 = 2;
const OLDEST_FORMAT: u32 = 1;

/// The training that a ranker comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    pub learner: String,
    /// The name of the run: a hash of its settings, its data and the code that computes numbers.
    pub run: String,
    pub data: String,
    /// Of features, labels and query ids of the fold.
    pub data_hash: String,
    /// The first fold is 1.
    pub fold: usize,
    pub seed: u64,
    pub metrics: Conventions,
}

/// How the run measured its rankers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Conventions {
    pub offline: Vec<Metric>,
    pub evaluate_on: Vec<Split>,
    pub queries_without_relevant: WithoutRelevant,
    /// Of the online nDCG of shown lists.
    pub cutoff: usize,
    pub list_length: usize,
}

impl Provenance {
    pub fn new(experiment: &Experiment, job: &Job) -> Self {
        Self {
            learner: experiment.learner.name().into(),
            run: job.key.clone(),
            data: experiment.data.name(),
            data_hash: job.data_hash.clone(),
            fold: job.fold,
            seed: job.seed,
            metrics: Conventions::from(&experiment.metrics),
        }
    }
}

impl From<&Measures> for Conventions {
    fn from(measures: &Measures) -> Self {
        Self {
            offline: measures.offline.clone(),
            evaluate_on: measures.evaluate_on.clone(),
            queries_without_relevant: measures.queries_without_relevant,
            cutoff: measures.cutoff,
            list_length: measures.list_length,
        }
    }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    format: u32,
    /// Version of the program that wrote the file.
    pub(super) foltr: String,
    pub(super) ranker: RankerKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) activation: Option<Activation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) features: Option<usize>,
    pub(super) normalise: Normalisation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provenance: Option<Provenance>,
    /// What files of format 1 have in place of a provenance; never written.
    #[serde(default, skip_serializing)]
    pub(super) about: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RankerKind {
    Linear,
    Mlp,
}

impl Header {
    pub(super) fn new(model: &Model, provenance: Option<&Provenance>) -> Self {
        let (ranker, activation) = match model.shape {
            Shape::Linear { .. } => (RankerKind::Linear, None),
            Shape::Mlp { activation, .. } => (RankerKind::Mlp, Some(activation)),
        };
        Self {
            format: FORMAT,
            foltr: env!("CARGO_PKG_VERSION").into(),
            ranker,
            activation,
            features: Some(model.shape.n_features()),
            normalise: model.normalise,
            provenance: provenance.cloned(),
            about: None,
        }
    }

    pub(super) fn read(text: Option<&String>) -> Result<Self> {
        let expected = "expected a model that `foltr run` wrote";
        let text = text.with_context(|| format!("there is no metadata key `{KEY}`; {expected}"))?;
        let not_a_header = |error| anyhow!("metadata `{KEY}`: {error}; {expected}");
        let value: serde_json::Value = serde_json::from_str(text).map_err(not_a_header)?;
        if value.get("kind").is_some_and(|kind| kind == "mimic") {
            bail!(
                "it is a network of mimic learning; {expected}, or use `foltr search` and `foltr mimic` with this one"
            );
        }
        // The version first: a later format may have other keys.
        let format = value.get("format").filter(|format| {
            !format.as_u64().is_some_and(|format| (OLDEST_FORMAT.into()..=FORMAT.into()).contains(&format))
        });
        if let Some(format) = format {
            let ours = env!("CARGO_PKG_VERSION");
            bail!(
                "metadata `{KEY}`: `format` is {format}; expected {OLDEST_FORMAT} to {FORMAT}, or a newer foltr than {ours}"
            );
        }
        let header: Self = serde_json::from_value(value).map_err(not_a_header)?;
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<()> {
        let is_mlp = self.ranker == RankerKind::Mlp;
        ensure!(is_mlp || self.activation.is_none(), "a linear ranker with an activation; expected none");
        ensure!(
            !is_mlp || self.activation.is_some(),
            "an mlp ranker without `activation`; expected `activation` to be `logistic` or `relu`"
        );
        Ok(())
    }
}
