//! A random ranking: what is left of a metric when nothing is learned.

use foltr_rank::metric::{WithoutRelevant, discount, gain, ideal_dcg};
use foltr_simulation::dataset::Dataset;

/// Expected nDCG@k: every rank holds the mean gain of the query's documents.
pub fn random_ndcg(data: &Dataset, k: usize, without: WithoutRelevant) -> f64 {
    let of_query = |query: usize| {
        let labels = data.labels(query);
        let ideal = ideal_dcg(labels, k);
        let expected = (ideal > 0.0).then(|| {
            let gain = labels.iter().map(|&label| gain(label)).sum::<f64>() / labels.len() as f64;
            gain * (0..k.min(labels.len())).map(discount).sum::<f64>() / ideal
        });
        without.apply(expected)
    };
    let values: Vec<f64> = (0..data.n_queries()).filter_map(of_query).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::metric::ndcg;
    use foltr_rank::rng::{Purpose, Streams};
    use foltr_simulation::datasets::{Synthetic, SyntheticShape};
    use rand::seq::SliceRandom;

    #[test]
    fn a_random_ranking_has_the_mean_of_shuffled_ones() {
        let data = Synthetic::new(SyntheticShape::Tiny).generate(1).expect("sound").test;
        let mut stream = Streams::new(1).open(Purpose::Data, 0, 0);
        let (mut sum, mut n) = (0.0, 0.0);
        for _ in 0..2000 {
            for query in 0..data.n_queries() {
                let mut labels = data.labels(query).to_vec();
                let ideal = ideal_dcg(&labels, 10);
                labels.shuffle(&mut stream);
                if let Some(value) = ndcg(labels, ideal, 10) {
                    (sum, n) = (sum + value, n + 1.0);
                }
            }
        }
        let expected = random_ndcg(&data, 10, WithoutRelevant::Skip);
        assert!((expected - sum / n).abs() < 0.005, "{expected} {}", sum / n);
    }
}
