//! Numbers with names in one file: the safetensors format, which other tools can open as well.
//!
//! Everything that is not a tensor is JSON text under the one metadata key `foltr`. The format keeps metadata in a hash
//! map, so several keys would be written in any order; one key makes the same content the same bytes.

use std::borrow::Cow;
use std::collections::HashMap;

use bytemuck::{NoUninit, cast_slice};
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::InvalidInput;
use crate::network::{Network, Shape};

const KEY: &str = "foltr";

/// The name and the dimensions of a group of parameters: see [`Shape::tensors`].
type Parameter = (String, Vec<usize>);

type Tensor<'a> = (String, Dtype, Vec<usize>, Cow<'a, [u8]>);

#[derive(Debug, Default)]
pub(crate) struct Writer<'a> {
    tensors: Vec<Tensor<'a>>,
}

impl<'a> Writer<'a> {
    pub fn floats(&mut self, name: &str, dimensions: Vec<usize>, values: &'a [f32]) {
        let bytes = little_endian(values, |value| value.to_le_bytes());
        self.tensors.push((name.into(), Dtype::F32, dimensions, bytes));
    }

    pub fn words(&mut self, name: &str, values: &'a [u32]) {
        let bytes = little_endian(values, |value| value.to_le_bytes());
        self.tensors.push((name.into(), Dtype::U32, vec![values.len()], bytes));
    }

    pub fn bytes(&mut self, name: &str, values: Vec<u8>) {
        self.tensors.push((name.into(), Dtype::U8, vec![values.len()], values.into()));
    }

    /// All parameters, under `prefix`.
    pub fn network(&mut self, prefix: &str, network: &'a Network) {
        self.parts(prefix, network.shape.tensors(), network.parts().into_iter());
    }

    /// Numbers for each parameter of a list.
    pub fn parts(&mut self, prefix: &str, tensors: Vec<Parameter>, parts: impl Iterator<Item = &'a [f32]>) {
        for ((name, dimensions), values) in tensors.into_iter().zip(parts) {
            self.floats(&format!("{prefix}{name}"), dimensions, values);
        }
    }

    pub fn finish(self, header: &impl Serialize) -> Vec<u8> {
        let header = serde_json::to_string(header).expect("plain fields");
        let tensors = self.tensors.iter().map(|(name, dtype, dimensions, bytes)| {
            let view = TensorView::new(*dtype, dimensions.clone(), bytes);
            (name, view.expect("as many bytes as the dimensions say"))
        });
        serialize(tensors, Some(HashMap::from([(KEY.into(), header)]))).expect("a short header")
    }
}

/// The bytes of numbers, without a copy where that is how they lie in memory: a network can fill half of it.
fn little_endian<T: NoUninit>(values: &[T], to_bytes: impl Fn(&T) -> [u8; 4]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(cast_slice(values))
    } else {
        values.iter().flat_map(to_bytes).collect()
    }
}

pub(crate) struct Reader<'a> {
    file: SafeTensors<'a>,
    n_taken: usize,
}

impl<'a> Reader<'a> {
    /// Opens a file of a kind and format, and reads its header.
    pub fn open<H: DeserializeOwned>(bytes: &'a [u8], kind: &str, format: u32) -> Result<(H, Self), InvalidInput> {
        let broken = |error| InvalidInput::new(format!("{error}"), "a whole file in the safetensors format");
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let file = SafeTensors::deserialize(bytes).map_err(broken)?;
        let text = metadata.metadata().as_ref().and_then(|keys| keys.get(KEY));
        let by_foltr = format!("a {kind} that foltr wrote");
        let text = text.ok_or_else(|| InvalidInput::new(format!("there is no metadata key `{KEY}`"), &by_foltr))?;
        let not_a_header = |error| InvalidInput::new(format!("metadata `{KEY}`: {error}"), &by_foltr);
        let value: Value = serde_json::from_str(text).map_err(not_a_header)?;
        // Kind and version first: others may have other keys.
        if value["kind"] != kind {
            return Err(InvalidInput::new(format!("metadata `{KEY}`: `kind` is {}", value["kind"]), by_foltr));
        }
        if value["format"] != format {
            let expected = format!("{format}, or a newer foltr than {}", env!("CARGO_PKG_VERSION"));
            return Err(InvalidInput::new(format!("metadata `{KEY}`: `format` is {}", value["format"]), expected));
        }
        Ok((serde_json::from_value(value).map_err(not_a_header)?, Self { file, n_taken: 0 }))
    }

    /// Takes a vector of any length, or a tensor of these dimensions.
    fn take(&mut self, name: &str, dtype: Dtype, dimensions: Option<&[usize]>) -> Result<&'a [u8], InvalidInput> {
        let missing =
            |_| InvalidInput::new(format!("there is no tensor `{name}`"), "all tensors that the header asks for");
        let tensor = self.file.tensor(name).map_err(missing)?;
        let fits = dimensions.map_or(tensor.shape().len() == 1, |dimensions| tensor.shape() == dimensions);
        if tensor.dtype() != dtype || !fits {
            let found = format!("tensor `{name}` is {:?} {:?}", tensor.dtype(), tensor.shape());
            let dimensions = dimensions.map_or("[any]".into(), |dimensions| format!("{dimensions:?}"));
            return Err(InvalidInput::new(found, format!("{dtype:?} {dimensions}")));
        }
        self.n_taken += 1;
        Ok(tensor.data())
    }

    pub fn floats(&mut self, name: &str, dimensions: &[usize]) -> Result<Vec<f32>, InvalidInput> {
        let bytes = self.take(name, Dtype::F32, Some(dimensions))?;
        Ok(bytes.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect())
    }

    pub fn finite_floats(&mut self, name: &str, dimensions: &[usize]) -> Result<Vec<f32>, InvalidInput> {
        let values = self.floats(name, dimensions)?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(position) => Err(InvalidInput::new(
                format!("`{name}` has {} at position {position}", values[position]),
                "finite numbers",
            )),
            None => Ok(values),
        }
    }

    pub fn words(&mut self, name: &str, n: usize) -> Result<Vec<u32>, InvalidInput> {
        let bytes = self.take(name, Dtype::U32, Some(&[n]))?;
        Ok(bytes.as_chunks().0.iter().map(|&value| u32::from_le_bytes(value)).collect())
    }

    pub fn bytes(&mut self, name: &str) -> Result<&'a [u8], InvalidInput> {
        self.take(name, Dtype::U8, None)
    }

    /// Numbers for each parameter of a list. Memory is taken only for what the file has.
    pub fn parts(&mut self, prefix: &str, tensors: Vec<Parameter>) -> Result<Vec<Vec<f32>>, InvalidInput> {
        tensors.into_iter().map(|(name, dimensions)| self.floats(&format!("{prefix}{name}"), &dimensions)).collect()
    }

    pub fn network(&mut self, prefix: &str, shape: &Shape) -> Result<Network, InvalidInput> {
        let tensors = shape.tensors().into_iter();
        let parts = tensors.map(|(name, dimensions)| self.finite_floats(&format!("{prefix}{name}"), &dimensions));
        Ok(Network::from_parts(shape.clone(), parts.collect::<Result<_, _>>()?))
    }

    /// Refuses tensors that nobody asked for.
    pub fn finish(self) -> Result<(), InvalidInput> {
        match self.file.len() - self.n_taken {
            0 => Ok(()),
            n => Err(InvalidInput::new(format!("there are {n} more tensors"), format!("{} of them", self.n_taken))),
        }
    }
}
