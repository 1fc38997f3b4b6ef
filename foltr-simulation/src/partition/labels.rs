//! Type 2, label distribution: each client holds documents of one or two labels only (spec section 10).
//!
//! `WZ22` Wang, Zuccon: *Is Non-IID Data a Threat in Federated Online Learning to Rank?*, SIGIR 2022; `W24`
//! Wang, thesis, section 4.4.1. With one label a client, client c has label c modulo the number of labels; with two, there
//! is one client for each pair of labels, pairs in lexicographic order. What a client holds of its labels:
//!
//! * `disjoint`: the thesis's split. Each label's documents are dealt at random and equally to the clients that own it.
//! * `overlapping`: version 1 of the released code. Every owner has all documents of its labels.
//! * `query-chunks`: version 2 of the released code. The queries are dealt at random and equally to the clients, and each
//!   keeps only the documents with its labels.
//!
//! Deviations: the thesis deals pairs of labels to clients at random; here their order is fixed, which renames clients. The
//! released code needs a number of queries that the clients divide; here numbers differ by one at most.
//!
//! Features of a client's documents may be normalised after the split, as a device would. Where the data was normalised
//! before, that changes nothing: scaling a query to [0, 1] is affine, and undone by the scaling that follows.

use foltr_rank::parameter::{ParameterError, problems, require};
use foltr_rank::rng::{Purpose, Streams};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::shared::{Shared, draw_shared, shared_docs, with_shared};
use super::{PartitionError, PartitionMethod, PartitionedData, draws};
use crate::dataset::Dataset;
use crate::datasets::Fold;
use crate::normalise::normalise_per_query;

/// Type 2: every client holds documents of one or two labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// 1, or 2 for one client a pair of labels.
    pub labels_per_client: usize,
    /// Which documents of its labels a client holds.
    #[serde(default)]
    pub split: LabelSplit,
    /// Whether each client scales its features to [0, 1] within each query, over the documents that it holds; when
    /// absent, as the released code does if `data.normalise` scales at all (spec section 1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalise_after: Option<bool>,
    /// Data sharing: queries that every client holds with all documents (spec section 11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
}

impl PartitionMethod for Labels {
    fn check(&self) -> Vec<ParameterError> {
        let n_draws = self.shared.map_or(1, |shared| shared.queries);
        let per_client = self.labels_per_client;
        problems([
            require("labels_per_client", per_client as f64, (1..=2).contains(&per_client), "1 or 2"),
            require("shared.queries", n_draws as f64, n_draws > 0, "at least 1 draw"),
        ])
    }

    fn divide(&self, fold: &Fold, n_clients: usize, streams: &Streams) -> Result<PartitionedData, PartitionError> {
        let n_labels = usize::from(fold.max_label()) + 1;
        let mut docs = self.docs(&fold.train, n_labels, n_clients, streams)?;
        let mut shared = None;
        if let Some(Shared { queries, .. }) = self.shared {
            let queries = draw_shared(fold.train.n_queries(), queries, streams);
            docs.iter_mut().for_each(|own| *own = with_shared(&fold.train, own, &queries));
            shared = Some(fold.train.with_docs(&shared_docs(&fold.train, &queries)));
        }
        let mut data = PartitionedData { shared, ..PartitionedData::by_docs(fold, &docs) };
        if self.normalise_after == Some(true) {
            data.sets.iter_mut().chain(&mut data.shared).for_each(|set| *set = normalise_per_query(set));
        }
        Ok(data)
    }
}

/// Which documents of its labels a client holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LabelSplit {
    /// Its share of each label's documents (thesis).
    #[default]
    Disjoint,
    /// All documents of its labels (released code, version 1).
    Overlapping,
    /// The documents of its labels in its share of the queries (released code, version 2).
    QueryChunks,
}

fn spelled((first, second): Owned) -> String {
    second.map_or_else(|| format!("label {first}"), |second| format!("label {first} or {second}"))
}

type Owned = (u8, Option<u8>);

/// Which labels each client owns.
fn owned_labels(n_labels: usize, n_clients: usize, labels_per_client: usize) -> Result<Vec<Owned>, PartitionError> {
    let refused = |message: String| Err(PartitionError(message));
    match labels_per_client {
        1 if n_clients < n_labels => refused(format!(
            "{n_clients} clients cannot hold {n_labels} labels, one each; at least {n_labels} are needed"
        )),
        1 => Ok((0..n_clients).map(|client| ((client % n_labels) as u8, None)).collect()),
        2 => {
            let pairs_of = |first| (first + 1..n_labels).map(move |second| (first as u8, Some(second as u8)));
            let pairs: Vec<Owned> = (0..n_labels).flat_map(pairs_of).collect();
            let n_pairs = pairs.len();
            if n_pairs == n_clients {
                return Ok(pairs);
            }
            refused(format!(
                "{n_labels} labels have {n_pairs} pairs, which need {n_pairs} clients; there are {n_clients}"
            ))
        }
        other => refused(format!("{other} labels a client; expected 1 or 2")),
    }
}

impl Labels {
    /// The documents (rows of `data`, rising) that each client holds.
    fn docs(
        &self,
        data: &Dataset,
        n_labels: usize,
        n_clients: usize,
        streams: &Streams,
    ) -> Result<Vec<Vec<u32>>, PartitionError> {
        let owned = owned_labels(n_labels, n_clients, self.labels_per_client)?;
        let owns = |client: usize, label: u8| owned[client].0 == label || owned[client].1 == Some(label);
        let mut docs_of = vec![Vec::new(); n_clients];
        match self.split {
            LabelSplit::Disjoint => {
                for label in 0..n_labels as u8 {
                    let owners: Vec<usize> = (0..n_clients).filter(|&client| owns(client, label)).collect();
                    deal_label(data, label, &owners, streams, &mut docs_of);
                }
            }
            LabelSplit::Overlapping => {
                for (client, docs) in docs_of.iter_mut().enumerate() {
                    docs.extend(rows(data).filter(|&doc| owns(client, data.all_labels()[doc as usize])));
                }
            }
            LabelSplit::QueryChunks => {
                let mut queries: Vec<usize> = (0..data.n_queries()).collect();
                queries.shuffle(&mut streams.open(Purpose::Data, 0, draws::QUERY_CHUNKS));
                for (i, query) in queries.into_iter().enumerate() {
                    let client = i % n_clients;
                    let docs = data.docs(query).filter(|&doc| owns(client, data.all_labels()[doc]));
                    docs_of[client].extend(docs.map(|doc| doc as u32));
                }
            }
        }
        docs_of.iter_mut().for_each(|docs| docs.sort_unstable());
        match docs_of.iter().position(Vec::is_empty) {
            Some(client) => Err(PartitionError(format!(
                "client {client} would hold no document with {}; more data or fewer clients are needed",
                spelled(owned[client])
            ))),
            None => Ok(docs_of),
        }
    }
}

fn rows(data: &Dataset) -> impl Iterator<Item = u32> {
    0..data.n_docs() as u32
}

/// Deals the documents of one label to its owners, in random order and in turn.
fn deal_label(data: &Dataset, label: u8, owners: &[usize], streams: &Streams, docs_of: &mut [Vec<u32>]) {
    let mut docs: Vec<u32> = rows(data).filter(|&doc| data.all_labels()[doc as usize] == label).collect();
    docs.shuffle(&mut streams.open(Purpose::Data, u32::from(label), draws::LABELS));
    for (doc, &owner) in docs.into_iter().zip(owners.iter().cycle()) {
        docs_of[owner].push(doc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::{Synthetic, SyntheticShape};
    use crate::partition::tests::letor;

    /// Query 1: labels 0 1 2, query 2: labels 2 2 1 0, query 3: label 0 0.
    const TEXT: &str = "0 qid:1 1:3 2:1\n1 qid:1 1:5 2:2\n2 qid:1 1:4 2:6\n2 qid:2 1:1 2:9\n2 qid:2 1:2 2:1\n\
                        1 qid:2 1:7 2:2\n0 qid:2 1:0 2:4\n0 qid:3 1:1 2:1\n0 qid:3 1:2 2:2\n";

    fn labels(labels_per_client: usize, split: LabelSplit) -> Labels {
        Labels { labels_per_client, split, normalise_after: None, shared: None }
    }

    fn split(n_clients: usize, per_client: usize, split: LabelSplit) -> Result<Vec<Vec<u32>>, PartitionError> {
        labels(per_client, split).docs(&letor(TEXT), 3, n_clients, &Streams::new(5))
    }

    #[test]
    fn small_splits_by_hand() {
        let single = [vec![0, 6, 7, 8], vec![1, 5], vec![2, 3, 4]];
        assert_eq!(split(3, 1, LabelSplit::Disjoint).as_deref(), Ok(&single[..]));
        assert_eq!(split(3, 1, LabelSplit::Overlapping).as_deref(), Ok(&single[..]));
        let pairs = [vec![0, 1, 5, 6, 7, 8], vec![0, 2, 3, 4, 6, 7, 8], vec![1, 2, 3, 4, 5]];
        assert_eq!(split(3, 2, LabelSplit::Overlapping).as_deref(), Ok(&pairs[..]), "(0,1), (0,2), (1,2)");
    }

    #[test]
    fn chunks_of_queries_have_two_labels() {
        // Every assignment of the three queries to the pairs (0,1), (0,2), (1,2) is possible; its rows say which it is.
        let by_query = [[vec![0, 1], vec![0, 2], vec![1, 2]], [vec![5, 6], vec![3, 4, 6], vec![3, 4, 5]]];
        let mut seen = 0;
        for seed in 0..40 {
            let docs = match labels(2, LabelSplit::QueryChunks).docs(&letor(TEXT), 3, 3, &Streams::new(seed)) {
                Ok(docs) => docs,
                Err(error) => {
                    // Query 3 has only label 0, which the last pair does not own.
                    assert!(error.0.starts_with("client 2 would hold no document with label 1 or 2;"), "{error}");
                    continue;
                }
            };
            seen += 1;
            for (client, rows) in docs.iter().enumerate() {
                let expected = [&by_query[0][client], &by_query[1][client], &vec![7, 8]];
                assert!(expected.contains(&rows), "client {client} holds {rows:?}");
            }
        }
        // Two of three assignments give query 3 to another client: 40 failures in a row have probability 3^-40.
        assert!((1..40).contains(&seen), "{seen}");
    }

    #[test]
    fn disjoint_splits_are_complete_equal_and_repeatable() {
        let train = Synthetic { n_train: 20, ..Synthetic::new(SyntheticShape::Mslr) }.generate(3).expect("valid").train;
        // Ten pairs of five labels, of which each label is in four; or two clients of each label.
        for (per_client, n_owners) in [(2, 4), (1, 2)] {
            let split = |seed| labels(per_client, LabelSplit::Disjoint).docs(&train, 5, 10, &Streams::new(seed));
            let docs = split(5).expect("enough clients");
            let mut all: Vec<u32> = docs.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..train.n_docs() as u32), "every document exactly once");
            let count =
                |docs: &[u32], label: u8| docs.iter().filter(|&&doc| train.all_labels()[doc as usize] == label).count();
            for label in 0..5_u8 {
                let total = train.all_labels().iter().filter(|&&other| other == label).count();
                let counts: Vec<usize> = docs.iter().map(|docs| count(docs, label)).filter(|&n| n > 0).collect();
                let is_equal = counts.iter().all(|n| n.abs_diff(total / n_owners) <= 1);
                assert!(counts.len() == n_owners && is_equal, "{label}: {counts:?}");
            }
            assert!(split(5).as_ref() == Ok(&docs) && split(6).as_ref() != Ok(&docs));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (n_clients, per_client, message) in [
            (2, 1, "2 clients cannot hold 3 labels, one each; at least 3 are needed"),
            (4, 2, "3 labels have 3 pairs, which need 3 clients; there are 4"),
            (3, 3, "3 labels a client; expected 1 or 2"),
            // Two documents with label 1 do not go round three owners: clients 1, 4 and 7.
            (9, 1, "client 7 would hold no document with label 1; more data or fewer clients are needed"),
        ] {
            assert_eq!(split(n_clients, per_client, LabelSplit::Disjoint), Err(PartitionError(message.into())));
        }
    }

    #[test]
    fn normalising_after_the_split_forgets_what_was_done_before() {
        let raw = letor(TEXT);
        for docs in split(3, 2, LabelSplit::Overlapping).expect("three pairs") {
            let after = normalise_per_query(&raw.with_docs(&docs));
            let both = normalise_per_query(&normalise_per_query(&raw).with_docs(&docs));
            let differ = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-6;
            assert!(!after.rows().iter().zip(both.rows()).any(differ));
        }
        // Query 1 without its document of label 2: the range of feature 2 is 1 to 2, no longer 1 to 6.
        let pair = normalise_per_query(&raw.with_docs(&[0, 1]));
        assert_eq!(pair.query(0).row(1)[..2], [1.0, 1.0]);
        assert_eq!(normalise_per_query(&raw).with_docs(&[0, 1]).query(0).row(1)[..2], [1.0, 0.2]);
    }
}
