//! Where does a network begin, and what must its file say for others to use it?

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use foltr_mimic::embeddings::EmbeddingSource;
use foltr_mimic::model_file::{Model, Reading};
use foltr_mimic::{Network, Representation, Shape, Start};
use foltr_rank::rng::{Purpose, Streams};

use super::spec::NetworkSpec;
use super::training_data::{Store, TextStore, TrainingData};
use crate::data;

/// Embeddings that were made, by source, dimensions and seed: networks of one run begin with the same.
#[derive(Default)]
pub struct Embedded(Mutex<HashMap<(String, usize, u64), Vec<f32>>>);

/// A network that has not learnt yet.
///
/// # Errors
/// If there is no such network, or embeddings cannot be loaded.
pub fn network(
    spec: &NetworkSpec,
    store: &Store,
    stage: &TrainingData,
    seed: u64,
    streams: &Streams,
) -> Result<Network> {
    let (representation, start) = match store {
        Store::Text(store) => {
            let representation = Representation::Text {
                n_terms: store.vocabulary.len(),
                n_dimensions: spec.dimensions,
                composition: spec.composition,
                product: spec.product,
            };
            let embeddings = match &spec.embeddings {
                // Every network has random numbers of its own.
                EmbeddingSource::Random => None,
                source => Some(embedded(store, source, spec.dimensions, seed)?),
            };
            (representation, Start { term_weights: Some(store.vocabulary.idf.clone()), embeddings })
        }
        Store::Features(_) => (Representation::Features { n_features: stage.columns.len() }, Start::default()),
    };
    let shape = Shape { representation, hidden: spec.hidden.clone(), dropout: spec.dropout };
    Ok(Network::new(shape, start, streams)?)
}

fn embedded(store: &TextStore, source: &EmbeddingSource, n_dimensions: usize, seed: u64) -> Result<Vec<f32>> {
    let source = match source {
        EmbeddingSource::Loaded { file } => EmbeddingSource::Loaded { file: data::resolve_path(file)? },
        other => other.clone(),
    };
    let key = (serde_json::to_string(&source)?, n_dimensions, seed);
    // ClientData while they are made: others who want the same wait for it.
    let mut known = store.embedded.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(values) = known.get(&key) {
        return Ok(values.clone());
    }
    let documents = &store.collection.documents;
    let numbers = |text: &str| store.vocabulary.numbers(text, store.analyser());
    let texts: Vec<Vec<u32>> = documents.iter().map(|document| numbers(&document.content())).collect();
    let mut stream = Streams::new(seed).open(Purpose::Initialisation, 0, 0);
    let made = source.embed(&store.vocabulary, &texts, n_dimensions, &mut stream)?;
    known.insert(key, made.values.clone());
    Ok(made.values)
}

/// A network as a file, with the vocabulary and analyser or the columns that it looks at.
///
/// # Errors
/// If the analyser cannot be written down.
pub fn model(network: Network, store: &Store, stage: &TrainingData) -> Result<Model> {
    let reading = match store {
        Store::Text(store) => Reading::Text {
            vocabulary: store.vocabulary.terms.clone(),
            idf: store.vocabulary.idf.clone(),
            analyser: serde_json::to_string(&store.analyser().settings())?,
        },
        Store::Features(_) => {
            Reading::Features { columns: stage.columns.iter().map(|&column| column as u32 + 1).collect() }
        }
    };
    Ok(Model { network, reading })
}
