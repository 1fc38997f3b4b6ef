//! Data sharing: some queries with all their documents and labels are given to every client (spec section 11).
//!
//! `ZLL18` Zhao et al.: *Federated Learning with Non-IID Data*, 2018; `W24` Wang, thesis, section 4.4.3. As in the
//! code released with the thesis, shared queries are drawn with replacement, so that fewer are shared than drawn; they take
//! the place of what a client has of the same queries.

use std::collections::BTreeSet;

use foltr_rank::rng::{Purpose, Streams};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::draws;
use crate::dataset::Dataset;

/// Queries that every client holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Draws with replacement from the training queries.
    pub queries: usize,
    /// Interactions of PDGD on the shared queries before the first round; they are no part of the rounds.
    #[serde(default)]
    pub warm_up: usize,
}

/// The queries that `n_draws` draws with replacement find, rising.
pub(super) fn draw_shared(n_queries: usize, n_draws: usize, streams: &Streams) -> Vec<u32> {
    let mut stream = streams.open(Purpose::Data, 0, draws::SHARED);
    let drawn: BTreeSet<u32> = (0..n_draws).map(|_| stream.random_range(0..n_queries as u32)).collect();
    drawn.into_iter().collect()
}

/// The seed of learning on shared queries before the first round, whose streams are none of the run's.
pub fn warm_up_seed(seed: u64) -> u64 {
    Streams::new(seed).open(Purpose::Data, 1, draws::SHARED).next_u64()
}

/// The documents of the shared queries, rising.
pub(super) fn shared_docs(data: &Dataset, shared: &[u32]) -> Vec<u32> {
    shared.iter().flat_map(|&query| data.docs(query as usize)).map(|doc| doc as u32).collect()
}

/// What a client holds after sharing: its own documents of other queries, and all documents of the shared ones.
pub(super) fn with_shared(data: &Dataset, own: &[u32], shared: &[u32]) -> Vec<u32> {
    // Its own documents of shared queries are among all documents of shared queries.
    let all: BTreeSet<u32> = own.iter().copied().chain(shared_docs(data, shared)).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::tests::letor;

    #[test]
    fn shared_queries_replace_own_ones() {
        let text = "0 qid:1 1:1\n1 qid:1 1:2\n1 qid:2 1:3\n0 qid:2 1:4\n0 qid:2 1:5\n1 qid:3 1:6\n";
        let data = letor(text);
        // A client with label 1 only; query 2 (rows 2 to 4) is shared.
        let both = data.with_docs(&with_shared(&data, &[1, 2, 5], &[1]));
        assert_eq!((both.n_queries(), both.all_labels()), (3, &[1, 1, 0, 0, 1][..]));
        assert_eq!((both.labels(0), both.labels(1), both.labels(2)), (&[1][..], &[1, 0, 0][..], &[1][..]));
        // Nothing of its own in a shared query: it is there all the same, once.
        assert_eq!(with_shared(&data, &[0], &[1, 2]), [0, 2, 3, 4, 5]);
        assert_eq!(with_shared(&data, &[0, 5], &[]), [0, 5]);
        assert_eq!(shared_docs(&data, &[0, 2]), [0, 1, 5]);
    }

    #[test]
    fn draws_are_with_replacement() {
        let shared = draw_shared(6000, 600, &Streams::new(1));
        // 6000 (1 - (1 - 1/6000)^600) = 571 on average with a standard deviation of 5: within five of them.
        assert!((546..=596).contains(&shared.len()), "{}", shared.len());
        assert!(shared.is_sorted() && shared.iter().all(|&query| query < 6000));
        assert_eq!(draw_shared(6000, 600, &Streams::new(1)), shared);
        assert_ne!(draw_shared(6000, 600, &Streams::new(2)), shared);
        assert_eq!(draw_shared(1, 50, &Streams::new(2)), [0]);
    }
}
