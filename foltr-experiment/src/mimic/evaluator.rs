//! How good are BM25, teachers, their aggregate and students, by themselves and together with BM25?

use anyhow::{Context, Result};
use foltr_mimic::Candidates;
use foltr_mimic::aggregation::{AggregationMethod, Ballot, Question, VoteNoise, aggregate_scores};
use foltr_mimic::agreement::scored;
use foltr_mimic::network::Network;
use foltr_mimic::retrieval::{Quality, interpolate, rerank};
use foltr_rank::rng::{Purpose, Streams};
use rayon::prelude::*;

use super::training_data::{JudgedQuery, Split, TrainingData};

/// Precision and nDCG look at this many documents, as in the paper.
pub const CUTOFF: usize = 20;

/// Weights of the network beside BM25 that validation queries choose from.
const WEIGHTS: usize = 20;

/// One ranker on all test queries.
#[derive(Clone, Debug, PartialEq)]
pub struct RankerResult {
    pub ranker: String,
    /// The network's weight beside BM25, by split; none where there is no BM25 or it ranks alone.
    pub weights: Vec<f32>,
    /// By name of the query.
    pub values: Vec<(String, Quality)>,
}

/// Mean nDCG of some judged queries.
pub fn mean_ndcg(network: &Network, data: &TrainingData, positions: &[usize]) -> f64 {
    let queries: Vec<&JudgedQuery> = positions.iter().map(|&position| &data.judged[position]).collect();
    let scores = network_scores(network, data, &queries);
    let values = queries.iter().zip(&scores).map(|(query, scores)| quality(query, scores).ndcg);
    values.sum::<f64>() / queries.len().max(1) as f64
}

/// Scores of all judged queries by a network.
fn network_scores(network: &Network, data: &TrainingData, queries: &[&JudgedQuery]) -> Vec<Vec<f32>> {
    let lists: Vec<Candidates> = queries.iter().map(|query| list(query)).collect();
    scored(network, &data.inputs, &lists).into_iter().map(|list| list.scores).collect()
}

fn list(query: &JudgedQuery) -> Candidates {
    Candidates { query: query.query, documents: query.documents.clone(), scores: Vec::new() }
}

/// Measures of a query whose documents have these scores. Nothing found is worth nothing.
fn quality(query: &JudgedQuery, scores: &[f32]) -> Quality {
    let ranked = rerank(&query.documents, scores);
    query.grades.quality(&ranked, CUTOFF).unwrap_or_default()
}

/// Evaluates rankers on the test queries.
pub struct RankerEvaluator<'a>(pub &'a TrainingData);

impl RankerEvaluator<'_> {
    fn has_first(&self) -> bool {
        self.0.judged.iter().any(|query| !query.first_scores.is_empty())
    }

    /// A network's scores of every judged query.
    pub fn scores(&self, network: &Network) -> Vec<Vec<f32>> {
        network_scores(network, self.0, &self.0.judged.iter().collect::<Vec<_>>())
    }

    /// BM25, where there is such a score.
    pub fn first(&self) -> Option<RankerResult> {
        let scores: Vec<Vec<f32>> = self.0.judged.iter().map(|query| query.first_scores.clone()).collect();
        self.has_first().then(|| self.alone("bm25", &scores))
    }

    /// A ranker by its scores of every judged query.
    pub fn alone(&self, ranker: &str, scores: &[Vec<f32>]) -> RankerResult {
        let test = self.0.splits.iter().flat_map(|split| &split.test);
        let values = test.map(|&position| self.value(position, &scores[position])).collect();
        RankerResult { ranker: ranker.into(), weights: Vec::new(), values }
    }

    /// The mean over rankers, query by query.
    pub fn mean(&self, ranker: &str, of: &[Vec<Vec<f32>>]) -> RankerResult {
        let all: Vec<RankerResult> = of.iter().map(|scores| self.alone(ranker, scores)).collect();
        let n_queries = all.first().map_or(0, |result| result.values.len());
        let mean = |position: usize| {
            let qualities: Vec<Quality> = all.iter().map(|result| result.values[position].1).collect();
            (all[0].values[position].0.clone(), foltr_mimic::retrieval::mean(&qualities).unwrap_or_default())
        };
        RankerResult { ranker: ranker.into(), weights: Vec::new(), values: (0..n_queries).map(mean).collect() }
    }

    /// A ranker together with BM25, with the weight that is best on the validation queries of each split.
    pub fn with_first(&self, ranker: &str, scores: &[Vec<f32>]) -> Option<RankerResult> {
        if !self.has_first() || self.0.splits.iter().any(|split| split.validation.is_empty()) {
            return None;
        }
        let (mut weights, mut values) = (Vec::new(), Vec::new());
        for split in &self.0.splits {
            let weight = self.best_weight(split, scores);
            weights.push(weight);
            values.extend(
                split
                    .test
                    .iter()
                    .map(|&position| self.value(position, &self.mixed(position, &scores[position], weight))),
            );
        }
        Some(RankerResult { ranker: format!("{ranker}+bm25"), weights, values })
    }

    fn mixed(&self, position: usize, scores: &[f32], weight: f32) -> Vec<f32> {
        interpolate(scores, &self.0.judged[position].first_scores, weight)
    }

    fn best_weight(&self, split: &Split, scores: &[Vec<f32>]) -> f32 {
        let weights = (0..=WEIGHTS).map(|step| step as f32 / WEIGHTS as f32);
        let value = |weight: f32| {
            let of = |&position: &usize| {
                quality(&self.0.judged[position], &self.mixed(position, &scores[position], weight)).ndcg
            };
            split.validation.par_iter().map(of).collect::<Vec<f64>>().iter().sum::<f64>()
        };
        // Of equally good weights the smallest: BM25 needs no network.
        let tried: Vec<(f32, f64)> = weights.map(|weight| (weight, value(weight))).collect();
        tried.iter().fold((0.0, f64::MIN), |best, &next| if next.1 > best.1 { next } else { best }).0
    }

    fn value(&self, position: usize, scores: &[f32]) -> (String, Quality) {
        let query = &self.0.judged[position];
        (query.id.clone(), quality(query, scores))
    }

    /// Scores of every judged query by the aggregate of teachers, with noise of its own.
    pub fn aggregate(
        &self,
        method: AggregationMethod,
        teachers: &[Vec<Vec<f32>>],
        streams: &Streams,
    ) -> Result<Vec<Vec<f32>>> {
        let lists: Vec<Candidates> = self.0.judged.iter().map(list).collect();
        let of = |scores: &Vec<Vec<f32>>| -> Vec<Candidates> {
            let filled = lists.iter().zip(scores);
            filled.map(|(list, scores)| Candidates { scores: scores.clone(), ..list.clone() }).collect()
        };
        let teachers: Vec<Vec<Candidates>> = teachers.iter().map(of).collect();
        if let AggregationMethod::Scores { scale } = method {
            let aggregate = aggregate_scores(&teachers, scale, streams)?;
            return Ok(aggregate.into_iter().map(|list| list.scores).collect());
        }
        let (noise, ..) = method.votes().context("scores or votes")?;
        let of_list = |position: usize| -> Result<Vec<f32>> {
            let of_query: Vec<&[Candidates]> = teachers.iter().map(|lists| &lists[position..=position]).collect();
            let streams = streams.branch(Purpose::Noise, position as u32, 1);
            wins(&lists[position..=position], &of_query, noise, &streams)
        };
        (0..lists.len()).into_par_iter().map(of_list).collect()
    }
}

/// How many other documents of a list each one beats in noisy votes.
fn wins(list: &[Candidates], teachers: &[&[Candidates]], noise: VoteNoise, streams: &Streams) -> Result<Vec<f32>> {
    let n_documents = list[0].documents.len();
    let pairs = (0..n_documents).flat_map(|second| (0..second).map(move |first| (first, second)));
    let questions: Vec<Question> = pairs.map(|(first, second)| Question { list: 0, first, second }).collect();
    let mut ballot = Ballot::new(list, questions);
    for scored in teachers {
        ballot.cast(scored)?;
    }
    let mut wins = vec![0.0; n_documents];
    for pair in ballot.label(noise, streams)?.pairs {
        let position = list[0].documents.iter().position(|&document| document == pair.better);
        wins[position.unwrap_or_default()] += 1.0;
    }
    Ok(wins)
}
