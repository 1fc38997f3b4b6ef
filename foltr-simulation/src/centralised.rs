//! Centralised PDGD: all interactions in one place, as the yardstick of every federation.
//!
//! `OdR18` Oosterhuis, de Rijke, CIKM 2018, Algorithm 1; spec sections 6.5 and 6.6. A step follows every interaction,
//! or the sum (not the mean) of a batch's gradients on frozen weights.

use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{OnlineLearner, Params, Ranking, Shape, Update};
use rand::RngExt;

use crate::click::Users;
use crate::client_round::{ClientStats, RoundStats, TrainingSet, interact};

/// Everything that defines a centralised run but its data.
#[derive(Clone, Debug)]
pub struct CentralisedSettings {
    pub seed: u64,
    pub shape: Shape,
    pub initial: Params,
    pub learning_rate: f64,
    /// The rate is multiplied by this after every step.
    pub decay: f64,
    pub batch: usize,
    /// No document is shown further than so many places from its rank by score; none for no bound.
    pub max_displacement: Option<usize>,
    /// Interactions a round: the stretch between two looks from outside.
    pub n_interactions: usize,
    pub n_shown: usize,
    pub users: Users,
}

/// The learning rate of the last step was too large.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("training diverged: non-finite parameters with learning rate {learning_rate}; use a smaller one")]
pub struct Diverged {
    pub learning_rate: f64,
}

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
    pub fn new(settings: CentralisedSettings, training: &'a TrainingSet) -> Self {
        let learner = Pdgd::new(
            settings.shape,
            PdgdSettings {
                learning_rate: settings.learning_rate as f32,
                updates: if settings.batch == 1 { Updates::Immediate } else { Updates::Accumulated },
                n_shown: settings.n_shown,
                clip_radius: None,
                proximal: 0.0,
                max_displacement: settings.max_displacement,
            },
        );
        let streams = Streams::new(settings.seed);
        let (params, learning_rate) = (settings.initial.clone(), settings.learning_rate);
        let mut run = Self { settings, training, streams, learner, params, learning_rate, n_pending: 0, round: 0 };
        run.begin();
        run
    }

    pub fn params(&self) -> &[f32] {
        &self.params
    }

    pub fn round(&mut self) -> Result<RoundStats, Diverged> {
        let mut stream = self.streams.open(Purpose::Interaction, 0, self.round);
        let n_queries = self.training.data().n_queries();
        let (mut stats, mut ranking) = (ClientStats::default(), Ranking::default());
        let mut next = stream.random_range(0..n_queries);
        for _ in 0..self.settings.n_interactions {
            let query = std::mem::replace(&mut next, stream.random_range(0..n_queries));
            let users = &self.settings.users;
            let upcoming = self.training.data().query(next);
            interact(&mut self.learner, self.training, users, (query, upcoming), &mut stream, &mut ranking, &mut stats);
            self.n_pending += 1;
            if self.n_pending == self.settings.batch {
                self.step();
            }
        }
        if self.settings.batch == 1 {
            self.learner.local_params(&mut self.params);
        }
        self.round += 1;
        if self.params.iter().any(|param| !param.is_finite()) {
            return Err(Diverged { learning_rate: self.learning_rate });
        }
        let mut round = RoundStats::default();
        round.add(&stats);
        Ok(round)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click::{Cascade, Preset};
    use crate::datasets::{Synthetic, SyntheticShape};

    fn run(learning_rate: f64, batch: usize) -> (Result<RoundStats, Diverged>, Params) {
        let synthetic = Synthetic { n_train: 50, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Tiny) };
        let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
        let shape = Shape::Linear { n_features: training.data().n_features() };
        let settings = CentralisedSettings {
            seed: 1,
            shape,
            initial: vec![0.0; shape.n_params()],
            learning_rate,
            decay: 0.999,
            batch,
            max_displacement: None,
            n_interactions: 200,
            n_shown: 10,
            users: Users::Cascade(Cascade::preset(Preset::Perfect, 2).expect("three grades")),
        };
        let mut run = CentralisedRun::new(settings, &training);
        let stats = run.round();
        (stats, run.params.clone())
    }

    #[test]
    fn non_finite_parameters_are_an_error() {
        assert!(run(0.1, 1).0.is_ok());
        // Beyond single precision: the first step is infinite.
        assert!(run(1e300, 1).0.is_err());
    }

    #[test]
    fn one_batch_of_all_interactions_is_one_step_of_their_sum() {
        // 200 interactions on frozen weights: twice the rate moves exactly twice as far.
        let (one, two) = (run(0.1, 200).1, run(0.2, 200).1);
        assert!(one.iter().any(|&w| w != 0.0));
        one.iter().zip(&two).for_each(|(a, b)| assert!((2.0 * a - b).abs() <= 1e-5 * b.abs()));
        // An unfinished batch has not moved the model yet.
        assert!(run(0.1, 201).1.iter().all(|&w| w == 0.0));
    }
}
