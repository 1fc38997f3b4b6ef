//! What does training begin with? Private, public and judged queries, as numbers that networks understand.

mod features;
mod outside;
mod text;

use anyhow::Result;
use foltr_mimic::retrieval::Grades;
use foltr_mimic::{Candidates, Inputs};

use super::spec::{MimicData, MimicExperiment};

pub use features::FeatureStore;
pub use outside::{OutsideScores, public_name};
pub use text::TextStore;

/// A query whose ranking can be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedQuery {
    pub id: String,
    /// Empty in feature files.
    pub text: String,
    /// What is ranked: the best documents by BM25, or all of the query. Scores are BM25, or the feature that stands for
    /// it; empty where there is none.
    pub list: Candidates,
    /// Of everything that was judged for the query, found by BM25 or not.
    pub grades: Grades,
    /// As the files have them, where they are read in another way.
    pub filed_grades: Option<Grades>,
}

/// Queries that parameters are chosen on, and queries of results, as positions among judged queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    pub validation: Vec<usize>,
    pub test: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct TrainingData {
    /// Fold of the data, from 1; 1 as well where training does not depend on it.
    pub fold: usize,
    pub inputs: Inputs,
    /// What teachers learn from; nothing where they are from outside.
    pub private: Vec<Candidates>,
    /// What teachers from outside say.
    pub outside: Option<OutsideScores>,
    /// Whether validation queries may say when a single teacher has learnt enough.
    pub validated_by_judgements: bool,
    /// What the student learns from, still without scores.
    pub public: Vec<Candidates>,
    /// The text of each public query, or its name.
    pub public_names: Vec<String>,
    pub judged: Vec<JudgedQuery>,
    /// Several where the same networks are judged on all folds.
    pub splits: Vec<Split>,
    /// Features that networks see, from 0; none of texts.
    pub columns: Vec<usize>,
    /// In sentences: what no guarantee covers, because teachers share it or others are told.
    pub taken_as_public: Vec<String>,
}

pub enum Store {
    Text(Box<TextStore>),
    Features(FeatureStore),
}

impl Store {
    pub fn load(experiment: &MimicExperiment) -> Result<Self> {
        Ok(match &experiment.data {
            MimicData::Text(data) => Self::Text(Box::new(TextStore::load(data, experiment)?)),
            MimicData::Features(data) => Self::Features(FeatureStore::load(data, experiment)?),
        })
    }

    /// Folds that networks must be trained for.
    pub fn folds(&self, experiment: &MimicExperiment) -> Vec<usize> {
        match self {
            Self::Text(store) => store.folds(experiment),
            Self::Features(store) => store.folds(),
        }
    }

    pub fn training_data(&self, experiment: &MimicExperiment, fold: usize, seed: u64) -> Result<TrainingData> {
        match self {
            Self::Text(store) => store.training_data(experiment, fold, seed),
            Self::Features(store) => store.training_data(experiment, fold, seed),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Text(store) => store.describe(),
            Self::Features(store) => store.describe(),
        }
    }

    /// What is worth knowing of texts and their embeddings.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Text(store) => store.notes(),
            Self::Features(_) => Vec::new(),
        }
    }

    /// Hash of everything that a fold's numbers depend on.
    pub fn hash(&self, fold: usize) -> u64 {
        match self {
            Self::Text(store) => store.hash,
            Self::Features(store) => store.hash(fold),
        }
    }
}
