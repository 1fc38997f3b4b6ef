//! A trained network as a file, with all that scoring new texts or rows takes.
//!
//! | tensors | are |
//! |---|---|
//! | `terms.embeddings` (terms, dimensions), `terms.weights` (terms) | of texts: what is learned of each term |
//! | `layers.N.weights` (inputs, units), `layers.N.bias` (units) | the layers; query before document in the first |
//! | `vocabulary` (bytes) | of texts: the terms, a JSON list of strings |
//! | `idf` (terms) | of texts: their inverse document frequencies, for those who weigh by them |
//! | `columns` (features) | of features: the columns of a file that the network looks at, from 1 |

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::network::{Network, Representation, Shape};
use crate::tensors::{Reader, Writer, Wrong};

const KIND: &str = "mimic";
/// Raised whenever files of before could not be read any more.
const FORMAT: u32 = 1;

/// A network with all that scoring takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The network.
    pub network: Network,
    /// What its inputs mean.
    pub reading: Reading,
}

/// What the inputs of a network mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Texts.
    Text {
        /// The term of each number.
        vocabulary: Vec<String>,
        /// Its inverse document frequency.
        idf: Vec<f32>,
        /// How text becomes terms, in the caller's words, such as JSON.
        analyser: String,
    },
    /// Rows of a feature file.
    Features {
        /// The column of each feature, from 1.
        columns: Vec<u32>,
    },
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    format: u32,
    /// Version of foltr that wrote the file.
    foltr: String,
    shape: Shape,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    analyser: Option<String>,
    /// Free text, for people: how the network came about.
    about: String,
}

/// Why a model file could not be read or written.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The system said no.
    #[error("{}: cannot be {action}: {source}; expected the file of a trained network", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// `read` or `written`.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The content is not that of a model.
    #[error("{}: not a network that foltr can read: {found}; expected {expected}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        found: String,
        /// What would be right.
        expected: String,
    },
}

impl Model {
    /// Writes the model; `about` is a line for people.
    ///
    /// # Errors
    /// If the file cannot be written, or would not be read: [`Self::reading`] must fit the network, whose parameters
    /// must be finite.
    pub fn write(&self, path: &Path, about: &str) -> Result<(), ModelError> {
        self.check().map_err(|wrong| content(path, wrong))?;
        let failed = |source| ModelError::File { file: path.into(), action: "written", source };
        std::fs::write(path, self.to_bytes(about)).map_err(failed)
    }

    /// Reads a model.
    ///
    /// # Errors
    /// If the file is not there or is not a model, with what would be right.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let failed = |source| ModelError::File { file: path.into(), action: "read", source };
        Self::from_bytes(&std::fs::read(path).map_err(failed)?, path)
    }

    /// Reads a model from bytes; errors name `path`.
    ///
    /// # Errors
    /// If the bytes are not those of a model, with what would be right.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        Self::parse(bytes).map_err(|wrong| content(path, wrong))
    }

    /// The content of the file: the same model and line are the same bytes.
    pub fn to_bytes(&self, about: &str) -> Vec<u8> {
        let shape = self.network.shape();
        let mut writer = Writer::default();
        writer.network("", shape, self.network.parts().into_iter());
        let analyser = match &self.reading {
            Reading::Text { vocabulary, idf, analyser } => {
                writer.bytes("vocabulary", serde_json::to_vec(vocabulary).expect("strings"));
                writer.floats("idf", vec![idf.len()], idf);
                Some(analyser.clone())
            }
            Reading::Features { columns } => {
                writer.words("columns", columns);
                None
            }
        };
        let foltr = env!("CARGO_PKG_VERSION").to_owned();
        let (kind, shape, about) = (KIND.into(), shape.clone(), about.into());
        writer.finish(&Header { kind, format: FORMAT, foltr, shape, analyser, about })
    }

    fn parse(bytes: &[u8]) -> Result<Self, Wrong> {
        let (header, mut reader): (Header, _) = Reader::open(bytes, KIND, FORMAT)?;
        header.shape.check().map_err(|error| Wrong::new(error.to_string(), "the shape of a network"))?;
        let network = reader.network("", &header.shape)?;
        let reading = match (header.shape.representation, header.analyser) {
            (Representation::Text { n_terms, .. }, Some(analyser)) => {
                let not_a_list = |error| Wrong::new(format!("`vocabulary`: {error}"), "a JSON list of strings");
                let vocabulary = serde_json::from_slice(reader.bytes("vocabulary")?).map_err(not_a_list)?;
                Reading::Text { vocabulary, idf: reader.finite_floats("idf", &[n_terms])?, analyser }
            }
            (Representation::Features { n_features }, None) => {
                Reading::Features { columns: reader.words("columns", n_features)? }
            }
            (Representation::Text { .. }, None) => {
                return Err(Wrong::new("a network of texts without `analyser`", "how text becomes terms"));
            }
            (Representation::Features { .. }, Some(_)) => {
                return Err(Wrong::new("a network of features with `analyser`", "none"));
            }
        };
        reader.finish()?;
        let model = Self { network, reading };
        model.check()?;
        Ok(model)
    }

    fn check(&self) -> Result<(), Wrong> {
        if self.network.parts().iter().any(|values| values.iter().any(|value| !value.is_finite())) {
            return Err(Wrong::new("parameters that are not finite", "a network that did not diverge"));
        }
        let lengths = |found: String, expected: usize| Err(Wrong::new(found, format!("{expected} of the network")));
        match (self.network.shape().representation, &self.reading) {
            (Representation::Text { n_terms, .. }, Reading::Text { vocabulary, idf, .. }) => {
                if vocabulary.len() != n_terms || idf.len() != n_terms {
                    return lengths(format!("{} terms and {} IDF values", vocabulary.len(), idf.len()), n_terms);
                }
                let mut seen = std::collections::HashSet::new();
                match vocabulary.iter().find(|term| !seen.insert(*term)) {
                    Some(term) => Err(Wrong::new(format!("the term `{term}` twice"), "each term once")),
                    None => Ok(()),
                }
            }
            (Representation::Features { n_features }, Reading::Features { columns }) => {
                if columns.len() != n_features {
                    return lengths(format!("{} columns", columns.len()), n_features);
                }
                match columns.contains(&0) {
                    true => Err(Wrong::new("a column 0", "columns from 1")),
                    false => Ok(()),
                }
            }
            _ => Err(Wrong::new("a network and inputs of different kinds", "texts or features in both")),
        }
    }
}

fn content(path: &Path, Wrong { found, expected }: Wrong) -> ModelError {
    ModelError::Content { file: path.into(), found, expected }
}
