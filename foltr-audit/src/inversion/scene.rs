//! Where the attack takes place: real lists, simulated users, and what a server knows about both.

use anyhow::Result;
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Clicks, Impression, Initialisation, OnlineLearner, Params, Ranking, Shape, Update};
use foltr_simulation::click::{Cascade, Preset, SimulatedUser, Users};
use foltr_simulation::dataset::Dataset;
use rand::RngExt;

/// Documents shown, and the learning rate of the papers.
const N_SHOWN: usize = 10;
const LEARNING_RATE: f32 = 0.1;
/// Interactions from which a server learns how often users click what.
const N_PRIOR: u32 = 40_000;
const N_NORMS: u32 = 500;
/// Added to each count, so that nothing is impossible.
const SMOOTHING: f64 = 0.05;
/// Clients from whom the server learns about clicks are numbered from here on.
const EXPERIENCE: u32 = 1 << 30;

pub struct Scene {
    /// Of the data.
    pub name: String,
    /// Whether it is a real collection.
    pub is_real: bool,
    pub(super) data: Dataset,
    users: Users,
    pub(super) global: Params,
    pub(super) streams: Streams,
    /// For each length of a list: the probability of each set of clicks.
    pub(super) prior: Vec<Vec<f64>>,
}

/// One list of a client's round, as the server knows it.
pub(super) struct Shown {
    pub(super) query: usize,
    pub(super) ranking: Ranking,
}

pub(super) struct ClientRound {
    pub(super) shown: Vec<Shown>,
    /// What the server does not know.
    pub(super) clicks: Vec<Clicks>,
    /// Before protection.
    pub(super) update: Vec<f32>,
}

impl ClientRound {
    /// What the learner hands over.
    pub(super) fn update(&self) -> Update<'_> {
        Update::Step { delta: &self.update, n_interactions: 1 }
    }
}

impl Scene {
    /// A scene on any data, taken for generated.
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
            let round = self.play(EXPERIENCE + client, 1);
            prior[round.shown[0].ranking.len()][round.clicks[0].0 as usize] += 1.0;
        }
        for counts in &mut prior {
            let total: f64 = counts.iter().sum();
            counts.iter_mut().for_each(|count| *count /= total);
        }
        prior
    }

    /// The most frequent clicks on a list of this length.
    pub(super) fn most_frequent(&self, len: usize) -> Clicks {
        let prior = &self.prior[len];
        Clicks((0..prior.len()).max_by(|&a, &b| prior[a].total_cmp(&prior[b])).unwrap_or(0) as u128)
    }

    /// A learner; `updates` says whether its lists come from the moved model.
    pub(super) fn learner(&self, updates: Updates) -> Pdgd {
        let settings = PdgdSettings {
            learning_rate: LEARNING_RATE,
            updates,
            n_shown: N_SHOWN,
            clip_radius: None,
            proximal: 0.0,
            max_displacement: None,
        };
        Pdgd::new(Shape::Linear { n_features: self.data.n_features() }, settings)
    }

    /// One client's round, as FPDGD has it: the model moves after every interaction.
    pub(super) fn play(&self, client: u32, n_interactions: usize) -> ClientRound {
        self.play_beside(client, 0, n_interactions)
    }

    /// The round of the `number`-th client beside this one in a sum; 0 is the client itself.
    pub(super) fn play_beside(&self, client: u32, number: u32, n_interactions: usize) -> ClientRound {
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
            learner.observe(&Impression::new(self.data.query(query), &ranking, clicks));
            shown.push(Shown { query, ranking });
            all_clicks.push(clicks);
        }
        let Update::Step { delta, .. } = learner.finish() else { unreachable!("PDGD makes steps") };
        ClientRound { shown, clicks: all_clicks, update: delta.to_vec() }
    }

    pub(super) fn typical_norm(&self, n_interactions: usize) -> f64 {
        let squared = |client: u32| {
            let update = self.play(EXPERIENCE + client, n_interactions).update;
            update.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>()
        };
        ((0..N_NORMS).map(squared).sum::<f64>() / f64::from(N_NORMS)).sqrt()
    }
}
