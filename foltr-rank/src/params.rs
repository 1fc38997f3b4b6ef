//! The one learnable state of a ranker: a flat vector whose meaning its [`Shape`] tells.

use rand::Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::normal::fill_standard_normal;
use crate::parameter::{ParameterError, require};

/// Beyond any ranker that a device computes; its memory is a gigabyte.
const MAX_PARAMS: usize = 1 << 28;

/// All parameters of a ranker, flat. A step, an update or a gradient has the same form.
pub type Params = Vec<f32>;

/// Activation of the hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// 1 / (1 + e^-x): the PDGD network of spec section 7.
    Logistic,
    /// max(0, x): the FOLtR-ES network of spec section 4.
    Relu,
}

/// What a parameter vector means.
///
/// ```
/// use foltr_rank::{Activation, Shape};
///
/// assert_eq!(Shape::Linear { n_features: 46 }.n_params(), 46);
/// let network = Shape::Mlp { n_features: 46, n_hidden: 64, activation: Activation::Logistic };
/// assert_eq!(network.n_params(), 46 * 64 + 64 + 64);
/// assert!(network.check(&[0.0; 46]).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum Shape {
    /// score = w . x, without bias. Layout: w.
    Linear { n_features: usize },
    /// score = w2 . activation(W1^T x + b1). Layout: W1 (feature after feature, a value for each unit), b1, w2.
    Mlp { n_features: usize, n_hidden: usize, activation: Activation },
}

impl Shape {
    /// Features of a document that this ranker scores.
    pub const fn n_features(&self) -> usize {
        match *self {
            Self::Linear { n_features } | Self::Mlp { n_features, .. } => n_features,
        }
    }

    pub const fn n_params(&self) -> usize {
        match *self {
            Self::Linear { n_features } => n_features,
            Self::Mlp { n_features, n_hidden, .. } => n_features.saturating_add(2).saturating_mul(n_hidden),
        }
    }

    /// Names and dimensions of the tensors of model files, in the order of the flat parameters.
    ///
    /// ```
    /// let tensors = foltr_rank::Shape::Linear { n_features: 46 }.tensors();
    /// assert_eq!(tensors, [("weights", vec![46])]);
    /// ```
    pub fn tensors(&self) -> Vec<(&'static str, Vec<usize>)> {
        match *self {
            Self::Linear { n_features } => vec![("weights", vec![n_features])],
            Self::Mlp { n_features, n_hidden, .. } => vec![
                ("hidden.weights", vec![n_features, n_hidden]),
                ("hidden.bias", vec![n_hidden]),
                ("output.weights", vec![n_hidden]),
            ],
        }
    }

    /// Refuses rankers without features, without hidden units, or larger than any device computes.
    pub fn check_size(&self) -> Result<(), ParameterError> {
        let whole = |name, n: usize| require(name, n as f64, (1..=MAX_PARAMS).contains(&n), "1 to 2^28");
        whole("n_features", self.n_features())?;
        if let Self::Mlp { n_hidden, .. } = *self {
            whole("n_hidden", n_hidden)?;
        }
        whole("n_params", self.n_params())
    }

    /// Refuses parameters that no ranker of this shape has.
    pub fn check(&self, params: &[f32]) -> Result<(), ParamsError> {
        let (shape, expected, got) = (*self, self.n_params(), params.len());
        if expected != got {
            return Err(ParamsError::Length { shape, expected, got });
        }
        let wrong = params.iter().position(|param| !param.is_finite());
        wrong.map_or(Ok(()), |parameter| Err(ParamsError::NotFinite { parameter }))
    }
}

/// Why numbers are not the parameters of a ranker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParamsError {
    #[error("{got} parameters are not the {expected} of {shape:?}")]
    Length { shape: Shape, expected: usize, got: usize },
    #[error("parameter {parameter} is not a finite number")]
    NotFinite { parameter: usize },
}

/// How a ranker starts.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Initialisation {
    /// All zero.
    Zero,
    /// A uniformly random direction of this length: what the released FPDGD code does with .01 (spec section 6.5).
    RandomNorm {
        /// Euclidean length of the initial vector.
        norm: f32,
    },
    /// Every weight and hidden bias normal with standard deviation 1 / fan-in (spec section 7).
    FanIn,
}

impl Initialisation {
    /// Initial parameters of a ranker of this shape.
    pub fn params(self, shape: Shape, stream: &mut dyn Rng) -> Params {
        let mut params = vec![0.0; shape.n_params()];
        match self {
            Self::Zero => {}
            Self::RandomNorm { norm } => {
                fill_standard_normal(stream, &mut params);
                let length = params.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                params.iter_mut().for_each(|x| *x = (f64::from(*x) * f64::from(norm) / length) as f32);
            }
            Self::FanIn => {
                fill_standard_normal(stream, &mut params);
                let n_inner = match shape {
                    Shape::Linear { n_features } => n_features,
                    Shape::Mlp { n_features, n_hidden, .. } => (n_features + 1) * n_hidden,
                };
                let (inner, output) = params.split_at_mut(n_inner);
                inner.iter_mut().for_each(|x| *x /= shape.n_features() as f32);
                let n_hidden = output.len() as f32;
                output.iter_mut().for_each(|x| *x /= n_hidden);
            }
        }
        params
    }
}

/// Shortens the vector to `radius` if it is longer (spec section 9); says whether it was.
///
/// The zero vector is left alone: it has no direction, and no length to divide by.
pub fn clip_to_radius(params: &mut [f32], radius: f32) -> bool {
    let norm = params.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let is_longer = norm > f64::from(radius);
    if is_longer {
        let scale = f64::from(radius) / norm;
        params.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
    }
    is_longer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn clipping_keeps_the_direction_and_spares_short_vectors() {
        let mut long = [6.0, 8.0];
        assert!(clip_to_radius(&mut long, 5.0));
        assert_eq!(long, [3.0, 4.0]);
        let mut short = [0.0, 0.0];
        assert!(!clip_to_radius(&mut short, 5.0));
        assert_eq!(short, [0.0, 0.0]);
    }

    #[test]
    fn random_initialisation_has_the_norm_asked_for() {
        let shape = Shape::Linear { n_features: 46 };
        let mut stream = Streams::new(1).open(Purpose::Initialisation, 0, 0);
        let params = Initialisation::RandomNorm { norm: 0.01 }.params(shape, &mut stream);
        let norm = params.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((norm - 0.01).abs() < 1e-7);
    }

    #[test]
    fn fan_in_scales_each_layer_by_its_own_inputs() {
        let shape = Shape::Mlp { n_features: 50, n_hidden: 400, activation: Activation::Logistic };
        let mut stream = Streams::new(1).open(Purpose::Initialisation, 0, 0);
        let params = Initialisation::FanIn.params(shape, &mut stream);
        let deviation = |part: &[f32]| (part.iter().map(|x| x * x).sum::<f32>() / part.len() as f32).sqrt();
        assert_eq!(params.len(), 52 * 400);
        assert!((deviation(&params[..51 * 400]) * 50.0 - 1.0).abs() < 0.03);
        assert!((deviation(&params[51 * 400..]) * 400.0 - 1.0).abs() < 0.15);
    }
}
