//! Centralised PDGD: all interactions in one place, as the yardstick of every federation.
//!
//! `OdR18` Oosterhuis, de Rijke, CIKM 2018, Algorithm 1; spec sections 6.5 and 6.6. A step follows every interaction,
//! or the sum (not the mean) of a batch's gradients on frozen weights.

use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{OnlineLearner, Params, Shape, Update};
use rand::RngExt;

use crate::click::Users;
use crate::client_round::{Session, Tally, TrainingSet, interact};

/// Everything that defines a centralised run but its data.
#[derive(Clone, Debug)]
pub struct CentralisedSettings {
    /// Seed of all randomness.
    pub seed: u64,
    /// The ranker.
    pub shape: Shape,
    /// Where it starts.
    pub initial: Params,
    /// Learning rate of the first step.
    pub learning_rate: f64,
    /// The rate is multiplied by this after every step.
    pub decay: f64,
    /// Interactions a step.
    pub batch: usize,
    /// Interactions a round: the stretch between two looks from outside.
    pub n_interactions: usize,
    /// Documents a user is shown.
    pub n_shown: usize,
    /// Who clicks.
    pub users: Users,
}

/// A centralised learner in the middle of its run.
pub struct CentralisedRun<'a> {
    settings: CentralisedSettings,
    training: &'a TrainingSet,
    streams: Streams,
    learner: Pdgd,
    params: Params,
    learning_rate: f64,
    /// Interactions since the last step.
    n_pending: usize,
    round: u32,
}

impl<'a> CentralisedRun<'a> {
    /// A run before its first interaction.
    pub fn new(settings: CentralisedSettings, training: &'a TrainingSet) -> Self {
        let learner = Pdgd::new(
            settings.shape,
            PdgdSettings {
                learning_rate: settings.learning_rate as f32,
                updates: if settings.batch == 1 { Updates::Immediate } else { Updates::Accumulated },
                n_shown: settings.n_shown,
                clip_radius: None,
            },
        );
        let streams = Streams::new(settings.seed);
        let (params, learning_rate) = (settings.initial.clone(), settings.learning_rate);
        let mut run = Self { settings, training, streams, learner, params, learning_rate, n_pending: 0, round: 0 };
        run.begin();
        run
    }

    /// The model after the last whole step.
    pub fn params(&self) -> &[f32] {
        &self.params
    }

    /// Runs one round and says what happened in it.
    pub fn round(&mut self) -> Tally {
        let mut stream = self.streams.open(Purpose::Interaction, 0, self.round);
        let n_queries = self.training.data().n_queries();
        let mut session = Session::default();
        let mut next = stream.random_range(0..n_queries);
        for _ in 0..self.settings.n_interactions {
            let query = std::mem::replace(&mut next, stream.random_range(0..n_queries));
            let users = &self.settings.users;
            interact(&mut self.learner, self.training, users, query, next, &mut stream, &mut session);
            self.n_pending += 1;
            if self.n_pending == self.settings.batch {
                self.step();
            }
        }
        if self.settings.batch == 1 {
            self.learner.local_params(&mut self.params);
        }
        self.round += 1;
        let mut tally = Tally::default();
        tally.add(&session);
        tally
    }

    /// Ends a batch. With single interactions the learner has moved already, and simply goes on.
    fn step(&mut self) {
        self.n_pending = 0;
        if self.settings.batch > 1 {
            let Update::Step { delta, .. } = self.learner.finish() else { unreachable!("PDGD makes steps") };
            self.params.iter_mut().zip(delta).for_each(|(param, step)| *param += step);
            self.begin();
        }
        if self.settings.decay != 1.0 {
            self.learning_rate *= self.settings.decay;
            self.learner.set_learning_rate(self.learning_rate as f32);
        }
    }

    fn begin(&mut self) {
        // PDGD transmits nothing: the stream is not drawn from.
        self.learner.begin(&self.params, &mut self.streams.open(Purpose::PerturbationSeed, 0, 0));
    }
}
