//! The data of a federation's clients: which queries and labels each learns from, how it clicks, how much it searches.
//!
//! Clients that differ (spec section 10) differ in one or more of these. Client c has holding c modulo the number of
//! holdings, so that a million equal clients are described by one.

use crate::click::Users;
use crate::client_round::TrainingSet;

/// The data of a federation's clients.
///
/// ```
/// use foltr_simulation::click::{ClickModel, Preset};
/// use foltr_simulation::client_data::{ClientData, Holding};
/// use foltr_simulation::client_round::TrainingSet;
/// use foltr_simulation::datasets::{Synthetic, SyntheticShape};
///
/// let queries = Synthetic { n_train: 4, n_validation: 0, n_test: 1, ..Synthetic::new(SyntheticShape::Tiny) };
/// let queries = TrainingSet::new(queries.generate(1)?.train, 10);
/// let users = ClickModel::from(Preset::Navigational).build(queries.data().max_label())?;
/// // Two clients: one searches for the first two queries, the other for the last two and twice as often.
/// let first = Holding { set: 0, users: 0, n_interactions: 1, queries: Some([0, 1].into()), group: 0 };
/// let second = Holding { n_interactions: 2, queries: Some([2, 3].into()), ..first.clone() };
/// let data = ClientData::new(vec![queries], users, vec![first, second])?;
/// assert_eq!((data.share(1).n_queries(), data.share(1).query(0)), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientData {
    sets: Vec<TrainingSet>,
    users: Vec<Users>,
    holdings: Vec<Holding>,
}

/// What one client holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The training set with its documents and labels.
    pub set: u32,
    pub users: u32,
    pub n_interactions: u32,
    /// Which queries of the set it issues; all when absent.
    pub queries: Option<Box<[u32]>>,
    /// Whose labels it is evaluated by: the number of its intent, 0 where there is but one.
    pub group: u32,
}

/// Why parts do not make [`ClientData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientDataError {
    #[error("at least one client is needed")]
    NoClients,
    #[error("client {client} would hold no queries; fewer clients or more data are needed")]
    NoQueries { client: usize },
    #[error("client {client} would have no interactions; at least one a round is needed")]
    NoInteractions { client: usize },
    #[error("client {client} refers to a training set, click model or query that does not exist")]
    Unknown { client: usize },
}

/// What one client learns from.
#[derive(Clone, Copy, Debug)]
pub struct ClientShare<'a> {
    pub training: &'a TrainingSet,
    pub users: &'a Users,
    pub n_interactions: u32,
    /// Numbers of its queries; all of the set when absent.
    pub queries: Option<&'a [u32]>,
}

impl ClientShare<'_> {
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

impl ClientData {
    /// Every client draws from the same queries, clicks in the same way, and searches as much.
    pub fn iid(training: TrainingSet, users: Users, n_interactions: u32) -> Self {
        let holding = Holding { set: 0, users: 0, n_interactions, queries: None, group: 0 };
        Self { sets: vec![training], users: vec![users], holdings: vec![holding] }
    }

    /// Refuses clients that have nothing to do, or refer to something that is not there.
    pub fn new(sets: Vec<TrainingSet>, users: Vec<Users>, holdings: Vec<Holding>) -> Result<Self, ClientDataError> {
        if holdings.is_empty() {
            return Err(ClientDataError::NoClients);
        }
        let data = Self { sets, users, holdings };
        (0..data.holdings.len()).try_for_each(|client| data.check(client))?;
        Ok(data)
    }

    fn check(&self, client: usize) -> Result<(), ClientDataError> {
        let Holding { set, users, n_interactions, queries, .. } = &self.holdings[client];
        let set = self.sets.get(*set as usize).ok_or(ClientDataError::Unknown { client })?;
        let n_queries = set.data().n_queries();
        let is_known = |query: &u32| (*query as usize) < n_queries;
        if *users as usize >= self.users.len() || !queries.iter().flatten().all(is_known) {
            return Err(ClientDataError::Unknown { client });
        }
        if queries.as_ref().map_or(n_queries, |queries| queries.len()) == 0 {
            return Err(ClientDataError::NoQueries { client });
        }
        if *n_interactions == 0 {
            return Err(ClientDataError::NoInteractions { client });
        }
        Ok(())
    }

    /// What a client holds, in numbers.
    #[inline]
    pub fn holding(&self, client: u32) -> &Holding {
        &self.holdings[client as usize % self.holdings.len()]
    }

    #[inline]
    pub fn share(&self, client: u32) -> ClientShare<'_> {
        let holding = self.holding(client);
        ClientShare {
            training: &self.sets[holding.set as usize],
            users: &self.users[holding.users as usize],
            n_interactions: holding.n_interactions,
            queries: holding.queries.as_deref(),
        }
    }

    /// The same, but that the first `n_attackers` of `n_clients` clients click in another way.
    #[must_use]
    pub fn with_clicks_of(mut self, n_attackers: u32, n_clients: u32, users: Users) -> Self {
        self.users.push(users);
        let poison = self.users.len() as u32 - 1;
        let own = |client| if client < n_attackers { poison } else { self.holding(client).users };
        self.holdings =
            (0..n_clients).map(|client| Holding { users: own(client), ..self.holding(client).clone() }).collect();
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
        let mut holdings: Vec<Holding> = (0..n_clients).map(|client| self.holding(client).clone()).collect();
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

    pub fn users(&self) -> &[Users] {
        &self.users
    }

    pub fn sets(&self) -> &[TrainingSet] {
        &self.sets
    }

    /// Whether all clients draw from all queries of one set.
    pub fn is_shared(&self) -> bool {
        self.sets.len() == 1 && self.holdings.iter().all(|holding| holding.queries.is_none())
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

    const PLAIN: Holding = Holding { set: 0, users: 0, n_interactions: 2, queries: None, group: 0 };

    #[test]
    fn clients_take_turns_among_the_holdings() {
        let few = Holding { n_interactions: 7, queries: Some([4, 2].into()), group: 1, ..PLAIN };
        let data = ClientData::new(vec![training()], vec![users()], vec![PLAIN, few]).expect("sound parts");
        assert_eq!((data.share(2).n_interactions, data.share(2).n_queries()), (2, 5));
        let share = data.share(3);
        assert_eq!((share.n_interactions, share.n_queries(), share.query(0), share.query(1)), (7, 2, 4, 2));
        assert_eq!((data.holding(5).group, data.most_interactions()), (1, 7));
        assert!(!data.has_equal_interactions());
    }

    #[test]
    fn attackers_have_clicks_and_labels_of_their_own() {
        let second = Holding { set: 1, ..PLAIN };
        let honest = ClientData::new(vec![training(), training()], vec![users()], vec![PLAIN, second]);
        let n_docs = training().data().n_docs();
        let relabelled = |set: &TrainingSet| TrainingSet::new(set.data().with_labels(vec![1; n_docs]), 10);
        let poison = Users::Cascade(Cascade::preset(Preset::Poison, 2).expect("three grades"));
        let data = honest.expect("sound parts").with_labels_of(3, 6, relabelled).with_clicks_of(3, 6, poison);
        let holdings: Vec<(u32, u32)> =
            (0..6).map(|client| data.holding(client)).map(|holding| (holding.set, holding.users)).collect();
        assert_eq!(holdings, [(2, 1), (3, 1), (2, 1), (1, 0), (0, 0), (1, 0)]);
        for client in 0..6 {
            let labels = data.share(client).training.data().all_labels();
            assert_eq!(labels.iter().all(|&label| label == 1), client < 3);
        }
    }

    #[test]
    fn every_unsound_holding_is_named() {
        let with =
            |holding: Holding| ClientData::new(vec![training()], vec![users()], vec![PLAIN, holding]).map(|_| ());
        let listed = |queries: &[u32]| Holding { queries: Some(queries.into()), ..PLAIN };
        assert_eq!(with(listed(&[4])), Ok(()));
        assert_eq!(with(listed(&[])), Err(ClientDataError::NoQueries { client: 1 }));
        assert_eq!(with(listed(&[4, 5])), Err(ClientDataError::Unknown { client: 1 }), "query 5 of five");
        assert_eq!(with(Holding { set: 1, ..PLAIN }), Err(ClientDataError::Unknown { client: 1 }));
        assert_eq!(with(Holding { users: 1, ..PLAIN }), Err(ClientDataError::Unknown { client: 1 }));
        assert_eq!(with(Holding { n_interactions: 0, ..PLAIN }), Err(ClientDataError::NoInteractions { client: 1 }));
        assert!(matches!(ClientData::new(Vec::new(), Vec::new(), Vec::new()), Err(ClientDataError::NoClients)));
    }
}
