//! Where does a network's training start?

use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Streams};

use super::shape::{Representation, Shape};
use super::vector::dot;
use super::{Network, Terms};
use crate::InvalidInput;

/// What is known of the terms before training.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitialTerms {
    /// The weight of each term, such as its IDF; 1 without.
    pub weights: Option<Vec<f32>>,
    /// The embedding of each term, one row after the other; random without.
    pub embeddings: Option<Vec<f32>>,
}

impl Network {
    /// A network to be trained: normal weights (He 2015 before ReLU, Glorot 2010 before tanh), no bias.
    ///
    /// A random embedding has length 1 on average. Every group of parameters has a stream of its own.
    pub fn new(shape: Shape, initial: InitialTerms, streams: &Streams) -> Result<Self, InvalidInput> {
        shape.check()?;
        let mut network = Self::zero(&shape);
        network.terms = initial.terms(&shape, streams)?;
        let n_layers = network.layers.len();
        for (number, (layer, (n_in, n_out))) in network.layers.iter_mut().zip(shape.layers()).enumerate() {
            let n_around = if number + 1 < n_layers { n_in } else { n_in + n_out };
            let deviation = (2.0 / n_around as f32).sqrt();
            fill_normal(&mut layer.weights, deviation, streams, 1 + number as u32);
        }
        Ok(network)
    }
}

impl InitialTerms {
    fn terms(self, shape: &Shape, streams: &Streams) -> Result<Terms, InvalidInput> {
        let (n_terms, n_dimensions) = shape.representation.terms().unwrap_or((0, 0));
        let random = || {
            let mut embeddings = vec![0.0; n_terms * n_dimensions];
            fill_normal(&mut embeddings, 1.0 / (n_dimensions as f32).sqrt(), streams, 0);
            embeddings
        };
        let mut embeddings = self.embeddings.unwrap_or_else(random);
        let weights = self.weights.unwrap_or_else(|| vec![1.0; n_terms]);
        check("numbers of embeddings", &embeddings, n_terms * n_dimensions)?;
        check("term weights", &weights, n_terms)?;
        if matches!(shape.representation, Representation::Interaction { .. }) {
            embeddings.chunks_exact_mut(n_dimensions).for_each(to_length_1);
        }
        Ok(Terms { embeddings, weights })
    }
}

/// So that the dot product of two is their cosine. One without a direction stays 0.
fn to_length_1(embedding: &mut [f32]) {
    let length = dot(embedding, embedding).sqrt();
    if length > 0.0 {
        embedding.iter_mut().for_each(|value| *value /= length);
    }
}

fn check(name: &str, values: &[f32], expected: usize) -> Result<(), InvalidInput> {
    if values.len() != expected {
        return Err(InvalidInput::new(format!("{} {name}", values.len()), expected.to_string()));
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(position) => {
            let found = format!("{name} have {} at position {position}", values[position]);
            Err(InvalidInput::new(found, "finite numbers"))
        }
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
    use crate::NetworkSettings;

    fn network(initial: InitialTerms, seed: u64) -> Result<Network, InvalidInput> {
        let settings = NetworkSettings { hidden: vec![60, 70], dimensions: 40, ..NetworkSettings::student() };
        Network::new(settings.text_shape(50, 10), initial, &Streams::new(seed))
    }

    #[test]
    fn weights_have_the_deviations_that_they_should() {
        let random = |seed| network(InitialTerms::default(), seed).expect("a good shape");
        let network = random(1);
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
        assert_eq!(network, random(1));
        assert_ne!(network, random(2));
    }

    #[test]
    fn initial_values_are_used_or_refused() {
        let initial = |n_weights, n_embeddings, value| InitialTerms {
            weights: Some(vec![value; n_weights]),
            embeddings: Some(vec![0.5; n_embeddings]),
        };
        let Terms { embeddings, weights } = network(initial(50, 2_000, 3.0), 1).expect("a good start").terms;
        assert!(embeddings.iter().all(|&x| x == 0.5) && weights.iter().all(|&x| x == 3.0));
        for wrong in [initial(49, 2_000, 3.0), initial(50, 1_999, 3.0), initial(50, 2_000, f32::NAN)] {
            assert!(network(wrong, 1).is_err());
        }
        let of_features =
            |initial| Network::new(NetworkSettings::student().feature_shape(3), initial, &Streams::new(1));
        assert!(of_features(initial(50, 0, 1.0)).is_err());
        assert!(of_features(InitialTerms::default()).is_ok());
    }
}
