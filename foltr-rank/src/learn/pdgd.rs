//! PDGD: pairwise differentiable gradient descent, one client's side of FPDGD.
//!
//! `OdR18` Oosterhuis, de Rijke: *Differentiable Unbiased Online Learning to Rank*, CIKM 2018, Algorithm 1;
//! `WLZZ21` Wang, Liu, Zhuang, Zuccon: *Effective and Privacy-preserving Federated Online Learning to Rank*, ICTIR
//! 2021, Algorithms 1 and 2; spec sections 6 to 9.
//!
//! Deviation: the result is sent as a step (local minus global) instead of a whole model: the same average, with
//! more digits.
//!
//! `max_displacement` is foltr's own: lists are drawn by [`BoundedSampler`], whose propensities weigh the pairs.

mod bounded_list;
mod list_mass;
pub mod pair_weights;
mod preferences;

use rand::Rng;
use serde::{Deserialize, Serialize};

pub use self::bounded_list::BoundedList;
pub(crate) use self::bounded_list::Sums;
pub use self::list_mass::ListMass;
use self::pair_weights::unclicked_considered;
pub use self::preferences::Preferences;
use super::{LearnerParameters, Learning, Lesson, OnlineLearner, Scheme, Update};
use crate::bytes::{BytesError, Reader, Writer};
use crate::parameter::{ParameterError, problems, require};
use crate::params::{Shape, clip_to_radius};
use crate::plackett_luce::{BoundedSampler, ListSampler, MAX_DISPLACEMENT};
use crate::query::{Impression, MAX_SHOWN, QueryView, Ranking};
use crate::ranker::Ranker;
use crate::select::ScoreBuffer;

/// When a client's model moves within a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Updates {
    /// After every interaction: the next list comes from the moved model (spec section 8).
    Immediate,
    /// Gradients are summed on frozen weights and applied once, at the end.
    Accumulated,
}

/// FPDGD as files name it: every client learns by PDGD, the server averages (spec sections 6 and 8).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PdgdParameters {
    /// Of the client's steps.
    pub learning_rate: f64,
    /// When a client steps.
    pub updates: Updates,
    /// mu of FedProx: how strongly every step is pulled back to the global model (spec section 11); 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proximal: Option<f64>,
    /// No document is shown further than so many places from its rank by score; no bound when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_displacement: Option<usize>,
}

impl LearnerParameters for PdgdParameters {
    const SCHEME: Scheme = Scheme::Federated;

    fn check(&self) -> Vec<ParameterError> {
        let proximal = self.proximal.unwrap_or(0.0);
        problems([
            require("learning_rate", self.learning_rate, self.learning_rate > 0.0, "a positive number"),
            require("proximal", proximal, proximal >= 0.0, "0 (no pull) or a positive number"),
            check_displacement(self.max_displacement),
        ])
    }

    fn client(&self, n_shown: usize, _n_interactions: usize, clip_radius: Option<f32>) -> Option<Learning> {
        Some(Learning::Pdgd(PdgdSettings {
            learning_rate: self.learning_rate as f32,
            updates: self.updates,
            n_shown,
            clip_radius,
            proximal: self.proximal.unwrap_or(0.0) as f32,
            max_displacement: self.max_displacement,
        }))
    }
}

/// 0 would be a ranking without exploration, from which nothing is learnt: no two documents can be exchanged.
pub(crate) fn check_displacement(max_displacement: Option<usize>) -> Result<(), ParameterError> {
    let displacement = max_displacement.unwrap_or(1);
    let right = "1 to 100 (0 explores nothing and learns nothing), or left out for no bound";
    require("max_displacement", displacement as f64, (1..=MAX_DISPLACEMENT).contains(&displacement), right)
}

/// PDGD's settings on the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PdgdSettings {
    /// eta of spec section 6.3.
    pub learning_rate: f32,
    pub updates: Updates,
    pub n_shown: usize,
    /// Longest model allowed: clipped after every local step, also after one with a zero gradient (spec section 9).
    pub clip_radius: Option<f32>,
    /// mu of FedProx: how strongly every local step is pulled back to the round's global model (spec section 11);
    /// 0 for none. Without effect on accumulated updates, whose weights stay at the global model.
    pub proximal: f32,
    /// No document is shown further than so many places from its rank by score; none for no bound.
    pub max_displacement: Option<usize>,
}

/// One client's PDGD learner.
///
/// ```
/// use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
/// use foltr_rank::rng::{Purpose, Streams};
/// use foltr_rank::{Candidates, Clicks, Impression, OnlineLearner, Ranking, Shape, Update};
///
/// let settings = PdgdSettings {
///     learning_rate: 0.1,
///     updates: Updates::Immediate,
///     n_shown: 2,
///     clip_radius: None,
///     proximal: 0.0,
///     max_displacement: None,
/// };
/// let mut learner = Pdgd::new(Shape::Linear { n_features: 2 }, settings);
/// let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0);
/// learner.begin(&[0.0, 0.0], &mut random);
/// let (query, mut ranking) = (Candidates::new(&[1.0, 0.0, 0.0, 1.0], 2)?, Ranking::default());
/// learner.rank(query.view(), &mut random, &mut ranking);
/// // Learns at once; `Session` learns from lists that stay open.
/// learner.observe(&Impression::new(query.view(), &ranking, Clicks(0b10)));
/// let Update::Step { delta, n_interactions: 1 } = learner.finish() else { panic!("PDGD makes steps") };
/// let clicked = ranking.docs()[1] as usize;
/// assert!(delta[clicked] > 0.0 && delta[1 - clicked] < 0.0);
/// # Ok::<(), foltr_rank::QueryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pdgd {
    settings: PdgdSettings,
    ranker: Ranker,
    global: Vec<f32>,
    /// The sum of gradients (accumulated), then local minus global.
    delta: Vec<f32>,
    /// The local model before a step, for the proximal term.
    before: Vec<f32>,
    scores: ScoreBuffer,
    exponentials: Vec<f64>,
    /// Of the shown documents, by position.
    weights: [f32; MAX_SHOWN],
    sampler: ListSampler,
    /// In place of the sampler, where displacement is bounded.
    bounded: Option<BoundedSampler>,
    bounded_list: BoundedList,
    sums: Sums,
    n_interactions: u32,
}

impl Pdgd {
    /// A learner for rankers of this shape. Begin a round before use.
    ///
    /// # Panics
    /// With a displacement above [`MAX_DISPLACEMENT`]; and [`OnlineLearner::rank`] panics with lists longer than [`MAX_SHOWN`].
    /// [`Session`](crate::Session) refuses such settings.
    pub fn new(shape: Shape, settings: PdgdSettings) -> Self {
        Self {
            settings,
            ranker: Ranker::new(shape),
            global: vec![0.0; shape.n_params()],
            delta: vec![0.0; shape.n_params()],
            before: vec![0.0; shape.n_params()],
            scores: ScoreBuffer::default(),
            exponentials: Vec::new(),
            weights: [0.0; MAX_SHOWN],
            sampler: ListSampler::default(),
            bounded: settings.max_displacement.map(BoundedSampler::new),
            bounded_list: BoundedList::new(),
            sums: Sums::default(),
            n_interactions: 0,
        }
    }

    /// Starts a round at another model than the global one, to which the proximal term pulls and from which the update
    /// is counted. Only for immediate updates: accumulated ones are counted from where the round starts.
    pub fn begin_from(&mut self, start: &[f32], global: &[f32]) {
        self.global.copy_from_slice(global);
        self.ranker.load(start);
        self.n_interactions = 0;
        if self.settings.updates == Updates::Accumulated {
            self.delta.fill(0.0);
        }
    }

    /// What the clicks on a list say about its documents, with rho of the model that ranked it. To be asked before
    /// [`OnlineLearner::observe`] moves that model.
    pub fn preferences(&mut self, impression: &Impression<'_>, preferences: &mut Preferences) {
        let Impression { ranking, clicks, lesson, .. } = *impression;
        preferences.clear();
        if unclicked_considered(clicks, ranking.len()) == 0 {
            return;
        }
        match (lesson, &self.bounded) {
            (Some(Lesson::Pairs(mass)), _) => mass.add_preferences(clicks, preferences),
            (Some(Lesson::BoundedPairs(list)), _) => list.add_preferences(&mut self.sums, clicks, preferences),
            (_, Some(sampler)) => {
                self.bounded_list.fill(sampler, ranking);
                self.bounded_list.add_preferences(&mut self.sums, clicks, preferences);
            }
            (_, None) => list_mass::add_preferences(&self.scores, &mut self.exponentials, ranking, clicks, preferences),
        }
    }

    /// Changes the learning rate of the steps to come.
    pub const fn set_learning_rate(&mut self, learning_rate: f32) {
        self.settings.learning_rate = learning_rate;
    }

    /// Writes the local model as it is now.
    pub fn local_params(&self, params: &mut [f32]) {
        self.ranker.store(params);
    }

    /// Sets the weight of each shown document times the rate, by position, and sees to it that the ranker's hidden units
    /// are those of the documents.
    #[inline]
    fn set_position_weights(&mut self, impression: &Impression<'_>) {
        let Impression { query, ranking, clicks, lesson } = *impression;
        let (rate, weights) = (self.settings.learning_rate, &mut self.weights);
        match (lesson, &self.bounded) {
            (Some(Lesson::Pairs(mass)), _) => {
                mass.position_weights(clicks, rate, weights);
                self.ranker.score(query, self.scores.reset(query.n_docs()));
            }
            (Some(Lesson::BoundedPairs(list)), _) => {
                list.position_weights(&mut self.sums, clicks, rate, weights);
                self.ranker.score(query, self.scores.reset(query.n_docs()));
            }
            (_, Some(sampler)) => {
                self.bounded_list.fill(sampler, ranking);
                self.bounded_list.position_weights(&mut self.sums, clicks, rate, weights);
            }
            (_, None) => {
                list_mass::position_weights(&self.scores, &mut self.exponentials, (ranking, clicks), rate, weights);
            }
        }
    }

    /// theta -= eta mu (theta_before - theta_global): the rest of a FedProx step (`LSZSTS20` Li, Sahu, Zaheer, Sanjabi,
    /// Talwalkar, Smith: *Federated Optimization in Heterogeneous Networks*, MLSys 2020, Eq. 2, for ascent).
    fn pull_back(&mut self) {
        self.ranker.store(&mut self.delta);
        let strength = self.settings.learning_rate * self.settings.proximal;
        for ((param, before), global) in self.delta.iter_mut().zip(&self.before).zip(&self.global) {
            *param -= strength * (before - global);
        }
        self.ranker.load(&self.delta);
    }

    fn clip(&mut self) {
        if let Some(radius) = self.settings.clip_radius {
            self.ranker.store(&mut self.delta);
            if clip_to_radius(&mut self.delta, radius) {
                self.ranker.load(&self.delta);
            }
        }
    }
}

impl OnlineLearner for Pdgd {
    fn begin(&mut self, global: &[f32], _public: &mut dyn Rng) {
        self.begin_from(global, global);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut dyn Rng, ranking: &mut Ranking) {
        self.ranker.score(query, self.scores.reset(query.n_docs()));
        let (n_shown, prefetch) = (self.settings.n_shown, |stage| query.prefetch(stage));
        match &mut self.bounded {
            None => self.sampler.sample(&self.scores, n_shown, private, ranking, prefetch),
            Some(sampler) => sampler.sample(&mut self.scores, n_shown, private, ranking, prefetch),
        }
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.n_interactions = self.n_interactions.saturating_add(1);
        let Impression { query, ranking, clicks, .. } = *impression;
        let immediate = self.settings.updates == Updates::Immediate;
        let proximal = immediate && self.settings.proximal != 0.0;
        if proximal {
            self.ranker.store(&mut self.before);
        }
        if unclicked_considered(clicks, ranking.len()) != 0 {
            self.set_position_weights(impression);
            let weights = &self.weights[..ranking.len()];
            query.prefetch(6);
            if immediate {
                self.ranker.ascend(query, ranking.docs(), weights);
            } else {
                self.ranker.add_score_gradient(query, ranking.docs(), weights, &mut self.delta);
            }
        }
        if proximal {
            self.pull_back();
        }
        if immediate {
            self.clip();
        }
        query.prefetch(7);
    }

    fn finish(&mut self) -> Update<'_> {
        if self.settings.updates == Updates::Accumulated && self.settings.clip_radius.is_some() {
            self.delta.iter_mut().zip(&self.global).for_each(|(delta, global)| *delta += global);
            self.ranker.load(&self.delta);
            self.clip();
        }
        if self.settings.updates == Updates::Immediate || self.settings.clip_radius.is_some() {
            self.ranker.store(&mut self.delta);
            self.delta.iter_mut().zip(&self.global).for_each(|(delta, global)| *delta -= global);
        }
        Update::Step { delta: &self.delta, n_interactions: self.n_interactions }
    }

    fn lesson(&mut self, ranking: &Ranking) -> Option<Lesson> {
        if !self.scores.is_finite() {
            return None;
        }
        Some(match &self.bounded {
            None => Lesson::Pairs(ListMass::new(&self.scores, &mut self.exponentials, ranking)),
            Some(sampler) => {
                self.bounded_list.fill(sampler, ranking);
                Lesson::BoundedPairs(self.bounded_list.clone())
            }
        })
    }

    fn n_interactions(&self) -> u32 {
        self.n_interactions
    }

    fn save(&self, out: &mut Writer) {
        out.u32(self.n_interactions).f32s(&self.global);
        self.ranker.write(out);
        if self.settings.updates == Updates::Accumulated {
            out.f32s(&self.delta);
        }
    }

    fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        self.n_interactions = input.u32()?;
        input.fill_f32s(&mut self.global)?;
        self.ranker.read(input)?;
        if self.settings.updates == Updates::Accumulated {
            input.fill_f32s(&mut self.delta)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Clicks;

    fn learner(proximal: f32) -> Pdgd {
        let settings = PdgdSettings {
            learning_rate: 0.1,
            updates: Updates::Immediate,
            n_shown: 2,
            clip_radius: None,
            proximal,
            max_displacement: None,
        };
        Pdgd::new(Shape::Linear { n_features: 2 }, settings)
    }

    /// A damaged file says that a round has seen 2^32 - 1 lists. The next one wrapped around, or ended the program.
    #[test]
    fn a_count_at_its_end_stays_there() {
        let mut learner = learner(0.0);
        learner.n_interactions = u32::MAX;
        let rows = crate::query::pad_rows(&[1.0, 0.0], 2);
        let ranking = Ranking::of_positions(1);
        learner.observe(&Impression::new(QueryView::new(&rows, 2), &ranking, Clicks::default()));
        assert!(matches!(learner.finish(), Update::Step { n_interactions: u32::MAX, .. }));
    }

    #[test]
    fn a_proximal_step_by_hand() {
        // Spec section 11: theta (.5, -.2), theta_t (.4, 0), g (1, 2), mu .1, eta .1.
        let mut learner = learner(0.1);
        learner.global.copy_from_slice(&[0.4, 0.0]);
        learner.before.copy_from_slice(&[0.5, -0.2]);
        learner.ranker.load(&[0.5 + 0.1 * 1.0, -0.2 + 0.1 * 2.0]);
        learner.pull_back();
        let mut after = [0.0; 2];
        learner.local_params(&mut after);
        assert!((after[0] - 0.599).abs() < 1e-6 && (after[1] - 0.002).abs() < 1e-6, "{after:?}");
    }

    #[test]
    fn the_pull_is_felt_in_every_interaction_but_the_first() {
        let mut stream = crate::rng::Streams::new(1).open(crate::rng::Purpose::Interaction, 0, 0);
        let rows = crate::query::pad_rows(&[1.0, 0.0, 0.0, 1.0], 2);
        let query = QueryView::new(&rows, 2);
        let mut learner = learner(10.0);
        learner.begin(&[0.3, 0.3], &mut stream);
        let (mut ranking, mut seen) = (Ranking::default(), Vec::new());
        for clicked in [true, false] {
            learner.rank(query, &mut stream, &mut ranking);
            let mut clicks = Clicks::default();
            if clicked {
                clicks.click(1);
            }
            learner.observe(&Impression::new(query, &ranking, clicks));
            let mut params = [0.0; 2];
            learner.local_params(&mut params);
            seen.push(params);
        }
        assert_ne!(seen[0], [0.3, 0.3], "the first step is PDGD's own");
        // eta mu = 1: an interaction without a gradient brings the model right back.
        assert!(seen[1].iter().all(|param| (param - 0.3).abs() < 1e-6), "{seen:?}");
    }
}
