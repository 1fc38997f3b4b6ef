//! Where the attack takes place: real lists, simulated users, and what a server knows about both.

use anyhow::Result;
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Clicks, Impression, Initialisation, OnlineLearner, Params, Ranking, Shape, Update};
use foltr_simulation::click::{Cascade, Preset, SimulatedUser, Users};
use foltr_simulation::dataset::Dataset;
use rand::RngExt;

/// Documents shown, and the learning rate of the papers.
pub(super) const N_SHOWN: usize = 10;
const LEARNING_RATE: f32 = 0.1;
/// Interactions from which a server learns how often users click what.
const N_PRIOR: u32 = 40_000;
/// Updates whose norm is averaged.
const N_NORMS: u32 = 500;
/// Added to each count, so that nothing is impossible.
const SMOOTHING: f64 = 0.05;
/// Clients are numbered from here on for the server's experience of clicks, and for its rehearsals.
const EXPERIENCE: u32 = 1 << 30;
const REHEARSALS: u32 = 1 << 29;

/// Data, users and a global model.
pub struct Scene {
    /// What the data is called.
    pub name: String,
    /// Whether it is a real collection.
    pub is_real: bool,
    data: Dataset,
    users: Users,
    global: Params,
    streams: Streams,
    /// For each length of a list: the probability of each set of clicks.
    prior: Vec<Vec<f64>>,
}

/// One list of a client's round, as the server knows it.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Index of the query.
    pub query: usize,
    /// The list.
    pub ranking: Ranking,
}

/// One client's round.
#[derive(Clone, Debug)]
pub struct Session {
    /// What the server knows.
    pub shown: Vec<Shown>,
    /// What it does not know.
    pub clicks: Vec<Clicks>,
    /// The update before protection.
    pub update: Vec<f32>,
}

impl Scene {
    /// A scene on any data, taken for generated.
    ///
    /// # Errors
    /// If no user is known for its labels.
    pub fn new(name: String, data: Dataset, seed: u64) -> Result<Self> {
        let users = Users::Cascade(Cascade::preset(Preset::Informational, data.max_label())?);
        let (shape, streams) = (Shape::Linear { n_features: data.n_features() }, Streams::new(seed));
        let initialisation = Initialisation::RandomNorm { norm: 0.01 };
        let global = initialisation.params(shape, &mut streams.open(Purpose::Initialisation, 0, 0));
        let mut scene = Self { name, is_real: false, data, users, global, streams, prior: Vec::new() };
        scene.prior = scene.learn_prior();
        Ok(scene)
    }

    fn learn_prior(&self) -> Vec<Vec<f64>> {
        let mut prior: Vec<Vec<f64>> = (0..=N_SHOWN).map(|len| vec![SMOOTHING; 1 << len]).collect();
        for client in 0..N_PRIOR {
            let session = self.play(EXPERIENCE + client, 1);
            prior[session.shown[0].ranking.len()][session.clicks[0].0 as usize] += 1.0;
        }
        for counts in &mut prior {
            let total: f64 = counts.iter().sum();
            counts.iter_mut().for_each(|count| *count /= total);
        }
        prior
    }

    /// Parameters of a model.
    pub fn n_params(&self) -> usize {
        self.global.len()
    }

    /// The global model.
    pub fn global(&self) -> &[f32] {
        &self.global
    }

    /// All randomness.
    pub const fn streams(&self) -> &Streams {
        &self.streams
    }

    pub(super) const fn data(&self) -> &Dataset {
        &self.data
    }

    /// The probability of each set of clicks on a list of this length.
    pub fn prior(&self, len: usize) -> &[f64] {
        &self.prior[len]
    }

    /// The most frequent clicks on a list of this length.
    pub fn most_frequent(&self, len: usize) -> Clicks {
        let prior = self.prior(len);
        Clicks((0..prior.len()).max_by(|&a, &b| prior[a].total_cmp(&prior[b])).unwrap_or(0) as u32)
    }

    /// A learner; `updates` says whether its lists come from the moved model.
    pub(super) fn learner(&self, updates: Updates) -> Pdgd {
        let settings =
            PdgdSettings { learning_rate: LEARNING_RATE, updates, n_shown: N_SHOWN, clip_radius: None, proximal: 0.0 };
        Pdgd::new(Shape::Linear { n_features: self.data.n_features() }, settings)
    }

    /// One client's round, as FPDGD has it: the model moves after every interaction.
    pub fn play(&self, client: u32, n_interactions: usize) -> Session {
        self.play_beside(client, 0, n_interactions)
    }

    /// The round of the `number`-th client beside this one in a sum; 0 is the client itself.
    pub(super) fn play_beside(&self, client: u32, number: u32, n_interactions: usize) -> Session {
        let mut stream = self.streams.open(Purpose::Interaction, client, number << 8 | n_interactions as u32);
        let mut learner = self.learner(Updates::Immediate);
        learner.begin(&self.global, &mut stream);
        let (mut shown, mut all_clicks) = (Vec::new(), Vec::new());
        for _ in 0..n_interactions {
            let query = stream.random_range(0..self.data.n_queries() as u32) as usize;
            let mut ranking = Ranking::default();
            learner.rank(self.data.query(query), &mut stream, &mut ranking);
            let labels: Vec<u8> = ranking.docs().iter().map(|&doc| self.data.labels(query)[doc as usize]).collect();
            let clicks = self.users.click(&labels, &mut stream);
            learner.observe(&Impression { query: self.data.query(query), ranking: &ranking, clicks });
            shown.push(Shown { query, ranking });
            all_clicks.push(clicks);
        }
        let Update::Step { delta, .. } = learner.finish() else { unreachable!("PDGD makes steps") };
        Session { shown, clicks: all_clicks, update: delta.to_vec() }
    }

    /// The root mean square norm of updates.
    pub(super) fn typical_norm(&self, n_interactions: usize) -> f64 {
        let squared = |client: u32| {
            let update = self.play(EXPERIENCE + client, n_interactions).update;
            update.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>()
        };
        ((0..N_NORMS).map(squared).sum::<f64>() / f64::from(N_NORMS)).sqrt()
    }

    /// A client of the server's rehearsals.
    pub(super) const fn rehearsal(number: u32) -> u32 {
        REHEARSALS + number
    }
}
