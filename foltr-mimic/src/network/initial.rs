//! Where does a network's training start?

use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Streams};
use thiserror::Error;

use super::shape::{Representation, Shape, ShapeError};
use super::{Network, Terms};

/// What is known of the terms before training.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// The weight of each term, such as its IDF; 1 without.
    pub term_weights: Option<Vec<f32>>,
    /// The embedding of each term, one row after the other; random without.
    pub embeddings: Option<Vec<f32>>,
}

/// Why a network cannot start so.
#[derive(Debug, Error, PartialEq)]
pub enum StartError {
    /// There is no such network.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Not as many numbers as the vocabulary needs.
    #[error("{found} {name}; expected {expected}")]
    Length {
        /// What they are.
        name: &'static str,
        /// Their number.
        found: usize,
        /// What the shape needs.
        expected: usize,
    },
    /// A number to start from is not finite.
    #[error("{name} have {found} at position {position}; expected finite numbers")]
    NotFinite {
        /// What they are.
        name: &'static str,
        /// Where it is.
        position: usize,
        /// The number.
        found: f32,
    },
}

impl Network {
    /// A network to be trained: normal weights (He 2015 before ReLU, Glorot 2010 before tanh), no bias.
    ///
    /// A random embedding has length 1 on average. Every group of parameters has a stream of its own.
    ///
    /// # Errors
    /// If there is no such network, or `start` does not fit the shape.
    pub fn new(shape: Shape, start: Start, streams: &Streams) -> Result<Self, StartError> {
        shape.check()?;
        let mut network = Self::zero(&shape);
        network.terms = start.terms(&shape, streams)?;
        let n_layers = network.layers.len();
        for (number, (layer, (n_in, n_out))) in network.layers.iter_mut().zip(shape.layers()).enumerate() {
            let n_around = if number + 1 < n_layers { n_in } else { n_in + n_out };
            let deviation = (2.0 / n_around as f32).sqrt();
            fill_normal(&mut layer.weights, deviation, streams, 1 + number as u32);
        }
        Ok(network)
    }
}

impl Start {
    fn terms(self, shape: &Shape, streams: &Streams) -> Result<Terms, StartError> {
        let (n_terms, n_dimensions) = match shape.representation {
            Representation::Text { n_terms, n_dimensions, .. } => (n_terms, n_dimensions),
            Representation::Features { .. } => (0, 0),
        };
        let random = || {
            let mut embeddings = vec![0.0; n_terms * n_dimensions];
            fill_normal(&mut embeddings, 1.0 / (n_dimensions as f32).sqrt(), streams, 0);
            embeddings
        };
        let embeddings = self.embeddings.unwrap_or_else(random);
        let weights = self.term_weights.unwrap_or_else(|| vec![1.0; n_terms]);
        check("numbers of embeddings", &embeddings, n_terms * n_dimensions)?;
        check("term weights", &weights, n_terms)?;
        Ok(Terms { embeddings, weights })
    }
}

fn check(name: &'static str, values: &[f32], expected: usize) -> Result<(), StartError> {
    if values.len() != expected {
        return Err(StartError::Length { name, found: values.len(), expected });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(position) => Err(StartError::NotFinite { name, position, found: values[position] }),
        None => Ok(()),
    }
}

fn fill_normal(values: &mut [f32], deviation: f32, streams: &Streams, group: u32) {
    fill_standard_normal(&mut streams.open(Purpose::Initialisation, group, 0), values);
    values.iter_mut().for_each(|value| *value *= deviation);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Composition;

    fn shape() -> Shape {
        let representation =
            Representation::Text { n_terms: 50, n_dimensions: 40, composition: Composition::Sum, product: false };
        Shape { hidden: vec![60, 70], ..Shape::student(representation) }
    }

    #[test]
    fn weights_have_the_deviations_that_they_should() {
        let network = Network::new(shape(), Start::default(), &Streams::new(1)).expect("a good shape");
        let variance = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>() / values.len() as f32;
        let groups = [
            (&network.terms.embeddings, 1.0 / 40.0),
            (&network.layers[0].weights, 2.0 / 80.0),
            (&network.layers[1].weights, 2.0 / 60.0),
            (&network.layers[2].weights, 2.0 / 71.0),
        ];
        for (values, expected) in groups {
            // Five deviations of the variance of n normals.
            let tolerance = 5.0 * (2.0 / values.len() as f32).sqrt();
            assert!((variance(values) / expected - 1.0).abs() < tolerance, "{} for {expected}", variance(values));
        }
        assert!(network.terms.weights.iter().all(|&weight| weight == 1.0));
        assert!(network.layers.iter().all(|layer| layer.bias.iter().all(|&bias| bias == 0.0)));
        assert_eq!(network, Network::new(shape(), Start::default(), &Streams::new(1)).expect("the same"));
        assert_ne!(network, Network::new(shape(), Start::default(), &Streams::new(2)).expect("another"));
    }

    #[test]
    fn what_is_given_is_kept_or_refused() {
        let start = |n_weights, n_embeddings, value| Start {
            term_weights: Some(vec![value; n_weights]),
            embeddings: Some(vec![0.5; n_embeddings]),
        };
        let network = Network::new(shape(), start(50, 2_000, 3.0), &Streams::new(1)).expect("a good start");
        assert!(network.embeddings().iter().all(|&x| x == 0.5) && network.term_weights().iter().all(|&x| x == 3.0));
        for wrong in [start(49, 2_000, 3.0), start(50, 1_999, 3.0), start(50, 2_000, f32::NAN)] {
            assert!(Network::new(shape(), wrong, &Streams::new(1)).is_err());
        }
        let features = Shape::student(Representation::Features { n_features: 3 });
        assert!(Network::new(features.clone(), start(50, 0, 1.0), &Streams::new(1)).is_err());
        assert!(Network::new(features, Start::default(), &Streams::new(1)).is_ok());
    }
}
