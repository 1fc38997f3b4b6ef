//! How large is a network, and how is it trained? The sections `[teacher]` and `[student]` of an experiment.

use foltr_rank::rng::MAX_ROUNDS;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::embeddings::{EmbeddingSource, SkipGram};
use crate::network::{Composition, MAX_SIZE, Representation, Shape, is_valid_hidden};
use crate::training::MAX_ROWS;
use crate::training::loss::Loss;

/// A network and its training. What a file leaves out is as in the paper's Table 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NetworkSettings {
    /// Text: what the layers look at; `vectors` when absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub structure: Structure,
    /// Units of the hidden layers.
    pub hidden: Vec<usize>,
    /// Share of units that drop out in training.
    pub dropout: f32,
    /// Text: numbers of an embedding.
    pub dimensions: usize,
    /// Text: where embeddings start.
    pub embeddings: EmbeddingSource,
    /// Text: how weighted embeddings become one vector.
    pub composition: Composition,
    /// Text: whether the product of the two vectors is an input too.
    pub product: bool,
    /// What a pair costs that is ordered in another way than by its labels; the hinge when absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss: Loss,
    /// Pairs per step.
    pub batch: usize,
    /// Of Adam.
    pub learning_rate: f32,
    /// Most steps.
    pub steps: u32,
    /// Steps between two validations.
    pub validate_every: u32,
    /// Validations without improvement after which training ends.
    pub patience: u32,
}

/// What the layers of a network of texts look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// The query and the document, each as one vector (`DKA17`).
    #[default]
    Vectors,
    /// How often terms like those of the query are in the document (`XDCLP17`). Embeddings are not learnt.
    Interaction,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{key}` is {found}; expected {expected}")]
pub struct InvalidSetting {
    pub key: &'static str,
    pub found: String,
    pub expected: &'static str,
}

/// Whether a setting is right, its key, its value and what would be right.
pub(crate) type Rule = (bool, &'static str, String, &'static str);

pub(crate) fn violations(rules: impl IntoIterator<Item = Rule>) -> Vec<InvalidSetting> {
    let wrong = rules.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, key, found, expected)| InvalidSetting { key, found, expected }).collect()
}

impl NetworkSettings {
    /// The paper's teacher (its Table 1).
    pub fn teacher() -> Self {
        Self::sized(512, 500, 0.2)
    }

    /// The paper's student.
    pub fn student() -> Self {
        Self::sized(128, 300, 0.1)
    }

    fn sized(units: usize, dimensions: usize, dropout: f32) -> Self {
        Self {
            structure: Structure::default(),
            hidden: vec![units; 3],
            dropout,
            dimensions,
            embeddings: EmbeddingSource::Trained(SkipGram::default()),
            composition: Composition::Mean,
            product: false,
            loss: Loss::default(),
            batch: 512,
            learning_rate: 1e-3,
            steps: 2_000,
            validate_every: 100,
            patience: 5,
        }
    }

    /// For a vocabulary, and documents of this length on average.
    pub fn text_shape(&self, n_terms: usize, usual_length: usize) -> Shape {
        let &Self { dimensions: n_dimensions, composition, product, .. } = self;
        self.shape(match self.structure {
            Structure::Vectors => Representation::Text { n_terms, n_dimensions, composition, product },
            Structure::Interaction => Representation::Interaction { n_terms, n_dimensions, composition, usual_length },
        })
    }

    pub fn feature_shape(&self, n_features: usize) -> Shape {
        self.shape(Representation::Features { n_features })
    }

    fn shape(&self, representation: Representation) -> Shape {
        Shape { representation, hidden: self.hidden.clone(), dropout: self.dropout }
    }

    pub fn check(&self) -> Vec<InvalidSetting> {
        let Self { hidden, dropout, dimensions, batch, learning_rate, steps, validate_every, patience, .. } = self;
        let rate = *learning_rate;
        let can_multiply = self.structure == Structure::Vectors || !self.product;
        let temperature = if let Loss::CrossEntropy { temperature } = self.loss { temperature } else { 1.0 };
        let is_warm = temperature > 0.0 && temperature.is_finite();
        violations([
            (is_warm, "loss.temperature", temperature.to_string(), "above 0"),
            (can_multiply, "product", self.product.to_string(), "false: only `structure = \"vectors\"` has vectors"),
            (is_valid_hidden(hidden), "hidden", format!("{hidden:?}"), "1 to 64 layers of 1 to 2^26 units"),
            ((0.0..1.0).contains(dropout), "dropout", dropout.to_string(), "at least 0, below 1"),
            ((1..=MAX_SIZE).contains(dimensions), "dimensions", dimensions.to_string(), "1 to 2^26"),
            ((1..=MAX_ROWS / 2).contains(batch), "batch", batch.to_string(), "1 to 2^23"),
            (rate > 0.0 && rate.is_finite(), "learning_rate", rate.to_string(), "above 0"),
            ((1..=MAX_ROUNDS).contains(steps), "steps", steps.to_string(), "1 to 2^28"),
            (*validate_every > 0, "validate_every", validate_every.to_string(), "at least 1"),
            (*patience > 0, "patience", patience.to_string(), "at least 1"),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_refused() {
        let good = NetworkSettings::student;
        assert_eq!((good().check(), NetworkSettings::teacher().check()), (vec![], vec![]));
        for (wrong, key) in [
            (NetworkSettings { hidden: vec![], ..good() }, "hidden"),
            (NetworkSettings { hidden: vec![3, 0], ..good() }, "hidden"),
            (NetworkSettings { hidden: vec![1; 65], ..good() }, "hidden"),
            (NetworkSettings { structure: Structure::Interaction, product: true, ..good() }, "product"),
            (NetworkSettings { loss: Loss::CrossEntropy { temperature: 0.0 }, ..good() }, "loss.temperature"),
            (NetworkSettings { dropout: 1.0, ..good() }, "dropout"),
            (NetworkSettings { dropout: f32::NAN, ..good() }, "dropout"),
            (NetworkSettings { dimensions: 0, ..good() }, "dimensions"),
            (NetworkSettings { batch: 0, ..good() }, "batch"),
            (NetworkSettings { batch: MAX_ROWS, ..good() }, "batch"),
            (NetworkSettings { learning_rate: f32::NAN, ..good() }, "learning_rate"),
            (NetworkSettings { learning_rate: -1.0, ..good() }, "learning_rate"),
            (NetworkSettings { steps: 0, ..good() }, "steps"),
            (NetworkSettings { validate_every: 0, ..good() }, "validate_every"),
            (NetworkSettings { patience: 0, ..good() }, "patience"),
        ] {
            let keys: Vec<_> = wrong.check().iter().map(|invalid| invalid.key).collect();
            assert_eq!(keys, [key], "{wrong:?}");
        }
    }
}
