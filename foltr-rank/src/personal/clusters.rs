//! Clusters: several shared models; a device ranks with, and helps, the one that explains its own clicks best (IFCA).
//!
//! `GCYR20` Ghosh, Chung, Yin, Ramchandran: *An Efficient Framework for Clustered Federated Learning*, NeurIPS 2020,
//! Algorithm 1.
//!
//! Deviations: the loss of a model is minus the likelihood that it gave to the preferences in the client's clicks *before*
//! anybody had learnt from them, a running sum in which older interactions count less: a device keeps a number for each
//! cluster, and no clicks. A device begins in a cluster that it draws, since the models begin equal.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::shown::Shown;
use super::{Destination, MAX_CLUSTERS, PersonalMethod, best, check_memory};
use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::pdgd::{Pdgd, PdgdSettings, Preferences};
use crate::learn::{Models, OnlineLearner, OwnRanker};
use crate::parameter::{ParameterError, require};
use crate::params::{Params, Shape};
use crate::query::{Impression, MAX_SHOWN};
use crate::ranker::Ranker;

/// Several shared models; each device helps the one that explains its own clicks best. State: the evidence for each.
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
    type Scratch = Choice;

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

    fn scratch(&self, shape: Shape, _settings: PdgdSettings) -> Choice {
        Choice::new(shape, self.n_clusters, self.memory as f32)
    }

    fn state_len(&self, _shape: Shape) -> usize {
        self.n_clusters
    }

    fn start(&self, _client: u32, _initial: &[f32], private: &mut dyn Rng, state: &mut [f32]) {
        prefer_any(private, state);
    }

    fn begin(&self, pdgd: &mut Pdgd, choice: &mut Choice, models: Models<'_>, state: &[f32]) {
        choice.enter(models.clusters.iter(), state);
        let start = &models.clusters[choice.chosen];
        pdgd.begin_from(start, start);
    }

    fn observe(&self, pdgd: &mut Pdgd, choice: &mut Choice, impression: &Impression<'_>) {
        choice.weigh(pdgd, impression);
        pdgd.observe(impression);
    }

    fn leave(&self, _pdgd: &Pdgd, choice: &mut Choice, state: &mut [f32]) -> Option<usize> {
        choice.leave(state)
    }

    fn save(&self, choice: &Choice, out: &mut Writer) {
        choice.save(out);
    }

    fn restore(&self, choice: &mut Choice, input: &mut Reader<'_>) -> Result<(), BytesError> {
        choice.restore(input)
    }

    fn own_ranker(&self, shape: Shape, models: Models<'_>, state: &[f32]) -> OwnRanker {
        OwnRanker { shape, params: models.clusters[best(state)].clone() }
    }
}

/// As clusters, but client c is in group c modulo their number, and knows it: what clusters could be at best, where
/// intents are dealt out in the same way. State: 1 for its group, 0 for the others.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownGroups {
    /// How many groups.
    pub n_groups: usize,
}

impl PersonalMethod for KnownGroups {
    /// The group of the round's client.
    type Scratch = usize;

    fn check(&self) -> Result<(), ParameterError> {
        check_number("n_groups", self.n_groups)
    }

    fn destination(&self) -> Destination {
        Destination::Cluster
    }

    fn n_clusters(&self) -> usize {
        self.n_groups
    }

    fn scratch(&self, _shape: Shape, _settings: PdgdSettings) -> usize {
        0
    }

    fn state_len(&self, _shape: Shape) -> usize {
        self.n_groups
    }

    fn start(&self, client: u32, _initial: &[f32], _private: &mut dyn Rng, state: &mut [f32]) {
        state.fill(0.0);
        state[client as usize % self.n_groups] = 1.0;
    }

    fn begin(&self, pdgd: &mut Pdgd, group: &mut usize, models: Models<'_>, state: &[f32]) {
        *group = best(state);
        pdgd.begin_from(&models.clusters[*group], &models.clusters[*group]);
    }

    fn leave(&self, _pdgd: &Pdgd, group: &mut usize, _state: &mut [f32]) -> Option<usize> {
        Some(*group)
    }

    fn save(&self, group: &usize, out: &mut Writer) {
        out.len(*group);
    }

    fn restore(&self, group: &mut usize, input: &mut Reader<'_>) -> Result<(), BytesError> {
        *group = read_index(self.n_groups, input)?;
        Ok(())
    }

    fn own_ranker(&self, shape: Shape, models: Models<'_>, state: &[f32]) -> OwnRanker {
        OwnRanker { shape, params: models.clusters[best(state)].clone() }
    }
}

fn check_number(name: &'static str, n: usize) -> Result<(), ParameterError> {
    require(name, n as f64, (2..=MAX_CLUSTERS).contains(&n), "2 to 64")
}

fn read_index(n: usize, input: &mut Reader<'_>) -> Result<usize, BytesError> {
    let index = usize::try_from(input.u64()?).unwrap_or(usize::MAX);
    input.require(index < n, "a cluster that is not there")?;
    Ok(index)
}

/// The evidence of a client that has seen nothing: it prefers a cluster that it draws.
pub(super) fn prefer_any(private: &mut dyn Rng, evidence: &mut [f32]) {
    evidence.fill(0.0);
    // One good pair outweighs it.
    evidence[private.random_range(0..evidence.len())] = 0.1;
}

/// Which of several models explains a client's clicks best.
#[derive(Clone, Debug)]
pub struct Choice {
    memory: f32,
    pub(super) chosen: usize,
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
            chosen: 0,
            rankers: vec![Ranker::new(shape); n_clusters],
            evidence: vec![0.0; n_clusters],
            preferences: Preferences::default(),
            shown: Shown::new(shape.n_features()),
        }
    }

    /// Takes the models and the evidence that the round begins with.
    pub(super) fn enter<'a>(&mut self, models: impl Iterator<Item = &'a Params>, evidence: &[f32]) {
        self.evidence.copy_from_slice(evidence);
        self.chosen = best(evidence);
        self.rankers.iter_mut().zip(models).for_each(|(ranker, params)| ranker.load(params));
    }

    pub(super) fn leave(&self, evidence: &mut [f32]) -> Option<usize> {
        evidence.copy_from_slice(&self.evidence);
        Some(self.chosen)
    }

    pub(super) fn save(&self, out: &mut Writer) {
        out.len(self.chosen).f32s(&self.evidence);
        self.rankers.iter().for_each(|ranker| ranker.write(out));
    }

    pub(super) fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        self.chosen = read_index(self.rankers.len(), input)?;
        input.fill_f32s(&mut self.evidence)?;
        self.rankers.iter_mut().try_for_each(|ranker| ranker.read(input))
    }

    /// Weighs the clicks on a list that `pdgd` made and has not learnt from yet.
    pub(super) fn weigh(&mut self, pdgd: &mut Pdgd, impression: &Impression<'_>) {
        pdgd.preferences(impression, &mut self.preferences);
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
