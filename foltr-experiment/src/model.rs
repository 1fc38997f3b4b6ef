//! A trained ranker as a file: `model.safetensors`, which other tools can open as well; `docs/results.md` has the format.
//!
//! Its tensors are those of [`Shape::tensors`]. Everything else is JSON text under the one metadata key `foltr`: how features
//! were scaled, and where the ranker comes from ([`Provenance`]). The format keeps metadata in a hash map, so several keys would
//! be written in any order; one key makes the same model the same bytes.

mod header;

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use foltr_rank::{Params, Shape};
use foltr_simulation::letor::MAX_FEATURES;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};

use crate::spec::Normalisation;
use crate::store::put;
use header::{Header, RankerKind};

pub use header::{Conventions, Provenance};

pub const FILE_NAME: &str = "model.safetensors";
const KEY: &str = "foltr";

/// A ranker with all that scoring new documents takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub shape: Shape,
    /// How features were scaled when it was trained, and so must be when it scores.
    pub normalise: Normalisation,
    pub params: Params,
}

/// A model with what its file says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    pub model: Model,
    /// Version of the program that wrote the file.
    pub foltr: String,
    /// Nothing in files of before, and in those that no run wrote.
    pub provenance: Option<Provenance>,
    /// The line for people that files of format 1 have in place of it.
    pub about: Option<String>,
}

impl ModelFile {
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| {
            anyhow!("{shown}: cannot be read: {error}; expected the file {FILE_NAME} of a trained ranker")
        })?;
        Self::from_bytes(&bytes).map_err(|error| anyhow!("{shown}: not a model that foltr can read: {error}"))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = |error| anyhow!("{error}; expected a whole file in the safetensors format");
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let file = SafeTensors::deserialize(bytes).map_err(broken)?;
        let header = Header::read(metadata.metadata().as_ref().and_then(|keys| keys.get(KEY)))?;
        let shape = read_shape(&header, &file)?;
        let model = Model { shape, normalise: header.normalise, params: read_params(shape, &file)? };
        Ok(Self { model, foltr: header.foltr, provenance: header.provenance, about: header.about })
    }
}

impl Model {
    /// Writes the model and where it comes from.
    ///
    /// A ranker that diverged is written as it is; [`Self::read`] refuses it.
    pub fn write(&self, path: &Path, provenance: Option<&Provenance>) -> Result<()> {
        put(path, &self.to_bytes(provenance))
    }

    pub fn read(path: &Path) -> Result<Self> {
        Ok(ModelFile::read(path)?.model)
    }

    fn to_bytes(&self, provenance: Option<&Provenance>) -> Vec<u8> {
        assert_eq!(self.params.len(), self.shape.n_params(), "parameters of {:?}", self.shape);
        let header = serde_json::to_string(&Header::new(self, provenance)).expect("plain fields");
        let bytes: Vec<u8> = self.params.iter().flat_map(|param| param.to_le_bytes()).collect();
        let mut rest = bytes.as_slice();
        let tensors = self.shape.tensors().into_iter().map(|(name, dimensions)| {
            let n_bytes = 4 * dimensions.iter().product::<usize>();
            let data = rest.split_off(..n_bytes).expect("as many parameters as the shape has");
            (name, TensorView::new(Dtype::F32, dimensions, data).expect("as many bytes as the dimensions say"))
        });
        serialize(tensors, Some(HashMap::from([(KEY.into(), header)]))).expect("a short header")
    }
}

fn read_params(shape: Shape, file: &SafeTensors<'_>) -> Result<Params> {
    let tensors = shape.tensors();
    let expected = || tensors.iter().map(|(name, sizes)| format!("`{name}` {sizes:?}")).collect::<Vec<_>>().join(", ");
    if let Some(other) = file.names().iter().find(|name| tensors.iter().all(|(known, _)| known != *name)) {
        bail!("there is a tensor `{other}`; expected {}", expected());
    }
    let mut params = Params::with_capacity(shape.n_params());
    for (name, dimensions) in &tensors {
        let tensor = tensor(file, name)?;
        let sizes = tensor.shape();
        ensure!(sizes == dimensions, "tensor `{name}` has the shape {sizes:?}; expected {}", expected());
        let values = tensor.data().as_chunks().0.iter().map(|&value| f32::from_le_bytes(value));
        for (position, value) in values.enumerate() {
            ensure!(value.is_finite(), "`{name}` has {value} at position {position}; expected finite numbers");
            params.push(value);
        }
    }
    Ok(params)
}

/// The shape that the header and the sizes of the first tensor give.
fn read_shape(header: &Header, file: &SafeTensors<'_>) -> Result<Shape> {
    let (name, dimensions) = match header.ranker {
        RankerKind::Linear => ("weights", "[features]"),
        RankerKind::Mlp => ("hidden.weights", "[features, units]"),
    };
    let sizes = tensor(file, name)?.shape().to_vec();
    let shape = match (sizes.as_slice(), header.activation) {
        (&[n_features], None) => Some(Shape::Linear { n_features }),
        (&[n_features, n_hidden], Some(activation)) if n_hidden > 0 => {
            Some(Shape::Mlp { n_features, n_hidden, activation })
        }
        _ => None,
    };
    let shape = shape.filter(|shape| (1..=MAX_FEATURES).contains(&shape.n_features())).with_context(|| {
        let expected = format!("{dimensions} with 1 to {MAX_FEATURES} features and at least one unit");
        format!("tensor `{name}` has the shape {sizes:?}; expected {expected}")
    })?;
    if let Some(features) = header.features.filter(|&features| features != shape.n_features()) {
        bail!("tensor `{name}` has the shape {sizes:?}; expected {features} features, as metadata `{KEY}` says");
    }
    Ok(shape)
}

fn tensor<'a>(file: &SafeTensors<'a>, name: &str) -> Result<TensorView<'a>> {
    let missing = || format!("there is no tensor `{name}`; expected all tensors of the ranker it names");
    let tensor = file.tensor(name).ok().with_context(missing)?;
    ensure!(tensor.dtype() == Dtype::F32, "tensor `{name}` has the type {:?}; expected F32", tensor.dtype());
    Ok(tensor)
}

#[cfg(test)]
mod tests;
