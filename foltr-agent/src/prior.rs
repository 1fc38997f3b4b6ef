//! The ranker that a new agent begins with.

use foltr_rank::Params;

use crate::feature::FEATURES;

/// Weights by the name of their feature; those that are not named are 0.
const WEIGHTS: &[(&str, f32)] = &[
    ("bm25", 6.0),
    ("bm25-title", 2.0),
    ("bm25-name", 2.0),
    ("bm25-headings", 0.5),
    ("coverage", 2.0),
    ("coverage-exact", 0.5),
    ("title-is", 2.0),
    ("name-is", 2.0),
    ("phrase-title", 0.5),
    ("phrase-body", 0.5),
    ("neighbours", 0.5),
    ("frecency", 2.0),
    ("same-query", 3.0),
    ("similar-query", 1.0),
    ("opened-week", 0.5),
    ("changed-month", 0.3),
];

pub fn model() -> Params {
    let weight = |name: &str| WEIGHTS.iter().find(|(it, _)| *it == name).map_or(0.0, |(_, weight)| *weight);
    FEATURES.iter().map(|feature| weight(feature.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_is_of_a_feature() {
        for (name, _) in WEIGHTS {
            assert!(crate::feature::position(name).is_some(), "{name}");
        }
    }
}
