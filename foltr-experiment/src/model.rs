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
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use foltr_rank::{Activation, Params, Shape};
use foltr_simulation::letor::MAX_FEATURES;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::{Deserialize, Serialize};

use crate::spec::Normalisation;
use crate::store::put;

pub const FILE_NAME: &str = "model.safetensors";
/// Raised whenever files of before could not be read any more.
const FORMAT: u32 = 1;
const KEY: &str = "foltr";

/// A ranker with all that scoring new documents takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub shape: Shape,
    /// How features were scaled when it was trained, and so must be when it scores.
    pub normalise: Normalisation,
    pub params: Params,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
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

impl Model {
    /// Writes the model; `about` is a line for people, such as the labels of its setting.
    ///
    /// A ranker that diverged is written as it is; [`Self::read`] refuses it.
    pub fn write(&self, path: &Path, about: &str) -> Result<()> {
        put(path, &self.to_bytes(about))
    }

    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| {
            anyhow!("{shown}: cannot be read: {error}; expected the file {FILE_NAME} of a trained ranker")
        })?;
        Self::from_bytes(&bytes).map_err(|error| anyhow!("{shown}: not a model that foltr can read: {error}"))
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

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = |error| anyhow!("{error}; expected a whole file in the safetensors format");
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let file = SafeTensors::deserialize(bytes).map_err(broken)?;
        let header = read_header(metadata.metadata().as_ref().and_then(|keys| keys.get(KEY)))?;
        let shape = read_shape(&header, &file)?;
        let layout = layout(shape);
        let expected =
            || layout.iter().map(|(name, sizes)| format!("`{name}` {sizes:?}")).collect::<Vec<_>>().join(", ");
        if let Some(other) = file.names().iter().find(|name| layout.iter().all(|(known, _)| known != *name)) {
            bail!("there is a tensor `{other}`; expected {}", expected());
        }
        let mut params = Params::with_capacity(shape.n_params());
        for (name, dimensions) in &layout {
            let tensor = tensor(&file, name)?;
            let sizes = tensor.shape();
            ensure!(sizes == dimensions, "tensor `{name}` has the shape {sizes:?}; expected {}", expected());
            let values = tensor.data().as_chunks().0.iter().map(|&value| f32::from_le_bytes(value));
            for (position, value) in values.enumerate() {
                ensure!(value.is_finite(), "`{name}` has {value} at position {position}; expected finite numbers");
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

fn read_header(text: Option<&String>) -> Result<Header> {
    let expected = "expected a model that `foltr run` wrote";
    let text = text.with_context(|| format!("there is no metadata key `{KEY}`; {expected}"))?;
    let not_a_header = |error| anyhow!("metadata `{KEY}`: {error}; {expected}");
    let value: serde_json::Value = serde_json::from_str(text).map_err(not_a_header)?;
    // The version first: a later format may have other keys.
    if let Some(format) = value.get("format").filter(|format| **format != FORMAT) {
        let ours = env!("CARGO_PKG_VERSION");
        bail!("metadata `{KEY}`: `format` is {format}; expected {FORMAT}, or a newer foltr than {ours}");
    }
    serde_json::from_value(value).map_err(not_a_header)
}

/// The shape that the header and the sizes of the first tensor give.
fn read_shape(header: &Header, file: &SafeTensors<'_>) -> Result<Shape> {
    let (name, dimensions) = match header.ranker {
        RankerKind::Linear => ("weights", "[features]"),
        RankerKind::Mlp => ("hidden.weights", "[features, units]"),
    };
    let is_mlp = matches!(header.ranker, RankerKind::Mlp);
    ensure!(is_mlp || header.activation.is_none(), "a linear ranker with an activation; expected none");
    ensure!(
        !is_mlp || header.activation.is_some(),
        "an mlp ranker without `activation`; expected `activation` to be `logistic` or `relu`"
    );
    let sizes = tensor(file, name)?.shape().to_vec();
    let shape = match (sizes.as_slice(), header.activation) {
        (&[n_features], None) => Some(Shape::Linear { n_features }),
        (&[n_features, n_hidden], Some(activation)) if n_hidden > 0 => {
            Some(Shape::Mlp { n_features, n_hidden, activation })
        }
        _ => None,
    };
    shape.filter(|shape| (1..=MAX_FEATURES).contains(&shape.n_features())).with_context(|| {
        let expected = format!("{dimensions} with 1 to {MAX_FEATURES} features and at least one unit");
        format!("tensor `{name}` has the shape {sizes:?}; expected {expected}")
    })
}

fn tensor<'a>(file: &SafeTensors<'a>, name: &str) -> Result<TensorView<'a>> {
    let missing = || format!("there is no tensor `{name}`; expected all tensors of the ranker it names");
    let tensor = file.tensor(name).ok().with_context(missing)?;
    ensure!(tensor.dtype() == Dtype::F32, "tensor `{name}` has the type {:?}; expected F32", tensor.dtype());
    Ok(tensor)
}

#[cfg(test)]
mod tests;
