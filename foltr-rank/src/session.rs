//! One device's learner over its rounds: many open impressions, clicks in any order, and bytes at any moment.
//!
//! A loop in the lab learns from a list before it ranks the next one. A person opens several result pages, comes back to one
//! after hours, clicks twice, and restarts the device in between. So a list that was shown stays *open*, as a
//! [`StoredImpression`] that has all that learning needs, and teaches once: when it ends. The kernels are those of the
//! lab's loop, so that a session whose lists end one after the other gives the same bits (`docs/adr/0006-sessions.md`).

mod clock;
mod codec;
mod errors;
mod impression;
mod open_impressions;
mod settings;

use rand::Rng;

pub use codec::DecodeError;
pub use errors::{ClickError, FinishError, ModelsError, RankError, SessionError};
pub use impression::{ImpressionId, StoredImpression};

use crate::learn::{LearnerVisitor, Learning, Lesson, Models, OnlineLearner, OwnRanker, Update};
use crate::params::Shape;
use crate::personal::Personalisation;
use crate::query::{Impression, QueryView, Ranking};
use open_impressions::OpenImpressions;

/// A device's learner: begin a round, rank queries, report clicks, end impressions, finish the round.
///
/// Times are the caller's, in a unit of its choice; a clock that jumps backwards stops for a while, no more.
///
/// ```
/// use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
/// use foltr_rank::rng::{Purpose, Streams};
/// use foltr_rank::{Candidates, Learning, Models, Session, Shape, Update};
///
/// let shape = Shape::Linear { n_features: 2 };
/// let learning = Learning::Pdgd(PdgdSettings {
///     learning_rate: 0.1, updates: Updates::Immediate, n_shown: 10, clip_radius: None, proximal: 0.0,
///     max_displacement: None,
/// });
/// let mut session = Session::new(shape, learning)?;
/// let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0); // a device takes the operating system's
/// session.begin(Models { global: &[0.0, 0.0], clusters: &[] }, 7, &mut random)?;
///
/// let query = Candidates::new(&[1.0, 0.0, 0.0, 1.0], 2)?;
/// let shown = session.rank(query.view(), 100, &mut random)?;
/// let position = shown.ranking.docs().iter().position(|&doc| doc == 1).unwrap();
/// session.clicked(shown.impression, position, 160)?;
/// assert!(session.clicked(shown.impression, 2, 161).is_err(), "two documents, three positions");
///
/// // Bytes and back, with the impression still open.
/// let mut session = Session::decode(&session.encode(), shape, learning, None)?;
/// session.dismiss(shown.impression)?;
/// let Update::Step { delta, n_interactions: 1 } = session.finish()?.update else { panic!("PDGD makes steps") };
/// assert!(delta[1] > delta[0], "the clicked document has the second feature");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    shape: Shape,
    n_clusters: usize,
    /// The longest list.
    n_shown: usize,
    learner: Box<dyn OnlineLearner>,
    /// What the device's own ranker is made of; empty without personalisation.
    state: Vec<f32>,
    round: Option<Round>,
    open: OpenImpressions,
    ranking: Ranking,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    release: u32,
}

/// A list to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub impression: ImpressionId,
    /// The best documents. Those beyond it stay in the host's order.
    pub ranking: Ranking,
}

/// What a round leaves behind, for a privacy mechanism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished<'a> {
    pub update: Update<'a>,
    /// The release that the round started from.
    pub release: u32,
    /// The cluster that the update is for, where there are clusters.
    pub cluster: Option<usize>,
}

impl Session {
    /// A session that ranks with the federation's model.
    pub fn new(shape: Shape, learning: Learning) -> Result<Self, SessionError> {
        Self::unstarted(shape, learning, None)
    }

    /// A session with a ranker of its own, for the client with this number, which has never learnt. It starts from the
    /// `initial` model.
    pub fn personal(
        shape: Shape,
        learning: Learning,
        personalisation: Personalisation,
        client: u32,
        initial: &[f32],
        private: &mut dyn Rng,
    ) -> Result<Self, SessionError> {
        let mut session = Self::unstarted(shape, learning, Some(personalisation))?;
        shape.check(initial)?;
        session.learner.start(client, initial, private, &mut session.state);
        Ok(session)
    }

    fn unstarted(
        shape: Shape,
        learning: Learning,
        personalisation: Option<Personalisation>,
    ) -> Result<Self, SessionError> {
        let n_shown = settings::check(shape, &learning, personalisation.as_ref())?;
        let learner = match (personalisation, learning) {
            (Some(personalisation), Learning::Pdgd(pdgd)) => personalisation.learner(shape, pdgd, Boxed),
            _ => learning.learner(shape, Boxed),
        };
        Ok(Self {
            shape,
            n_clusters: personalisation.map_or(0, |personalisation| personalisation.n_clusters()),
            n_shown,
            state: vec![0.0; learner.state_len()],
            learner,
            round: None,
            open: OpenImpressions::default(),
            ranking: Ranking::default(),
        })
    }

    /// Begins a round with the models of this release. What is drawn from `public` may be transmitted.
    ///
    /// A round that is open is given up. Impressions stay open: with PDGD they teach in the round in which they end, by
    /// pairs weighed as their own list was drawn and a step of the present model; with FOLtR-ES they teach nothing any
    /// more, for the direction that they tried is gone.
    pub fn begin(&mut self, models: Models<'_>, release: u32, public: &mut dyn Rng) -> Result<(), ModelsError> {
        self.check(models)?;
        self.open.outlive_round();
        self.learner.enter(models, &self.state);
        self.learner.begin(models.global, public);
        self.round = Some(Round { release });
        Ok(())
    }

    /// The list to show for a query, which is open from now on. What is drawn from `private` never leaves the device.
    ///
    /// With FOLtR-ES, the first half of the round's lists comes from one side of the perturbation, the rest from the
    /// other; lists beyond those of the round come from the unperturbed model, and teach nothing.
    pub fn rank(&mut self, query: QueryView<'_>, now: u64, private: &mut dyn Rng) -> Result<Shown, RankError> {
        let Some(Round { release }) = self.round else { return Err(RankError::NoRound) };
        query.check_for(self.shape)?;
        self.learner.rank(query, private, &mut self.ranking);
        let lesson = self.learner.lesson(&self.ranking).ok_or(RankError::Scores)?;
        let impression = self.open.add(query, &self.ranking, release, lesson, now);
        Ok(Shown { impression, ranking: self.ranking })
    }

    /// Notes a click on the document at this position of an open impression, counted from 0. A second click on the same
    /// document changes nothing but the time of the last event. After an error, nothing has changed.
    pub fn clicked(&mut self, impression: ImpressionId, position: usize, now: u64) -> Result<(), ClickError> {
        self.open.click(impression, position, now)
    }

    /// Ends an impression: it teaches what its clicks say, none included.
    pub fn dismiss(&mut self, impression: ImpressionId) -> Result<StoredImpression, ClickError> {
        let ended = self.open.remove(impression)?;
        self.learn(&ended);
        Ok(ended)
    }

    /// Takes back a list that nobody has seen: it teaches nothing, and counts as if it had never been made. With FOLtR-ES, which
    /// counts lists when they are made, use [`Self::dismiss`].
    pub fn withdraw(&mut self, impression: ImpressionId) -> Result<StoredImpression, ClickError> {
        self.open.remove(impression)
    }

    /// Ends the impression whose last event is the longest ago, if that is at least `after`; of equal ones the one that
    /// was shown first. Call it until there is none; in between, a round that has enough interactions can be finished.
    pub fn expire(&mut self, now: u64, after: u64) -> Option<StoredImpression> {
        let ended = self.open.expire(now, after)?;
        self.learn(&ended);
        Some(ended)
    }

    fn learn(&mut self, ended: &StoredImpression) {
        let lesson = ended.lesson();
        if self.round.is_some() && *lesson != Lesson::Nothing {
            let ranking = Ranking::of_positions(ended.n_shown());
            let (query, clicks) = (ended.documents(), ended.clicks());
            self.learner.observe(&Impression { query, ranking: &ranking, clicks, lesson: Some(lesson) });
        }
    }

    /// Impressions that have taught in this round, clicked or not; 0 without one.
    pub fn n_interactions(&self) -> u32 {
        self.round.map_or(0, |_| self.learner.n_interactions())
    }

    /// The release that the open round started from.
    pub fn release(&self) -> Option<u32> {
        self.round.map(|round| round.release)
    }

    /// Impressions that have not ended, in the order in which they were shown.
    pub fn open(&self) -> &[StoredImpression] {
        self.open.all()
    }

    /// The id of the next list.
    pub fn next_impression(&self) -> ImpressionId {
        self.open.next()
    }

    /// Lets ids begin here, in a session that takes the place of another: ids of the other are closed, and stay so. Ids
    /// never go back, and begin at most at 2^62.
    pub fn continue_from(&mut self, next: ImpressionId) {
        self.open.skip_to(next);
    }

    /// Ends the round, and writes what it taught into the device's own state. Begin the next one at once: without a
    /// round nothing can be ranked, and what ends teaches nothing.
    ///
    /// Extreme features can make a model overflow. Such a round is lost, and the state stays what it was.
    pub fn finish(&mut self) -> Result<Finished<'_>, FinishError> {
        let Round { release } = self.round.take().ok_or(FinishError::NoRound)?;
        self.open.outlive_round();
        let mut state = self.state.clone();
        let cluster = self.learner.leave(&mut state);
        let update = self.learner.finish();
        let is_finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        let is_sound = if let Update::Step { delta, .. } = update { is_finite(delta) } else { true };
        if !is_sound || !is_finite(&state) {
            return Err(FinishError::Overflow);
        }
        self.state = state;
        Ok(Finished { update, release, cluster })
    }

    /// The ranker of the device between rounds: its own where there is personalisation, else the global one.
    pub fn ranker(&self, models: Models<'_>) -> Result<OwnRanker, ModelsError> {
        self.check(models)?;
        let global = || OwnRanker { shape: self.shape, params: models.global.to_vec() };
        Ok(self.learner.own_ranker(models, &self.state).unwrap_or_else(global))
    }

    /// What the device's own ranker is made of, beside the server's models; empty without personalisation.
    pub fn state(&self) -> &[f32] {
        &self.state
    }

    fn check(&self, models: Models<'_>) -> Result<(), ModelsError> {
        let (expected, got) = (self.n_clusters, models.clusters.len());
        if expected != got {
            return Err(ModelsError::Clusters { expected, got });
        }
        let mut all = models.clusters.iter().map(Vec::as_slice).chain([models.global]);
        Ok(all.try_for_each(|model| self.shape.check(model))?)
    }
}

struct Boxed;

impl LearnerVisitor for Boxed {
    type Output = Box<dyn OnlineLearner>;

    fn visit(self, learner: impl OnlineLearner + 'static) -> Box<dyn OnlineLearner> {
        Box::new(learner)
    }
}
