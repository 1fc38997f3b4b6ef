//! One whole federation, round after round: task, client rounds in parallel, aggregation.
//!
//! Clients of a chunk are simulated in order by one thread and folded at once; chunks are merged in order by the
//! coordinator. Results therefore do not depend on the number of threads, and a million clients need no more memory
//! than the partial sums.

use std::sync::{Mutex, PoisonError};

use foltr_federation::{
    Aggregation, BadSetup, CHUNK, CloseError, Coordinator, Kind, LocalPrivacy, Partial, Privacy, Rejected, RoundTask,
    Rule, ServerOptimiser, Setup, TailMean, privacy::Clip,
};
use foltr_rank::learn::evolution::{Evolution, EvolutionSettings};
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Params, Shape};
use rayon::prelude::*;

use crate::click::Users;
use crate::client_round::{ClientLearner, Round, Tally, Worker};
use crate::cohort::{Cohort, survivors};
use crate::pace::{Pace, Speeds};
use crate::partition::Partition;
use crate::published_stream::PublishedClients;

/// Chunks whose sums are in memory at a time. They are merged in order, so the number changes no result.
const WAVE: usize = 256;

/// What clients do in a federation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Learning {
    /// FPDGD.
    Pdgd(PdgdSettings),
    /// FOLtR-ES.
    Evolution {
        /// Its settings.
        settings: EvolutionSettings,
        /// Whether to use the published code's random stream, which biases the gradient (spec section 4).
        published_stream: bool,
    },
}

/// Everything that defines a federation but its data.
#[derive(Clone, Debug)]
pub struct FederationSettings {
    /// Seed of all randomness.
    pub seed: u64,
    /// The ranker.
    pub shape: Shape,
    /// The model of round 0.
    pub initial: Params,
    /// What clients do.
    pub learning: Learning,
    /// All clients.
    pub n_clients: u32,
    /// Clients in a round.
    pub cohort: Cohort,
    /// Probability that a client's message of a round is lost.
    pub dropout: f64,
    /// What happens to an update before it is sent.
    pub privacy: Privacy,
    /// What the server does with the averaged step.
    pub optimiser: ServerOptimiser,
    /// The round (from 1) from which models are averaged into the published one; none for the newest model.
    pub average_from: Option<u32>,
}

/// Why a federation cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadFederation {
    /// The coordinator cannot be made.
    #[error(transparent)]
    Setup(#[from] BadSetup),
    /// A mechanism for another kind of update.
    #[error("this privacy mechanism is not defined for what these clients send ({kind:?})")]
    Privacy {
        /// What they send.
        kind: Kind,
    },
    /// Half of the interactions try the mirrored perturbation.
    #[error("{n_interactions} interactions cannot be halved; with mirrored perturbations their number must be even")]
    Odd {
        /// Interactions of a client in a round.
        n_interactions: u32,
    },
    /// A reward is the mean over a fixed number of interactions.
    #[error("FOLtR-ES needs clients with equally many interactions in a round")]
    Unequal,
    /// The published code did nothing else.
    #[error("the published random stream needs equal clients, cascade users and all clients in every round")]
    Published,
}

impl FederationSettings {
    pub(crate) fn rule(&self) -> Rule {
        let usual = match self.learning {
            Learning::Pdgd(_) => Rule::Averaging,
            Learning::Evolution { settings: EvolutionSettings { sigma, antithetic, .. }, .. } => {
                Rule::Evolution { sigma: f64::from(sigma), antithetic }
            }
        };
        self.privacy.rule(usual, self.cohort.expected(self.n_clients))
    }

    /// Whether the noise of a whole sum is drawn at once: its law is known for any number of Gaussian shares, but for
    /// shares of Laplace noise only if every client that the task counts on takes part, with equal weight (spec section 9).
    fn noise_is_drawn_at_once(&self) -> bool {
        let is_complete = self.dropout == 0.0 && !matches!(self.cohort, Cohort::Coins(_));
        is_complete || matches!(self.privacy, Privacy::DiscreteGaussian(_))
    }

    pub(crate) fn check(&self, partition: &Partition) -> Result<(), BadFederation> {
        let kind = self.rule().kind();
        if !self.privacy.accepts(kind) {
            return Err(BadFederation::Privacy { kind });
        }
        if let Learning::Evolution { settings, published_stream } = self.learning {
            if !partition.has_equal_interactions() {
                return Err(BadFederation::Unequal);
            }
            let n_interactions = partition.most_interactions();
            if settings.antithetic && !n_interactions.is_multiple_of(2) {
                return Err(BadFederation::Odd { n_interactions });
            }
            let everyone = self.cohort == Cohort::Everyone && self.dropout == 0.0;
            let as_published =
                matches!(partition.users(), [Users::Cascade(_)]) && partition.sets().len() == 1 && everyone;
            if published_stream && !as_published {
                return Err(BadFederation::Published);
            }
        }
        Ok(())
    }
}

/// Why a round could not be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RoundError {
    /// The coordinator refused a sum.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The round could not be closed.
    #[error(transparent)]
    Close(#[from] CloseError),
}

/// A federation in the middle of its run.
pub struct FederationRun<'a> {
    settings: FederationSettings,
    partition: &'a Partition,
    streams: Streams,
    coordinator: Coordinator,
    rule: Rule,
    /// One for each thread of the pool, and one for a caller outside of it.
    workers: Vec<Mutex<Worker>>,
    published: Option<PublishedClients>,
    tail: Option<TailMean>,
    /// Speeds of the clients and the simulated time so far, if they are asked for.
    clock: Option<(Speeds, f64)>,
}

impl<'a> FederationRun<'a> {
    /// A federation in round 0.
    ///
    /// # Errors
    /// If the settings contradict each other.
    pub fn new(settings: FederationSettings, partition: &'a Partition) -> Result<Self, BadFederation> {
        settings.check(partition)?;
        let rule = settings.rule();
        let coordinator = Coordinator::new(Setup {
            initial: settings.initial.clone(),
            n_clients: settings.cohort.most(settings.n_clients),
            n_interactions: partition.most_interactions(),
            rule,
            aggregation: Aggregation::Mean(foltr_federation::aggregate::Mean {}),
            optimiser: settings.optimiser,
            mode: settings.privacy.mode(),
            clip_norm: None,
        })?;
        let streams = Streams::new(settings.seed);
        let learner = client_learner(&settings);
        let workers =
            (0..=rayon::current_num_threads()).map(|_| Mutex::new(Worker::new(learner.clone(), &streams))).collect();
        let published = match settings.learning {
            Learning::Evolution { settings: evolution, published_stream: true } => {
                Some(PublishedClients::new(settings.seed, settings.n_clients, settings.shape, evolution))
            }
            _ => None,
        };
        let tail = settings.average_from.map(|round| TailMean::new(round, settings.initial.len()));
        Ok(Self { settings, partition, streams, coordinator, rule, workers, published, tail, clock: None })
    }

    /// The same with a simulated time: every round lasts as long as the slowest of its clients.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.clock = Some((Speeds::new(pace, self.settings.n_clients, &self.streams), 0.0));
        self
    }

    /// Simulated time so far, in rounds of a usual client, if clients have a pace.
    pub fn time(&self) -> Option<f64> {
        self.clock.as_ref().map(|(_, time)| *time)
    }

    /// The open round.
    pub const fn task(&self) -> &RoundTask {
        self.coordinator.task()
    }

    /// The ranker to use after the rounds so far: the newest, or the mean of the last ones.
    pub fn ranker(&self) -> Params {
        let mean = self.tail.as_ref().and_then(TailMean::mean);
        mean.unwrap_or_else(|| self.task().global.clone())
    }

    /// Runs one round and says what happened in it.
    pub fn round(&mut self) -> Result<Tally, RoundError> {
        let (settings, number) = (&self.settings, self.task().round);
        let clients = settings.cohort.draw(&self.streams, number, settings.n_clients);
        if let Some((speeds, time)) = &mut self.clock {
            *time += speeds.slowest(&clients, number);
        }
        let clients = survivors(clients, settings.dropout, &self.streams, number);
        let task = self.coordinator.task().clone();
        let round = Round {
            task: &task,
            partition: self.partition,
            privacy: &self.settings.privacy,
            sums_only: self.settings.noise_is_drawn_at_once(),
            rule: self.rule,
            streams: &self.streams,
        };
        let mut tally = Tally::default();
        for (wave, clients) in clients.chunks(WAVE * CHUNK).enumerate() {
            let chunks: Vec<(Partial, Tally)> = match &mut self.published {
                Some(published) => published.run(&round, clients),
                None => clients.par_chunks(CHUNK).map(|chunk| run_chunk(&self.workers, &round, chunk)).collect(),
            };
            for (i, (partial, part)) in chunks.into_iter().enumerate() {
                self.coordinator.receive_partial(wave * WAVE + i, partial)?;
                tally.merge(&part);
            }
        }
        self.close(clients.len() as u32)?;
        if let Some(tail) = &mut self.tail {
            tail.add(self.coordinator.task().round, self.coordinator.master());
        }
        Ok(tally)
    }

    fn close(&mut self, n_survivors: u32) -> Result<(), CloseError> {
        let round = self.coordinator.task().round;
        let mut noise = self.streams.open(Purpose::Noise, u32::MAX, round);
        let cohort = self.settings.cohort.expected(self.settings.n_clients);
        let closed = match &self.settings.privacy {
            Privacy::DistributedLaplace(mechanism) if self.settings.noise_is_drawn_at_once() => {
                self.coordinator.close_with(|step| mechanism.laplace_of_mean(cohort as u32, &mut noise, step))
            }
            Privacy::DiscreteGaussian(mechanism) => {
                self.coordinator.close_with(|step| mechanism.noise_of_sum(n_survivors, cohort, &mut noise, step))
            }
            Privacy::Gaussian(mechanism) => {
                let clip = self.coordinator.task().clip_norm.map_or(mechanism.clip().initial(), f64::from);
                let report =
                    self.coordinator.close_with(|step| mechanism.noise_of_step(clip, cohort, &mut noise, step));
                if let (Ok(report), Clip::Adaptive(adaptive)) = (&report, mechanism.clip()) {
                    let (within, came) = (report.n_within, report.n_contributions);
                    self.coordinator.set_clip_norm(adaptive.next(clip, within, came, cohort, &mut noise) as f32);
                }
                report
            }
            _ => self.coordinator.close(),
        };
        match closed {
            // What a round without enough survivors leaves is the model as it was.
            Err(CloseError::TooFewSurvivors { .. }) => Ok(()),
            // Everybody was lost.
            Err(CloseError::Empty { .. }) => {
                self.coordinator.skip();
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }
}

pub(crate) fn client_learner(settings: &FederationSettings) -> ClientLearner {
    match settings.learning {
        Learning::Pdgd(pdgd) => ClientLearner::Pdgd(Box::new(Pdgd::new(settings.shape, pdgd))),
        Learning::Evolution { settings: evolution, .. } => {
            ClientLearner::Evolution(Box::new(Evolution::new(settings.shape, evolution)))
        }
    }
}

/// One chunk of clients on the worker of this thread.
fn run_chunk(workers: &[Mutex<Worker>], round: &Round<'_>, clients: &[u32]) -> (Partial, Tally) {
    let thread = rayon::current_thread_index().unwrap_or(workers.len() - 1);
    // A worker is only memory: after a panic elsewhere it is begun anew like any other.
    let mut worker = workers[thread % workers.len()].lock().unwrap_or_else(PoisonError::into_inner);
    let mut partial = Partial::new(round.task.global.len());
    let tally = worker.run(round, clients.iter().copied(), &mut partial);
    (partial, tally)
}
