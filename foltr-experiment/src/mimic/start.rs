//! Where does a network begin, and what must its file say for others to use it?

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use foltr_mimic::embeddings::{EmbeddingSource, mean_cosine};
use foltr_mimic::model_file::Reading;
use foltr_mimic::{InitialTerms, Network, NetworkSettings};
use foltr_rank::rng::{Purpose, Streams};

use super::training_data::{Store, TextStore, TrainingData};
use crate::data;

/// Embeddings by source, dimensions and seed: networks of one run begin with the same.
pub type EmbeddingCache = Mutex<HashMap<(String, usize, u64), Option<Vec<f32>>>>;

/// The largest mean cosine of embeddings that are not warned of.
const MOST_ALIKE: f64 = 0.3;

pub fn network(
    settings: &NetworkSettings,
    store: &Store,
    data: &TrainingData,
    seed: u64,
    streams: &Streams,
) -> Result<Network> {
    let (shape, initial) = match store {
        Store::Text(store) => {
            let embeddings = embeddings(store, &settings.embeddings, settings.dimensions, seed)?;
            let initial = InitialTerms { weights: Some(store.vocabulary.idf.clone()), embeddings };
            (settings.text_shape(store.vocabulary.terms.len(), data.inputs.mean_length()), initial)
        }
        Store::Features(_) => (settings.feature_shape(data.columns.len()), InitialTerms::default()),
    };
    Ok(Network::new(shape, initial, streams)?)
}

fn embeddings(store: &TextStore, source: &EmbeddingSource, n_dimensions: usize, seed: u64) -> Result<Option<Vec<f32>>> {
    let source = match source {
        EmbeddingSource::Loaded { file } => EmbeddingSource::Loaded { file: data::resolve_path(file)? },
        other => other.clone(),
    };
    let key = (serde_json::to_string(&source)?, n_dimensions, seed);
    // Locked while they are made: others who want the same wait for it.
    let mut cache = store.embeddings.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(values) = cache.get(&key) {
        return Ok(values.clone());
    }
    let mut stream = Streams::new(seed).open(Purpose::Initialisation, 0, 0);
    let documents = &store.collection.documents;
    let values = source.embed(&store.vocabulary, documents, &store.index.analyser, n_dimensions, &mut stream)?;
    if let Some(cosine) = values.as_deref().map(|values| mean_cosine(values, n_dimensions, &mut stream))
        && cosine > MOST_ALIKE
    {
        let warning = format!(
            "embeddings ({}) are nearly alike: two random terms have a cosine of {cosine:.2} on average, and above {MOST_ALIKE} \
             they say little; train longer, on more text, or take `kind = \"random\"`",
            key.0
        );
        store.warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(warning);
    }
    cache.insert(key, values.clone());
    Ok(values)
}

/// What a network looks at: vocabulary and analyser, or columns.
pub fn reading(store: &Store, data: &TrainingData) -> Reading {
    match store {
        Store::Text(store) => {
            Reading::Text { vocabulary: store.vocabulary.clone(), analyser: store.index.analyser.settings }
        }
        Store::Features(_) => {
            Reading::Features { columns: data.columns.iter().map(|&column| column as u32 + 1).collect() }
        }
    }
}
