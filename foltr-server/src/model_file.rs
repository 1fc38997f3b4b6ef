//! `model.safetensors`, as the laboratory reads and writes it (docs/results.md, *Model files*).

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use foltr_federation::protocol::Normalisation;
use foltr_rank::{Params, Shape};
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde_json::{Value, json};

const KEY: &str = "foltr";
const FORMAT: u32 = 2;

/// The file of a model whose features are scaled in this way.
pub fn to_bytes(shape: Shape, params: &[f32], normalise: Normalisation) -> Result<Vec<u8>> {
    let mut header = json!({
        "format": FORMAT,
        "foltr": env!("CARGO_PKG_VERSION"),
        "ranker": "linear",
        "features": shape.n_features(),
        "normalise": normalise,
    });
    if let Shape::Mlp { activation, .. } = shape {
        header["ranker"] = json!("mlp");
        header["activation"] = json!(activation);
    }
    let bytes: Vec<u8> = params.iter().flat_map(|param| param.to_le_bytes()).collect();
    let (mut rest, mut tensors) = (bytes.as_slice(), Vec::new());
    for (name, dimensions) in shape.tensors() {
        let n_bytes = 4 * dimensions.iter().product::<usize>();
        let (data, behind) = rest.split_at_checked(n_bytes).context("fewer parameters than the model has")?;
        tensors.push((name, TensorView::new(Dtype::F32, dimensions, data)?));
        rest = behind;
    }
    ensure!(rest.is_empty(), "more parameters than the model has");
    Ok(serialize(tensors, Some(HashMap::from([(KEY.into(), header.to_string())])))?)
}

/// The parameters in a file, which must be of a model of this shape and of features that are scaled in this way.
pub fn params_of(bytes: &[u8], shape: Shape, normalise: Normalisation) -> Result<Params> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).context("not a whole file in the safetensors format")?;
    let header = metadata.metadata().as_ref().and_then(|keys| keys.get(KEY)).context("no model of foltr")?;
    let header: Value = serde_json::from_str(header).context("its metadata cannot be read")?;
    ensure!(
        header["normalise"] == json!(normalise),
        "its features are scaled by {}, those of the plan by {}",
        header["normalise"],
        json!(normalise)
    );
    let file = SafeTensors::deserialize(bytes)?;
    let mut params = Params::with_capacity(shape.n_params());
    for (name, dimensions) in shape.tensors() {
        let tensor =
            file.tensor(name).with_context(|| format!("there is no tensor `{name}`, which the plan's model has"))?;
        ensure!(
            tensor.dtype() == Dtype::F32 && tensor.shape() == dimensions,
            "tensor `{name}` has the shape {:?}; the plan's model has {dimensions:?}",
            tensor.shape()
        );
        params.extend(tensor.data().as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)));
    }
    ensure!(params.iter().all(|value| value.is_finite()), "a parameter is not finite");
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::Activation;

    #[test]
    fn models_are_read_as_they_were_written_and_others_are_refused() {
        let linear = Shape::Linear { n_features: 3 };
        let mlp = Shape::Mlp { n_features: 2, n_hidden: 2, activation: Activation::Relu };
        for shape in [linear, mlp] {
            let params: Params = (0..shape.n_params()).map(|i| i as f32 - 1.5).collect();
            let bytes = to_bytes(shape, &params, Normalisation::Query).expect("a model");
            assert_eq!(params_of(&bytes, shape, Normalisation::Query).expect("its own bytes"), params);
            assert!(params_of(&bytes, shape, Normalisation::None).is_err());
            let other = if shape == linear { mlp } else { linear };
            assert!(params_of(&bytes, other, Normalisation::Query).is_err());
            for len in 0..bytes.len() {
                assert!(params_of(&bytes[..len], shape, Normalisation::Query).is_err());
            }
            assert!(to_bytes(shape, &params[1..], Normalisation::Query).is_err());
        }
        let wrong = to_bytes(linear, &[0.0, f32::NAN, 1.0], Normalisation::None).expect("a model");
        assert!(params_of(&wrong, linear, Normalisation::None).is_err());
    }
}
