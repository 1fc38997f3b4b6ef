//! Labelled queries as a device sees them, and how well a model ranks those that nobody has searched.

use foltr_rank::metric::Metric;
use foltr_rank::select::ScoreBuffer;
use foltr_rank::{ParamsError, Ranker, Ranking, Shape};
use foltr_simulation::dataset::Dataset;

/// Where lists are cut, and nDCG is measured.
pub const LIST_LENGTH: usize = 10;

/// The features of a query's documents, one document after the other, without padding.
pub fn features(data: &Dataset, query: usize) -> Vec<f32> {
    let query = data.query(query);
    (0..query.n_docs()).flat_map(|document| &query.row(document)[..query.n_features()]).copied().collect()
}

/// The mean nDCG@10 of a model over the queries that have relevant documents.
pub fn ndcg(data: &Dataset, shape: Shape, params: &[f32]) -> Result<f64, ParamsError> {
    let metric = Metric::Ndcg(LIST_LENGTH);
    let mut ranker = Ranker::with_params(shape, params)?;
    let (mut scores, mut ranking, mut values) = (ScoreBuffer::default(), Ranking::default(), Vec::new());
    for query in 0..data.n_queries() {
        let (view, labels) = (data.query(query), data.labels(query));
        ranker.score(view, scores.reset(view.n_docs()));
        scores.select(LIST_LENGTH, &mut ranking);
        let ranked: Vec<u8> = ranking.docs().iter().map(|&document| labels[document as usize]).collect();
        values.extend(metric.value(&ranked, metric.best(labels)));
    }
    Ok(values.iter().sum::<f64>() / values.len().max(1) as f64)
}
