//! The features of candidates as a host computes them: checked against the schema, and scaled as it says.

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{CanonicalError, Document, Feature, FeatureKind, FeatureSchema, Normalisation};
use foltr_rank::query::pad_rows;
use foltr_rank::{QueryView, normalise_rows, row_stride};
use thiserror::Error;

/// More candidates in one call are a mistake.
pub const MOST_CANDIDATES: usize = 100_000;

/// Why candidates cannot be ranked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FeatureError {
    #[error("there are no candidates to rank")]
    NoCandidates,
    #[error("{n_candidates} candidates are more than the {MOST_CANDIDATES} that can be ranked at once")]
    TooMany { n_candidates: usize },
    #[error("{n_values} values are no whole number of documents with {n_features} features each")]
    NotWholeDocuments { n_values: usize, n_features: usize },
    #[error("document {document}, feature {feature} (`{name}`) is {value}; it must be {right}")]
    Value { document: usize, feature: usize, name: String, value: f32, right: &'static str },
}

/// Why a feature schema is of no use.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    #[error("the feature schema has no features")]
    Empty,
    #[error("the feature schema has two features named `{0}`")]
    Repeated(String),
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    pub schema: FeatureSchema,
    pub hash: Fingerprint,
}

impl Features {
    pub fn new(schema: FeatureSchema) -> Result<Self, SchemaError> {
        if schema.features.is_empty() {
            return Err(SchemaError::Empty);
        }
        let mut names: Vec<&str> = schema.features.iter().map(|feature| feature.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SchemaError::Repeated(pair[0].to_owned()));
        }
        let hash = schema.hash()?;
        Ok(Self { schema, hash })
    }

    pub fn len(&self) -> usize {
        self.schema.features.len()
    }

    /// Padded rows of the documents, scaled as the schema says.
    pub fn rows(&self, values: &[f32]) -> Result<Vec<f32>, FeatureError> {
        let (n_values, n_features) = (values.len(), self.len());
        match n_values / n_features {
            _ if n_values == 0 => return Err(FeatureError::NoCandidates),
            _ if !n_values.is_multiple_of(n_features) => {
                return Err(FeatureError::NotWholeDocuments { n_values, n_features });
            }
            n_candidates if n_candidates > MOST_CANDIDATES => return Err(FeatureError::TooMany { n_candidates }),
            _ => {}
        }
        for (document, row) in values.chunks_exact(n_features).enumerate() {
            self.check(document, row)?;
        }
        let rows = pad_rows(values, n_features);
        Ok(match self.schema.normalise {
            Normalisation::None => rows,
            Normalisation::Query => {
                let mut scaled = vec![0.0; rows.len()];
                normalise_rows(&rows, &mut scaled, row_stride(n_features));
                scaled
            }
        })
    }

    pub fn view<'a>(&self, rows: &'a [f32]) -> QueryView<'a> {
        QueryView::new(rows, self.len())
    }

    fn check(&self, document: usize, row: &[f32]) -> Result<(), FeatureError> {
        let wrong = row.iter().zip(&self.schema.features).position(|(&value, feature)| !is_of(feature.kind, value));
        let Some(feature) = wrong else { return Ok(()) };
        let Feature { name, kind } = &self.schema.features[feature];
        let right = match kind {
            FeatureKind::Count => "a whole number from 0 on",
            FeatureKind::Flag => "0 or 1",
            _ => "a finite number",
        };
        Err(FeatureError::Value { document, feature, name: name.clone(), value: row[feature], right })
    }
}

fn is_of(kind: FeatureKind, value: f32) -> bool {
    value.is_finite()
        && match kind {
            FeatureKind::Count => value >= 0.0 && value.fract() == 0.0,
            FeatureKind::Flag => value == 0.0 || value == 1.0,
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(normalise: Normalisation) -> Features {
        let feature = |name: &str, kind| Feature { name: name.into(), kind };
        let all = [
            feature("score", FeatureKind::Number),
            feature("opened", FeatureKind::Count),
            feature("new", FeatureKind::Flag),
        ];
        Features::new(FeatureSchema { features: all.into(), normalise }).expect("a sound schema")
    }

    #[test]
    fn rows_are_padded_and_scaled_as_the_schema_says() {
        let values = [2.0, 1.0, 1.0, 4.0, 3.0, 0.0];
        let rows = features(Normalisation::None).rows(&values).expect("sound");
        assert_eq!((rows.len(), &rows[..3], &rows[8..11]), (16, &values[..3], &values[3..]));
        let rows = features(Normalisation::Query).rows(&values).expect("sound");
        assert_eq!((&rows[..3], &rows[8..11]), (&[0.0, 0.0, 1.0][..], &[1.0, 1.0, 0.0][..]));
    }

    #[test]
    fn a_wrong_value_is_named_with_its_document_and_feature() {
        let features = features(Normalisation::None);
        for (position, value, right) in [
            (0, f32::NAN, "a finite number"),
            (0, f32::INFINITY, "a finite number"),
            (4, -1.0, "a whole number from 0 on"),
            (4, 0.5, "a whole number from 0 on"),
            (5, 2.0, "0 or 1"),
        ] {
            let mut values = [0.0; 6];
            values[position] = value;
            let error = features.rows(&values).expect_err("wrong");
            let FeatureError::Value { document, feature, right: said, .. } = &error else { panic!("{error}") };
            assert_eq!((*document, *feature, *said), (position / 3, position % 3, right));
        }
        assert_eq!(features.rows(&[]), Err(FeatureError::NoCandidates));
        assert_eq!(features.rows(&[1.0; 4]), Err(FeatureError::NotWholeDocuments { n_values: 4, n_features: 3 }));
    }

    #[test]
    fn schemas_without_features_or_with_a_name_twice_are_refused() {
        let twice = Feature { name: "a".into(), kind: FeatureKind::Number };
        let schema = |features| FeatureSchema { features, normalise: Normalisation::None };
        assert_eq!(Features::new(schema(vec![])), Err(SchemaError::Empty));
        assert_eq!(Features::new(schema(vec![twice.clone(), twice])), Err(SchemaError::Repeated("a".into())));
    }
}
