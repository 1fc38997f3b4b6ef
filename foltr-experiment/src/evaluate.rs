//! Held-out evaluation: many snapshots of a ranker, one pass over the features.
//!
//! Rankings are by descending score, of equal scores the later document first (spec section 3). Queries are summed in
//! fixed chunks and in order, so a value does not depend on the number of threads, nor on how many snapshots are
//! evaluated together.

use foltr_rank::metric::{Metric, WithoutRelevant, expected_max_rr};
use foltr_rank::ranker::dot::dot_rows_many;
use foltr_rank::select::ScoreBuffer;
use foltr_rank::{MAX_SHOWN, Params, QueryView, Ranker, Ranking, Shape, row_stride};
use foltr_simulation::click::{SimulatedUser, Users};
use foltr_simulation::dataset::Dataset;
use rayon::prelude::*;

/// Queries that one thread evaluates before it looks for more.
const QUERIES_A_CHUNK: usize = 16;
/// Snapshots evaluated together: their weights stay in the first-level cache beside a query's rows.
pub const SNAPSHOTS: usize = 32;

pub struct Evaluator<'a> {
    data: &'a Dataset,
    metrics: Vec<Metric>,
    without_relevant: WithoutRelevant,
    users: Option<&'a Users>,
    list_length: usize,
    /// What labels allow at best, by metric, then query.
    best: Vec<Vec<f64>>,
    /// Ranked documents that the metrics look at; all when a metric needs the whole ranking.
    depth: usize,
}

impl<'a> Evaluator<'a> {
    /// Prepares the evaluation. `users` are needed by [`Metric::ExpectedMaxRr`] alone.
    pub fn new(
        data: &'a Dataset,
        metrics: &[Metric],
        without_relevant: WithoutRelevant,
        users: Option<&'a Users>,
        list_length: usize,
    ) -> Self {
        let best_of = |metric: &Metric| (0..data.n_queries()).map(|query| metric.best(data.labels(query))).collect();
        let depth_of = |&metric: &Metric| if metric == Metric::ExpectedMaxRr { list_length } else { metric.depth() };
        let depth = metrics.iter().map(depth_of).max().unwrap_or(0);
        let best = metrics.iter().map(best_of).collect();
        Self { data, metrics: metrics.to_vec(), without_relevant, users, list_length, best, depth }
    }

    /// Mean of every metric for every model: one list of metrics a model.
    pub fn evaluate(&self, shape: Shape, models: &[Params]) -> Vec<Vec<f64>> {
        models.chunks(SNAPSHOTS).flat_map(|block| self.evaluate_block(shape, block)).collect()
    }

    /// Every metric of one model by query; nothing where a query does not enter the mean.
    pub fn by_query(&self, shape: Shape, model: &Params) -> Vec<Vec<Option<f64>>> {
        let queries: Vec<usize> = (0..self.data.n_queries()).collect();
        let of_chunk = |scratch: &mut Scratch, queries: &[usize]| {
            let values = queries.iter().map(|&query| {
                let mut values = vec![None; self.metrics.len()];
                self.visit_query(query, scratch, |i, value| values[i] = value);
                values
            });
            values.collect::<Vec<_>>()
        };
        let chunks = queries.par_chunks(QUERIES_A_CHUNK);
        chunks.map_init(|| Scratch::new(shape, std::slice::from_ref(model)), of_chunk).flatten_iter().collect()
    }

    pub fn query_id(&self, query: usize) -> &str {
        self.data.query_id(query)
    }

    /// Mean of every metric of every model over some queries, on this thread; not a number where none of them counts.
    pub fn over(&self, shape: Shape, models: &[Params], queries: &[usize]) -> Vec<Vec<f64>> {
        let of_block = |block: &[Params]| {
            let mut scratch = Scratch::new(shape, block);
            let mut sums = Sums::new(block.len() * self.metrics.len());
            queries.iter().for_each(|&query| self.visit_query(query, &mut scratch, |i, value| sums.add(i, value)));
            self.means_of_models(&sums)
        };
        models.chunks(SNAPSHOTS).flat_map(of_block).collect()
    }

    fn means_of_models(&self, sums: &Sums) -> Vec<Vec<f64>> {
        sums.means().chunks(self.metrics.len().max(1)).map(<[f64]>::to_vec).collect()
    }

    fn evaluate_block(&self, shape: Shape, models: &[Params]) -> Vec<Vec<f64>> {
        let n_sums = models.len() * self.metrics.len();
        let queries: Vec<usize> = (0..self.data.n_queries()).collect();
        let parts: Vec<Sums> = queries
            .par_chunks(QUERIES_A_CHUNK)
            .map_init(
                || Scratch::new(shape, models),
                |scratch, queries| {
                    let mut sums = Sums::new(n_sums);
                    queries.iter().for_each(|&query| self.visit_query(query, scratch, |i, value| sums.add(i, value)));
                    sums
                },
            )
            .collect();
        let mut total = Sums::new(n_sums);
        parts.iter().for_each(|part| total.merge(part));
        self.means_of_models(&total)
    }

    /// Hands over the value of each metric, model after model, unless no metric counts the query.
    fn visit_query(&self, query: usize, scratch: &mut Scratch, mut visit: impl FnMut(usize, Option<f64>)) {
        if self.is_skipped(query) {
            return;
        }
        let labels = self.data.labels(query);
        scratch.score(self.data.query(query));
        for model in 0..scratch.n_models {
            scratch.rank(model, labels, self.depth);
            for (i, &metric) in self.metrics.iter().enumerate() {
                visit(model * self.metrics.len() + i, self.value(i, metric, query, &scratch.ranked));
            }
        }
    }

    /// Whether no metric counts this query, so that it need not be ranked.
    fn is_skipped(&self, query: usize) -> bool {
        self.without_relevant == WithoutRelevant::Skip
            && !self.metrics.contains(&Metric::ExpectedMaxRr)
            && !self.data.has_relevant(query)
    }

    fn value(&self, i: usize, metric: Metric, query: usize, ranked: &[u8]) -> Option<f64> {
        // By clicks, not labels: every query counts what its clicks bring (spec section 2.3).
        if metric == Metric::ExpectedMaxRr {
            return self.users.map(|users| self.expected_max_rr(users, ranked));
        }
        self.without_relevant.apply(metric.value(ranked, self.best[i][query]))
    }

    fn expected_max_rr(&self, users: &Users, ranked: &[u8]) -> f64 {
        // Whoever comes is one of them, from the first position to the last.
        if let Users::Mixed(all) = users {
            return all.iter().map(|users| self.expected_max_rr(users, ranked)).sum::<f64>() / all.len() as f64;
        }
        let shown = ranked.iter().take(self.list_length).enumerate();
        expected_max_rr(shown.map(|(position, &label)| users.click_probability(position, label)))
    }
}

pub fn score_all(data: &Dataset, shape: Shape, params: &[f32]) -> Vec<f32> {
    let mut ranker = loaded(shape, params);
    let mut scores = vec![0.0; data.n_docs()];
    for query in 0..data.n_queries() {
        ranker.score(data.query(query), &mut scores[data.docs(query)]);
    }
    scores
}

fn loaded(shape: Shape, params: &[f32]) -> Ranker {
    let mut ranker = Ranker::new(shape);
    ranker.load(params);
    ranker
}

/// All documents in `order`, best first; of equal scores the later document first.
pub fn rank_all(scores: &[f32], order: &mut Vec<u32>) {
    order.clear();
    order.extend(0..scores.len() as u32);
    // Adding zero makes -0 equal to 0, as the selection of a short list has it.
    let score = |doc: u32| scores[doc as usize] + 0.0;
    order.sort_unstable_by(|&a, &b| score(b).total_cmp(&score(a)).then(b.cmp(&a)));
}

struct Sums {
    sum: Vec<f64>,
    n: Vec<u32>,
}

impl Sums {
    fn new(n: usize) -> Self {
        Self { sum: vec![0.0; n], n: vec![0; n] }
    }

    fn add(&mut self, i: usize, value: Option<f64>) {
        if let Some(value) = value {
            self.sum[i] += value;
            self.n[i] += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.sum.iter_mut().zip(&other.sum).for_each(|(a, b)| *a += b);
        self.n.iter_mut().zip(&other.n).for_each(|(a, b)| *a += b);
    }

    /// NaN where nothing was counted.
    fn means(&self) -> Vec<f64> {
        self.sum.iter().zip(&self.n).map(|(sum, &n)| sum / f64::from(n)).collect()
    }
}

/// One thread's memory: the models ready to score, the scores of a query, one ranking.
struct Scratch {
    n_models: usize,
    scorer: Scorer,
    scores: Vec<f32>,
    n_docs: usize,
    buffer: ScoreBuffer,
    ranking: Ranking,
    order: Vec<u32>,
    ranked: Vec<u8>,
}

/// Linear models are scored together, others one by one.
enum Scorer {
    Linear { stride: usize, weights: Vec<f32> },
    Single(Vec<Ranker>),
}

impl Scratch {
    fn new(shape: Shape, models: &[Params]) -> Self {
        let scorer = match shape {
            Shape::Linear { n_features } => {
                let stride = row_stride(n_features);
                let mut weights = vec![0.0; models.len() * stride];
                for (padded, model) in weights.chunks_exact_mut(stride).zip(models) {
                    padded[..n_features].copy_from_slice(model);
                }
                Scorer::Linear { stride, weights }
            }
            Shape::Mlp { .. } => Scorer::Single(models.iter().map(|model| loaded(shape, model)).collect()),
        };
        Self {
            n_models: models.len(),
            scorer,
            scores: Vec::new(),
            n_docs: 0,
            buffer: ScoreBuffer::default(),
            ranking: Ranking::default(),
            order: Vec::new(),
            ranked: Vec::new(),
        }
    }

    fn score(&mut self, query: QueryView<'_>) {
        self.n_docs = query.n_docs();
        self.scores.resize(self.n_models * self.n_docs, 0.0);
        match &mut self.scorer {
            Scorer::Linear { stride, weights } => dot_rows_many(query.rows(), *stride, weights, &mut self.scores),
            Scorer::Single(rankers) => {
                for (ranker, scores) in rankers.iter_mut().zip(self.scores.chunks_exact_mut(self.n_docs)) {
                    ranker.score(query, scores);
                }
            }
        }
    }

    /// Labels of the best documents of one model, best first, in `self.ranked`.
    fn rank(&mut self, model: usize, labels: &[u8], depth: usize) {
        let scores = &self.scores[model * self.n_docs..][..self.n_docs];
        self.ranked.clear();
        if depth <= MAX_SHOWN {
            self.buffer.reset(self.n_docs).copy_from_slice(scores);
            self.buffer.select(depth, &mut self.ranking);
            self.ranked.extend(self.ranking.docs().iter().map(|&doc| labels[doc as usize]));
        } else {
            rank_all(scores, &mut self.order);
            self.ranked.extend(self.order.iter().map(|&doc| labels[doc as usize]));
        }
    }
}
