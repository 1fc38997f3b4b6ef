//! Somebody who searches, and whose device tests releases.

use foltr_rank::adoption::{Adoption, AdoptionRule, Comparison, ShownList, Verdict, compare};
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::metric::{ideal_dcg, ndcg};
use foltr_rank::rng::Stream;
use foltr_rank::{OnlineLearner, Params, Ranking, Shape};
use foltr_simulation::centralised::{CentralisedRun, CentralisedSettings};
use foltr_simulation::click::{Cascade, Preset, SimulatedUser, Users};
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::dataset::Dataset;
use rand::RngExt;

const N_SHOWN: usize = 10;
pub const ERROR: f64 = 0.05;

pub struct Person<'a> {
    pub data: &'a Dataset,
    pub preset: Preset,
    /// Whether they click by position alone.
    pub is_indifferent: bool,
}

/// Some searches with one model.
pub struct Searches {
    /// Those that are evidence.
    pub lists: Vec<ShownList>,
    /// Mean nDCG@10 of all lists that were shown, by labels.
    pub ndcg: f64,
}

impl Person<'_> {
    fn users(&self) -> Users {
        Users::Cascade(Cascade::preset(self.preset, self.data.max_label()).expect("known grades"))
    }

    fn shape(&self) -> Shape {
        Shape::Linear { n_features: self.data.n_features() }
    }

    /// A model that was learned from this many of their interactions.
    pub fn learned(&self, n_interactions: usize) -> Params {
        let settings = CentralisedSettings {
            seed: 1,
            shape: self.shape(),
            initial: vec![0.0; self.shape().n_params()],
            learning_rate: 0.1,
            decay: 1.0,
            batch: 1,
            max_displacement: None,
            n_interactions,
            n_shown: N_SHOWN,
            users: self.users(),
        };
        let training = TrainingSet::new(self.data.clone(), N_SHOWN);
        let mut run = CentralisedRun::new(settings, &training);
        run.round().expect("a small learning rate");
        run.params().to_vec()
    }

    /// Searches with a model.
    pub fn search(&self, model: &[f32], n_searches: usize, stream: &mut Stream) -> Searches {
        let settings = PdgdSettings {
            learning_rate: 0.1,
            updates: Updates::Accumulated,
            n_shown: N_SHOWN,
            clip_radius: None,
            proximal: 0.0,
            max_displacement: None,
        };
        let (mut pdgd, users) = (Pdgd::new(self.shape(), settings), self.users());
        pdgd.begin(model, stream);
        let (mut ranking, mut lists) = (Ranking::default(), Vec::new());
        let (mut sum, mut n_measured) = (0.0, 0_u32);
        for _ in 0..n_searches {
            let query_idx = stream.random_range(0..self.data.n_queries());
            let (query, labels) = (self.data.query(query_idx), self.data.labels(query_idx));
            pdgd.rank(query, stream, &mut ranking);
            let shown: Vec<u8> = ranking.docs().iter().map(|&doc| labels[doc as usize]).collect();
            if let Some(value) = ndcg(shown.iter().copied(), ideal_dcg(labels, N_SHOWN), N_SHOWN) {
                sum += value;
                n_measured += 1;
            }
            let seen = if self.is_indifferent { vec![1; shown.len()] } else { shown };
            let clicks = users.click(&seen, stream);
            let lesson = pdgd.lesson(&ranking).expect("PDGD learns from every list");
            lists.extend(ShownList::of_lesson(query, &ranking, &lesson, clicks).expect("a list that was drawn"));
        }
        Searches { lists, ndcg: sum / f64::from(n_measured) }
    }

    pub fn compare(&self, model: &[f32], release: &[f32], lists: &[ShownList]) -> Comparison {
        compare(self.shape(), model, release, lists).expect("models and lists of one shape")
    }

    /// A device with this first model, and evidence.
    pub fn device(&self, model: &[f32], most_lists: usize, lists: &[ShownList]) -> Adoption {
        let rule = AdoptionRule { error: ERROR, lists: most_lists as u32 };
        let mut device = Adoption::new(rule, self.shape(), 0, model).expect("a sound rule");
        observe(&mut device, lists);
        device
    }
}

pub fn observe(device: &mut Adoption, lists: &[ShownList]) {
    lists.iter().for_each(|list| device.observe(list.clone()).expect("lists of the same data"));
}

pub fn consider(device: &mut Adoption, release: &[f32]) -> Verdict {
    device.consider(1, release).expect("models of one shape")
}

/// On the way from one model to another.
pub fn between(from: &[f32], to: &[f32], share: f32) -> Params {
    from.iter().zip(to).map(|(from, to)| (1.0 - share) * from + share * to).collect()
}

pub fn scaled(model: &[f32], factor: f32) -> Params {
    model.iter().map(|weight| factor * weight).collect()
}

pub fn length(model: &[f32]) -> f32 {
    model.iter().map(|value| value * value).sum::<f32>().sqrt()
}
