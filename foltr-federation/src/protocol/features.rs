//! What the numbers of a document mean: computed on the device, and named by a hash in the plan.
//!
//! A server that could add or change a feature could read clicks out of sums. So a device makes its own schema and takes
//! part only in plans that name exactly this one.

use serde::{Deserialize, Serialize};

use crate::protocol::canonical::{self, CanonicalError};
use crate::protocol::signed::Document;

/// The features of a document, in the order in which the model reads them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSchema {
    pub features: Vec<Feature>,
    pub normalise: Normalisation,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    pub name: String,
    pub kind: FeatureKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FeatureKind {
    /// Any finite number.
    Number,
    /// A whole number from 0 on.
    Count,
    /// 0 or 1.
    Flag,
}

/// Feature scaling (spec section 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Normalisation {
    /// Values as they are in the file.
    #[default]
    None,
    /// Every feature to [0, 1] within each query.
    Query,
}

impl FeatureSchema {
    /// Numbers named 1, 2, ... as in files of the LETOR format.
    pub fn numbered(n_features: usize, normalise: Normalisation) -> Self {
        let feature = |number: usize| Feature { name: number.to_string(), kind: FeatureKind::Number };
        Self { features: (1..=n_features).map(feature).collect(), normalise }
    }
}

impl Document for FeatureSchema {
    const NAME: &'static str = "foltr feature schema";

    type Error = CanonicalError;

    fn encode(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::encode(self)
    }

    fn decode(bytes: &[u8]) -> Result<Self, CanonicalError> {
        canonical::decode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_order_kind_or_scaling_is_another_schema() {
        let schema = FeatureSchema::numbered(3, Normalisation::Query);
        let bytes = schema.encode().expect("a sound schema");
        assert_eq!(FeatureSchema::decode(&bytes), Ok(schema.clone()));
        let mut others = vec![FeatureSchema::numbered(2, Normalisation::Query), schema.clone()];
        others[1].normalise = Normalisation::None;
        let mut swapped = schema.clone();
        swapped.features.swap(0, 1);
        let mut flag = schema.clone();
        flag.features[2].kind = FeatureKind::Flag;
        let mut renamed = schema.clone();
        renamed.features[0].name = "bm25".into();
        others.extend([swapped, flag, renamed]);
        others.iter().for_each(|other| assert_ne!(other.hash(), schema.hash(), "{other:?}"));
    }
}
