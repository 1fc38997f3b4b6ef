//! PDGD: pairwise differentiable gradient descent, one client's side of FPDGD.
//!
//! `OdR18` Oosterhuis, de Rijke: *Differentiable Unbiased Online Learning to Rank*, CIKM 2018, Algorithm 1;
//! `WLZZ21` Wang, Liu, Zhuang, Zuccon: *Effective and Privacy-preserving Federated Online Learning to Rank*, ICTIR
//! 2021, Algorithms 1 and 2; spec sections 6 to 9.
//!
//! Deviation: the result is sent as a step (local minus global) instead of a whole model: the same average, with
//! more digits.

pub mod pair_weights;
mod preferences;

use rand::Rng;
use serde::{Deserialize, Serialize};

use self::pair_weights::{for_each_pair, for_each_pair_log, pair_weights, pair_weights_log, unclicked_considered};
pub use self::preferences::Preferences;
use super::{LearnerParameters, Learning, OnlineLearner, Scheme, Update};
use crate::elementary::{exp_parts, ln_double, scale};
use crate::parameter::{ParameterError, problems, require};
use crate::params::{Shape, clip_to_radius};
use crate::plackett_luce::{ListSampler, maximum};
use crate::query::{Clicks, Impression, LANES, MAX_SHOWN, QueryView, Ranking, SHORT_LIST};
use crate::ranker::Ranker;
use crate::select::ScoreBuffer;
use crate::simd::two_widths;

/// Scores that spread further than this are weighed in log space: beyond e^-700 a double has no normal numbers.
const LINEAR_RANGE: f32 = 600.0;

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
}

impl LearnerParameters for PdgdParameters {
    const SCHEME: Scheme = Scheme::Federated;

    fn check(&self) -> Vec<ParameterError> {
        let proximal = self.proximal.unwrap_or(0.0);
        problems([
            require("learning_rate", self.learning_rate, self.learning_rate > 0.0, "a positive number"),
            require("proximal", proximal, proximal >= 0.0, "0 (no pull) or a positive number"),
        ])
    }

    fn client(&self, n_shown: usize, _n_interactions: usize, clip_radius: Option<f32>) -> Option<Learning> {
        Some(Learning::Pdgd(PdgdSettings {
            learning_rate: self.learning_rate as f32,
            updates: self.updates,
            n_shown,
            clip_radius,
            proximal: self.proximal.unwrap_or(0.0) as f32,
        }))
    }
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
}

/// One client's PDGD learner.
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
    n_interactions: u32,
}

impl Pdgd {
    /// A learner for rankers of this shape. Begin a round before use.
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

    /// What the clicks on the list ranked last say about its documents, with rho of the model that ranked it. To be
    /// asked before [`OnlineLearner::observe`] moves that model.
    pub fn preferences(&mut self, ranking: &Ranking, clicks: Clicks, preferences: &mut Preferences) {
        preferences.clear();
        if unclicked_considered(clicks, ranking.len()) == 0 {
            return;
        }
        let n_padded = self.scores.padded().len();
        self.exponentials.resize(n_padded.max(self.exponentials.len()), 0.0);
        let exponentials = &mut self.exponentials[..n_padded];
        if !prefer(self.scores.padded(), exponentials, ranking, clicks, preferences) {
            let (shown, hidden) = shown_and_hidden_log(self.scores.padded(), exponentials, ranking);
            let considered = unclicked_considered(clicks, ranking.len());
            for_each_pair_log(
                &shown[..ranking.len()],
                hidden,
                clicks,
                considered,
                |clicked, unclicked, inverse_rho| {
                    preferences.add(clicked, unclicked, 1.0 / inverse_rho);
                },
            );
        }
    }

    /// The scores that drew the list ranked last, by position, and the log-sum-exp of those of all other documents: what
    /// [`ShownList`](crate::adoption::ShownList) needs. To be asked before [`OnlineLearner::observe`].
    pub fn drawn_with(&mut self, ranking: &Ranking) -> ([f64; MAX_SHOWN], f64) {
        let n_padded = self.scores.padded().len();
        self.exponentials.resize(n_padded.max(self.exponentials.len()), 0.0);
        shown_and_hidden_log(self.scores.padded(), &mut self.exponentials[..n_padded], ranking)
    }

    /// Changes the learning rate of the steps to come.
    pub const fn set_learning_rate(&mut self, learning_rate: f32) {
        self.settings.learning_rate = learning_rate;
    }

    /// Writes the local model as it is now.
    pub fn local_params(&self, params: &mut [f32]) {
        self.ranker.store(params);
    }

    /// Sets the weight of each shown document times the rate, by position, from the scores that ranked the list.
    #[inline]
    fn set_position_weights(&mut self, ranking: &Ranking, clicks: Clicks) {
        let n_padded = self.scores.padded().len();
        if self.exponentials.len() < n_padded {
            self.exponentials.resize(n_padded, 0.0);
        }
        let (scores, exponentials) = (self.scores.padded(), &mut self.exponentials[..n_padded]);
        let rate = self.settings.learning_rate;
        if ranking.len() <= SHORT_LIST
            && let Some(weights) = weigh(scores, exponentials, ranking, clicks)
        {
            self.weights[..SHORT_LIST].copy_from_slice(&weights.map(|weight| rate * weight));
            return;
        }
        let long = if ranking.len() > SHORT_LIST { weigh_long(scores, exponentials, ranking, clicks) } else { None };
        let weights = long.unwrap_or_else(|| weigh_in_log_space(scores, exponentials, ranking, clicks));
        self.weights = weights.map(|weight| rate * weight);
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

two_widths! {
    /// Pair weights in linear space; nothing if the scores spread too far for it. Scores come in whole blocks.
    fn weigh(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking, clicks: Clicks) -> Option<[f32; SHORT_LIST]> {
        let (shown, hidden) = shown_and_hidden::<SHORT_LIST>(scores, exponentials, ranking)?;
        Some(pair_weights(&shown[..ranking.len()], hidden, clicks))
    }
}

two_widths! {
    /// [`weigh`] for lists of any length.
    fn weigh_long(
        scores: &[f32],
        exponentials: &mut [f64],
        ranking: &Ranking,
        clicks: Clicks,
    ) -> Option<[f32; MAX_SHOWN]> {
        let (shown, hidden) = shown_and_hidden::<MAX_SHOWN>(scores, exponentials, ranking)?;
        Some(pair_weights(&shown[..ranking.len()], hidden, clicks))
    }
}

two_widths! {
    /// Collects pairs and their rho in linear space; says whether the scores allow that.
    fn prefer(
        scores: &[f32],
        exponentials: &mut [f64],
        ranking: &Ranking,
        clicks: Clicks,
        preferences: &mut Preferences,
    ) -> bool {
        let Some((shown, hidden)) = shown_and_hidden::<MAX_SHOWN>(scores, exponentials, ranking) else { return false };
        let shown = &shown[..ranking.len()];
        let mut add = |clicked: usize, unclicked: usize, inverse_rho: f64| {
            preferences.add(clicked, unclicked, 1.0 / inverse_rho);
        };
        if shown.len() <= SHORT_LIST {
            for_each_pair::<SHORT_LIST>(shown, hidden, clicks, &mut add);
        } else {
            for_each_pair::<MAX_SHOWN>(shown, hidden, clicks, &mut add);
        }
        true
    }
}

/// e^score of every shown document, and the sum over all others; nothing if the scores spread too far for it.
#[inline(always)]
fn shown_and_hidden<const N: usize>(
    scores: &[f32],
    exponentials: &mut [f64],
    ranking: &Ranking,
) -> Option<([f64; N], f64)> {
    let best = maximum(scores);
    if best - minimum(scores) > LINEAR_RANGE {
        return None;
    }
    exponentiate(scores, best, exponentials);
    let mut shown = [0.0; N];
    for (weight, &doc) in shown.iter_mut().zip(ranking.docs()) {
        *weight = std::mem::take(&mut exponentials[doc as usize]);
    }
    // Summed without the shown documents, never subtracted: the rest may be far smaller than the whole.
    Some((shown, sum(exponentials)))
}

/// The sum of whole blocks.
#[inline(always)]
fn sum(exponentials: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for block in exponentials.chunks_exact(LANES) {
        for lane in 0..LANES {
            lanes[lane] += block[lane];
        }
    }
    ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))
}

/// The smallest of the scores, the padding's negative infinity aside.
#[inline(always)]
fn minimum(padded: &[f32]) -> f32 {
    let mut lanes = [f32::INFINITY; LANES];
    for block in padded.chunks_exact(LANES) {
        for lane in 0..LANES {
            let score = if block[lane] == f32::NEG_INFINITY { f32::INFINITY } else { block[lane] };
            lanes[lane] = if score < lanes[lane] { score } else { lanes[lane] };
        }
    }
    lanes.iter().fold(f32::INFINITY, |a, &b| if b < a { b } else { a })
}

/// e^(score - best) for whole blocks. Padding becomes e^-700, which is nothing beside any score in the linear range.
#[inline(always)]
fn exponentiate(scores: &[f32], best: f32, exponentials: &mut [f64]) {
    for (block, out) in scores.chunks_exact(LANES).zip(exponentials.chunks_exact_mut(LANES)) {
        let (mut exponents, mut fractions) = ([0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let below = block[lane] - best;
            let below = if below > -700.0 { below } else { -700.0 };
            (exponents[lane], fractions[lane]) = exp_parts(below);
        }
        for lane in 0..LANES {
            out[lane] = scale(exponents[lane], fractions[lane]);
        }
    }
}

#[cold]
fn weigh_in_log_space(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking, clicks: Clicks) -> [f32; MAX_SHOWN] {
    let (shown, hidden) = shown_and_hidden_log(scores, exponentials, ranking);
    pair_weights_log(&shown[..ranking.len()], hidden, clicks)
}

/// The scores of the shown documents, and the log-sum-exp of all others. Scores come in whole blocks.
fn shown_and_hidden_log(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking) -> ([f64; MAX_SHOWN], f64) {
    let mut shown = [0.0; MAX_SHOWN];
    for (score, &doc) in shown.iter_mut().zip(ranking.docs()) {
        *score = f64::from(scores[doc as usize]);
    }
    (shown, hidden_log(scores, exponentials, ranking))
}

two_widths! {
    /// Relative to the best document that is not shown: what is far below it is nothing beside it. Negative infinity if
    /// everything is shown.
    fn hidden_log(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking) -> f64 {
        exponentials.iter_mut().zip(scores).for_each(|(hidden, &score)| *hidden = f64::from(score));
        for &doc in ranking.docs() {
            exponentials[doc as usize] = f64::NEG_INFINITY;
        }
        let best = maximum_double(exponentials);
        if best == f64::NEG_INFINITY {
            return best;
        }
        for block in exponentials.as_chunks_mut::<LANES>().0 {
            exponentiate_double(block, best);
        }
        best + ln_double(sum(exponentials))
    }
}

/// The largest number, whole blocks at a time.
#[inline(always)]
fn maximum_double(values: &[f64]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for block in values.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            lanes[lane] = if block[lane] > lanes[lane] { block[lane] } else { lanes[lane] };
        }
    }
    lanes.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a })
}

/// e^(value - best), with the digits of single precision.
#[inline(always)]
fn exponentiate_double(block: &mut [f64; LANES], best: f64) {
    let (mut exponents, mut fractions) = ([0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let below = (block[lane] - best) as f32;
        let below = if below > -700.0 { below } else { -700.0 };
        (exponents[lane], fractions[lane]) = exp_parts(below);
    }
    for lane in 0..LANES {
        block[lane] = scale(exponents[lane], fractions[lane]);
    }
}

impl OnlineLearner for Pdgd {
    fn begin(&mut self, global: &[f32], _public: &mut dyn Rng) {
        self.begin_from(global, global);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut dyn Rng, ranking: &mut Ranking) {
        self.ranker.score(query, self.scores.reset(query.n_docs()));
        self.sampler.sample(&self.scores, self.settings.n_shown, private, ranking, |stage| query.prefetch(stage));
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.n_interactions += 1;
        let Impression { query, ranking, clicks } = *impression;
        let immediate = self.settings.updates == Updates::Immediate;
        let proximal = immediate && self.settings.proximal != 0.0;
        if proximal {
            self.ranker.store(&mut self.before);
        }
        if unclicked_considered(clicks, ranking.len()) != 0 {
            self.set_position_weights(ranking, clicks);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learner(proximal: f32) -> Pdgd {
        let settings =
            PdgdSettings { learning_rate: 0.1, updates: Updates::Immediate, n_shown: 2, clip_radius: None, proximal };
        Pdgd::new(Shape::Linear { n_features: 2 }, settings)
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
    fn what_is_hidden_is_summed_at_any_range_of_scores() {
        for spread in [0.0, 3.0, 700.0, 5e4, 1e30] {
            for n_docs in [3, 10, 11, 40, 123] {
                let mut scores = ScoreBuffer::default();
                let values: Vec<f32> =
                    (0..n_docs).map(|doc| ((doc * 37 % 101) as f32 - 50.0) * spread / 50.0).collect();
                scores.reset(n_docs).copy_from_slice(&values);
                let mut ranking = Ranking::default();
                scores.select(10, &mut ranking);
                let mut exponentials = vec![1.0; scores.padded().len()];
                let hidden = hidden_log(scores.padded(), &mut exponentials, &ranking);
                let is_hidden = |doc: &usize| !ranking.docs().contains(&(*doc as u32));
                let add = |sum, doc: usize| pair_weights::log_add_exp(sum, f64::from(values[doc]));
                let want = (0..n_docs).filter(is_hidden).fold(f64::NEG_INFINITY, add);
                assert!(hidden == want || (hidden - want).abs() < 1e-6, "{n_docs}, {spread}: {hidden} is not {want}");
            }
        }
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
