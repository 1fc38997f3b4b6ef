//! How good is a ranked list of documents, given the judgements of its query? And what if two scorers rank together?

use foltr_rank::metric::{average_precision_among, ideal_dcg, ndcg, precision};

use crate::collection::Collection;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grades {
    /// Documents, increasing, with their grades.
    pub judged: Vec<(u32, u8)>,
}

pub fn grades_of(collection: &Collection) -> Vec<Grades> {
    let mut grades = vec![Grades::default(); collection.queries.len()];
    for judgement in &collection.judgements {
        grades[judgement.query as usize].judged.push((judgement.document, judgement.grade));
    }
    grades
}

/// Measures of a ranked list, or their means over queries: average precision over all relevant documents, also those
/// that were not found (its mean is MAP); share of relevant documents among the first k; nDCG of the first k, whose
/// ideal has all judged documents.
pub type Quality = [f64; 3];
/// The last one of a [`Quality`].
pub const NDCG: usize = 2;

impl Grades {
    pub fn new(mut judged: Vec<(u32, u8)>) -> Self {
        judged.sort_unstable();
        Self { judged }
    }

    /// The grade of a document; 0 if it was not judged.
    pub fn grade(&self, document: u32) -> u8 {
        match self.judged.binary_search_by_key(&document, |judged| judged.0) {
            Ok(position) => self.judged[position].1,
            Err(_) => 0,
        }
    }

    pub fn n_relevant(&self) -> usize {
        self.judged.iter().filter(|judged| judged.1 > 0).count()
    }

    /// Measures of a ranked list, precision and nDCG of its first `k`; nothing for a query without relevant documents.
    pub fn quality(&self, ranked: &[u32], k: usize) -> Option<Quality> {
        let labels = || ranked.iter().map(|&document| self.grade(document));
        let all: Vec<u8> = self.judged.iter().map(|judged| judged.1).collect();
        let average_precision = average_precision_among(labels(), self.n_relevant())?;
        Some([average_precision, precision(labels(), k), ndcg(labels(), ideal_dcg(&all, k), k)?])
    }
}

/// Means over queries; nothing if there is none.
pub fn mean(qualities: &[Quality]) -> Option<Quality> {
    let mean = |measure: usize| qualities.iter().map(|quality| quality[measure]).sum::<f64>() / qualities.len() as f64;
    (!qualities.is_empty()).then(|| [0, 1, 2].map(mean))
}

/// Scores of one query from 0, the lowest, to 1, the highest; all 0 where all are equal.
fn scaled(scores: &[f32]) -> impl Iterator<Item = f32> {
    let low = scores.iter().copied().fold(f32::INFINITY, f32::min);
    let high = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (from, width) = (f64::from(low), f64::from(high) - f64::from(low));
    let scale = move |&score: &f32| if low == high { 0.0 } else { ((f64::from(score) - from) / width) as f32 };
    scores.iter().map(scale)
}

/// `weight` times the network's scores and `1 - weight` times those of BM25, both of the same documents of one query and
/// scaled to [0, 1].
pub fn interpolate(network: &[f32], bm25: &[f32], weight: f32) -> Vec<f32> {
    assert_eq!(network.len(), bm25.len(), "both score the same documents");
    let scaled = scaled(network).zip(scaled(bm25));
    scaled.map(|(network, bm25)| weight * network + (1.0 - weight) * bm25).collect()
}

/// A list with its first documents, as many as there are scores, by score. Of equals the one with the lower number is first,
/// wherever it was: a network that scores all alike must not inherit the order of the list.
pub fn rerank(ranked: &[u32], scores: &[f32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // Adding zero makes -0 equal to 0, as a comparison has it.
    let by_score = |a: usize, b: usize| (scores[b] + 0.0).total_cmp(&(scores[a] + 0.0));
    order.sort_unstable_by(|&a, &b| by_score(a, b).then(ranked[a].cmp(&ranked[b])));
    let first = order.into_iter().map(|position| ranked[position]);
    first.chain(ranked[scores.len()..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Document 9 is relevant and never found.
    fn grades() -> Grades {
        Grades::new(vec![(9, 1), (3, 2), (5, 1), (7, 0)])
    }

    #[test]
    fn lists_by_hand() {
        // Grades as ranked: 1, 0, 2, 0. Precision at the relevant: 1/1, 2/3, and nothing for the one not found.
        let ranked = [5, 7, 3, 1];
        let average_precision = (1.0 + 2.0 / 3.0) / 3.0;
        let ideal = 3.0 + 1.0 / 3_f64.log2() + 1.0 / 2.0;
        for (ranked, k, expected) in [
            (&ranked[..], 20, [average_precision, 2.0 / 20.0, (1.0 + 3.0 / 2.0) / ideal]),
            // Average precision is over the whole list.
            (&ranked, 1, [average_precision, 1.0, 1.0 / 3.0]),
            (&[3, 9, 5], 3, [1.0; 3]),
            (&[], 3, [0.0; 3]),
        ] {
            let quality = grades().quality(ranked, k).unwrap();
            assert!(quality.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{quality:?}, not {expected:?}");
        }
        assert_eq!(Grades::new(vec![(1, 0)]).quality(&[1], 3), None);
    }

    #[test]
    fn interpolation_of_scaled_scores_and_new_order() {
        let (network, bm25) = ([0.5, -0.5, 0.0], [10.0, 30.0, 20.0]);
        assert_eq!(interpolate(&network, &bm25, 1.0), [1.0, 0.0, 0.5]);
        assert_eq!(interpolate(&network, &bm25, 0.0), [0.0, 1.0, 0.5]);
        assert_eq!(interpolate(&network, &bm25, 0.5), [0.5; 3]);
        assert_eq!(interpolate(&[0.1; 7], &[0.0; 7], 0.5), [0.0; 7], "equal scores");
        assert!(interpolate(&[], &[], 0.5).is_empty());
        assert_eq!(rerank(&[6, 8, 4, 2, 1], &[0.0, 1.0, -0.0]), [8, 4, 6, 2, 1]);
        assert_eq!(rerank(&[7, 3, 5], &[0.5; 3]), [3, 5, 7], "nothing of the list's order is left");
        assert_eq!(rerank(&[4, 8], &[]), [4, 8]);
    }
}
