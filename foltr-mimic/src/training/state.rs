//! Training as bytes, to go on another day with the same bits as if it had never stopped.
//!
//! | tensors | are |
//! |---|---|
//! | `network.*` | the network as it is |
//! | `first.*`, `second.*`, `term_steps` | the state of Adam |
//! | `best.*` | the network that validated best, if there was a validation |

use serde::{Deserialize, Serialize};

use crate::network::{Network, Shape};
use crate::tensors::{Reader, Writer};
use crate::{InvalidInput, NetworkSettings};

use super::Training;
use super::adam::{Adam, Moments};

const KIND: &str = "training";
/// Raised whenever files of before could not be read any more.
const FORMAT: u32 = 2;

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    format: u32,
    shape: Shape,
    settings: NetworkSettings,
    seed: u64,
    step: u32,
    n_without_improvement: u32,
    best: Option<f64>,
}

impl Training {
    /// All that it takes to go on.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = &self.network.shape;
        let header = Header {
            kind: KIND.into(),
            format: FORMAT,
            shape: shape.clone(),
            settings: self.settings.clone(),
            seed: self.seed,
            step: self.step,
            n_without_improvement: self.n_without_improvement,
            best: self.best.as_ref().map(|(_, validation)| *validation),
        };
        let mut writer = Writer::default();
        writer.network("network.", &self.network);
        let learnt = || shape.tensors().split_off(shape.n_fixed());
        writer.parts("first.", learnt(), self.adam.moments.iter().map(|moments| moments.first.as_slice()));
        writer.parts("second.", learnt(), self.adam.moments.iter().map(|moments| moments.second.as_slice()));
        writer.words("term_steps", &self.adam.term_steps);
        if let Some((best, _)) = &self.best {
            writer.network("best.", best);
        }
        writer.finish(&header)
    }

    /// Training that goes on where [`Self::to_bytes`] left it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidInput> {
        let (header, mut reader): (Header, _) = Reader::open(bytes, KIND, FORMAT)?;
        header.shape.check()?;
        let shape = &header.shape;
        let network = Network::from_parts(shape.clone(), reader.parts("network.", shape.tensors())?);
        let learnt = || shape.tensors().split_off(shape.n_fixed());
        let (first, second) = (reader.parts("first.", learnt())?, reader.parts("second.", learnt())?);
        let moments = first.into_iter().zip(second).map(|(first, second)| Moments { first, second }).collect();
        let term_steps = reader.words("term_steps", network.terms.weights.len())?;
        let best = match header.best {
            Some(validation) => Some((reader.network("best.", shape)?, validation)),
            None => None,
        };
        reader.finish()?;
        let adam = Adam { learning_rate: header.settings.learning_rate, moments, term_steps };
        let training = Self::with(network, adam, header.settings, header.seed)?;
        Ok(Self { step: header.step, best, n_without_improvement: header.n_without_improvement, ..training })
    }
}
