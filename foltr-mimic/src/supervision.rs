//! What does a network learn from? Scores of candidates, by whomever they are, or preferences between two documents.

use foltr_rank::rng::Stream;
use rand::RngExt;

use crate::InvalidInput;

/// The candidates of one query with the scores of the supervision: judgements, BM25 or a teacher. Larger is better.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    pub query: u32,
    pub documents: Vec<u32>,
    pub scores: Vec<f32>,
}

/// One document should be above another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub query: u32,
    pub better: u32,
    pub worse: u32,
}

/// A pair to learn from, and by how much the one is better: the distance of their scores as a share of the range of all
/// scores of the query. 1 where there are preferences alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lesson {
    pub pair: Pair,
    pub margin: f32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Supervision {
    Scores(Vec<Candidates>),
    Pairs(Vec<Pair>),
}

/// The rows of a feature file, scored by their labels or by one of the features (spec section 16.2).
///
/// The document of a row is the row's number, the query its position in the file: query i has the rows `query_start[i]`
/// to `query_start[i + 1]`. A feature that scores must leave the inputs with its [`crate::near_copies`].
pub fn score_rows(query_start: &[usize], score: impl Fn(usize) -> f32) -> Vec<Candidates> {
    let list = |(query, bounds): (u32, &[usize])| {
        let rows = bounds[0]..bounds[1];
        Candidates {
            query,
            documents: rows.clone().map(|row| row as u32).collect(),
            scores: rows.map(&score).collect(),
        }
    };
    (0..).zip(query_start.windows(2)).map(list).collect()
}

/// All pairs of a supervision, ready to be drawn from without rejection.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSource(Pairs);

#[derive(Clone, Debug, PartialEq)]
enum Pairs {
    OfScores(Vec<Ladder>),
    Given(Vec<Pair>),
}

/// The candidates of one query by increasing score.
#[derive(Clone, Debug, PartialEq)]
struct Ladder {
    query: u32,
    documents: Vec<u32>,
    scores: Vec<f32>,
    /// Pairs whose better document is this one or one before it.
    n_pairs: Vec<u64>,
}

impl Supervision {
    /// All its pairs. Refused if a score is missing or not a number.
    pub fn pairs(&self) -> Result<PairSource, InvalidInput> {
        Ok(PairSource(match self {
            Self::Scores(queries) => {
                let mut ladders = queries.iter().map(Ladder::new).collect::<Result<Vec<_>, _>>()?;
                // Pairs with equal scores have no gradient (spec section 16.1).
                ladders.retain(|ladder| ladder.total() > 0);
                Pairs::OfScores(ladders)
            }
            Self::Pairs(pairs) => Pairs::Given(pairs.clone()),
        }))
    }
}

impl PairSource {
    /// Appends `n` pairs: a query uniformly, then one of its pairs with different scores uniformly; of preferences
    /// one uniformly.
    ///
    /// # Panics
    /// If there is none.
    pub fn draw(&self, stream: &mut Stream, n: usize, out: &mut Vec<Lesson>) {
        out.extend((0..n).map(|_| match &self.0 {
            Pairs::OfScores(ladders) => ladders[stream.random_range(0..ladders.len() as u64) as usize].draw(stream),
            Pairs::Given(pairs) => {
                Lesson { pair: pairs[stream.random_range(0..pairs.len() as u64) as usize], margin: 1.0 }
            }
        }));
    }

    /// Whether no query has two documents with different scores.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Pairs::OfScores(ladders) => ladders.is_empty(),
            Pairs::Given(pairs) => pairs.is_empty(),
        }
    }
}

impl Ladder {
    fn new(Candidates { query, documents, scores }: &Candidates) -> Result<Self, InvalidInput> {
        let query = *query;
        if documents.len() != scores.len() {
            let found = format!("query {query}: {} documents and {} scores", documents.len(), scores.len());
            return Err(InvalidInput::new(found, "a score for each document"));
        }
        if let Some((document, score)) = documents.iter().zip(scores).find(|(_, score)| score.is_nan()) {
            let found = format!("query {query}, document {document}: the score is {score}");
            return Err(InvalidInput::new(found, "a number"));
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
        let (scores, documents) = ladder.into_iter().unzip();
        Ok(Self { query, documents, scores, n_pairs })
    }

    fn total(&self) -> u64 {
        self.n_pairs.last().copied().unwrap_or(0)
    }

    /// Pairs are numbered by their better document, then by their worse one.
    fn draw(&self, stream: &mut Stream) -> Lesson {
        let number = stream.random_range(0..self.total());
        let better = self.n_pairs.partition_point(|&n| n <= number);
        let n_before = if better == 0 { 0 } else { self.n_pairs[better - 1] };
        let worse = (number - n_before) as usize;
        let pair = Pair { query: self.query, better: self.documents[better], worse: self.documents[worse] };
        Lesson { pair, margin: self.margin(better, worse) }
    }

    fn margin(&self, better: usize, worse: usize) -> f32 {
        let range = self.scores[self.scores.len() - 1] - self.scores[0];
        // Of scores without bounds only the order is known.
        if range.is_finite() { (self.scores[better] - self.scores[worse]) / range } else { 1.0 }
    }
}

/// Candidates of a query whose documents are numbered from 10 times its own number on.
#[cfg(test)]
pub(crate) fn candidates(query: u32, scores: &[f32]) -> Candidates {
    let documents = (0..scores.len() as u32).map(|document| 10 * query + document).collect();
    Candidates { query, documents, scores: scores.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use foltr_rank::rng::{Purpose, Streams};

    use super::*;

    fn drawn(supervision: &Supervision, n: usize) -> BTreeMap<(u32, u32, u32), usize> {
        let mut stream = Streams::new(5).open(Purpose::Training, 0, 0);
        let mut pairs = Vec::new();
        supervision.pairs().expect("pairs").draw(&mut stream, n, &mut pairs);
        assert_eq!(pairs.len(), n);
        let mut counts = BTreeMap::new();
        for Lesson { pair: Pair { query, better, worse }, .. } in pairs {
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
    fn margins_are_shares_of_the_range_of_scores() {
        let scores = [candidates(1, &[5.0, 1.0, 4.0]), candidates(2, &[3.0, 1.0, f32::NEG_INFINITY])];
        let margin = |list: usize, better: usize, worse: usize| {
            Ladder::new(&scores[list]).expect("sound scores").margin(better, worse)
        };
        assert_eq!([margin(0, 1, 0), margin(0, 2, 1), margin(0, 2, 0)], [0.75, 0.25, 1.0]);
        assert_eq!([margin(1, 1, 0), margin(1, 2, 1)], [1.0; 2]);
        let mut lessons = Vec::new();
        let mut stream = Streams::new(5).open(Purpose::Training, 0, 0);
        Supervision::Scores(scores[..1].into()).pairs().expect("pairs").draw(&mut stream, 100, &mut lessons);
        let expected = |pair: &Pair| match (pair.better, pair.worse) {
            (12, 11) => 0.75,
            (10, 12) => 0.25,
            _ => 1.0,
        };
        assert!(lessons.iter().all(|lesson| lesson.margin == expected(&lesson.pair)));
    }

    #[test]
    fn preferences_are_drawn_as_they_are() {
        let pairs = [Pair { query: 1, better: 2, worse: 3 }, Pair { query: 1, better: 3, worse: 2 }];
        let counts = drawn(&Supervision::Pairs(pairs.into()), 1_000);
        assert!(counts.len() == 2 && counts.values().all(|&count| count > 400));
    }

    #[test]
    fn no_pair_is_empty_and_scores_that_are_no_numbers_are_refused() {
        for empty in [Supervision::Pairs(vec![]), Supervision::Scores(vec![candidates(1, &[1.0, 1.0])])] {
            assert!(empty.pairs().expect("sound scores").is_empty());
        }
        let error = |list| Supervision::Scores(vec![list]).pairs().expect_err("refused").to_string();
        let nan = error(candidates(1, &[1.0, f32::NAN]));
        assert_eq!(nan, "query 1, document 11: the score is NaN; expected a number");
        let short = error(Candidates { query: 1, documents: vec![1, 2], scores: vec![1.0] });
        assert_eq!(short, "query 1: 2 documents and 1 scores; expected a score for each document");
    }

    #[test]
    fn rows_belong_to_their_queries() {
        let scored = score_rows(&[0, 2, 3], |row| [0.9, 0.8, 0.7][row]);
        let second = Candidates { query: 1, documents: vec![2], scores: vec![0.7] };
        assert_eq!(scored, [candidates(0, &[0.9, 0.8]), second]);
    }
}
