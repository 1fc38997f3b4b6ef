//! Sessions: the settings that all their tests go over, queries, users, and the loop of the lab to compare with.

mod cost;
mod equality;
mod fuzz;
mod interleaving;
mod perturbations;
mod refusals;

use foltr_rank::interleave::Interleaving;
use foltr_rank::learn::LearnerVisitor;
use foltr_rank::learn::dueling::DuelSettings;
use foltr_rank::learn::evolution::{EvolutionSettings, Reward};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::personal::{Additive, Destination, Personalisation};
use foltr_rank::plackett_luce::MAX_DISPLACEMENT;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_rank::{
    Activation, Candidates, Clicks, Learning, Models, OnlineLearner, Params, QueryView, Ranking, Session, Shape, Update,
};

pub const N_FEATURES: usize = 5;
pub const LINEAR: Shape = Shape::Linear { n_features: N_FEATURES };
pub const NEURAL: Shape = Shape::Mlp { n_features: N_FEATURES, n_hidden: 8, activation: Activation::Logistic };
const RELU: Shape = Shape::Mlp { n_features: N_FEATURES, n_hidden: 20, activation: Activation::Relu };

pub const PDGD: PdgdSettings = PdgdSettings {
    learning_rate: 0.1,
    updates: Updates::Immediate,
    n_shown: 6,
    clip_radius: None,
    proximal: 0.0,
    max_displacement: None,
};
pub const EVOLUTION: EvolutionSettings =
    EvolutionSettings { sigma: 0.1, antithetic: true, reward: Reward::MaxRr, n_interactions: 4, n_shown: 6 };

pub const DUEL: DuelSettings = DuelSettings {
    learning_rate: 0.1,
    exploration: 1.0,
    n_candidates: 5,
    interleaving: Interleaving::TeamDraft,
    n_shown: 6,
    clip_radius: None,
};

/// The settings of a session.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub shape: Shape,
    pub learning: Learning,
    pub personalisation: Option<Personalisation>,
}

impl Settings {
    pub fn pdgd(shape: Shape, settings: PdgdSettings) -> Self {
        Self { shape, learning: Learning::Pdgd(settings), personalisation: None }
    }

    pub fn evolution(shape: Shape, settings: EvolutionSettings) -> Self {
        let learning = Learning::Evolution { settings, published_stream: false };
        Self { shape, learning, personalisation: None }
    }

    pub fn dueling(shape: Shape, settings: DuelSettings) -> Self {
        Self { shape, learning: Learning::Dueling(settings), personalisation: None }
    }

    /// Every kind of session.
    pub fn all() -> Vec<Self> {
        let accumulated = PdgdSettings { updates: Updates::Accumulated, ..PDGD };
        let mut all = Vec::new();
        for shape in [LINEAR, NEURAL] {
            for pdgd in [PDGD, accumulated] {
                all.push(Self::pdgd(shape, pdgd));
                all.push(Self::pdgd(shape, PdgdSettings { n_shown: 20, ..pdgd }));
                all.push(Self::pdgd(shape, PdgdSettings { clip_radius: Some(0.5), ..pdgd }));
            }
            all.push(Self::pdgd(shape, PdgdSettings { proximal: 0.5, ..PDGD }));
            let without_clusters = Additive { n_clusters: 1, memory: 0.0, own_rate: 0.5, own_decay: 0.1 };
            for personalisation in
                Personalisation::examples().into_iter().chain([Personalisation::Additive(without_clusters)])
            {
                all.push(Self { personalisation: Some(personalisation), ..Self::pdgd(shape, PDGD) });
            }
        }
        for shape in [LINEAR, RELU] {
            all.push(Self::evolution(shape, EVOLUTION));
            all.push(Self::evolution(shape, EvolutionSettings { antithetic: false, ..EVOLUTION }));
            all.push(Self::evolution(shape, EvolutionSettings { reward: Reward::ClickDcg, ..EVOLUTION }));
        }
        // Enough candidates for every round to have a winner.
        let probabilistic = DuelSettings { interleaving: Interleaving::Probabilistic, ..DUEL };
        for shape in [LINEAR, NEURAL] {
            all.push(Self::dueling(shape, DUEL));
            all.push(Self::dueling(shape, DuelSettings { clip_radius: Some(0.5), ..DUEL }));
            all.push(Self::dueling(shape, DuelSettings { n_candidates: 1, n_shown: 20, ..probabilistic }));
            all.push(Self::dueling(shape, probabilistic));
        }
        // At the end: inputs of the fuzz corpus are named by their number here.
        for shape in [LINEAR, NEURAL] {
            for max_displacement in [Some(1), Some(4), Some(MAX_DISPLACEMENT)] {
                all.push(Self::pdgd(shape, PdgdSettings { max_displacement, ..PDGD }));
            }
            let accumulated = PdgdSettings { n_shown: 20, max_displacement: Some(3), ..accumulated };
            all.push(Self::pdgd(shape, accumulated));
        }
        let bounded = PdgdSettings { max_displacement: Some(3), ..PDGD };
        for personalisation in Personalisation::examples() {
            all.push(Self { personalisation: Some(personalisation), ..Self::pdgd(LINEAR, bounded) });
        }
        all
    }

    pub fn session(&self) -> Session {
        let Self { shape, learning, personalisation, .. } = *self;
        let session = match personalisation {
            None => Session::new(shape, learning),
            Some(method) => Session::personal(shape, learning, method, 1, &self.global(), &mut stream(0)),
        };
        session.expect("sound settings")
    }

    pub fn learner(&self) -> Box<dyn OnlineLearner> {
        match (self.personalisation, self.learning) {
            (Some(method), Learning::Pdgd(pdgd)) => method.learner(self.shape, pdgd, Boxed),
            _ => self.learning.learner(self.shape, Boxed),
        }
    }

    /// The session after it was bytes.
    pub fn restored(&self, session: &Session) -> Session {
        let bytes = session.encode();
        let restored = Session::decode(&bytes, self.shape, self.learning, self.personalisation).expect("its own bytes");
        assert_eq!(restored.encode(), bytes, "{self:?}");
        restored
    }

    pub fn global(&self) -> Params {
        normals(self.shape.n_params(), 1)
    }

    pub fn clusters(&self) -> Vec<Params> {
        let n_clusters = self.personalisation.map_or(0, |method| method.n_clusters());
        let is_added = self.personalisation.is_some_and(|method| method.destination() == Destination::GlobalAndCluster);
        let scale = if is_added { 0.1 } else { 1.0 };
        let cluster = |i| normals(self.shape.n_params(), 50 + i).into_iter().map(|value| scale * value).collect();
        (0..n_clusters as u32).map(cluster).collect()
    }
}

struct Boxed;

impl LearnerVisitor for Boxed {
    type Output = Box<dyn OnlineLearner>;

    fn visit(self, learner: impl OnlineLearner + 'static) -> Box<dyn OnlineLearner> {
        Box::new(learner)
    }
}

pub fn stream(number: u32) -> Stream {
    Streams::new(9).open(Purpose::Interaction, number, 0)
}

pub fn normals(n: usize, number: u32) -> Vec<f32> {
    let mut values = vec![0.0; n];
    fill_standard_normal(&mut stream(1_000 + number), &mut values);
    values
}

/// The query with this number; the numbers of its documents go from 1 to 30. In every third one a document lies so far off
/// that a double does not hold the exponentials of all scores.
pub fn query(number: u32) -> Candidates {
    let n_docs = 1 + (number as usize * 7) % 30;
    let mut features = normals(n_docs * N_FEATURES, 10_000 + number);
    if number % 3 == 2 {
        features[..N_FEATURES].iter_mut().for_each(|value| *value *= 2_000.0);
    }
    Candidates::new(&features, N_FEATURES).expect("finite numbers")
}

/// A user who clicks what has a large first feature.
pub fn clicks(query: QueryView<'_>, ranking: &Ranking) -> Vec<usize> {
    (0..ranking.len()).filter(|&i| query.row(ranking.docs()[i] as usize)[0] > 0.4).collect()
}

/// An update that no longer borrows.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Step(Vec<u32>, u32),
    Evolution(u32, Vec<u16>, Vec<u16>),
}

impl From<Update<'_>> for Outcome {
    fn from(update: Update<'_>) -> Self {
        match update {
            Update::Step { delta, n_interactions } => {
                Self::Step(delta.iter().map(|value| value.to_bits()).collect(), n_interactions)
            }
            Update::Evolution { seed, plus, minus } => Self::Evolution(seed, plus.to_vec(), minus.to_vec()),
        }
    }
}

/// The next global model, as a server could make it.
pub fn follow(global: &mut [f32], outcome: &Outcome, round: u32) {
    let noise = normals(global.len(), 500 + round);
    for (i, param) in global.iter_mut().enumerate() {
        *param += match outcome {
            Outcome::Step(delta, _) => 0.5 * f32::from_bits(delta[i]),
            Outcome::Evolution(..) => 0.1 * noise[i],
        };
    }
}

/// A round of the lab's loop: rank, click, learn.
pub fn lab_round(
    learner: &mut dyn OnlineLearner,
    models: Models<'_>,
    state: &mut [f32],
    queries: &[u32],
    random: &mut Stream,
) -> (Outcome, Option<usize>) {
    learner.enter(models, state);
    learner.begin(models.global, random);
    let mut ranking = Ranking::default();
    for &number in queries {
        let candidates = query(number);
        learner.rank(candidates.view(), random, &mut ranking);
        let mut seen = Clicks::default();
        clicks(candidates.view(), &ranking).into_iter().for_each(|position| seen.click(position));
        learner.observe(&foltr_rank::Impression::new(candidates.view(), &ranking, seen));
    }
    let outcome = learner.finish().into();
    (outcome, learner.leave(state))
}
