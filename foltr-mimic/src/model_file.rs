//! A trained network as a file, with all that scoring new texts or rows takes.
//!
//! | tensors | are |
//! |---|---|
//! | `terms.embeddings` (terms, dimensions), `terms.weights` (terms) | of texts: what is learned of each term |
//! | `layers.N.weights` (inputs, units), `layers.N.bias` (units) | the layers; query before document in the first |
//! | `vocabulary` (bytes) | of texts: the terms, a JSON list of strings |
//! | `idf` (terms) | of texts: their inverse document frequencies, for those who weigh by them |
//! | `columns` (features) | of features: the columns of a file that the network looks at, from 1 |

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::analyser::AnalyserSettings;
use crate::network::{Network, Representation, Shape};
use crate::tensors::{Reader, Writer};
use crate::vocabulary::Vocabulary;
use crate::{FileError, InvalidInput};

const KIND: &str = "mimic";
/// Raised whenever files of before could not be read any more.
const FORMAT: u32 = 1;

/// A network with all that scoring takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub network: Network,
    pub reading: Reading,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Texts. Files have no [`Vocabulary::words`].
    Text { vocabulary: Vocabulary, analyser: AnalyserSettings },
    /// The column of each feature in a feature file, from 1.
    Features { columns: Vec<u32> },
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

impl Model {
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Self::from_bytes(&std::fs::read(path).map_err(FileError::io(path, "read"))?, path)
    }

    /// Reads a model from bytes; errors name `path`.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, FileError> {
        Self::parse(bytes)
            .map_err(|invalid| FileError::new(path, format!("not a network that foltr can read: {invalid}")))
    }

    /// The content of the file, with a line for people: the same model and line are the same bytes.
    pub fn to_bytes(&self, about: &str) -> Vec<u8> {
        let shape = &self.network.shape;
        let mut writer = Writer::default();
        writer.network("", &self.network);
        let analyser = match &self.reading {
            Reading::Text { vocabulary, analyser } => {
                writer.bytes("vocabulary", serde_json::to_vec(&vocabulary.terms).expect("strings"));
                writer.floats("idf", vec![vocabulary.idf.len()], &vocabulary.idf);
                Some(serde_json::to_string(analyser).expect("two switches"))
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

    fn parse(bytes: &[u8]) -> Result<Self, InvalidInput> {
        let (header, mut reader): (Header, _) = Reader::open(bytes, KIND, FORMAT)?;
        header.shape.check()?;
        let network = reader.network("", &header.shape)?;
        let reading = match (header.shape.representation, header.analyser) {
            (Representation::Text { n_terms, .. } | Representation::Interaction { n_terms, .. }, Some(analyser)) => {
                read_texts(&mut reader, n_terms, &analyser)?
            }
            (Representation::Features { n_features }, None) => {
                let columns = reader.words("columns", n_features)?;
                if columns.contains(&0) {
                    return Err(InvalidInput::new("a column 0", "columns from 1"));
                }
                Reading::Features { columns }
            }
            (Representation::Text { .. } | Representation::Interaction { .. }, None) => {
                return Err(InvalidInput::new("a network of texts without `analyser`", "how text becomes terms"));
            }
            (Representation::Features { .. }, Some(_)) => {
                return Err(InvalidInput::new("a network of features with `analyser`", "none"));
            }
        };
        reader.finish()?;
        Ok(Self { network, reading })
    }
}

fn read_texts(reader: &mut Reader<'_>, n_terms: usize, analyser: &str) -> Result<Reading, InvalidInput> {
    let invalid = |name: &str, error, expected| InvalidInput::new(format!("`{name}`: {error}"), expected);
    let analyser =
        serde_json::from_str(analyser).map_err(|error| invalid("analyser", error, "how text becomes terms"))?;
    let terms: Vec<String> = serde_json::from_slice(reader.bytes("vocabulary")?)
        .map_err(|error| invalid("vocabulary", error, "a JSON list of strings"))?;
    if terms.len() != n_terms {
        return Err(InvalidInput::new(format!("{} terms", terms.len()), format!("{n_terms} of the network")));
    }
    let mut seen = HashSet::new();
    if let Some(term) = terms.iter().find(|term| !seen.insert(*term)) {
        return Err(InvalidInput::new(format!("the term `{term}` twice"), "each term once"));
    }
    let idf = reader.finite_floats("idf", &[n_terms])?;
    Ok(Reading::Text { vocabulary: Vocabulary { terms, idf, words: Vec::new() }, analyser })
}
