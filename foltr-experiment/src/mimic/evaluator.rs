//! How good are BM25, teachers, their aggregate and students, by themselves and together with BM25?

use anyhow::{Context, Result};
use foltr_mimic::aggregation::{AggregationMethod, Ballot, Question, VoteNoise, aggregate_scores};
use foltr_mimic::agreement::scored;
use foltr_mimic::network::Network;
use foltr_mimic::retrieval::{NDCG, Quality, interpolate, rerank};
use foltr_mimic::{Candidates, Inputs};
use foltr_rank::rng::{Purpose, Streams};
use rayon::prelude::*;

use super::training_data::{JudgedQuery, Split, TrainingData};

/// Precision and nDCG look at this many documents, as in the paper.
pub const CUTOFF: usize = 20;

/// Behind the names of rankers that are measured by the judgements as their files have them.
pub const AS_FILED: &str = "-as-filed";

/// Weights of the network beside BM25 that validation queries choose from.
const WEIGHTS: usize = 20;

#[derive(Clone, Debug, PartialEq)]
pub struct RankerResult {
    pub ranker: String,
    /// The network's weight beside BM25, by split; none where there is no BM25 or it ranks alone.
    pub weights: Vec<f32>,
    pub values: Vec<(String, Quality)>,
}

pub fn mean_ndcg(network: &Network, data: &TrainingData, positions: &[usize]) -> f64 {
    let queries: Vec<&JudgedQuery> = positions.iter().map(|&position| &data.judged[position]).collect();
    let lists: Vec<&Candidates> = queries.iter().map(|query| &query.list).collect();
    let scored = scored(network, &data.inputs, &lists);
    let values = queries.iter().zip(&scored).map(|(query, list)| quality(query, &list.scores)[NDCG]);
    values.sum::<f64>() / queries.len().max(1) as f64
}

/// Measures of a query whose documents have these scores. Without relevant documents they are 0.
fn quality(query: &JudgedQuery, scores: &[f32]) -> Quality {
    let ranked = rerank(&query.list.documents, scores);
    query.grades.quality(&ranked, CUTOFF).unwrap_or_default()
}

/// Evaluates rankers, by their scores of all judged queries, on the test queries.
pub struct RankerEvaluator<'a> {
    inputs: &'a Inputs,
    judged: Vec<JudgedQuery>,
    splits: Vec<Split>,
    /// Of the names of rankers.
    suffix: &'static str,
}

impl<'a> RankerEvaluator<'a> {
    pub fn new(data: &'a TrainingData) -> Self {
        let TrainingData { inputs, judged, splits, .. } = data;
        Self { inputs, judged: judged.clone(), splits: splits.clone(), suffix: "" }
    }

    /// By the judgements as their files have them; none where they are read like that.
    pub fn as_filed(data: &'a TrainingData) -> Option<Self> {
        let filed = |query: &JudgedQuery| Some(JudgedQuery { grades: query.filed_grades.clone()?, ..query.clone() });
        let judged: Vec<JudgedQuery> = data.judged.iter().map(filed).collect::<Option<_>>()?;
        let with_relevant = |positions: &[usize]| -> Vec<usize> {
            positions.iter().copied().filter(|&position| judged[position].grades.n_relevant() > 0).collect()
        };
        let split =
            |split: &Split| Split { validation: with_relevant(&split.validation), test: with_relevant(&split.test) };
        let splits = data.splits.iter().map(split).collect();
        Some(Self { inputs: &data.inputs, judged, splits, suffix: AS_FILED })
    }

    fn has_first(&self) -> bool {
        self.judged.iter().any(|query| !query.list.scores.is_empty())
    }

    pub fn scores(&self, network: &Network) -> Vec<Candidates> {
        let lists: Vec<&Candidates> = self.judged.iter().map(|query| &query.list).collect();
        scored(network, self.inputs, &lists)
    }

    pub fn first(&self) -> Option<RankerResult> {
        let scored: Vec<Candidates> = self.judged.iter().map(|query| query.list.clone()).collect();
        self.has_first().then(|| self.alone("bm25", &scored))
    }

    pub fn alone(&self, ranker: &str, scored: &[Candidates]) -> RankerResult {
        let test = self.splits.iter().flat_map(|split| &split.test);
        let values = test.map(|&position| self.value(position, &scored[position].scores)).collect();
        RankerResult { ranker: format!("{ranker}{}", self.suffix), weights: Vec::new(), values }
    }

    pub fn mean(&self, ranker: &str, of: &[Vec<Candidates>]) -> RankerResult {
        let all: Vec<RankerResult> = of.iter().map(|scored| self.alone(ranker, scored)).collect();
        let n_queries = all.first().map_or(0, |result| result.values.len());
        let mean = |position: usize| {
            let qualities: Vec<Quality> = all.iter().map(|result| result.values[position].1).collect();
            (all[0].values[position].0.clone(), foltr_mimic::retrieval::mean(&qualities).unwrap_or_default())
        };
        let values = (0..n_queries).map(mean).collect();
        RankerResult { ranker: format!("{ranker}{}", self.suffix), weights: Vec::new(), values }
    }

    /// A ranker together with BM25, with the weight that is best on the validation queries of each split.
    pub fn with_first(&self, ranker: &str, scored: &[Candidates]) -> Option<RankerResult> {
        if !self.has_first() || self.splits.iter().any(|split| split.validation.is_empty()) {
            return None;
        }
        let (mut weights, mut values) = (Vec::new(), Vec::new());
        for split in &self.splits {
            let weight = self.best_weight(split, scored);
            weights.push(weight);
            values
                .extend(split.test.iter().map(|&position| self.value(position, &self.mixed(position, scored, weight))));
        }
        Some(RankerResult { ranker: format!("{ranker}+bm25{}", self.suffix), weights, values })
    }

    fn mixed(&self, position: usize, scored: &[Candidates], weight: f32) -> Vec<f32> {
        interpolate(&scored[position].scores, &self.judged[position].list.scores, weight)
    }

    fn best_weight(&self, split: &Split, scored: &[Candidates]) -> f32 {
        let weights = (0..=WEIGHTS).map(|step| step as f32 / WEIGHTS as f32);
        let value = |weight: f32| {
            let of = |&position: &usize| self.value(position, &self.mixed(position, scored, weight)).1[NDCG];
            split.validation.par_iter().map(of).collect::<Vec<f64>>().iter().sum::<f64>()
        };
        // Of equally good weights the smallest: BM25 needs no network.
        let tried: Vec<(f32, f64)> = weights.map(|weight| (weight, value(weight))).collect();
        tried.iter().fold((0.0, f64::MIN), |best, &next| if next.1 > best.1 { next } else { best }).0
    }

    fn value(&self, position: usize, scores: &[f32]) -> (String, Quality) {
        let query = &self.judged[position];
        (query.id.clone(), quality(query, scores))
    }
}

/// Scores of the same lists by the aggregate of teachers, with noise of its own.
pub fn aggregate(
    method: AggregationMethod,
    teachers: &[Vec<Candidates>],
    streams: &Streams,
) -> Result<Vec<Candidates>> {
    if let AggregationMethod::Scores { scale } = method {
        return Ok(aggregate_scores(teachers, scale, streams)?);
    }
    let (noise, ..) = method.votes().context("scores or votes")?;
    let of_list = |position: usize| -> Result<Candidates> {
        let of_query: Vec<&[Candidates]> = teachers.iter().map(|lists| &lists[position..=position]).collect();
        let scores = wins(&of_query, noise, &streams.branch(Purpose::Noise, position as u32, 1))?;
        Ok(Candidates { scores, ..of_query[0][0].clone() })
    };
    let n_lists = teachers.first().map_or(0, Vec::len);
    (0..n_lists).into_par_iter().map(of_list).collect()
}

/// How many other documents of a list each one beats in noisy votes.
fn wins(teachers: &[&[Candidates]], noise: VoteNoise, streams: &Streams) -> Result<Vec<f32>> {
    let list = teachers[0];
    let n_documents = list[0].documents.len();
    let pairs = (0..n_documents).flat_map(|second| (0..second).map(move |first| (first, second)));
    let questions: Vec<Question> = pairs.map(|(first, second)| Question { list: 0, first, second }).collect();
    let mut ballot = Ballot::new(list, questions);
    for scored in teachers {
        ballot.cast(scored)?;
    }
    let mut wins = vec![0.0; n_documents];
    for pair in ballot.label(noise, streams)?.0 {
        let position = list[0].documents.iter().position(|&document| document == pair.better);
        wins[position.unwrap_or_default()] += 1.0;
    }
    Ok(wins)
}
