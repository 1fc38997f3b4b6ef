//! Synthetic collections of the shapes of real ones, with planted relevance, for tests, benchmarks and first steps.
//!
//! A document has a few hidden factors. Its relevance is a linear part, plus products and saturations of factors, plus
//! noise that differs from query to query (`relevance`): a linear ranker learns some of it, a network more. Features
//! are informative, redundant, weak, useless, constant, or the same for a whole query (`features`). Labels are cut from
//! relevance so that their shares are those of the collection imitated; an offset for each query leaves some queries
//! without any relevant document.
//!
//! *Intents* are other wishes behind the same queries: intent 0 gave the labels; the others see the same documents with
//! relevance turned away from intent 0 by an adjustable conflict.
//!
//! Every query draws from its own stream, so data do not depend on threads, and more queries keep those before them.

use foltr_rank::normal::fill_standard_normal;
use foltr_rank::parameter::{ParameterError, require};
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_rank::row_stride;
use rayon::prelude::*;

use super::{Fold, IntentLabels};
use crate::dataset::{AlignedRows, Dataset};
use features::FeaturePlan;
use relevance::Relevance;
pub use shape::SyntheticShape;

mod features;
mod relevance;
mod shape;

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// Which collection to imitate.
    pub shape: SyntheticShape,
    pub n_train: usize,
    /// Validation queries; 0 for none.
    pub n_validation: usize,
    pub n_test: usize,
    /// Whether every query has exactly the average number of documents, for benchmarks.
    pub fixed_docs: bool,
    /// Number of intents, counting the one that gives the labels.
    pub n_intents: usize,
    /// How much other intents contradict intent 0: 0 is the same wish, 0.5 an unrelated one, 1 the opposite.
    pub conflict: f64,
}

/// A conflict with which one ranker for all loses about .065 nDCG@10 against one for each of four intents (linear
/// rankers, perfect users, the shape of MQ2007).
pub const MILD_CONFLICT: f64 = 0.13;
/// A conflict with which it loses about .22.
pub const STRONG_CONFLICT: f64 = 0.6;

const MAX_QUERIES: usize = 1_000_000;
pub const MAX_INTENTS: usize = 64;

impl Synthetic {
    /// A shape with its usual numbers of queries, varying numbers of documents, and one intent.
    pub fn new(shape: SyntheticShape) -> Self {
        let [n_train, n_validation, n_test] = shape.n_queries();
        Self { shape, n_train, n_validation, n_test, fixed_docs: false, n_intents: 1, conflict: 0.5 }
    }

    /// Generates the fold of this seed; with several intents, it has the labels of all of them.
    pub fn generate(&self, seed: u64) -> Result<Fold, ParameterError> {
        self.check()?;
        let plan = Plan::new(self, Streams::new(seed));
        let (train, train_labels) = plan.generate_split(0, self.n_train);
        let (test, test_labels) = plan.generate_split(2, self.n_test);
        let validation = (self.n_validation > 0).then(|| plan.generate_split(1, self.n_validation));
        let (validation, validation_labels) = validation.unzip();
        let mut fold = Fold::new(train, validation, test);
        if self.n_intents > 1 {
            fold.intents = IntentLabels::by_intent(train_labels, validation_labels, test_labels);
        }
        Ok(fold)
    }

    fn check(&self) -> Result<(), ParameterError> {
        let parts = [("n_train", self.n_train, 1), ("n_validation", self.n_validation, 0), ("n_test", self.n_test, 1)];
        for (part, n_queries, least) in parts {
            let is_sound = (least..=MAX_QUERIES).contains(&n_queries);
            require(part, n_queries as f64, is_sound, "1 to 1000000 queries (0 is fine for n_validation)")?;
        }
        require("n_intents", self.n_intents as f64, (1..=MAX_INTENTS).contains(&self.n_intents), "1 to 64")?;
        require("conflict", self.conflict, (0.0..=1.0).contains(&self.conflict), "0 to 1")
    }
}

/// Numbers a stream's round field by what is drawn from it.
const PLAN_ROUND: u32 = 0;
const CALIBRATION_ROUND: u32 = 1;
/// Of training queries; those of validation and test follow.
const FIRST_SPLIT_ROUND: u32 = 2;

/// Everything that is the same for all queries of a seed.
struct Plan {
    streams: Streams,
    shape: SyntheticShape,
    fixed_docs: bool,
    n_factors: usize,
    relevances: Vec<Relevance>,
    features: FeaturePlan,
    /// Relevance from which on a document has label 1, 2, ...
    thresholds: Vec<f32>,
}

/// What a query draws for itself.
struct QueryDraw {
    stream: Stream,
    n_docs: usize,
    /// Added to the relevance of all documents: decides how many are relevant.
    offset: f32,
    noise: f32,
    /// The common part of the documents' factors.
    topic: Vec<f32>,
}

/// Share of a factor's variance that the documents of a query have in common.
const TOPIC_SHARE: f32 = 0.2;
/// Standard deviation of a query's offset.
const OFFSET: f32 = 0.5;
/// Typical standard deviation of the noise on relevance.
const NOISE: f32 = 0.45;

impl Plan {
    fn new(description: &Synthetic, streams: Streams) -> Self {
        let shape = description.shape;
        let n_factors = (shape.n_features() / 3).clamp(2, 8);
        let mut stream = streams.open(Purpose::Data, 0, PLAN_ROUND);
        let features = FeaturePlan::draw(&mut stream, shape, n_factors);
        let base = Relevance::draw(&mut stream, n_factors);
        let turned = |_| base.turned(&mut stream, description.conflict as f32);
        let others: Vec<_> = (1..description.n_intents).map(turned).collect();
        let relevances = [base].into_iter().chain(others).collect();
        let mut plan = Self {
            streams,
            shape,
            fixed_docs: description.fixed_docs,
            n_factors,
            relevances,
            features,
            thresholds: Vec::new(),
        };
        plan.thresholds = plan.calibrate();
        plan
    }

    /// Thresholds that give labels the shares of the collection, from a sample of queries that is used for nothing else.
    fn calibrate(&self) -> Vec<f32> {
        const N_SAMPLED: u32 = 1000;
        const DOCS_SAMPLED: usize = 10;
        let mut sample = Vec::new();
        for query in 0..N_SAMPLED {
            let mut draw = self.draw_query(CALIBRATION_ROUND, query);
            let mut normals = vec![0.0; self.n_factors + 1];
            for _ in 0..DOCS_SAMPLED {
                fill_standard_normal(&mut draw.stream, &mut normals);
                let factors = self.factors(&draw.topic, &normals);
                sample.push(self.relevances[0].of(&factors) + draw.offset + draw.noise * normals[self.n_factors]);
            }
        }
        sample.sort_unstable_by(f32::total_cmp);
        let at_share = |&share: &f64| sample[((1.0 - share) * (sample.len() - 1) as f64) as usize];
        self.shape.shares_at_or_above().iter().map(at_share).collect()
    }

    fn draw_query(&self, round: u32, query: u32) -> QueryDraw {
        let mut stream = self.streams.open(Purpose::Data, query, round);
        let mut normals = vec![0.0; 3 + self.n_factors];
        fill_standard_normal(&mut stream, &mut normals);
        let mean = self.shape.mean_docs() as f32;
        // A squared normal around 1 is skewed to the right, as real numbers of candidates are.
        let skewed = (1.0 + 0.4 * normals[0]).powi(2) / (1.0 + 0.4 * 0.4);
        let n_docs = if self.fixed_docs { mean } else { (mean * skewed).round().clamp(1.0, 4.0 * mean) };
        QueryDraw {
            stream,
            n_docs: n_docs as usize,
            offset: OFFSET * normals[1],
            noise: NOISE * (1.0 + 0.5 * normals[2]).abs(),
            topic: normals.split_off(3),
        }
    }

    fn factors(&self, topic: &[f32], own: &[f32]) -> Vec<f32> {
        let mix = |(topic, own): (&f32, &f32)| TOPIC_SHARE.sqrt() * topic + (1.0 - TOPIC_SHARE).sqrt() * own;
        topic.iter().zip(own).map(mix).collect()
    }

    /// The data of a split with the labels of intent 0, and the labels of every intent.
    fn generate_split(&self, split: u32, n_queries: usize) -> (Dataset, Vec<Vec<u8>>) {
        let round = FIRST_SPLIT_ROUND + split;
        let stride = row_stride(self.shape.n_features());
        let mut query_start = vec![0];
        for query in 0..n_queries as u32 {
            query_start.push(query_start[query as usize] + self.draw_query(round, query).n_docs as u32);
        }
        let n_docs = query_start[n_queries] as usize;
        let mut features = AlignedRows::zeroed(n_docs * stride);
        let mut targets = Vec::with_capacity(n_queries);
        let mut rest = features.as_mut_slice();
        for query in query_start.windows(2) {
            let n_floats = (query[1] - query[0]) as usize * stride;
            targets.push(rest.split_off_mut(..n_floats).expect("a row for each document"));
        }
        let fill = |(query, rows)| self.fill_query(self.draw_query(round, query as u32), rows, stride);
        let by_query: Vec<Vec<u8>> = targets.into_par_iter().enumerate().map(fill).collect();

        let n_intents = self.relevances.len();
        let of_intent = |intent| by_query.iter().flat_map(move |labels| labels.iter().skip(intent).step_by(n_intents));
        let labels: Vec<Vec<u8>> = (0..n_intents).map(|intent| of_intent(intent).copied().collect()).collect();
        let query_ids = (1..=n_queries).map(|number| number.to_string().into()).collect();
        let data = Dataset::from_parts(self.shape.n_features(), features, labels[0].clone(), query_start, query_ids);
        (data.expect("as many rows as labels"), labels)
    }

    /// Writes the features of a query's documents; returns their labels, for each document those of all intents.
    fn fill_query(&self, mut draw: QueryDraw, rows: &mut [f32], stride: usize) -> Vec<u8> {
        let mut normals = vec![0.0; self.n_factors + 1 + self.features.n_columns()];
        let mut labels = Vec::with_capacity(draw.n_docs * self.relevances.len());
        let mut hidden = Vec::new();
        for row in rows.chunks_exact_mut(stride) {
            fill_standard_normal(&mut draw.stream, &mut normals);
            let factors = self.factors(&draw.topic, &normals);
            let noise = draw.offset + draw.noise * normals[self.n_factors];
            for relevance in &self.relevances {
                let value = relevance.of(&factors) + noise;
                labels.push(self.thresholds.iter().filter(|&&threshold| value >= threshold).count() as u8);
            }
            self.features.write(&factors, &draw.topic, &normals[self.n_factors + 1..], &mut hidden, row);
        }
        labels
    }
}

#[cfg(test)]
mod tests;
