//! PairRank: a pairwise logistic ranker that only shuffles documents whose order it is not yet certain of.
//!
//! `JWGW21` Jia, Wang, Guo, Wang: *PairRank: Online Pairwise Learning to Rank by Divide-and-Conquer*, WWW 2021, Algorithm 1.
//! P(i before j) = sigma(theta . (x_i - x_j)). With M = lambda I + the information of all pairs seen, the order of two documents is
//! certain if sigma(theta . x) - alpha |x|_(M^-1) > 1/2 for their difference x. Blocks of uncertain documents are shown
//! in certain order, and each of them shuffled. Only pairs within a block teach, so that no position is favoured, and each
//! document is in one of them, so that they are independent.
//!
//! What the clients of a federation share are sums over pairs. The server adds them and does nothing else: its parameters are
//! the statistics ([`statistics`]), and the ranker follows from them.
//!
//! Deviation: the paper fits theta anew to all pairs so far. Here every pair counts with the gradient that it has at the round's
//! theta and with the largest curvature that a logistic pair can have, 1/4 x x^T (`BL88` Böhning, Lindsay: *Monotonicity of
//! Quadratic-Approximation Algorithms*, Annals of the Institute of Statistical Mathematics 40, 1988): one online Newton
//! step a round, whose terms add up over clients. alpha is constant, as in the paper's experiments.

mod blocks;
pub mod statistics;

use rand::Rng;
use serde::{Deserialize, Serialize};

use self::blocks::Blocks;
use self::statistics::{Fitted, Sums};
use super::pdgd::pair_weights::unclicked_considered;
use super::{LearnerParameters, Learning, Lesson, OnlineLearner, Scheme, Update};
use crate::bytes::{BytesError, Reader, Writer};
use crate::parameter::{ParameterError, problems, require};
use crate::params::Shape;
use crate::query::{Impression, PREFETCH_PARTS, QueryView, Ranking};

/// PairRank as files name it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairRankParameters {
    /// alpha: how many standard errors an order must be beyond chance to be certain.
    pub exploration: f64,
    /// lambda: what the information about every direction begins with.
    pub ridge: f64,
}

impl LearnerParameters for PairRankParameters {
    const SCHEME: Scheme = Scheme::Federated;

    fn check(&self) -> Vec<ParameterError> {
        problems([
            require("exploration", self.exploration, self.exploration >= 0.0, "0 (never shuffle) or a positive number"),
            require("ridge", self.ridge, self.ridge > 0.0, "a positive number"),
        ])
    }

    fn client(&self, n_shown: usize, _n_interactions: usize, _clip_radius: Option<f32>) -> Option<Learning> {
        Some(Learning::PairRank(PairRankSettings { exploration: self.exploration, n_shown }))
    }
}

/// PairRank's settings on the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairRankSettings {
    pub exploration: f64,
    pub n_shown: usize,
}

/// One client's PairRank learner. Its global parameters are [`statistics`], and its step is what it adds to them.
#[derive(Clone, Debug)]
pub struct PairRank {
    settings: PairRankSettings,
    fitted: Fitted,
    sums: Sums,
    /// The sums of the finished round.
    delta: Vec<f32>,
    blocks: Blocks,
    /// Of two documents.
    difference: Vec<f64>,
    n_interactions: u32,
}

impl PairRank {
    /// A learner whose parameters are statistics. Begin a round before use.
    ///
    /// # Panics
    /// If the shape is not as long as [statistics](statistics::n_statistics) of any number of features.
    pub fn new(shape: Shape, settings: PairRankSettings) -> Self {
        let n_features = statistics::n_features(shape.n_params()).expect("a learner of statistics");
        Self {
            settings,
            fitted: Fitted::new(n_features),
            sums: Sums::new(n_features),
            delta: vec![0.0; shape.n_params()],
            blocks: Blocks::default(),
            difference: vec![0.0; n_features],
            n_interactions: 0,
        }
    }

    fn learn_pair(&mut self, query: QueryView<'_>, preferred: u32, other: u32) {
        let (preferred, other) = (query.row(preferred as usize), query.row(other as usize));
        for (difference, (a, b)) in self.difference.iter_mut().zip(preferred.iter().zip(other)) {
            *difference = f64::from(*a) - f64::from(*b);
        }
        self.sums.add(&self.fitted, &self.difference);
    }
}

impl OnlineLearner for PairRank {
    fn begin(&mut self, global: &[f32], _public: &mut dyn Rng) {
        self.fitted.fit(global);
        self.sums.clear();
        self.n_interactions = 0;
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut dyn Rng, ranking: &mut Ranking) {
        let shown = ranking.resize(self.settings.n_shown.min(query.n_docs()));
        self.blocks.fill(&mut self.fitted, self.settings.exploration, query, private, shown);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.n_interactions = self.n_interactions.saturating_add(1);
        let Impression { query, ranking, clicks, .. } = *impression;
        let docs = ranking.docs();
        let mut free = unclicked_considered(clicks, docs.len());
        for clicked in (0..docs.len()).filter(|&position| clicks.at(position)) {
            let is_partner = |&other: &usize| free >> other & 1 == 1 && self.blocks.are_together(clicked, other);
            if let Some(other) = (0..docs.len()).find(is_partner) {
                free &= !(1 << other);
                self.learn_pair(query, docs[clicked], docs[other]);
            }
        }
        (0..PREFETCH_PARTS).for_each(|part| query.prefetch(part));
    }

    fn finish(&mut self) -> Update<'_> {
        self.sums.write(&mut self.delta);
        Update::Step { delta: &self.delta, n_interactions: self.n_interactions }
    }

    /// No device learns by PairRank, so that no list stays open.
    fn lesson(&mut self, _ranking: &Ranking) -> Option<Lesson> {
        None
    }

    fn n_interactions(&self) -> u32 {
        self.n_interactions
    }

    /// A session refuses PairRank.
    fn save(&self, _out: &mut Writer) {}

    fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        Err(input.wrong("a round of PairRank, which is for simulations"))
    }
}

#[cfg(test)]
mod tests;
