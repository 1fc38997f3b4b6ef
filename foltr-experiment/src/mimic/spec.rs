//! What is an experiment of mimic learning? A TOML file: private data, teachers, what is public, the student.

use std::path::PathBuf;

use foltr_mimic::NetworkSettings;
use foltr_mimic::aggregation::AggregationMethod;
use foltr_mimic::analyser::AnalyserSettings;
use foltr_mimic::collection::{Form, ZeroGrade};
use foltr_mimic::embeddings::EmbeddingSource;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::read::messages::no_such;
use crate::read::read_value;
use crate::spec::{Data, Problem};

/// Sections and top-level keys, in the order in which a file should have them.
pub(crate) const SECTIONS: [&str; 8] =
    ["seeds", "data", "supervision", "public", "teacher", "student", "aggregation", "evaluation"];

/// An experiment: everything from private data to evaluated students.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MimicExperiment {
    /// One run each.
    pub seeds: Vec<u64>,
    /// Documents, queries and judgements.
    pub data: MimicData,
    /// What teachers learn from.
    pub supervision: Supervision,
    /// What the student learns from, once teachers have labelled it.
    pub public: Public,
    /// A teacher's network and training.
    pub teacher: NetworkSettings,
    /// The student's network and training.
    pub student: NetworkSettings,
    /// How the teachers' answers become labels: one student each.
    pub aggregation: Vec<LabelSource>,
    /// How rankings are evaluated.
    pub evaluation: EvaluationSettings,
}

/// Where documents come from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MimicData {
    /// Texts.
    Text(TextData),
    /// Feature files, or generated ones, as in `[data]` of other experiments.
    Features(Data),
}

impl MimicData {
    pub fn name(&self) -> String {
        match self {
            Self::Text(text) => text.path.display().to_string(),
            Self::Features(data) => data.name(),
        }
    }
}

/// The word `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextKind {
    /// The only one.
    Text,
}

/// A text collection.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextData {
    /// Always `text`.
    pub kind: TextKind,
    /// Relative paths are looked up in the working directory, then in the folder that `FOLTR_DATA` names.
    pub path: PathBuf,
    /// How its files are written; found by their names when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// Whether a document that was judged with grade 0 is relevant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zero_grade: ZeroGrade,
    /// From text to terms.
    #[serde(default)]
    pub analyser: AnalyserSettings,
    /// Terms in fewer documents are not in the vocabulary.
    #[serde(default = "default_min_documents")]
    pub min_documents: u32,
    /// Most terms of the vocabulary: those in most documents.
    #[serde(default = "default_max_terms")]
    pub max_terms: usize,
    /// Parts of the judged queries for cross-validation.
    #[serde(default = "default_folds")]
    pub folds: usize,
}

/// What teachers learn from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Supervision {
    /// Judgements of the training queries.
    Full {
        /// Disjoint parts of the training queries, one teacher each.
        #[serde(default = "default_teachers")]
        teachers: usize,
        /// Text: best documents by BM25 that, without a judgement, count as not relevant.
        #[serde(default = "default_candidates")]
        candidates: usize,
    },
    /// BM25 scores.
    Weak {
        /// Disjoint parts of the training queries, one teacher each.
        #[serde(default = "default_teachers")]
        teachers: usize,
        /// Text: best documents by BM25 that a teacher learns to rank.
        #[serde(default = "default_candidates")]
        candidates: usize,
        /// Text: training queries.
        #[serde(default = "default_queries")]
        n_queries: usize,
        /// Text: a file with queries, one per line; made from titles and sentences of the documents when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queries: Option<PathBuf>,
        /// Features: number of the feature that is the label, from 1, such as 37 in LETOR 4.0 and 110 in MSLR.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feature: Option<usize>,
        /// Features: others that correlate with it this much leave the inputs with it.
        #[serde(default = "default_near_copies")]
        near_copies: f64,
    },
    /// Text: scores of rankers from outside, which label the public queries in place of trained teachers.
    Scores {
        /// TREC runs (`query Q0 document rank score tag`), one a ranker; `foltr mimic queries` writes what they are asked.
        runs: Vec<PathBuf>,
    },
}

impl Supervision {
    pub fn n_teachers(&self) -> usize {
        match self {
            Self::Full { teachers, .. } | Self::Weak { teachers, .. } => *teachers,
            Self::Scores { runs } => runs.len(),
        }
    }

    pub fn n_candidates(&self) -> usize {
        match self {
            Self::Full { candidates, .. } | Self::Weak { candidates, .. } => *candidates,
            Self::Scores { .. } => default_candidates(),
        }
    }

    /// Whether teachers are rankers from outside.
    pub fn is_outside(&self) -> bool {
        matches!(self, Self::Scores { .. })
    }

    /// Files that it names.
    pub fn files(&self) -> Vec<&PathBuf> {
        match self {
            Self::Full { .. } => Vec::new(),
            Self::Weak { queries, .. } => queries.iter().collect(),
            Self::Scores { runs } => runs.iter().collect(),
        }
    }

    fn files_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Full { .. } => Vec::new(),
            Self::Weak { queries, .. } => queries.iter_mut().collect(),
            Self::Scores { runs } => runs.iter_mut().collect(),
        }
    }
}

/// Queries that are not private: the student learns from them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Public {
    /// Text: a file with queries, one per line; made from titles and sentences of the documents when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<PathBuf>,
    /// Text: number of queries.
    pub n_queries: usize,
    /// Text: best documents by BM25 that are labelled.
    pub candidates: usize,
    /// Features: share of the training queries that are public; their labels are never looked at.
    pub share: f64,
}

impl Default for Public {
    fn default() -> Self {
        Self { queries: None, n_queries: default_queries(), candidates: default_candidates(), share: 0.5 }
    }
}

/// One way from teachers to labels, with a name for tables and folders.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelSource {
    /// For tables and folders.
    pub name: String,
    /// How.
    pub method: AggregationMethod,
}

/// How rankings are evaluated.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationSettings {
    /// Text: best documents by BM25 that are ranked again.
    pub depth: usize,
}

impl Default for EvaluationSettings {
    fn default() -> Self {
        Self { depth: default_candidates() }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn default_teachers() -> usize {
    1
}
fn default_min_documents() -> u32 {
    2
}
fn default_folds() -> usize {
    5
}
fn default_candidates() -> usize {
    100
}
fn default_max_terms() -> usize {
    50_000
}
fn default_queries() -> usize {
    10_000
}
fn default_near_copies() -> f64 {
    0.9
}

impl MimicExperiment {
    /// Steps of one run: all teachers and students.
    pub fn n_steps(&self) -> u64 {
        let n_trained = if self.supervision.is_outside() { 0 } else { self.supervision.n_teachers() };
        n_trained as u64 * u64::from(self.teacher.steps) + self.aggregation.len() as u64 * u64::from(self.student.steps)
    }

    /// A hash of all that teachers' answers depend on beside the seed. Files count by their contents, which the hash of
    /// the data has, and not by their paths.
    pub(super) fn hash_of_answers(&self, data: u64) -> serde_json::Result<u64> {
        let texts = match &self.data {
            MimicData::Text(texts) => Some(TextData { path: PathBuf::new(), ..texts.clone() }),
            MimicData::Features(_) => None,
        };
        let mut supervision = self.supervision.clone();
        supervision.files_mut().into_iter().for_each(|file| *file = PathBuf::new());
        let public = Public { queries: self.public.queries.as_ref().map(|_| PathBuf::new()), ..self.public.clone() };
        let mut teacher = self.teacher.clone();
        if let EmbeddingSource::Loaded { file } = &mut teacher.embeddings {
            *file = PathBuf::new();
        }
        let text = serde_json::to_string(&(data, texts, supervision, public, teacher))?;
        Ok(xxh3_64(text.as_bytes()))
    }

    pub(crate) fn from_table(mut table: Table) -> Result<Self, Vec<Problem>> {
        let unknown = table.keys().filter(|key| !SECTIONS.contains(&key.as_str()));
        let mut problems: Vec<Problem> =
            unknown.map(|key| Problem::new(key, no_such("section", key, &SECTIONS))).collect();
        let Some(data) = read_data(&mut table, &mut problems) else { return Err(problems) };
        let mut read = Self {
            seeds: section(&mut table, "seeds", &mut problems).unwrap_or_else(|| vec![1]),
            data,
            supervision: section(&mut table, "supervision", &mut problems)
                .unwrap_or(Supervision::Full { teachers: 1, candidates: default_candidates() }),
            public: section(&mut table, "public", &mut problems).unwrap_or_default(),
            teacher: network(&mut table, "teacher", NetworkSettings::teacher(), &mut problems),
            student: network(&mut table, "student", NetworkSettings::student(), &mut problems),
            aggregation: section(&mut table, "aggregation", &mut problems).unwrap_or_else(without_noise),
            evaluation: section(&mut table, "evaluation", &mut problems).unwrap_or_default(),
        };
        let n_teachers = read.supervision.n_teachers();
        read.aggregation.par_iter_mut().for_each(|source| source.method.resolve(n_teachers));
        problems.extend(read.check());
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }
}

/// A section, if it is there and can be read.
fn section<T: DeserializeOwned>(table: &mut Table, key: &str, problems: &mut Vec<Problem>) -> Option<T> {
    read_value(key, table.remove(key)?, problems)
}

/// A network: the paper's, with what the file says in its place.
fn network(table: &mut Table, key: &str, default: NetworkSettings, problems: &mut Vec<Problem>) -> NetworkSettings {
    let given = match table.remove(key) {
        None => return default,
        Some(Value::Table(given)) => given,
        Some(_) => {
            problems.push(Problem::new(key, format!("expected a section `[{key}]`")));
            return default;
        }
    };
    let Ok(mut merged) = Table::try_from(&default) else { return default };
    merged.extend(given);
    read_value(key, Value::Table(merged), problems).unwrap_or(default)
}

fn read_data(table: &mut Table, problems: &mut Vec<Problem>) -> Option<MimicData> {
    let Some(value) = table.remove("data") else {
        problems.push(Problem::new("data", "missing; every experiment needs `[data]`"));
        return None;
    };
    if value.get("kind").and_then(Value::as_str) == Some("text") {
        return read_value("data", value, problems).map(MimicData::Text);
    }
    let mut data: Data = read_value("data", value, problems)?;
    data.resolve();
    Some(MimicData::Features(data))
}

fn without_noise() -> Vec<LabelSource> {
    vec![LabelSource { name: "mimic".into(), method: AggregationMethod::Scores { scale: 0.0 } }]
}
