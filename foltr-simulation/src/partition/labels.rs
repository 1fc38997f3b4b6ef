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

use foltr_rank::rng::{Purpose, Streams};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::draws;
use crate::dataset::Dataset;

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

/// Why documents cannot be split by their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LabelsError {
    /// A client can own one or two labels.
    #[error("{0} labels a client; expected 1 or 2")]
    PerClient(usize),
    /// Fewer clients than labels.
    #[error("{n_clients} clients cannot hold {n_labels} labels, one each; at least {n_labels} are needed")]
    FewClients {
        /// Clients.
        n_clients: usize,
        /// Labels of the data, counting 0.
        n_labels: usize,
    },
    /// One client for each pair.
    #[error("{n_labels} labels have {n_pairs} pairs, which need {n_pairs} clients; there are {n_clients}")]
    Pairs {
        /// Clients.
        n_clients: usize,
        /// Labels of the data, counting 0.
        n_labels: usize,
        /// Pairs of labels.
        n_pairs: usize,
    },
    /// Nothing to do for a client.
    #[error("client {client} would hold no document with {}; more data or fewer clients are needed", spelled(*labels))]
    NoDocuments {
        /// The client.
        client: usize,
        /// Its labels.
        labels: (u8, Option<u8>),
    },
}

fn spelled((first, second): (u8, Option<u8>)) -> String {
    second.map_or_else(|| format!("label {first}"), |second| format!("label {first} or {second}"))
}

/// The labels of one client.
type Owned = (u8, Option<u8>);

/// Which labels each client owns.
fn owned_labels(n_labels: usize, n_clients: usize, labels_per_client: usize) -> Result<Vec<Owned>, LabelsError> {
    match labels_per_client {
        1 if n_clients < n_labels => Err(LabelsError::FewClients { n_clients, n_labels }),
        1 => Ok((0..n_clients).map(|client| ((client % n_labels) as u8, None)).collect()),
        2 => {
            let pairs_of = |first| (first + 1..n_labels).map(move |second| (first as u8, Some(second as u8)));
            let pairs: Vec<Owned> = (0..n_labels).flat_map(pairs_of).collect();
            let n_pairs = pairs.len();
            if n_pairs == n_clients { Ok(pairs) } else { Err(LabelsError::Pairs { n_clients, n_labels, n_pairs }) }
        }
        other => Err(LabelsError::PerClient(other)),
    }
}

/// The documents (rows of `data`, rising) that each client holds.
///
/// # Errors
/// If clients and labels do not fit, or a client would hold nothing.
pub fn split_by_labels(
    data: &Dataset,
    n_labels: usize,
    n_clients: usize,
    labels_per_client: usize,
    split: LabelSplit,
    streams: &Streams,
) -> Result<Vec<Vec<u32>>, LabelsError> {
    let owned = owned_labels(n_labels, n_clients, labels_per_client)?;
    let owns = |client: usize, label: u8| owned[client].0 == label || owned[client].1 == Some(label);
    let mut held = vec![Vec::new(); n_clients];
    match split {
        LabelSplit::Disjoint => {
            for label in 0..n_labels as u8 {
                let owners: Vec<usize> = (0..n_clients).filter(|&client| owns(client, label)).collect();
                deal_label(data, label, &owners, streams, &mut held);
            }
        }
        LabelSplit::Overlapping => {
            for (client, held) in held.iter_mut().enumerate() {
                held.extend(rows(data).filter(|&doc| owns(client, data.all_labels()[doc as usize])));
            }
        }
        LabelSplit::QueryChunks => {
            let mut queries: Vec<usize> = (0..data.n_queries()).collect();
            queries.shuffle(&mut streams.open(Purpose::Data, 0, draws::QUERY_CHUNKS));
            for (i, query) in queries.into_iter().enumerate() {
                let client = i % n_clients;
                let docs = data.docs(query).filter(|&doc| owns(client, data.all_labels()[doc]));
                held[client].extend(docs.map(|doc| doc as u32));
            }
        }
    }
    held.iter_mut().for_each(|docs| docs.sort_unstable());
    match held.iter().position(Vec::is_empty) {
        Some(client) => Err(LabelsError::NoDocuments { client, labels: owned[client] }),
        None => Ok(held),
    }
}

fn rows(data: &Dataset) -> impl Iterator<Item = u32> {
    0..data.n_docs() as u32
}

/// Deals the documents of one label to its owners, in random order and in turn.
fn deal_label(data: &Dataset, label: u8, owners: &[usize], streams: &Streams, held: &mut [Vec<u32>]) {
    let mut docs: Vec<u32> = rows(data).filter(|&doc| data.all_labels()[doc as usize] == label).collect();
    docs.shuffle(&mut streams.open(Purpose::Data, u32::from(label), draws::LABELS));
    for (doc, &owner) in docs.into_iter().zip(owners.iter().cycle()) {
        held[owner].push(doc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::{Synthetic, SyntheticShape};
    use crate::letor::{ReadOptions, parse_letor};
    use crate::normalise::normalise_per_query;
    use std::path::Path;

    /// Query 1: labels 0 1 2, query 2: labels 2 2 1 0, query 3: label 0 0.
    const TEXT: &str = "0 qid:1 1:3 2:1\n1 qid:1 1:5 2:2\n2 qid:1 1:4 2:6\n2 qid:2 1:1 2:9\n2 qid:2 1:2 2:1\n\
                        1 qid:2 1:7 2:2\n0 qid:2 1:0 2:4\n0 qid:3 1:1 2:1\n0 qid:3 1:2 2:2\n";

    fn data() -> Dataset {
        parse_letor(TEXT.as_bytes(), Path::new("l.txt"), &ReadOptions::default()).expect("valid")
    }

    fn split(n_clients: usize, per_client: usize, split: LabelSplit) -> Result<Vec<Vec<u32>>, LabelsError> {
        split_by_labels(&data(), 3, n_clients, per_client, split, &Streams::new(5))
    }

    #[test]
    fn one_label_a_client_by_hand() {
        let expected = [vec![0, 6, 7, 8], vec![1, 5], vec![2, 3, 4]];
        assert_eq!(split(3, 1, LabelSplit::Disjoint).as_deref(), Ok(&expected[..]));
        assert_eq!(split(3, 1, LabelSplit::Overlapping).as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn overlapping_pairs_by_hand() {
        let expected = [vec![0, 1, 5, 6, 7, 8], vec![0, 2, 3, 4, 6, 7, 8], vec![1, 2, 3, 4, 5]];
        assert_eq!(split(3, 2, LabelSplit::Overlapping).as_deref(), Ok(&expected[..]), "(0,1), (0,2), (1,2)");
    }

    #[test]
    fn chunks_of_queries_keep_two_labels() {
        // Every assignment of the three queries to the pairs (0,1), (0,2), (1,2) is possible; each is told by its rows.
        let by_query = [[vec![0, 1], vec![0, 2], vec![1, 2]], [vec![5, 6], vec![3, 4, 6], vec![3, 4, 5]]];
        let mut seen = 0;
        for seed in 0..40 {
            let held = split_by_labels(&data(), 3, 3, 2, LabelSplit::QueryChunks, &Streams::new(seed));
            let Ok(held) = held else {
                // Query 3 has only label 0, which the last pair does not own.
                assert_eq!(held, Err(LabelsError::NoDocuments { client: 2, labels: (1, Some(2)) }));
                continue;
            };
            seen += 1;
            for (client, rows) in held.iter().enumerate() {
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
        let held = split_by_labels(&train, 5, 10, 2, LabelSplit::Disjoint, &Streams::new(5)).expect("ten pairs");
        let mut all: Vec<u32> = held.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..train.n_docs() as u32), "every document exactly once");
        let count =
            |docs: &[u32], label: u8| docs.iter().filter(|&&doc| train.all_labels()[doc as usize] == label).count();
        for label in 0..5_u8 {
            let total = train.all_labels().iter().filter(|&&other| other == label).count();
            let counts: Vec<usize> = held.iter().map(|docs| count(docs, label)).filter(|&n| n > 0).collect();
            assert!(counts.len() == 4 && counts.iter().all(|n| n.abs_diff(total / 4) <= 1), "{label}: {counts:?}");
        }
        let again = split_by_labels(&train, 5, 10, 2, LabelSplit::Disjoint, &Streams::new(5));
        let other = split_by_labels(&train, 5, 10, 2, LabelSplit::Disjoint, &Streams::new(6));
        assert!(again.as_ref() == Ok(&held) && other.as_ref() != Ok(&held));
    }

    #[test]
    fn ten_clients_share_five_labels() {
        let train = Synthetic { n_train: 20, ..Synthetic::new(SyntheticShape::Mslr) }.generate(3).expect("valid").train;
        let held = split_by_labels(&train, 5, 10, 1, LabelSplit::Disjoint, &Streams::new(5)).expect("two of each");
        for (client, docs) in held.iter().enumerate() {
            assert!(docs.iter().all(|&doc| train.all_labels()[doc as usize] == (client % 5) as u8));
            assert!(docs.len().abs_diff(held[(client + 5) % 10].len()) <= 1);
        }
        assert_eq!(held.iter().map(Vec::len).sum::<usize>(), train.n_docs());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(split(2, 1, LabelSplit::Disjoint), Err(LabelsError::FewClients { n_clients: 2, n_labels: 3 }));
        let pairs = LabelsError::Pairs { n_clients: 4, n_labels: 3, n_pairs: 3 };
        assert_eq!(split(4, 2, LabelSplit::Disjoint), Err(pairs));
        assert_eq!(pairs.to_string(), "3 labels have 3 pairs, which need 3 clients; there are 4");
        assert_eq!(split(3, 3, LabelSplit::Disjoint), Err(LabelsError::PerClient(3)));
        // Two documents with label 1 do not go round three owners: clients 1, 4 and 7.
        let empty = LabelsError::NoDocuments { client: 7, labels: (1, None) };
        assert_eq!(split(9, 1, LabelSplit::Disjoint), Err(empty));
        assert!(empty.to_string().starts_with("client 7 would hold no document with label 1;"));
    }

    #[test]
    fn normalising_after_the_split_forgets_what_was_done_before() {
        let raw = data();
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
