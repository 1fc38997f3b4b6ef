//! How large is a network, and what does it look at (spec section 16.1)?

use serde::{Deserialize, Serialize};

use super::kernels;
use crate::InvalidInput;

/// Layers at most: dropout numbers its streams by them.
const MAX_HIDDEN: usize = 64;
/// Terms, dimensions, features and units at most, so that no product of two overflows.
pub(crate) const MAX_SIZE: usize = 1 << 26;

/// Everything about a network but its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    pub representation: Representation,
    /// Units of each hidden layer, the one next to the input first.
    pub hidden: Vec<usize>,
    /// Share of the hidden units that are left out of a training step.
    pub dropout: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Representation {
    /// Query and document as sums of the embeddings of their terms.
    Text {
        n_terms: usize,
        n_dimensions: usize,
        composition: Composition,
        /// Whether the element-wise product of query and document follows the two; not in the paper.
        product: bool,
    },
    /// How often terms like each term of the query are in the document, by kernels over cosines. Embeddings stay as they
    /// are.
    Interaction {
        n_terms: usize,
        n_dimensions: usize,
        composition: Composition,
        /// Terms of a usual document.
        usual_length: usize,
    },
    Features {
        n_features: usize,
    },
}

/// How the embeddings e of a text's terms with counts c and learned weights w become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Composition {
    /// The sum of c w e (`DKA17`).
    Sum,
    /// The sum of c exp(w) e, divided by the sum of c exp(w): `DZSKC17`, which `DKA17` builds on.
    Softmax,
    /// The sum of c w e, divided by the sum of c |w|, so that the length of a document does not matter.
    Mean,
}

/// Parts of what goes into the first layer: query, document and product, each of the same width.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub width: usize,
    pub has_query: bool,
    pub has_product: bool,
    /// Whether the document's part depends on the query.
    pub is_of_both: bool,
}

impl Representation {
    pub(crate) fn parts(self) -> Parts {
        match self {
            Self::Text { n_dimensions, product, .. } => {
                Parts { width: n_dimensions, has_query: true, has_product: product, is_of_both: false }
            }
            Self::Interaction { .. } => {
                Parts { width: kernels::WIDTH, has_query: false, has_product: false, is_of_both: true }
            }
            Self::Features { n_features } => {
                Parts { width: n_features, has_query: false, has_product: false, is_of_both: false }
            }
        }
    }

    /// How the terms of a text count.
    ///
    /// # Panics
    /// If the network looks at features.
    pub(crate) fn composition(self) -> Composition {
        match self {
            Self::Text { composition, .. } | Self::Interaction { composition, .. } => composition,
            Self::Features { .. } => panic!("a network of features was given a text"),
        }
    }

    /// Terms, and the dimensions of their embeddings; none of features.
    pub(crate) fn terms(self) -> Option<(usize, usize)> {
        match self {
            Self::Text { n_terms, n_dimensions, .. } | Self::Interaction { n_terms, n_dimensions, .. } => {
                Some((n_terms, n_dimensions))
            }
            Self::Features { .. } => None,
        }
    }
}

pub(crate) fn is_valid_hidden(hidden: &[usize]) -> bool {
    (1..=MAX_HIDDEN).contains(&hidden.len()) && hidden.iter().all(|units| (1..=MAX_SIZE).contains(units))
}

impl Shape {
    /// Inputs and outputs of each layer, the output layer included.
    pub(crate) fn layers(&self) -> Vec<(usize, usize)> {
        let Parts { width, has_query, has_product, .. } = self.representation.parts();
        let n_inputs = width * (1 + usize::from(has_query) + usize::from(has_product));
        let inputs = std::iter::once(n_inputs).chain(self.hidden.iter().copied());
        inputs.zip(self.hidden.iter().copied().chain([1])).collect()
    }

    /// Groups of parameters, the first of [`Self::tensors`], that training leaves as they are.
    pub(crate) fn n_fixed(&self) -> usize {
        usize::from(matches!(self.representation, Representation::Interaction { .. }))
    }

    /// Names and dimensions of all parameters, in a fixed order.
    pub(crate) fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut tensors = Vec::new();
        if let Some((n_terms, n_dimensions)) = self.representation.terms() {
            tensors.push(("terms.embeddings".into(), vec![n_terms, n_dimensions]));
            tensors.push(("terms.weights".into(), vec![n_terms]));
        }
        for (number, (n_inputs, n_outputs)) in self.layers().into_iter().enumerate() {
            tensors.push((format!("layers.{number}.weights"), vec![n_inputs, n_outputs]));
            tensors.push((format!("layers.{number}.bias"), vec![n_outputs]));
        }
        tensors
    }

    pub fn check(&self) -> Result<(), InvalidInput> {
        let refused = |name: &str, found: String, expected: &str| {
            Err(InvalidInput::new(format!("a network's `{name}` is {found}"), expected))
        };
        if !is_valid_hidden(&self.hidden) {
            return refused("hidden", format!("{:?}", self.hidden), "1 to 64 layers of 1 to 2^26 units");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return refused("dropout", self.dropout.to_string(), "at least 0, below 1");
        }
        let sizes = match self.representation {
            Representation::Text { n_terms, n_dimensions, .. } => {
                vec![("n_terms", n_terms), ("n_dimensions", n_dimensions)]
            }
            Representation::Interaction { n_terms, n_dimensions, usual_length, .. } => {
                vec![("n_terms", n_terms), ("n_dimensions", n_dimensions), ("usual_length", usual_length)]
            }
            Representation::Features { n_features } => vec![("n_features", n_features)],
        };
        match sizes.iter().find(|(_, size)| !(1..=MAX_SIZE).contains(size)) {
            Some((name, found)) => refused(name, found.to_string(), "1 to 2^26"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NetworkSettings, Structure};

    #[test]
    fn sizes_without_a_network_are_refused() {
        let interaction = |n_terms, length| {
            let structure = Structure::Interaction;
            NetworkSettings { structure, ..NetworkSettings::student() }.text_shape(n_terms, length)
        };
        assert_eq!(interaction(1, 1).check(), Ok(()));
        let good = NetworkSettings::student().text_shape(1, 1);
        assert_eq!(good.check(), Ok(()));
        let wrong = [
            NetworkSettings::student().text_shape(0, 1),
            interaction(0, 1),
            interaction(1, 0),
            NetworkSettings { dimensions: 0, ..NetworkSettings::student() }.text_shape(1, 1),
            NetworkSettings::student().feature_shape(0),
            Shape { hidden: vec![3, 0], ..good.clone() },
            Shape { dropout: f32::NAN, ..good },
        ];
        for shape in wrong {
            assert!(shape.check().is_err(), "{shape:?}");
        }
    }
}
