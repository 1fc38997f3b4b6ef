//! How are pairs of documents drawn that should be told apart?

use foltr_rank::rng::Stream;
use rand::RngExt;
use thiserror::Error;

use super::{Candidates, Pair, Supervision};

/// All pairs of a supervision, ready to be drawn from without rejection.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSource {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Scores(Vec<Ladder>),
    Pairs(Vec<Pair>),
}

/// The candidates of one query by increasing score.
#[derive(Clone, Debug, PartialEq)]
struct Ladder {
    query: u32,
    documents: Vec<u32>,
    /// Pairs whose better document is this one or one before it.
    n_pairs: Vec<u64>,
}

/// Why a network cannot learn from a supervision.
#[derive(Debug, Error, PartialEq)]
pub enum SupervisionError {
    /// Documents and scores are not as many.
    #[error("query {query}: {documents} documents and {scores} scores; expected a score for each document")]
    Length {
        /// Number of the query.
        query: u32,
        /// Documents.
        documents: usize,
        /// Scores.
        scores: usize,
    },
    /// A score is not a number.
    #[error("query {query}, document {document}: the score is {found}; expected a number")]
    NotANumber {
        /// Number of the query.
        query: u32,
        /// Number of the document.
        document: u32,
        /// The score.
        found: f32,
    },
    /// Nothing to learn.
    #[error("no query has two documents with different scores; expected at least one pair to learn from")]
    Empty,
}

impl Supervision {
    /// All its pairs, to be drawn from.
    ///
    /// # Errors
    /// If there is no pair to learn from, or a score is missing or not a number.
    pub fn pairs(&self) -> Result<PairSource, SupervisionError> {
        let (kind, is_empty) = match self {
            Self::Scores(queries) => {
                let mut ladders = queries.iter().map(Ladder::new).collect::<Result<Vec<_>, _>>()?;
                // Pairs with equal scores have no gradient (spec section 16.1).
                ladders.retain(|ladder| ladder.total() > 0);
                let is_empty = ladders.is_empty();
                (Kind::Scores(ladders), is_empty)
            }
            Self::Pairs(pairs) => (Kind::Pairs(pairs.clone()), pairs.is_empty()),
        };
        if is_empty { Err(SupervisionError::Empty) } else { Ok(PairSource { kind }) }
    }
}

impl PairSource {
    /// Appends `n` pairs: a query uniformly, then one of its pairs with different scores uniformly; of preferences
    /// one uniformly.
    pub fn draw(&self, stream: &mut Stream, n: usize, out: &mut Vec<Pair>) {
        out.extend((0..n).map(|_| match &self.kind {
            Kind::Scores(ladders) => ladders[stream.random_range(0..ladders.len() as u64) as usize].draw(stream),
            Kind::Pairs(pairs) => pairs[stream.random_range(0..pairs.len() as u64) as usize],
        }));
    }

    /// Queries with a pair to learn from, each as often as it was given; for preferences, their number.
    pub fn n_sources(&self) -> usize {
        match &self.kind {
            Kind::Scores(ladders) => ladders.len(),
            Kind::Pairs(pairs) => pairs.len(),
        }
    }
}

impl Ladder {
    fn new(candidates: &Candidates) -> Result<Self, SupervisionError> {
        let Candidates { query, documents, scores } = candidates;
        let query = *query;
        if documents.len() != scores.len() {
            return Err(SupervisionError::Length { query, documents: documents.len(), scores: scores.len() });
        }
        if let Some((&document, &found)) = documents.iter().zip(scores).find(|(_, score)| score.is_nan()) {
            return Err(SupervisionError::NotANumber { query, document, found });
        }
        // Adding zero makes -0 equal to 0, as a comparison has it.
        let mut ladder: Vec<(f32, u32)> = documents.iter().zip(scores).map(|(&d, &score)| (score + 0.0, d)).collect();
        ladder.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut n_below, mut total) = (0, 0);
        let mut n_pairs = Vec::with_capacity(ladder.len());
        for (position, (score, _)) in ladder.iter().enumerate() {
            if position > 0 && *score > ladder[position - 1].0 {
                n_below = position as u64;
            }
            total += n_below;
            n_pairs.push(total);
        }
        Ok(Self { query, documents: ladder.into_iter().map(|(_, document)| document).collect(), n_pairs })
    }

    fn total(&self) -> u64 {
        self.n_pairs.last().copied().unwrap_or(0)
    }

    /// Pairs are numbered by their better document, then by their worse one.
    fn draw(&self, stream: &mut Stream) -> Pair {
        let number = stream.random_range(0..self.total());
        let better = self.n_pairs.partition_point(|&n| n <= number);
        let n_before = if better == 0 { 0 } else { self.n_pairs[better - 1] };
        let worse = (number - n_before) as usize;
        Pair { query: self.query, better: self.documents[better], worse: self.documents[worse] }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use foltr_rank::rng::{Purpose, Streams};

    use super::*;

    fn candidates(query: u32, scores: &[f32]) -> Candidates {
        Candidates {
            query,
            documents: (0..scores.len() as u32).map(|d| 10 * query + d).collect(),
            scores: scores.into(),
        }
    }

    /// How often each pair was drawn.
    fn drawn(supervision: &Supervision, n: usize) -> BTreeMap<(u32, u32, u32), usize> {
        let mut stream = Streams::new(5).open(Purpose::Training, 0, 0);
        let mut pairs = Vec::new();
        supervision.pairs().expect("pairs").draw(&mut stream, n, &mut pairs);
        assert_eq!(pairs.len(), n);
        let mut counts = BTreeMap::new();
        for Pair { query, better, worse } in pairs {
            *counts.entry((query, better, worse)).or_default() += 1;
        }
        counts
    }

    #[test]
    fn every_pair_of_a_query_is_as_likely_and_so_is_every_query() {
        let supervision = Supervision::Scores(vec![
            candidates(1, &[2.0, 0.0, 1.0, 0.0]),
            candidates(2, &[3.0, 3.0]),
            candidates(3, &[-0.0, 0.0, f32::NEG_INFINITY]),
            candidates(4, &[]),
        ]);
        let n = 60_000;
        let counts = drawn(&supervision, n);
        // Query 1 has the pairs of 2 over 1, 0, 0 and of 1 over 0, 0; query 3 those of both zeros over the infinite.
        let expected = [(1, 10, 11), (1, 10, 12), (1, 10, 13), (1, 12, 11), (1, 12, 13), (3, 30, 32), (3, 31, 32)];
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), expected);
        for (pair, count) in counts {
            let share = if pair.0 == 1 { 0.1 } else { 0.25 };
            let deviation = (n as f64 * share * (1.0 - share)).sqrt();
            assert!((count as f64 - n as f64 * share).abs() < 5.0 * deviation, "{pair:?}: {count}");
        }
    }

    #[test]
    fn one_that_differs_among_many_is_found() {
        let mut scores = vec![0.0; 1_000];
        scores[77] = 1.0;
        let counts = drawn(&Supervision::Scores(vec![candidates(0, &scores)]), 2_000);
        assert!(counts.keys().all(|&(_, better, worse)| better == 77 && worse != 77));
        assert!(counts.len() > 800, "2,000 draws of 999 pairs meet about 864 of them");
    }

    #[test]
    fn preferences_are_drawn_as_they_are() {
        let pairs = [Pair { query: 1, better: 2, worse: 3 }, Pair { query: 1, better: 3, worse: 2 }];
        let counts = drawn(&Supervision::Pairs(pairs.into()), 1_000);
        assert!(counts.len() == 2 && counts.values().all(|&count| count > 400));
    }

    #[test]
    fn nothing_to_learn_from_is_refused() {
        let error = |supervision: Supervision| supervision.pairs().expect_err("refused");
        assert_eq!(error(Supervision::Pairs(vec![])), SupervisionError::Empty);
        assert_eq!(error(Supervision::Scores(vec![candidates(1, &[1.0, 1.0])])), SupervisionError::Empty);
        let nan = error(Supervision::Scores(vec![candidates(1, &[1.0, f32::NAN])]));
        assert_eq!(nan.to_string(), "query 1, document 11: the score is NaN; expected a number");
        let short = Candidates { query: 1, documents: vec![1, 2], scores: vec![1.0] };
        assert!(matches!(error(Supervision::Scores(vec![short])), SupervisionError::Length { .. }));
    }
}
