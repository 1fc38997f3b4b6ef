//! Clusters: several shared models; a device ranks with, and helps, the one that explains its own clicks best (IFCA).
//!
//! `GCYR20` Ghosh, Chung, Yin, Ramchandran: *An Efficient Framework for Clustered Federated Learning*, NeurIPS 2020,
//! Algorithm 1.
//!
//! Deviations: the loss of a model is minus the likelihood that it gave to the preferences in the client's clicks *before*
//! anybody had learnt from them, a running sum in which older interactions count less: a device keeps a number for each
//! cluster, and no clicks. A device begins in a cluster that it draws, since the models begin equal.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::shown::Shown;
use super::{Destination, MAX_CLUSTERS, PersonalMethod, best, check_memory};
use crate::learn::pdgd::{Pdgd, PdgdSettings, Preferences};
use crate::learn::{Models, OnlineLearner, OwnRanker, Update};
use crate::parameter::{ParameterError, require};
use crate::params::{Params, Shape};
use crate::query::{Impression, MAX_SHOWN, QueryView, Ranking};
use crate::ranker::Ranker;
use crate::rng::Stream;

/// Several shared models; each device helps the one that explains its own clicks best.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Clusters {
    /// How many models.
    pub n_clusters: usize,
    /// What an interaction counts in the choice after one more interaction; from 0 to below 1.
    pub memory: f64,
}

impl PersonalMethod for Clusters {
    type Learner = ClustersLearner;

    fn example() -> Self {
        Self { n_clusters: 3, memory: 0.99 }
    }

    fn check(&self) -> Result<(), ParameterError> {
        check_memory(self.memory)?;
        check_number("n_clusters", self.n_clusters)
    }

    fn destination(&self) -> Destination {
        Destination::Cluster
    }

    fn n_clusters(&self) -> usize {
        self.n_clusters
    }

    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> ClustersLearner {
        ClustersLearner::new(shape, pdgd, self.n_clusters, self.memory as f32)
    }
}

/// As clusters, but client c is in group c modulo their number, and knows it: what clusters could be at best, where
/// intents are dealt out in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownGroups {
    /// How many groups.
    pub n_groups: usize,
}

impl PersonalMethod for KnownGroups {
    type Learner = ClustersLearner;

    fn example() -> Self {
        Self { n_groups: 2 }
    }

    fn check(&self) -> Result<(), ParameterError> {
        check_number("n_groups", self.n_groups)
    }

    fn destination(&self) -> Destination {
        Destination::Cluster
    }

    fn n_clusters(&self) -> usize {
        self.n_groups
    }

    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> ClustersLearner {
        ClustersLearner { is_known: true, ..ClustersLearner::new(shape, pdgd, self.n_groups, 0.0) }
    }
}

fn check_number(name: &'static str, n: usize) -> Result<(), ParameterError> {
    require(name, n as f64, (2..=MAX_CLUSTERS).contains(&n), "2 to 64")
}

/// Which of several models explains a client's clicks best.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    memory: f32,
    rankers: Vec<Ranker>,
    /// Log-likelihood of the client's clicks by model, older ones counting less.
    evidence: Vec<f32>,
    preferences: Preferences,
    shown: Shown,
}

impl Choice {
    pub(super) fn new(shape: Shape, n_clusters: usize, memory: f32) -> Self {
        Self {
            memory,
            rankers: vec![Ranker::new(shape); n_clusters],
            evidence: vec![0.0; n_clusters],
            preferences: Preferences::default(),
            shown: Shown::new(shape.n_features()),
        }
    }

    /// Writes the state of a client that has seen nothing: it prefers a cluster that it draws.
    pub(super) fn start(&self, private: &mut Stream, evidence: &mut [f32]) {
        evidence.fill(0.0);
        // One good pair outweighs it.
        evidence[private.random_range(0..evidence.len())] = 0.1;
    }

    pub(super) fn n_clusters(&self) -> usize {
        self.rankers.len()
    }

    pub(super) fn enter(&mut self, evidence: &[f32]) {
        self.evidence.copy_from_slice(evidence);
    }

    pub(super) fn load(&mut self, cluster: usize, params: &[f32]) {
        self.rankers[cluster].load(params);
    }

    pub(super) fn leave(&self, evidence: &mut [f32]) {
        evidence.copy_from_slice(&self.evidence);
    }

    /// Weighs the clicks on a list that `pdgd` made and has not learnt from yet.
    pub(super) fn weigh(&mut self, pdgd: &mut Pdgd, impression: &Impression<'_>) {
        pdgd.preferences(impression.ranking, impression.clicks, &mut self.preferences);
        if self.preferences.is_empty() {
            return;
        }
        self.shown.copy(impression);
        for (ranker, evidence) in self.rankers.iter_mut().zip(&mut self.evidence) {
            let scores: [f32; MAX_SHOWN] = self.shown.scores(ranker);
            *evidence = self.memory * *evidence + self.preferences.log_likelihood(&scores);
        }
    }
}

/// State: the evidence for each cluster.
#[derive(Clone, Debug)]
pub struct ClustersLearner {
    shape: Shape,
    pdgd: Pdgd,
    choice: Choice,
    /// Whether a client knows its cluster, and stays there.
    is_known: bool,
    chosen: usize,
    start: Params,
}

impl ClustersLearner {
    fn new(shape: Shape, pdgd: PdgdSettings, n_clusters: usize, memory: f32) -> Self {
        let choice = Choice::new(shape, n_clusters, memory);
        let start = vec![0.0; shape.n_params()];
        Self { shape, pdgd: Pdgd::new(shape, pdgd), choice, is_known: false, chosen: 0, start }
    }
}

impl OnlineLearner for ClustersLearner {
    fn begin(&mut self, _global: &[f32], public: &mut Stream) {
        self.pdgd.begin(&self.start, public);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking) {
        self.pdgd.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        if !self.is_known {
            self.choice.weigh(&mut self.pdgd, impression);
        }
        self.pdgd.observe(impression);
    }

    fn finish(&mut self) -> Update<'_> {
        self.pdgd.finish()
    }

    fn state_len(&self) -> usize {
        self.choice.evidence.len()
    }

    fn start(&self, client: u32, _initial: &[f32], private: &mut Stream, state: &mut [f32]) {
        if self.is_known {
            state.fill(0.0);
            state[client as usize % self.choice.n_clusters()] = 1.0;
        } else {
            self.choice.start(private, state);
        }
    }

    fn enter(&mut self, models: Models<'_>, state: &[f32]) {
        self.choice.enter(state);
        models.clusters.iter().enumerate().for_each(|(cluster, params)| self.choice.load(cluster, params));
        self.chosen = best(state);
        self.start.copy_from_slice(&models.clusters[self.chosen]);
    }

    fn leave(&mut self, state: &mut [f32]) -> Option<usize> {
        self.choice.leave(state);
        Some(self.chosen)
    }

    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> Option<OwnRanker> {
        Some(OwnRanker { shape: self.shape, params: models.clusters[best(state)].clone() })
    }
}
