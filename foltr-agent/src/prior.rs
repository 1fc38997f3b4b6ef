//! The ranker that a new agent begins with: `prior/model.json`, which says how it was made.

use std::collections::BTreeMap;

use foltr_rank::Params;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::feature::{self, FEATURES};

const MODEL: &str = include_str!("../prior/model.json");

#[derive(Deserialize)]
struct Model {
    /// Of the features that it was learnt with.
    #[cfg_attr(not(test), allow(dead_code))]
    schema: String,
    /// By the name of their feature; those that are not named are 0.
    weights: BTreeMap<String, f32>,
}

fn read() -> Model {
    serde_json::from_str(MODEL).expect("a test reads it")
}

pub fn model() -> Params {
    let weights = read().weights;
    FEATURES.iter().map(|feature| weights.get(feature.name).copied().unwrap_or(0.0)).collect()
}

/// Of names, kinds and order of the features, and of how they are scaled.
pub fn schema_hash() -> String {
    let schema = serde_json::to_vec(&feature::schema()).expect("it has no keys but strings");
    Sha256::digest(schema).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_was_learnt_with_the_features_as_they_are() {
        let Model { schema, weights } = read();
        assert_eq!(
            schema,
            schema_hash(),
            "learn it again: cargo run --release -p foltr-agent --example refinding -- learn"
        );
        for (name, weight) in weights {
            assert!(feature::position(&name).is_some() && weight.is_finite(), "{name}");
        }
    }
}
