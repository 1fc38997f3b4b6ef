//! A section of an experiment in a few words, for tables and setting columns.

use serde::Serialize;

/// A section in one cell: its kind, then its other keys: `adam learning_rate=0.001`.
pub fn label(section: &impl Serialize) -> String {
    fn words(value: &serde_json::Value) -> String {
        match value {
            serde_json::Value::Object(keys) => {
                let kind = keys.get("kind").map(words);
                let others = keys.iter().filter(|(key, _)| *key != "kind");
                let others = others.map(|(key, value)| match value {
                    serde_json::Value::Object(_) => format!("{key}=({})", words(value)),
                    _ => format!("{key}={}", words(value)),
                });
                kind.into_iter().chain(others).collect::<Vec<_>>().join(" ")
            }
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
    // Through text: a 32-bit float must show as 0.01, not as the 64-bit float next to it.
    let text = serde_json::to_string(section).unwrap_or_default();
    serde_json::from_str(&text).map(|value| words(&value)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{ClickModel, Preset, ServerOptimiser};
    use foltr_simulation::click::PositionBasedParameters;

    #[test]
    fn the_kind_comes_first_and_every_number_is_there() {
        let momentum = ServerOptimiser::Momentum { rate: 10.0, momentum: 0.9 };
        assert_eq!(label(&momentum), "momentum momentum=0.9 rate=10.0");
        let norm = foltr_rank::Initialisation::RandomNorm { norm: 0.01 };
        assert_eq!(label(&norm), "random-norm norm=0.01");
        let users = PositionBasedParameters { eta: 0.5, preset: Preset::Perfect, grades: None };
        let users = ClickModel::PositionBased(users);
        assert_eq!(label(&users), "position-based eta=0.5 preset=perfect");
    }
}
