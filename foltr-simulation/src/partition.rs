//! What the clients of a federation hold: which queries and labels each learns from, how it clicks, how much it searches.
//!
//! Clients that differ (spec section 10) differ in one or more of these. Client c has holding c modulo the number of
//! holdings, so that a million equal clients are described by one.

pub mod dirichlet;
pub mod feature_clusters;
pub mod intents;
pub mod labels;
pub mod shared;

use std::ops::Range;

use crate::click::Users;
use crate::client_round::TrainingSet;

/// Rounds of `Purpose::Data` from which partitions draw. Generated data, which may have the seed of a run, use the
/// first few.
mod draws {
    pub(super) const LABELS: u32 = 1 << 20;
    pub(super) const QUERY_CHUNKS: u32 = LABELS + 1;
    pub(super) const DIRICHLET: u32 = LABELS + 2;
    pub(super) const CLUSTERS: u32 = LABELS + 3;
    pub(super) const SHARED: u32 = LABELS + 4;
    pub(super) const INTENTS: u32 = LABELS + 5;
}

/// What the clients of a federation hold.
#[derive(Clone, Debug)]
pub struct Partition {
    sets: Vec<TrainingSet>,
    users: Vec<Users>,
    holdings: Vec<Holding>,
    own_queries: Vec<u32>,
}

/// What one client holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The training set with its documents and labels.
    pub set: u32,
    /// How it clicks.
    pub users: u32,
    /// Interactions in a round.
    pub n_interactions: u32,
    /// Which queries of the set it issues.
    pub queries: Queries,
    /// Whose labels it is judged by: the number of its intent, 0 where there is but one.
    pub group: u32,
}

/// Queries of a training set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// All of them.
    All,
    /// Those with the numbers in this stretch of the partition's list.
    Listed {
        /// Where the stretch begins.
        start: u32,
        /// How many there are.
        len: u32,
    },
}

/// Why parts do not make a [`Partition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// There must be a client.
    #[error("a partition needs at least one holding")]
    Nobody,
    /// A client without anything to search for.
    #[error("client {client} would hold no queries; fewer clients or more data are needed")]
    NoQueries {
        /// The first such client.
        client: usize,
    },
    /// A client that never searches.
    #[error("client {client} would have no interactions; at least one a round is needed")]
    NoInteractions {
        /// The first such client.
        client: usize,
    },
    /// A number that nothing has.
    #[error("client {client} refers to a training set, click model or query that does not exist")]
    Unknown {
        /// The first such client.
        client: usize,
    },
}

/// One client's share of a partition.
#[derive(Clone, Copy, Debug)]
pub struct ClientShare<'a> {
    /// Documents and labels.
    pub training: &'a TrainingSet,
    /// How it clicks.
    pub users: &'a Users,
    /// Interactions in a round.
    pub n_interactions: u32,
    /// Numbers of its queries; all of the set when absent.
    pub queries: Option<&'a [u32]>,
}

impl ClientShare<'_> {
    /// How many queries it can issue.
    #[inline]
    pub fn n_queries(&self) -> u32 {
        self.queries.map_or_else(|| self.training.data().n_queries(), <[u32]>::len) as u32
    }

    /// The number of its n-th query in the training set.
    #[inline]
    pub fn query(&self, nth: u32) -> u32 {
        self.queries.map_or(nth, |queries| queries[nth as usize])
    }
}

impl Partition {
    /// Every client draws from the same queries, clicks in the same way, and searches as much.
    pub fn iid(training: TrainingSet, users: Users, n_interactions: u32) -> Self {
        let holding = Holding { set: 0, users: 0, n_interactions, queries: Queries::All, group: 0 };
        Self { sets: vec![training], users: vec![users], holdings: vec![holding], own_queries: Vec::new() }
    }

    /// A partition from its parts.
    ///
    /// # Errors
    /// If a client would have nothing to do, or refers to something that is not there.
    pub fn new(
        sets: Vec<TrainingSet>,
        users: Vec<Users>,
        holdings: Vec<Holding>,
        own_queries: Vec<u32>,
    ) -> Result<Self, PartitionError> {
        if holdings.is_empty() {
            return Err(PartitionError::Nobody);
        }
        let partition = Self { sets, users, holdings, own_queries };
        (0..partition.holdings.len()).try_for_each(|client| partition.check(client))?;
        Ok(partition)
    }

    fn check(&self, client: usize) -> Result<(), PartitionError> {
        let holding = &self.holdings[client];
        let set = self.sets.get(holding.set as usize).ok_or(PartitionError::Unknown { client })?;
        self.users.get(holding.users as usize).ok_or(PartitionError::Unknown { client })?;
        let n_queries = set.data().n_queries();
        let n_own = match holding.queries {
            Queries::All => n_queries,
            Queries::Listed { start, len } => {
                let listed = self.own_queries.get(stretch(start, len)).ok_or(PartitionError::Unknown { client })?;
                if listed.iter().any(|&query| query as usize >= n_queries) {
                    return Err(PartitionError::Unknown { client });
                }
                listed.len()
            }
        };
        if n_own == 0 {
            return Err(PartitionError::NoQueries { client });
        }
        if holding.n_interactions == 0 {
            return Err(PartitionError::NoInteractions { client });
        }
        Ok(())
    }

    /// What a client holds, in numbers.
    #[inline]
    pub fn holding(&self, client: u32) -> &Holding {
        &self.holdings[client as usize % self.holdings.len()]
    }

    /// What a client holds.
    #[inline]
    pub fn share(&self, client: u32) -> ClientShare<'_> {
        let holding = self.holding(client);
        let queries = match holding.queries {
            Queries::All => None,
            Queries::Listed { start, len } => Some(&self.own_queries[stretch(start, len)]),
        };
        ClientShare {
            training: &self.sets[holding.set as usize],
            users: &self.users[holding.users as usize],
            n_interactions: holding.n_interactions,
            queries,
        }
    }

    /// The same, but that the first `n_attackers` of `n_clients` clients click in another way.
    #[must_use]
    pub fn with_clicks_of(mut self, n_attackers: u32, n_clients: u32, users: Users) -> Self {
        self.users.push(users);
        let poison = self.users.len() as u32 - 1;
        let own = |client| if client < n_attackers { poison } else { self.holding(client).users };
        self.holdings = (0..n_clients).map(|client| Holding { users: own(client), ..*self.holding(client) }).collect();
        self
    }

    /// The same, but that the first `n_attackers` of `n_clients` clients learn from other labels: each from what `change`
    /// makes of its training set, which must keep the queries.
    #[must_use]
    pub fn with_labels_of(
        mut self,
        n_attackers: u32,
        n_clients: u32,
        change: impl Fn(&TrainingSet) -> TrainingSet,
    ) -> Self {
        let mut changed = vec![None; self.sets.len()];
        let mut holdings: Vec<Holding> = (0..n_clients).map(|client| *self.holding(client)).collect();
        for holding in holdings.iter_mut().take(n_attackers as usize) {
            let before = holding.set as usize;
            holding.set = *changed[before].get_or_insert_with(|| {
                self.sets.push(change(&self.sets[before]));
                self.sets.len() as u32 - 1
            });
        }
        self.holdings = holdings;
        self
    }

    /// How clients click: the different ways.
    pub fn users(&self) -> &[Users] {
        &self.users
    }

    /// Training sets of all clients.
    pub fn sets(&self) -> &[TrainingSet] {
        &self.sets
    }

    /// Whether all clients draw from all queries of one set.
    pub fn is_shared(&self) -> bool {
        self.sets.len() == 1 && self.holdings.iter().all(|holding| holding.queries == Queries::All)
    }

    /// The most interactions of any client in a round.
    pub fn most_interactions(&self) -> u32 {
        self.holdings.iter().map(|holding| holding.n_interactions).max().unwrap_or(0)
    }

    /// Whether all clients have as many interactions in a round.
    pub fn has_equal_interactions(&self) -> bool {
        self.holdings.windows(2).all(|pair| pair[0].n_interactions == pair[1].n_interactions)
    }
}

const fn stretch(start: u32, len: u32) -> Range<usize> {
    start as usize..start as usize + len as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click::{Cascade, Preset};
    use crate::datasets::{Synthetic, SyntheticShape};

    fn training() -> TrainingSet {
        let synthetic = Synthetic { n_train: 5, n_test: 1, ..Synthetic::new(SyntheticShape::Tiny) };
        TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10)
    }

    fn users() -> Users {
        Users::Cascade(Cascade::preset(Preset::Perfect, 2).expect("three grades"))
    }

    const PLAIN: Holding = Holding { set: 0, users: 0, n_interactions: 2, queries: Queries::All, group: 0 };

    #[test]
    fn clients_take_turns_among_the_holdings() {
        let few = Holding { n_interactions: 7, queries: Queries::Listed { start: 1, len: 2 }, group: 1, ..PLAIN };
        let partition =
            Partition::new(vec![training()], vec![users()], vec![PLAIN, few], vec![9, 4, 2]).expect("sound parts");
        assert_eq!((partition.share(2).n_interactions, partition.share(2).n_queries()), (2, 5));
        let share = partition.share(3);
        assert_eq!((share.n_interactions, share.n_queries(), share.query(0), share.query(1)), (7, 2, 4, 2));
        assert_eq!((partition.holding(5).group, partition.most_interactions()), (1, 7));
        assert!(!partition.has_equal_interactions());
    }

    #[test]
    fn attackers_have_clicks_and_labels_of_their_own() {
        let second = Holding { set: 1, ..PLAIN };
        let honest = Partition::new(vec![training(), training()], vec![users()], vec![PLAIN, second], Vec::new());
        let n_docs = training().data().n_docs();
        let relabelled = |set: &TrainingSet| TrainingSet::new(set.data().with_labels(vec![1; n_docs]), 10);
        let poison = Users::Cascade(Cascade::preset(Preset::Poison, 2).expect("three grades"));
        let partition = honest.expect("sound parts").with_labels_of(3, 6, relabelled).with_clicks_of(3, 6, poison);
        let holdings: Vec<(u32, u32)> =
            (0..6).map(|client| partition.holding(client)).map(|holding| (holding.set, holding.users)).collect();
        assert_eq!(holdings, [(2, 1), (3, 1), (2, 1), (1, 0), (0, 0), (1, 0)]);
        for client in 0..6 {
            let labels = partition.share(client).training.data().all_labels();
            assert_eq!(labels.iter().all(|&label| label == 1), client < 3);
        }
    }

    #[test]
    fn every_bad_holding_has_a_name() {
        let with = |holding: Holding| {
            Partition::new(vec![training()], vec![users()], vec![PLAIN, holding], vec![4, 5]).map(|_| ())
        };
        let listed = |start, len| Holding { queries: Queries::Listed { start, len }, ..PLAIN };
        assert_eq!(with(listed(0, 1)), Ok(()));
        assert_eq!(with(listed(1, 0)), Err(PartitionError::NoQueries { client: 1 }));
        assert_eq!(with(listed(0, 2)), Err(PartitionError::Unknown { client: 1 }), "query 5 of five");
        assert_eq!(with(listed(1, 2)), Err(PartitionError::Unknown { client: 1 }), "beyond the list");
        assert_eq!(with(Holding { set: 1, ..PLAIN }), Err(PartitionError::Unknown { client: 1 }));
        assert_eq!(with(Holding { users: 1, ..PLAIN }), Err(PartitionError::Unknown { client: 1 }));
        assert_eq!(with(Holding { n_interactions: 0, ..PLAIN }), Err(PartitionError::NoInteractions { client: 1 }));
        assert!(matches!(Partition::new(Vec::new(), Vec::new(), Vec::new(), Vec::new()), Err(PartitionError::Nobody)));
    }
}
