//! How large is a network, and what does it look at (spec section 16.1)?

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Inputs;

/// Layers at most: dropout numbers its streams by them.
const MAX_HIDDEN: usize = 64;
/// Terms, dimensions, features and units at most, so that no product of two overflows.
const MAX_SIZE: usize = 1 << 26;

/// Everything about a network but its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// What it looks at.
    pub representation: Representation,
    /// Units of each hidden layer, the one next to the input first.
    pub hidden: Vec<usize>,
    /// Share of the hidden units that are left out of a training step.
    pub dropout: f32,
}

/// What a network looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Representation {
    /// Query and document as sums of the embeddings of their terms.
    Text {
        /// Terms of the vocabulary.
        n_terms: usize,
        /// Dimensions of an embedding.
        n_dimensions: usize,
        /// How embeddings become one vector.
        composition: Composition,
        /// Whether the element-wise product of query and document follows the two; not in the paper.
        product: bool,
    },
    /// The features of a row.
    Features {
        /// Features a row.
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

/// Why there is no network of a shape, or why it cannot look at inputs.
#[derive(Debug, Error, PartialEq)]
pub enum ShapeError {
    /// A size is out of its range.
    #[error("a network's `{name}` is {found}; expected {expected}")]
    Size {
        /// What has the size.
        name: &'static str,
        /// The size.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// Inputs are of the other kind.
    #[error("the network looks at {network}, the inputs are {inputs}; expected the same")]
    Kind {
        /// What the network looks at.
        network: &'static str,
        /// What the inputs are.
        inputs: &'static str,
    },
    /// A text has a term beyond the vocabulary, or terms and counts are not as many.
    #[error("{kind} {number} has {found}; expected {expected}")]
    Input {
        /// `query`, `document` or `row`.
        kind: &'static str,
        /// Its number.
        number: usize,
        /// What is wrong.
        found: String,
        /// What would be right.
        expected: String,
    },
}

impl Shape {
    /// The paper's teacher: three layers of 512 units, 20 % dropout; its embeddings have [`Self::TEACHER_DIMENSIONS`].
    pub fn teacher(representation: Representation) -> Self {
        Self { representation, hidden: vec![512; 3], dropout: 0.2 }
    }

    /// The paper's student: three layers of 128 units, 10 % dropout; its embeddings have [`Self::STUDENT_DIMENSIONS`].
    pub fn student(representation: Representation) -> Self {
        Self { representation, hidden: vec![128; 3], dropout: 0.1 }
    }

    /// Dimensions of the paper's teacher's embeddings.
    pub const TEACHER_DIMENSIONS: usize = 500;
    /// Dimensions of the paper's student's embeddings.
    pub const STUDENT_DIMENSIONS: usize = 300;

    /// Numbers that go into the first layer.
    pub fn n_inputs(&self) -> usize {
        match self.representation {
            Representation::Text { n_dimensions, product, .. } => n_dimensions * if product { 3 } else { 2 },
            Representation::Features { n_features } => n_features,
        }
    }

    /// Inputs and outputs of each layer, the output layer included.
    pub(crate) fn layers(&self) -> Vec<(usize, usize)> {
        let inputs = std::iter::once(self.n_inputs()).chain(self.hidden.iter().copied());
        inputs.zip(self.hidden.iter().copied().chain([1])).collect()
    }

    /// Names and dimensions of all parameters, in a fixed order.
    pub(crate) fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut tensors = Vec::new();
        if let Representation::Text { n_terms, n_dimensions, .. } = self.representation {
            tensors.push(("terms.embeddings".into(), vec![n_terms, n_dimensions]));
            tensors.push(("terms.weights".into(), vec![n_terms]));
        }
        for (number, (n_inputs, n_outputs)) in self.layers().into_iter().enumerate() {
            tensors.push((format!("layers.{number}.weights"), vec![n_inputs, n_outputs]));
            tensors.push((format!("layers.{number}.bias"), vec![n_outputs]));
        }
        tensors
    }

    /// # Errors
    /// If there is no such network.
    pub fn check(&self) -> Result<(), ShapeError> {
        let size = |name, found, expected| Err(ShapeError::Size { name, found, expected });
        let in_range = |size: &usize| (1..=MAX_SIZE).contains(size);
        if !(1..=MAX_HIDDEN).contains(&self.hidden.len()) || !self.hidden.iter().all(in_range) {
            return size("hidden", format!("{:?}", self.hidden), "1 to 64 layers, each of 1 to 2^26 units");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return size("dropout", self.dropout.to_string(), "at least 0 and less than 1");
        }
        let sizes = match self.representation {
            Representation::Text { n_terms, n_dimensions, .. } => {
                vec![("n_terms", n_terms), ("n_dimensions", n_dimensions)]
            }
            Representation::Features { n_features } => vec![("n_features", n_features)],
        };
        match sizes.iter().find(|(_, size)| !in_range(size)) {
            Some((name, found)) => size(name, found.to_string(), "1 to 2^26"),
            None => Ok(()),
        }
    }

    /// # Errors
    /// If a network of this shape cannot look at these inputs.
    pub fn check_inputs(&self, inputs: &Inputs) -> Result<(), ShapeError> {
        let kinds = |network, inputs| Err(ShapeError::Kind { network, inputs });
        match (self.representation, inputs) {
            (Representation::Text { n_terms, .. }, Inputs::Text { queries, documents }) => {
                for (kind, bags) in [("query", queries), ("document", documents)] {
                    for (number, bag) in bags.iter().enumerate() {
                        bag.check(n_terms).map_err(|(found, expected)| ShapeError::Input {
                            kind,
                            number,
                            found,
                            expected,
                        })?;
                    }
                }
                Ok(())
            }
            (Representation::Features { n_features }, Inputs::Features { n_features: found, rows }) => {
                let expected = format!("{n_features} finite features");
                let wrong = |number, found| Err(ShapeError::Input { kind: "row", number, found, expected });
                if *found != n_features || rows.len() % n_features != 0 {
                    return wrong(rows.len() / n_features, format!("{found} features"));
                }
                match rows.iter().position(|value| !value.is_finite()) {
                    Some(position) => wrong(position / n_features, format!("a feature {}", rows[position])),
                    None => Ok(()),
                }
            }
            (Representation::Text { .. }, Inputs::Features { .. }) => kinds("text", "features"),
            (Representation::Features { .. }, Inputs::Text { .. }) => kinds("features", "text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bag;

    fn text(n_terms: usize) -> Shape {
        let composition = Composition::Sum;
        Shape::student(Representation::Text { n_terms, n_dimensions: 5, composition, product: true })
    }

    #[test]
    fn layers_follow_from_the_shape() {
        assert_eq!(text(3).layers(), [(15, 128), (128, 128), (128, 128), (128, 1)]);
        let features = Shape { hidden: vec![4], ..Shape::teacher(Representation::Features { n_features: 7 }) };
        assert_eq!(features.layers(), [(7, 4), (4, 1)]);
    }

    #[test]
    fn sizes_without_a_network_are_refused() {
        assert_eq!(text(1).check(), Ok(()));
        let wrong = [
            text(0),
            Shape { hidden: vec![], ..text(1) },
            Shape { hidden: vec![3, 0], ..text(1) },
            Shape { dropout: 1.0, ..text(1) },
            Shape { dropout: f32::NAN, ..text(1) },
            Shape::teacher(Representation::Features { n_features: 0 }),
        ];
        for shape in wrong {
            assert!(shape.check().is_err(), "{shape:?}");
        }
    }

    #[test]
    fn inputs_that_do_not_fit_are_refused() {
        let inputs = |terms: &[u32], counts: &[f32]| Inputs::Text {
            queries: vec![Bag { terms: terms.into(), counts: counts.into() }],
            documents: vec![],
        };
        assert_eq!(text(3).check_inputs(&inputs(&[0, 2], &[1.0, 2.0])), Ok(()));
        for (terms, counts) in [
            (&[0, 3][..], &[1.0, 1.0][..]),
            (&[0, 0], &[1.0, 1.0]),
            (&[1, 0], &[1.0, 1.0]),
            (&[0], &[]),
            (&[0], &[0.0]),
            (&[0], &[f32::NAN]),
        ] {
            let error = text(3).check_inputs(&inputs(terms, counts)).expect_err("wrong").to_string();
            assert!(error.starts_with("query 0 has "), "{error}");
        }
        let features = Shape::student(Representation::Features { n_features: 2 });
        let rows = |n_features, rows: &[f32]| Inputs::Features { n_features, rows: rows.into() };
        assert_eq!(features.check_inputs(&rows(2, &[1.0, 2.0])), Ok(()));
        assert!(features.check_inputs(&rows(1, &[1.0, 2.0])).is_err());
        assert!(features.check_inputs(&rows(2, &[1.0, 2.0, 3.0])).is_err());
        assert!(features.check_inputs(&rows(2, &[1.0, f32::INFINITY])).is_err());
        assert!(features.check_inputs(&inputs(&[0], &[1.0])).is_err());
        assert!(text(3).check_inputs(&rows(2, &[])).is_err());
    }
}
