//! What is an experiment of mimic learning? A TOML file: private data, teachers, what is public, the student.

use std::path::PathBuf;

use foltr_mimic::accountant::least_noise;
use foltr_mimic::aggregation::VoteNoise;
use foltr_mimic::analyser::AnalyserSettings;
use foltr_mimic::collection::Form;
use foltr_mimic::embeddings::{EmbeddingSource, SkipGram};
use foltr_mimic::network::Composition;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::read::messages::no_such;
use crate::read::read_value;
use crate::spec::{Data, Problem};

/// Sections and top-level keys, in the order in which a file should have them.
pub(crate) const SECTIONS: [&str; 8] =
    ["seeds", "data", "supervision", "public", "teacher", "student", "aggregation", "evaluation"];

/// An experiment: everything from private data to judged students.
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
    pub teacher: NetworkSpec,
    /// The student's network and training.
    pub student: NetworkSpec,
    /// How the teachers' answers become labels: one student each.
    pub aggregation: Vec<LabelSource>,
    /// How rankings are judged.
    pub evaluation: Judging,
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
    /// Says that it is text.
    pub kind: TextKind,
    /// Relative paths are looked up in the working directory, then in the folder that `FOLTR_DATA` names.
    pub path: PathBuf,
    /// How its files are written; found by their names when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// From text to terms.
    #[serde(default)]
    pub analyser: AnalyserSettings,
    /// Terms in fewer documents are not in the vocabulary.
    #[serde(default = "two")]
    pub min_documents: u32,
    /// Most terms of the vocabulary: those in most documents.
    #[serde(default = "many_terms")]
    pub max_terms: usize,
    /// Parts of the judged queries for cross-validation.
    #[serde(default = "five")]
    pub folds: usize,
}

/// What teachers learn from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Supervision {
    /// Judgements of the training queries.
    Full {
        /// Disjoint parts of the training queries, one teacher each.
        #[serde(default = "one")]
        teachers: usize,
        /// Text: best documents by BM25 that, without a judgement, count as not relevant.
        #[serde(default = "hundred")]
        candidates: usize,
    },
    /// BM25 scores.
    Weak {
        /// Disjoint parts of the training queries, one teacher each.
        #[serde(default = "one")]
        teachers: usize,
        /// Text: best documents by BM25 that a teacher learns to rank.
        #[serde(default = "hundred")]
        candidates: usize,
        /// Text: training queries.
        #[serde(default = "default_queries")]
        n_queries: usize,
        /// Text: a file with queries, one a line; made from titles and sentences of the documents when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queries: Option<PathBuf>,
        /// Features: number of the feature that is the label, from 1, such as 37 in LETOR 4.0 and 110 in MSLR.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feature: Option<usize>,
        /// Features: others that correlate with it this much leave the inputs with it.
        #[serde(default = "near")]
        near_copies: f64,
    },
}

impl Supervision {
    /// Number of teachers.
    pub fn n_teachers(&self) -> usize {
        match self {
            Self::Full { teachers, .. } | Self::Weak { teachers, .. } => *teachers,
        }
    }

    /// Best documents by BM25 that a query is about.
    pub fn n_candidates(&self) -> usize {
        match self {
            Self::Full { candidates, .. } | Self::Weak { candidates, .. } => *candidates,
        }
    }
}

/// Queries that are not private: the student learns from them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Public {
    /// Text: a file with queries, one a line; made from titles and sentences of the documents when absent.
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
        Self { queries: None, n_queries: default_queries(), candidates: hundred(), share: 0.5 }
    }
}

/// A network and its training. What a file leaves out is as in the paper's Table 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// Units of the hidden layers.
    pub hidden: Vec<usize>,
    /// Share of units that drop out in training.
    pub dropout: f32,
    /// Text: numbers of an embedding.
    pub dimensions: usize,
    /// Text: where embeddings start.
    pub embeddings: EmbeddingSource,
    /// Text: how weighted embeddings become one vector.
    pub composition: Composition,
    /// Text: whether the product of the two vectors is an input too.
    pub product: bool,
    /// Pairs a step.
    pub batch: usize,
    /// Of Adam.
    pub learning_rate: f32,
    /// Most steps.
    pub steps: u32,
    /// Steps between two looks at held-out queries.
    pub validate_every: u32,
    /// Looks without improvement after which training ends.
    pub patience: u32,
}

impl NetworkSpec {
    /// The paper's teacher (its Table 1).
    pub fn teacher() -> Self {
        Self::sized(512, 500, 0.2)
    }

    /// The paper's student.
    pub fn student() -> Self {
        Self::sized(128, 300, 0.1)
    }

    fn sized(units: usize, dimensions: usize, dropout: f32) -> Self {
        Self {
            hidden: vec![units; 3],
            dropout,
            dimensions,
            embeddings: EmbeddingSource::Trained(SkipGram::default()),
            composition: Composition::Mean,
            product: false,
            batch: 512,
            learning_rate: 1e-3,
            steps: 2_000,
            validate_every: 100,
            patience: 5,
        }
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

/// How the teachers' answers become labels.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum AggregationMethod {
    /// Mean of scores with Laplace noise on each: the paper as its tables can be read.
    Scores {
        /// Scale of the noise; 0 is none.
        scale: f64,
    },
    /// PATE: votes on pairs of documents with Laplace noise.
    Votes {
        /// Inverse of the noise's scale; follows from `epsilon` when that is given.
        #[serde(default, skip_serializing_if = "is_zero")]
        gamma: f64,
        /// Of all labels together, whatever the votes are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
        /// Pairs that are labelled.
        pairs: usize,
        /// At which the guarantee is told.
        #[serde(default = "default_delta")]
        delta: f64,
    },
    /// Votes on pairs of documents with Gaussian noise.
    GaussianVotes {
        /// Of the noise on a count; follows from `epsilon` when that is given.
        #[serde(default, skip_serializing_if = "is_zero")]
        deviation: f64,
        /// Of all labels together, whatever the votes are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
        /// Pairs that are labelled.
        pairs: usize,
        /// At which the guarantee is told.
        #[serde(default = "default_delta")]
        delta: f64,
    },
}

impl AggregationMethod {
    /// The noise that a given epsilon needs. What is out of range is left for the checks to refuse.
    fn resolve(&mut self, n_teachers: usize) {
        let is_sound = |epsilon: f64, pairs: usize, delta: f64| {
            epsilon > 0.0 && epsilon.is_finite() && pairs > 0 && delta > 0.0 && delta < 1.0 && n_teachers > 0
        };
        let n_teachers = u32::try_from(n_teachers).unwrap_or(u32::MAX);
        match self {
            Self::Votes { gamma, epsilon: Some(epsilon), pairs, delta } if is_sound(*epsilon, *pairs, *delta) => {
                let laplace = |size: f64| VoteNoise::Laplace { gamma: 1.0 / size };
                *gamma = 1.0 / least_noise(laplace, n_teachers, *pairs, *delta, *epsilon);
            }
            Self::GaussianVotes { deviation, epsilon: Some(epsilon), pairs, delta }
                if is_sound(*epsilon, *pairs, *delta) =>
            {
                let gaussian = |size: f64| VoteNoise::Gaussian { sigma: size };
                *deviation = least_noise(gaussian, n_teachers, *pairs, *delta, *epsilon);
            }
            _ => {}
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// How rankings are judged.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Judging {
    /// Text: best documents by BM25 that are ranked again.
    pub depth: usize,
}

impl Default for Judging {
    fn default() -> Self {
        Self { depth: hundred() }
    }
}

fn one() -> usize {
    1
}
fn two() -> u32 {
    2
}
fn five() -> usize {
    5
}
fn hundred() -> usize {
    100
}
fn many_terms() -> usize {
    50_000
}
fn default_queries() -> usize {
    10_000
}
fn near() -> f64 {
    0.9
}
fn default_delta() -> f64 {
    1e-5
}

impl MimicExperiment {
    /// Steps of one run: all teachers and students.
    pub fn n_steps(&self) -> u64 {
        self.supervision.n_teachers() as u64 * u64::from(self.teacher.steps)
            + self.aggregation.len() as u64 * u64::from(self.student.steps)
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
                .unwrap_or(Supervision::Full { teachers: 1, candidates: hundred() }),
            public: section(&mut table, "public", &mut problems).unwrap_or_default(),
            teacher: network(&mut table, "teacher", NetworkSpec::teacher(), &mut problems),
            student: network(&mut table, "student", NetworkSpec::student(), &mut problems),
            aggregation: section(&mut table, "aggregation", &mut problems).unwrap_or_else(without_noise),
            evaluation: section(&mut table, "evaluation", &mut problems).unwrap_or_default(),
        };
        let n_teachers = read.supervision.n_teachers();
        read.aggregation.iter_mut().for_each(|one| one.method.resolve(n_teachers));
        problems.extend(read.check());
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }
}

/// A section, if it is there and can be read.
fn section<T: DeserializeOwned>(table: &mut Table, key: &str, problems: &mut Vec<Problem>) -> Option<T> {
    read_value(key, table.remove(key)?, problems)
}

/// A network: the usual one, with what the file says in its place.
fn network(table: &mut Table, key: &str, usual: NetworkSpec, problems: &mut Vec<Problem>) -> NetworkSpec {
    let said = match table.remove(key) {
        None => return usual,
        Some(Value::Table(said)) => said,
        Some(_) => {
            problems.push(Problem::new(key, format!("expected a section `[{key}]`")));
            return usual;
        }
    };
    let Ok(mut whole) = Table::try_from(&usual) else { return usual };
    whole.extend(said);
    read_value(key, Value::Table(whole), problems).unwrap_or(usual)
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
