//! A trained ranker as a file: `model.safetensors`, which other tools can open as well.
//!
//! | ranker | tensors (32-bit floats) | score of a document x |
//! |---|---|---|
//! | linear | `weights` (features) | x . weights |
//! | mlp | `hidden.weights` (features, units), `hidden.bias` (units), `output.weights` (units) | activation(x hidden.weights + hidden.bias) . output.weights |
//!
//! Everything else is JSON text under the one metadata key `foltr`. The format keeps metadata in a hash map, so several
//! keys would be written in any order; one key makes the same model the same bytes.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use foltr_rank::{Activation, Params, Shape};
use foltr_simulation::letor::MAX_FEATURES;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::spec::Normalisation;

/// The usual name of a model file.
pub const FILE_NAME: &str = "model.safetensors";
/// Raised whenever files of before could not be read any more.
const FORMAT: u32 = 1;
/// The metadata key that holds [`Header`].
const KEY: &str = "foltr";

/// A ranker with all that scoring new documents takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What the parameters mean.
    pub shape: Shape,
    /// How features were scaled when it was trained, and so must be when it scores.
    pub normalise: Normalisation,
    /// The parameters.
    pub params: Params,
}

/// What a model file says about its tensors.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    /// Version of foltr that wrote the file.
    foltr: String,
    ranker: RankerKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    activation: Option<Activation>,
    normalise: Normalisation,
    /// Free text, for people: how the ranker came about.
    about: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum RankerKind {
    Linear,
    Mlp,
}

/// Why a model file could not be read or written.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The system said no.
    #[error("{}: cannot be {action}: {source}; expected the file {FILE_NAME} of a trained ranker", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// `read` or `written`.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The content is not that of a model.
    #[error("{}: not a model that foltr can read: {found}; expected {expected}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        found: String,
        /// What would be right.
        expected: String,
    },
}

/// What is wrong, and what would be right.
struct Wrong(String, String);

impl Wrong {
    fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self(found.into(), expected.into())
    }
}

impl Model {
    /// Writes the model; `about` is a line for people, such as the labels of its setting.
    ///
    /// A ranker that diverged is written as it is; [`Self::read`] refuses it.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the parameters are not as many as the shape has.
    pub fn write(&self, path: &Path, about: &str) -> Result<(), ModelError> {
        let failed = |source| ModelError::File { file: path.into(), action: "written", source };
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(path)?;
            file.write_all(&self.to_bytes(about))?;
            file.sync_all()
        };
        write().map_err(failed)
    }

    /// Reads a model.
    ///
    /// # Errors
    /// If the file is not there or is not a model, with what would be right.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let failed = |source| ModelError::File { file: path.into(), action: "read", source };
        let bytes = std::fs::read(path).map_err(failed)?;
        Self::from_bytes(&bytes).map_err(|Wrong(found, expected)| ModelError::Content {
            file: path.into(),
            found,
            expected,
        })
    }

    fn to_bytes(&self, about: &str) -> Vec<u8> {
        assert_eq!(self.params.len(), self.shape.n_params(), "parameters of {:?}", self.shape);
        let (ranker, activation) = match self.shape {
            Shape::Linear { .. } => (RankerKind::Linear, None),
            Shape::Mlp { activation, .. } => (RankerKind::Mlp, Some(activation)),
        };
        let foltr = env!("CARGO_PKG_VERSION").to_owned();
        let header =
            Header { format: FORMAT, foltr, ranker, activation, normalise: self.normalise, about: about.into() };
        let header = serde_json::to_string(&header).expect("plain fields");
        let bytes: Vec<u8> = self.params.iter().flat_map(|param| param.to_le_bytes()).collect();
        let mut rest = bytes.as_slice();
        let tensors = layout(self.shape).into_iter().map(|(name, dimensions)| {
            let n_bytes = 4 * dimensions.iter().product::<usize>();
            let data = rest.split_off(..n_bytes).expect("as many parameters as the shape has");
            (name, TensorView::new(Dtype::F32, dimensions, data).expect("as many bytes as the dimensions say"))
        });
        serialize(tensors, Some(HashMap::from([(KEY.into(), header)]))).expect("a short header")
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Wrong> {
        let whole = "a whole file in the safetensors format";
        let broken = |error| Wrong::new(format!("{error}"), whole);
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let file = SafeTensors::deserialize(bytes).map_err(broken)?;
        let header = read_header(metadata.metadata().as_ref().and_then(|keys| keys.get(KEY)))?;
        let shape = read_shape(&header, &file)?;
        let layout = layout(shape);
        let expected =
            || layout.iter().map(|(name, sizes)| format!("`{name}` {sizes:?}")).collect::<Vec<_>>().join(", ");
        if let Some(other) = file.names().iter().find(|found| layout.iter().all(|(name, _)| name != *found)) {
            return Err(Wrong::new(format!("there is a tensor `{other}`"), expected()));
        }
        let mut params = Params::with_capacity(shape.n_params());
        for (name, dimensions) in &layout {
            let tensor = tensor(&file, name)?;
            if tensor.shape() != dimensions {
                return Err(Wrong::new(format!("tensor `{name}` has the shape {:?}", tensor.shape()), expected()));
            }
            let values = tensor.data().as_chunks().0.iter().map(|&value| f32::from_le_bytes(value));
            for (position, value) in values.enumerate() {
                if !value.is_finite() {
                    return Err(Wrong::new(format!("`{name}` has {value} at position {position}"), "finite numbers"));
                }
                params.push(value);
            }
        }
        Ok(Self { shape, normalise: header.normalise, params })
    }
}

/// The tensors of a shape, in the order of its flat parameters.
fn layout(shape: Shape) -> Vec<(&'static str, Vec<usize>)> {
    match shape {
        Shape::Linear { n_features } => vec![("weights", vec![n_features])],
        Shape::Mlp { n_features, n_hidden, .. } => vec![
            ("hidden.weights", vec![n_features, n_hidden]),
            ("hidden.bias", vec![n_hidden]),
            ("output.weights", vec![n_hidden]),
        ],
    }
}

fn read_header(text: Option<&String>) -> Result<Header, Wrong> {
    let by_foltr = "a model that `foltr run` wrote";
    let text = text.ok_or_else(|| Wrong::new(format!("there is no metadata key `{KEY}`"), by_foltr))?;
    let not_a_header = |error| Wrong::new(format!("metadata `{KEY}`: {error}"), by_foltr);
    let value: serde_json::Value = serde_json::from_str(text).map_err(not_a_header)?;
    // The version first: a later format may have other keys.
    match value.get("format") {
        Some(format) if *format != FORMAT => {
            let found = format!("metadata `{KEY}`: `format` is {format}");
            Err(Wrong::new(found, format!("{FORMAT}, or a newer foltr than {}", env!("CARGO_PKG_VERSION"))))
        }
        _ => serde_json::from_value(value).map_err(not_a_header),
    }
}

/// The shape that the header and the sizes of the first tensor tell.
fn read_shape(header: &Header, file: &SafeTensors<'_>) -> Result<Shape, Wrong> {
    let shape = match (header.ranker, header.activation) {
        (RankerKind::Linear, None) => match *tensor(file, "weights")?.shape() {
            [n_features] => Some(Shape::Linear { n_features }),
            _ => None,
        },
        (RankerKind::Mlp, Some(activation)) => match *tensor(file, "hidden.weights")?.shape() {
            [n_features, n_hidden] if n_hidden > 0 => Some(Shape::Mlp { n_features, n_hidden, activation }),
            _ => None,
        },
        (RankerKind::Linear, Some(_)) => return Err(Wrong::new("a linear ranker with an activation", "none")),
        (RankerKind::Mlp, None) => {
            return Err(Wrong::new("an mlp ranker without `activation`", "`activation` to be `logistic` or `relu`"));
        }
    };
    shape.filter(|shape| (1..=MAX_FEATURES).contains(&shape.n_features())).ok_or_else(|| {
        let (name, sizes) = match header.ranker {
            RankerKind::Linear => ("weights", "[features]"),
            RankerKind::Mlp => ("hidden.weights", "[features, units]"),
        };
        let found = tensor(file, name).map(|tensor| format!("{:?}", tensor.shape())).unwrap_or_default();
        let expected = format!("{sizes} with 1 to {MAX_FEATURES} features and at least one unit");
        Wrong::new(format!("tensor `{name}` has the shape {found}"), expected)
    })
}

fn tensor<'a>(file: &SafeTensors<'a>, name: &str) -> Result<TensorView<'a>, Wrong> {
    let missing = |_| Wrong::new(format!("there is no tensor `{name}`"), "all tensors of the ranker it names");
    let tensor = file.tensor(name).map_err(missing)?;
    match tensor.dtype() {
        Dtype::F32 => Ok(tensor),
        other => Err(Wrong::new(format!("tensor `{name}` has the type {other:?}"), "F32")),
    }
}

#[cfg(test)]
mod tests;
