//! How does a network learn? Adam on a loss of pairs, with early stopping, and resumed where it was interrupted.

mod adam;
mod batch;
mod dropout;
mod interactions;
pub(crate) mod loss;
mod state;
mod step;
mod texts;

use std::ops::ControlFlow;

use foltr_rank::rng::{Purpose, Streams};

use crate::{Inputs, InvalidInput, Lesson, Network, NetworkSettings, PairSource};

use adam::Adam;
use dropout::Dropout;
pub(crate) use dropout::MAX_ROWS;
use step::Step;

/// A network in training, with all that it takes to go on.
#[derive(Clone, Debug)]
pub struct Training {
    settings: NetworkSettings,
    /// Of the pairs and of dropout.
    seed: u64,
    network: Network,
    adam: Adam,
    step: u32,
    /// The network that validated best, and its validation.
    best: Option<(Network, f64)>,
    n_without_improvement: u32,
    streams: Streams,
    memory: Step,
    lessons: Vec<Lesson>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    pub step: u32,
    /// Mean over the last step's pairs.
    pub loss: f64,
    pub validation: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Steps,
    /// Validation did not improve any more.
    Patience,
    /// The caller asked for it; training can go on from here.
    Stopped,
}

impl Training {
    pub fn new(network: Network, settings: NetworkSettings, seed: u64) -> Result<Self, InvalidInput> {
        let adam = Adam::new(&network, settings.learning_rate);
        Self::with(network, adam, settings, seed)
    }

    fn with(network: Network, adam: Adam, settings: NetworkSettings, seed: u64) -> Result<Self, InvalidInput> {
        if let Some(invalid) = settings.check().first() {
            return Err(InvalidInput::new(format!("`{}` is {}", invalid.key, invalid.found), invalid.expected));
        }
        let (streams, memory, lessons) = (Streams::new(seed), Step::default(), Vec::new());
        Ok(Self {
            settings,
            seed,
            network,
            adam,
            step: 0,
            best: None,
            n_without_improvement: 0,
            streams,
            memory,
            lessons,
        })
    }

    pub fn step(&self) -> u32 {
        self.step
    }

    /// The network that validated best and its validation, if there was any.
    pub fn best(&self) -> Option<(&Network, f64)> {
        self.best.as_ref().map(|(network, validation)| (network, *validation))
    }

    /// The network that validated best, or the last one without validations.
    pub fn into_best(self) -> Network {
        self.best.map_or(self.network, |(network, _)| network)
    }

    /// Takes steps and returns the mean of their losses; nothing else happens.
    ///
    /// `inputs` are the same in all steps: what was computed of them is used again.
    ///
    /// # Panics
    /// If the inputs do not fit the network, a pair has a number that is not there, or there is no pair.
    pub fn advance(&mut self, inputs: &Inputs, pairs: &PairSource, n_steps: u32) -> f64 {
        let mut total = 0.0;
        for _ in 0..n_steps {
            // Every step has streams of its own: to go on after a stop, its number is enough.
            let mut stream = self.streams.open(Purpose::Training, 0, self.step);
            self.lessons.clear();
            pairs.draw(&mut stream, self.settings.batch, &mut self.lessons);
            let dropout = Dropout::new(self.network.shape.dropout, &self.streams, self.step);
            let (network, loss) = (&mut self.network, self.settings.loss);
            total += self.memory.run(network, &mut self.adam, inputs, &self.lessons, loss, dropout);
            self.step += 1;
        }
        total / f64::from(n_steps)
    }

    /// Trains until the steps, patience or the caller end it.
    ///
    /// `validate` is a measure of which larger is better; `report` gets every step.
    pub fn run(
        &mut self,
        inputs: &Inputs,
        pairs: &PairSource,
        mut validate: impl FnMut(&Network) -> f64,
        mut report: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Ending {
        loop {
            if self.n_without_improvement >= self.settings.patience {
                return Ending::Patience;
            }
            if self.step >= self.settings.steps {
                return Ending::Steps;
            }
            let loss = self.advance(inputs, pairs, 1);
            let is_due = self.step.is_multiple_of(self.settings.validate_every) || self.step == self.settings.steps;
            let validation = is_due.then(|| validate(&self.network));
            if let Some(validation) = validation {
                self.record(validation);
            }
            if report(&Progress { step: self.step, loss, validation }).is_break() {
                return Ending::Stopped;
            }
        }
    }

    /// Stores the network if it is the best one. A validation that is not finite is none.
    fn record(&mut self, validation: f64) {
        let is_better = self.best.as_ref().is_none_or(|(_, best)| validation > *best);
        if validation.is_finite() && is_better {
            self.best = Some((self.network.clone(), validation));
            self.n_without_improvement = 0;
        } else {
            self.n_without_improvement += 1;
        }
    }
}

#[cfg(test)]
mod tests;
