//! How does a network learn? Adam on the hinge loss of pairs, with early stopping and without forgetting where it was.

mod adam;
mod batch;
mod dropout;
mod loss;
mod state;
mod step;
mod texts;

use std::ops::ControlFlow;

use foltr_rank::rng::{MAX_ROUNDS, Purpose, Streams};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Inputs, Network, Pair, PairSource};

use adam::Adam;
use dropout::{Dropout, MAX_ROWS};
use step::Step;

pub use state::StateError;

/// How a network is trained.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Pairs a step.
    pub batch: usize,
    /// Learning rate of Adam.
    pub learning_rate: f32,
    /// Steps at most.
    pub n_steps: u32,
    /// Steps between two validations.
    pub validate_every: u32,
    /// Validations without improvement until training ends.
    pub patience: u32,
    /// Seed of the pairs and of dropout.
    pub seed: u64,
}

impl Default for Settings {
    /// The paper's batch and learning rate.
    fn default() -> Self {
        Self { batch: 512, learning_rate: 1e-3, n_steps: 10_000, validate_every: 250, patience: 10, seed: 1 }
    }
}

/// A setting is out of its range.
#[derive(Debug, Error, PartialEq)]
#[error("the setting `{name}` is {found}; expected {expected}")]
pub struct SettingsError {
    name: &'static str,
    found: String,
    expected: String,
}

/// A network in training, with all that it takes to go on.
#[derive(Clone, Debug)]
pub struct Training {
    settings: Settings,
    network: Network,
    adam: Adam,
    /// Steps taken.
    step: u32,
    best: Option<Best>,
    /// Validations since the best one.
    n_without_improvement: u32,
    streams: Streams,
    memory: Step,
    pairs: Vec<Pair>,
}

/// The best network so far.
#[derive(Clone, Debug, PartialEq)]
struct Best {
    network: Network,
    validation: f64,
    step: u32,
}

/// Where training is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps taken.
    pub step: u32,
    /// Mean loss of the last step's pairs.
    pub loss: f64,
    /// What validation said, if this step had one.
    pub validation: Option<f64>,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All steps were taken.
    Steps,
    /// Validation did not improve any more.
    Patience,
    /// The caller asked for it; training can go on from here.
    Stopped,
}

impl Training {
    /// Training that has not begun.
    ///
    /// # Errors
    /// If a setting is out of its range.
    pub fn new(network: Network, settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let adam = Adam::new(&network, settings.learning_rate);
        Ok(Self::with(network, adam, settings))
    }

    fn with(network: Network, adam: Adam, settings: Settings) -> Self {
        let streams = Streams::new(settings.seed);
        let (memory, pairs) = (Step::default(), Vec::new());
        Self { settings, network, adam, step: 0, best: None, n_without_improvement: 0, streams, memory, pairs }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The network as it is now.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Steps taken.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// The network that validated best and its validation, if there was any.
    pub fn best(&self) -> Option<(&Network, f64)> {
        self.best.as_ref().map(|best| (&best.network, best.validation))
    }

    /// The network that validated best, or the last one without validations.
    pub fn into_best(self) -> Network {
        self.best.map_or(self.network, |best| best.network)
    }

    /// Takes steps and returns the mean of their losses; nothing else happens.
    ///
    /// # Panics
    /// If the inputs do not fit the network ([`crate::Shape::check_inputs`]) or a pair has a number that is not there.
    pub fn advance(&mut self, inputs: &Inputs, pairs: &PairSource, n_steps: u32) -> f64 {
        let mut total = 0.0;
        for _ in 0..n_steps {
            // Every step has streams of its own: to go on after a stop, its number is enough.
            let mut stream = self.streams.open(Purpose::Training, 0, self.step);
            self.pairs.clear();
            pairs.draw(&mut stream, self.settings.batch, &mut self.pairs);
            let dropout = Dropout::new(self.network.shape().dropout, &self.streams, self.step);
            total += self.memory.run(&mut self.network, &mut self.adam, inputs, &self.pairs, dropout);
            self.step += 1;
        }
        total / f64::from(n_steps)
    }

    /// Trains until the steps, patience or the caller end it.
    ///
    /// `validate` is a measure of which larger is better; `report` is told of every step.
    ///
    /// # Panics
    /// As [`Self::advance`].
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
            if self.step >= self.settings.n_steps {
                return Ending::Steps;
            }
            let loss = self.advance(inputs, pairs, 1);
            let is_due = self.step.is_multiple_of(self.settings.validate_every) || self.step == self.settings.n_steps;
            let validation = is_due.then(|| validate(&self.network));
            if let Some(validation) = validation {
                self.judge(validation);
            }
            if report(&Progress { step: self.step, loss, validation }).is_break() {
                return Ending::Stopped;
            }
        }
    }

    /// Keeps the network if it is the best one. A validation that is not finite is none.
    fn judge(&mut self, validation: f64) {
        let is_better = self.best.as_ref().is_none_or(|best| validation > best.validation);
        if validation.is_finite() && is_better {
            self.best = Some(Best { network: self.network.clone(), validation, step: self.step });
            self.n_without_improvement = 0;
        } else {
            self.n_without_improvement += 1;
        }
    }
}

impl Settings {
    /// # Errors
    /// If a setting is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let ranges = [
            ("batch", self.batch as u64, MAX_ROWS as u64 / 2),
            ("n_steps", self.n_steps.into(), MAX_ROUNDS.into()),
            ("validate_every", self.validate_every.into(), u32::MAX.into()),
            ("patience", self.patience.into(), u32::MAX.into()),
        ];
        let wrong = |name, found, expected| Err(SettingsError { name, found, expected });
        if let Some((name, value, max)) = ranges.into_iter().find(|(_, value, max)| !(1..=*max).contains(value)) {
            return wrong(name, value.to_string(), format!("1 to {max}"));
        }
        match self.learning_rate {
            rate if rate.is_finite() && rate > 0.0 => Ok(()),
            rate => wrong("learning_rate", rate.to_string(), "a number above 0".into()),
        }
    }
}

#[cfg(test)]
mod tests;
