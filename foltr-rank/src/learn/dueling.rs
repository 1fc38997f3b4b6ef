//! DBGD and MGD: rankers at random directions from the model compete with it for clicks, and it moves towards the winners.
//!
//! `YJ09` Yue, Joachims: *Interactively Optimizing Information Retrieval Systems as a Dueling Bandits Problem*, ICML 2009,
//! Algorithm 1 (DBGD): one candidate, w + delta u with u uniform on the unit sphere; if it wins, w moves by gamma u.
//! `SOWR16` Schuth, Oosterhuis, Whiteson, de Rijke: *Multileave Gradient Descent for Fast Online Learning to Rank*, WSDM
//! 2016, Algorithm 2 with the mean of winners (MGD-M): several candidates in one list, and w moves by gamma times the mean of the
//! directions of all that beat the current ranker.
//!
//! A client learns from every list at once and sends its step of the round (local minus global), which the server averages.
//!
//! Deviations: `YJ09` keeps w in a ball, here only where a privacy mechanism asks for one. Directions follow from a number that
//! is drawn for the list, so that a list that stays open remembers that number and not the directions.

mod parameters;

use rand::{Rng, SeedableRng};

pub use parameters::{DbgdParameters, DuelSettings, MgdParameters};

use super::{Lesson, OnlineLearner, Update};
use crate::bytes::{BytesError, Reader, Writer};
use crate::interleave::{Interleaver, Origins};
use crate::normal::fill_standard_normal;
use crate::params::{Shape, clip_to_radius};
use crate::query::{Clicks, Impression, QueryView, Ranking};
use crate::ranker::Ranker;
use crate::rng::Stream;

/// What a list of the model and its candidates remembers until its clicks are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Duel {
    /// Generates the candidates' directions. Private.
    pub(super) seed: u64,
    /// The model is ranker 0, the candidates follow.
    pub(super) origins: Origins,
}

/// One client's DBGD or MGD learner.
///
/// ```
/// use foltr_rank::interleave::Interleaving;
/// use foltr_rank::learn::dueling::{DuelSettings, Dueling};
/// use foltr_rank::rng::{Purpose, Streams};
/// use foltr_rank::{Candidates, Clicks, Impression, OnlineLearner, Ranking, Shape, Update};
///
/// let settings = DuelSettings {
///     learning_rate: 0.1,
///     exploration: 1.0,
///     n_candidates: 1,
///     interleaving: Interleaving::TeamDraft,
///     n_shown: 2,
///     clip_radius: None,
/// };
/// let mut learner = Dueling::new(Shape::Linear { n_features: 2 }, settings);
/// let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0);
/// learner.begin(&[0.0, 0.0], &mut random);
/// let (query, mut ranking) = (Candidates::new(&[1.0, 0.0, 0.0, 1.0], 2)?, Ranking::default());
/// learner.rank(query.view(), &mut random, &mut ranking);
/// learner.observe(&Impression::new(query.view(), &ranking, Clicks(0b01)));
/// let Update::Step { delta, n_interactions: 1 } = learner.finish() else { panic!("DBGD makes steps") };
/// // Either the candidate has won, and the step is as long as the rate, or there is none.
/// let length = delta.iter().map(|x| x * x).sum::<f32>().sqrt();
/// assert!(length == 0.0 || (length - 0.1).abs() < 1e-6);
/// # Ok::<(), foltr_rank::QueryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dueling {
    settings: DuelSettings,
    global: Vec<f32>,
    model: Vec<f32>,
    /// Local minus global, of the finished round.
    delta: Vec<f32>,
    ranker: Ranker,
    candidate: Vec<f32>,
    scores: Vec<f32>,
    interleaver: Interleaver,
    /// Unit vectors, candidate after candidate, of the list with number `duel.seed`.
    directions: Vec<f32>,
    /// Of the list ranked last.
    duel: Duel,
    is_finite: bool,
    n_interactions: u32,
}

impl Dueling {
    /// A learner for rankers of this shape. Begin a round before use.
    ///
    /// # Panics
    /// With more candidates than a list can have rankers; [`DuelSettings::check`] says so before.
    pub fn new(shape: Shape, settings: DuelSettings) -> Self {
        let n_params = shape.n_params();
        Self {
            settings,
            global: vec![0.0; n_params],
            model: vec![0.0; n_params],
            delta: vec![0.0; n_params],
            ranker: Ranker::new(shape),
            candidate: vec![0.0; n_params],
            scores: Vec::new(),
            interleaver: Interleaver::new(settings.interleaving, settings.n_candidates + 1),
            directions: vec![0.0; settings.n_candidates * n_params],
            duel: Duel { seed: 0, origins: Origins::default() },
            is_finite: false,
            n_interactions: 0,
        }
    }

    /// Scores of the model moved by so much along the direction of a candidate.
    fn compete(&mut self, ranker: usize, query: QueryView<'_>) {
        let Self { settings, model, ranker: scorer, candidate, scores, directions, .. } = self;
        if let Some(candidate_idx) = ranker.checked_sub(1) {
            let direction = directions.chunks_exact(model.len()).nth(candidate_idx).expect("one of the candidates");
            for ((moved, param), u) in candidate.iter_mut().zip(&*model).zip(direction) {
                *moved = param + settings.exploration * u;
            }
            scorer.load(candidate);
        } else {
            scorer.load(model);
        }
        scores.resize(query.n_docs(), 0.0);
        scorer.score(query, scores);
        self.is_finite &= self.scores.iter().all(|score| score.is_finite());
        self.interleaver.set_scores(ranker, &self.scores, self.settings.n_shown);
    }

    /// w += gamma * mean of the winners' directions. The directions must be those of the list.
    fn follow_winners(&mut self, origins: &Origins, clicks: Clicks) {
        let Self { settings, model, candidate: mean, directions, .. } = self;
        mean.fill(0.0);
        let mut n_winners = 0;
        for (candidate_idx, direction) in directions.chunks_exact(model.len()).enumerate() {
            if origins.preference(clicks, candidate_idx + 1, 0) > 0.0 {
                n_winners += 1;
                mean.iter_mut().zip(direction).for_each(|(sum, u)| *sum += u);
            }
        }
        if n_winners > 0 {
            let rate = settings.learning_rate / n_winners as f32;
            model.iter_mut().zip(mean).for_each(|(param, sum)| *param += rate * *sum);
        }
    }
}

/// Unit vectors in directions that the number generates: normal numbers have no favourite direction.
fn fill_directions(seed: u64, n_params: usize, directions: &mut [f32]) {
    let mut stream = Stream::seed_from_u64(seed);
    for direction in directions.chunks_exact_mut(n_params) {
        fill_standard_normal(&mut stream, direction);
        let length = direction.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        direction.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}

impl OnlineLearner for Dueling {
    fn begin(&mut self, global: &[f32], _public: &mut dyn Rng) {
        self.global.copy_from_slice(global);
        self.model.copy_from_slice(global);
        self.n_interactions = 0;
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut dyn Rng, ranking: &mut Ranking) {
        self.duel.seed = private.next_u64();
        fill_directions(self.duel.seed, self.model.len(), &mut self.directions);
        self.is_finite = true;
        (0..=self.settings.n_candidates).for_each(|ranker| self.compete(ranker, query));
        (0..4).for_each(|part| query.prefetch(part));
        self.interleaver.interleave(self.settings.n_shown, private, ranking, &mut self.duel.origins);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.n_interactions = self.n_interactions.saturating_add(1);
        let Impression { query, clicks, lesson, .. } = *impression;
        if clicks != Clicks::default() {
            if let Some(Lesson::Duel(duel)) = lesson {
                fill_directions(duel.seed, self.model.len(), &mut self.directions);
                self.follow_winners(&duel.origins, clicks);
            } else {
                let origins = std::mem::take(&mut self.duel.origins);
                self.follow_winners(&origins, clicks);
                self.duel.origins = origins;
            }
        }
        if let Some(radius) = self.settings.clip_radius {
            clip_to_radius(&mut self.model, radius);
        }
        (4..8).for_each(|part| query.prefetch(part));
    }

    fn finish(&mut self) -> Update<'_> {
        for ((delta, local), global) in self.delta.iter_mut().zip(&self.model).zip(&self.global) {
            *delta = local - global;
        }
        Update::Step { delta: &self.delta, n_interactions: self.n_interactions }
    }

    fn lesson(&mut self, _ranking: &Ranking) -> Option<Lesson> {
        self.is_finite.then(|| Lesson::Duel(self.duel.clone()))
    }

    fn n_interactions(&self) -> u32 {
        self.n_interactions
    }

    fn save(&self, out: &mut Writer) {
        out.u32(self.n_interactions).f32s(&self.global).f32s(&self.model);
    }

    fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        self.n_interactions = input.u32()?;
        input.fill_f32s(&mut self.global)?;
        input.fill_f32s(&mut self.model)
    }
}

impl Duel {
    pub(crate) fn n_bytes(&self) -> usize {
        self.origins.n_bytes()
    }

    pub(crate) const fn n_rankers(&self) -> usize {
        self.origins.n_rankers()
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.u64(self.seed);
        self.origins.write(out);
    }

    pub(super) fn read(n_shown: usize, input: &mut Reader<'_>) -> Result<Self, BytesError> {
        Ok(Self { seed: input.u64()?, origins: Origins::read(n_shown, input)? })
    }
}

#[cfg(test)]
mod tests;
