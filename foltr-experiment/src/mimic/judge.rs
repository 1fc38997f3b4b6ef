//! How good are BM25, teachers, their aggregate and students, by themselves and together with BM25?

use anyhow::Result;
use foltr_mimic::Candidates;
use foltr_mimic::aggregation::questions::Question;
use foltr_mimic::aggregation::{Ballot, VoteNoise, aggregate_scores};
use foltr_mimic::agreement::scored;
use foltr_mimic::network::Network;
use foltr_mimic::retrieval::{Gain, Quality, Scale, interpolate, rerank};
use foltr_rank::rng::{Purpose, Streams};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::spec::AggregationMethod;
use super::training_data::{JudgedQuery, Split, TrainingData};

/// Precision and nDCG look at this many documents, as in the paper.
pub const CUTOFF: usize = 20;

/// Weights of the network beside BM25 that validation queries choose from.
const WEIGHTS: usize = 20;

/// One ranker's value for one query.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Value {
    /// Name of the query.
    pub query: String,
    /// Its measures.
    pub quality: Quality,
}

/// One ranker on all test queries of a stage.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Judged {
    /// What ranked.
    pub ranker: String,
    /// The network's weight beside BM25, by split; none where there is no BM25 or it ranks alone.
    pub weights: Vec<f32>,
    /// By query.
    pub values: Vec<Value>,
}

/// Mean nDCG of some judged queries.
pub fn mean_ndcg(network: &Network, stage: &TrainingData, places: &[usize]) -> f64 {
    let queries: Vec<&JudgedQuery> = places.iter().map(|&place| &stage.judged[place]).collect();
    let scores = network_scores(network, stage, &queries);
    let values = queries.iter().zip(&scores).map(|(query, scores)| quality(query, scores).ndcg);
    values.sum::<f64>() / queries.len().max(1) as f64
}

/// Scores of all judged queries by a network.
fn network_scores(network: &Network, stage: &TrainingData, queries: &[&JudgedQuery]) -> Vec<Vec<f32>> {
    let lists: Vec<Candidates> = queries.iter().map(|query| list(query)).collect();
    scored(network, &stage.inputs, &lists).into_iter().map(|list| list.scores).collect()
}

fn list(query: &JudgedQuery) -> Candidates {
    Candidates { query: query.query, documents: query.documents.clone(), scores: Vec::new() }
}

/// Measures of a query whose documents have these scores. Nothing found is worth nothing.
fn quality(query: &JudgedQuery, scores: &[f32]) -> Quality {
    let ranked = rerank(&query.documents, scores);
    query.grades.quality(&ranked, CUTOFF, Gain::Exponential).unwrap_or_default()
}

/// Judges rankers on the test queries of a stage.
pub struct Judge<'a> {
    stage: &'a TrainingData,
}

impl<'a> Judge<'a> {
    /// Of a stage.
    pub fn new(stage: &'a TrainingData) -> Self {
        Self { stage }
    }

    fn has_first(&self) -> bool {
        self.stage.judged.iter().any(|query| !query.first_scores.is_empty())
    }

    /// What a network says about every judged query.
    pub fn scores(&self, network: &Network) -> Vec<Vec<f32>> {
        network_scores(network, self.stage, &self.stage.judged.iter().collect::<Vec<_>>())
    }

    /// BM25, where there is such a score.
    pub fn first(&self) -> Option<Judged> {
        let scores: Vec<Vec<f32>> = self.stage.judged.iter().map(|query| query.first_scores.clone()).collect();
        self.has_first().then(|| self.alone("bm25", &scores))
    }

    /// A ranker by its scores of every judged query.
    pub fn alone(&self, ranker: &str, scores: &[Vec<f32>]) -> Judged {
        let test = self.stage.splits.iter().flat_map(|split| &split.test);
        let values = test.map(|&place| self.value(place, &scores[place])).collect();
        Judged { ranker: ranker.into(), weights: Vec::new(), values }
    }

    /// The mean over rankers, query by query.
    pub fn mean(&self, ranker: &str, of: &[Vec<Vec<f32>>]) -> Judged {
        let all: Vec<Judged> = of.iter().map(|scores| self.alone(ranker, scores)).collect();
        let n_queries = all.first().map_or(0, |one| one.values.len());
        let mean = |place: usize| {
            let qualities: Vec<Quality> = all.iter().map(|one| one.values[place].quality).collect();
            let quality = foltr_mimic::retrieval::mean(&qualities).unwrap_or_default();
            Value { query: all[0].values[place].query.clone(), quality }
        };
        Judged { ranker: ranker.into(), weights: Vec::new(), values: (0..n_queries).map(mean).collect() }
    }

    /// A ranker together with BM25, with the weight that is best on the validation queries of each split.
    pub fn with_first(&self, ranker: &str, scores: &[Vec<f32>]) -> Option<Judged> {
        if !self.has_first() || self.stage.splits.iter().any(|split| split.validation.is_empty()) {
            return None;
        }
        let (mut weights, mut values) = (Vec::new(), Vec::new());
        for split in &self.stage.splits {
            let weight = self.best_weight(split, scores);
            weights.push(weight);
            values
                .extend(split.test.iter().map(|&place| self.value(place, &self.mixed(place, &scores[place], weight))));
        }
        Some(Judged { ranker: format!("{ranker}+bm25"), weights, values })
    }

    fn mixed(&self, place: usize, scores: &[f32], weight: f32) -> Vec<f32> {
        interpolate(scores, &self.stage.judged[place].first_scores, weight, Scale::MinMax)
    }

    fn best_weight(&self, split: &Split, scores: &[Vec<f32>]) -> f32 {
        let weights = (0..=WEIGHTS).map(|step| step as f32 / WEIGHTS as f32);
        let value = |weight: f32| {
            let of =
                |&place: &usize| quality(&self.stage.judged[place], &self.mixed(place, &scores[place], weight)).ndcg;
            split.validation.par_iter().map(of).collect::<Vec<f64>>().iter().sum::<f64>()
        };
        // Of equally good weights the smallest: BM25 needs no network.
        let tried: Vec<(f32, f64)> = weights.map(|weight| (weight, value(weight))).collect();
        tried.iter().fold((0.0, f64::MIN), |best, &one| if one.1 > best.1 { one } else { best }).0
    }

    fn value(&self, place: usize, scores: &[f32]) -> Value {
        let query = &self.stage.judged[place];
        Value { query: query.id.clone(), quality: quality(query, scores) }
    }

    /// What the aggregate of teachers says about every judged query, with noise of its own.
    ///
    /// # Errors
    /// If the teachers did not score the same documents.
    pub fn aggregate(
        &self,
        method: AggregationMethod,
        teachers: &[Vec<Vec<f32>>],
        streams: &Streams,
    ) -> Result<Vec<Vec<f32>>> {
        let lists: Vec<Candidates> = self.stage.judged.iter().map(list).collect();
        let of = |scores: &Vec<Vec<f32>>| -> Vec<Candidates> {
            let filled = lists.iter().zip(scores);
            filled.map(|(list, scores)| Candidates { scores: scores.clone(), ..list.clone() }).collect()
        };
        let teachers: Vec<Vec<Candidates>> = teachers.iter().map(of).collect();
        let noise = match method {
            AggregationMethod::Scores { scale } => {
                let aggregate = aggregate_scores(&teachers, scale, streams)?;
                return Ok(aggregate.into_iter().map(|list| list.scores).collect());
            }
            AggregationMethod::Votes { gamma, .. } => VoteNoise::Laplace { gamma },
            AggregationMethod::GaussianVotes { deviation, .. } => VoteNoise::Gaussian { sigma: deviation },
        };
        let one = |place: usize| -> Result<Vec<f32>> {
            let of_query: Vec<&[Candidates]> = teachers.iter().map(|lists| &lists[place..=place]).collect();
            let streams = streams.branch(Purpose::Noise, place as u32, 1);
            wins(&lists[place..=place], &of_query, noise, &streams)
        };
        (0..lists.len()).into_par_iter().map(one).collect()
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
        let place = list[0].documents.iter().position(|&document| document == pair.better);
        wins[place.unwrap_or_default()] += 1.0;
    }
    Ok(wins)
}
