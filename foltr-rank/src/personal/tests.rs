//! Tests over all methods: states, mixtures, choices, and that each learns what its user wants.

use super::*;
use crate::learn::pdgd::Updates;
use crate::normal::random;
use crate::params::{Activation, Initialisation, Params};
use crate::query::{Clicks, Impression, QueryView, Ranking, pad_rows};
use crate::ranker::Ranker;
use crate::rng::{Purpose, Streams};

const PDGD: PdgdSettings = PdgdSettings {
    learning_rate: 0.1,
    updates: Updates::Immediate,
    n_shown: 5,
    clip_radius: None,
    proximal: 0.0,
    max_displacement: None,
};
const N_FEATURES: usize = 5;

fn shapes() -> [Shape; 2] {
    [
        Shape::Linear { n_features: N_FEATURES },
        Shape::Mlp { n_features: N_FEATURES, n_hidden: 8, activation: Activation::Logistic },
    ]
}

fn methods() -> Vec<Personalisation> {
    let without_clusters = Additive { n_clusters: 1, memory: 0.0, own_rate: 1.0, own_decay: 0.0 };
    [Personalisation::examples(), vec![Personalisation::Additive(without_clusters)]].concat()
}

struct Boxed;

impl LearnerVisitor for Boxed {
    type Output = Box<dyn OnlineLearner>;

    fn visit(self, learner: impl OnlineLearner + 'static) -> Box<dyn OnlineLearner> {
        Box::new(learner)
    }
}

struct Scene {
    shape: Shape,
    global: Params,
    clusters: Vec<Params>,
}

impl Scene {
    fn new(shape: Shape, method: Personalisation) -> Self {
        let mut stream = Streams::new(2).open(Purpose::Initialisation, 0, 0);
        let global = Initialisation::FanIn.params(shape, &mut stream);
        let is_added = method.destination() == Destination::GlobalAndCluster;
        let first = if is_added { vec![0.0; global.len()] } else { global.clone() };
        Self { shape, global, clusters: vec![first; method.n_clusters()] }
    }

    fn models(&self) -> Models<'_> {
        Models { global: &self.global, clusters: &self.clusters }
    }

    /// One round of a user who clicks what has the largest first feature, the sign turned at will. Returns the step.
    fn round(&self, learner: &mut dyn OnlineLearner, state: &mut [f32], wish: f32, number: u32) -> Params {
        let mut stream = Streams::new(1).open(Purpose::Interaction, 0, number);
        learner.enter(self.models(), state);
        learner.begin(&self.global, &mut stream);
        for interaction in 0..5 {
            let rows = pad_rows(&random(9 * N_FEATURES, 100 * number + interaction), N_FEATURES);
            let query = QueryView::new(&rows, N_FEATURES);
            let mut ranking = Ranking::default();
            learner.rank(query, &mut stream, &mut ranking);
            let mut clicks = Clicks::default();
            let wanted = |doc: u32| wish * query.row(doc as usize)[0] > 0.5;
            (0..ranking.len()).filter(|&i| wanted(ranking.docs()[i])).for_each(|i| clicks.click(i));
            learner.observe(&Impression::new(query, &ranking, clicks));
        }
        let Update::Step { delta, n_interactions } = learner.finish() else { panic!("PDGD makes steps") };
        assert_eq!(n_interactions, 5);
        let delta = delta.to_vec();
        learner.leave(state);
        delta
    }

    /// How much higher the own ranker scores a document with the first feature than one without.
    fn taste(&self, learner: &dyn OnlineLearner, state: &[f32]) -> f32 {
        let OwnRanker { shape, params } = learner.own_ranker(self.models(), state).expect("a ranker of its own");
        let mut ranker = Ranker::new(shape);
        ranker.load(&params);
        let rows = pad_rows(&[1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0], N_FEATURES);
        let mut scores = [0.0; 2];
        ranker.score(QueryView::new(&rows, N_FEATURES), &mut scores);
        scores[0] - scores[1]
    }
}

fn started(scene: &Scene, learner: &dyn OnlineLearner, client: u32) -> Vec<f32> {
    let mut state = vec![f32::NAN; learner.state_len()];
    learner.start(client, &scene.global, &mut Streams::new(1).open(Purpose::Initialisation, 0, 1), &mut state);
    state
}

#[test]
fn a_state_begins_whole_and_round_after_round_it_learns_the_users_taste() {
    for shape in shapes() {
        for method in methods() {
            let mut scene = Scene::new(shape, method);
            let mut learner = method.learner(scene.shape, PDGD, Boxed);
            let mut states: Vec<Vec<f32>> = (0..2).map(|client| started(&scene, learner.as_ref(), client)).collect();
            assert!(states[0].iter().all(|value| value.is_finite()), "{method:?}");
            // Two users with opposite wishes; where there is a model for all of them, it gets the mean of their steps.
            for round in 0..400 {
                let mut mean = vec![0.0; shape.n_params()];
                for (client, wish) in [1.0, -1.0].into_iter().enumerate() {
                    let step = scene.round(learner.as_mut(), &mut states[client], wish, 2 * round + client as u32);
                    mean.iter_mut().zip(&step).for_each(|(mean, step)| *mean += step / 2.0);
                    if let Some(chosen) = learner.leave(&mut states[client].clone()) {
                        scene.clusters[chosen].iter_mut().zip(&step).for_each(|(model, step)| *model += step / 2.0);
                    }
                }
                if matches!(method.destination(), Destination::Global | Destination::GlobalAndCluster) {
                    scene.global.iter_mut().zip(&mean).for_each(|(model, step)| *model += step);
                }
            }
            let tastes: Vec<f32> = states.iter().map(|state| scene.taste(learner.as_ref(), state)).collect();
            // Both begin in the cluster that the stream draws; there, evidence must tell them apart.
            assert!(tastes[0] > 0.2 && tastes[1] < -0.2, "{method:?} {shape:?}: {tastes:?}");
        }
    }
}

#[test]
fn a_mixture_scores_as_the_mean_of_its_parts() {
    for shape in shapes() {
        let learner = learner(Interpolation { memory: 0.9 }, shape, PDGD);
        let (own, global) = (random(shape.n_params(), 1), random(shape.n_params(), 2));
        let rows = pad_rows(&random(7 * N_FEATURES, 3), N_FEATURES);
        let scores = |shape: Shape, params: &[f32]| {
            let mut ranker = Ranker::new(shape);
            ranker.load(params);
            let mut scores = [0.0; 7];
            ranker.score(QueryView::new(&rows, N_FEATURES), &mut scores);
            scores
        };
        // Evidence for the weight .25.
        let state: Vec<f32> = own.iter().copied().chain([0.0, 1.0, 0.0, 0.0, 0.0]).collect();
        let mixed = learner.own_ranker(Models { global: &global, clusters: &[] }, &state).expect("a ranker of its own");
        let (a, b) = (scores(shape, &own), scores(shape, &global));
        for ((mixed, own), shared) in scores(mixed.shape, &mixed.params).into_iter().zip(a).zip(b) {
            assert!((mixed - (0.25 * own + 0.75 * shared)).abs() < 1e-5, "{shape:?}");
        }
    }
}

#[test]
fn fed_per_shares_all_but_the_output_layer() {
    let shape = shapes()[1];
    let scene = Scene::new(shape, Personalisation::FedPer(FedPer {}));
    let mut learner = learner(FedPer {}, shape, PDGD);
    let mut state = random(8, 9);
    let before = state.clone();
    let step = scene.round(&mut learner, &mut state, 1.0, 0);
    assert_ne!(state, before);
    // What is sent is local minus global: its end moves the server's output layer to the client's.
    let n_base = shape.n_params() - 8;
    for ((step, own), global) in step[n_base..].iter().zip(&state).zip(&scene.global[n_base..]) {
        assert!((step - (own - global)).abs() < 1e-6);
    }
    // A second client with another state starts from the same base: nothing is left behind in the learner.
    let mut other = random(8, 10);
    let mut again = before;
    scene.round(&mut learner, &mut other, -1.0, 1);
    let repeated = scene.round(&mut learner, &mut again, 1.0, 0);
    assert_eq!((repeated, again), (step, state));
}

#[test]
fn preferences_of_the_ranking_model_are_pdgd() {
    let shape = shapes()[0];
    let mut stream = Streams::new(1).open(Purpose::Interaction, 0, 0);
    let mut pdgd = crate::learn::pdgd::Pdgd::new(shape, PDGD);
    let global = random(N_FEATURES, 4);
    let mut shown = shown::Shown::new(N_FEATURES);
    let (mut preferences, mut ranking) = (crate::learn::pdgd::Preferences::default(), Ranking::default());
    for number in 0..50 {
        let rows = pad_rows(&random(9 * N_FEATURES, 1_000 + number), N_FEATURES);
        let query = QueryView::new(&rows, N_FEATURES);
        pdgd.begin(&global, &mut stream);
        pdgd.rank(query, &mut stream, &mut ranking);
        let clicks = Clicks(u128::from(number & 31));
        let impression = Impression::new(query, &ranking, clicks);
        let mut ranker = Ranker::new(shape);
        ranker.load(&global);
        pdgd.preferences(&impression, &mut preferences);
        shown.copy(&impression);
        let scores = shown.scores(&mut ranker);
        shown.learn(&mut ranker, &scores, &preferences, PDGD.learning_rate);
        pdgd.observe(&impression);
        let (mut ours, mut expected) = ([0.0; N_FEATURES], [0.0; N_FEATURES]);
        ranker.store(&mut ours);
        pdgd.local_params(&mut expected);
        for (ours, expected) in ours.iter().zip(expected) {
            assert!((ours - expected).abs() < 1e-6, "{ours} instead of {expected}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    fn name(method: impl PersonalMethod) -> Option<&'static str> {
        method.check().err().map(|error| error.name)
    }
    for method in methods() {
        assert_eq!(method.check(), Ok(()), "{method:?}");
    }
    assert_eq!(name(Ditto { pull: -1.0 }), Some("pull"));
    assert_eq!(name(Interpolation { memory: 1.0 }), Some("memory"));
    assert_eq!(name(Clusters { n_clusters: 1, memory: 0.5 }), Some("n_clusters"));
    assert_eq!(name(KnownGroups { n_groups: 65 }), Some("n_groups"));
    let additive = Additive { n_clusters: 3, memory: 0.99, own_rate: 0.5, own_decay: 0.01 };
    assert_eq!(name(Additive { n_clusters: 0, ..additive }), Some("n_clusters"));
    assert_eq!(name(Additive { own_rate: f64::NAN, ..additive }), Some("own_rate"));
    assert_eq!(name(Additive { own_decay: 1.5, ..additive }), Some("own_decay"));
}
