//! One whole federation, round after round: task, client rounds in parallel, aggregation.
//!
//! Clients of a chunk are simulated in order by one thread and folded at once; chunks are merged in order by the
//! coordinator. Results therefore do not depend on the number of threads, and a million clients need no more memory
//! than the partial sums.

mod recorder;
mod resumed;
mod settings;

use std::sync::{Mutex, MutexGuard, PoisonError};

use foltr_federation::{
    CHUNK, CloseError, Contributions, Coordinator, History, LocalPrivacy, Mechanism, PartialSum, Payload,
    PayloadSemantics, Rejected, RoundReport, RoundTask, Setup, TailMean, privacy::Clip,
};
use foltr_rank::Params;
use foltr_rank::learn::{Models, OwnRanker};
use foltr_rank::personal::Destination;
use foltr_rank::rng::{Purpose, Streams};
use rayon::prelude::*;

use crate::adversary::Adversary;
use crate::client_data::ClientData;
use crate::client_round::{Boxed, ClientLearner, Round, RoundStats, Worker};
use crate::client_states::{ClientStates, StateStretch};
use crate::pace::{Speeds, Stragglers};
use crate::per_message_round::PerMessageRound;
use crate::published_stream::PublishedClients;
use foltr_federation::participation::survivors;

pub use recorder::ClientWork;
pub(crate) use recorder::RoundRecorder;
pub use resumed::ResumeError;
pub use settings::{FederationError, FederationSettings, Learning};

/// Chunks whose sums are in memory at a time. They are merged in order, so the number changes no result.
const WAVE: usize = 256;

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
    partition: &'a ClientData,
    streams: Streams,
    coordinator: Coordinator,
    /// One for each cluster.
    clusters: Vec<Coordinator>,
    /// Their models.
    cluster_models: Vec<Params>,
    /// Reads states and writes the first ones; every worker has a learner of its own.
    personal: Option<Box<dyn ClientLearner>>,
    states: ClientStates,
    rule: PayloadSemantics,
    /// One for each thread of the pool, and one for a caller outside of it.
    workers: Vec<Mutex<Worker>>,
    published: Option<PublishedClients>,
    /// Where single messages matter: for a rule that compares them, for momentum, and for attackers.
    gathered: Option<PerMessageRound>,
    tail: Option<TailMean>,
    /// Speeds of the clients and the simulated time so far, if they are asked for.
    clock: Option<(Speeds, f64)>,
    /// By client; empty if nobody is absent.
    is_absent: Vec<bool>,
    effort: ClientWork,
    history: Option<History>,
    taken: RoundRecorder,
    /// Whether attackers have another mind than that of the settings, of which nothing is known.
    is_watched: bool,
}

impl<'a> FederationRun<'a> {
    /// A federation in round 0.
    ///
    /// # Errors
    /// If the settings contradict each other.
    pub fn new(settings: FederationSettings, partition: &'a ClientData) -> Result<Self, FederationError> {
        settings.check(partition)?;
        let rule = settings.rule();
        let gathered = PerMessageRound::of(&settings);
        let setup = Setup {
            initial: settings.initial.clone(),
            // Where single messages matter a client has the same slot in every round.
            n_clients: if gathered.is_some() {
                settings.n_clients
            } else {
                settings.participation.most(settings.n_clients)
            },
            n_interactions: partition.most_interactions(),
            rule,
            defence: settings.defence,
            optimiser: settings.optimiser,
            mode: settings.privacy.mode(),
            clip_norm: None,
        };
        let streams = Streams::new(settings.seed);
        let worker = |_| Mutex::new(Worker::new(client_learner(&settings), &streams));
        let workers = (0..=rayon::current_num_threads()).map(worker).collect();
        let clusters = cluster_setups(&settings, &setup).map(Coordinator::new).collect::<Result<Vec<_>, _>>()?;
        let coordinator = Coordinator::new(setup)?;
        let personal = settings.personalisation.map(|_| client_learner(&settings));
        let start =
            |learner: &dyn ClientLearner| ClientStates::start(learner, &settings.initial, settings.n_clients, &streams);
        let states = personal.as_deref().map_or_else(ClientStates::default, start);
        let published = match settings.learning {
            Learning::Evolution { settings: evolution, published_stream: true } => {
                Some(PublishedClients::new(settings.seed, settings.n_clients, settings.shape, evolution))
            }
            _ => None,
        };
        let tail = settings.average_from.map(|round| TailMean::new(round, settings.initial.len()));
        let n_known = if settings.absent.is_empty() { 0 } else { settings.n_clients };
        Ok(Self {
            is_absent: (0..n_known).map(|client| settings.absent.binary_search(&client).is_ok()).collect(),
            taken: RoundRecorder::new(settings.initial.len()),
            effort: ClientWork::default(),
            history: None,
            is_watched: false,
            settings,
            partition,
            streams,
            coordinator,
            cluster_models: models_of(&clusters),
            clusters,
            personal,
            states,
            rule,
            workers,
            published,
            gathered,
            tail,
            clock: None,
        })
    }

    /// The same with a simulated time: every round lasts as long as the slowest of its clients.
    #[must_use]
    pub fn with_pace(mut self, pace: Stragglers) -> Self {
        self.clock = Some((Speeds::new(pace, self.settings.n_clients, &self.streams), 0.0));
        self
    }

    /// The same with another mind behind the attackers than that of the settings.
    ///
    /// # Panics
    /// If there are no attackers.
    #[must_use]
    pub fn with_adversary(mut self, adversary: Box<dyn Adversary>) -> Self {
        assert!(self.settings.attackers.is_some(), "an adversary needs attackers to speak for it");
        self.gathered = self.gathered.map(|gathered| gathered.with_adversary(adversary));
        self.is_watched = true;
        self
    }

    /// Simulated time so far, in rounds of a usual client, if clients have a pace.
    pub fn time(&self) -> Option<f64> {
        self.clock.as_ref().map(|(_, time)| *time)
    }

    /// What defines it.
    pub const fn settings(&self) -> &FederationSettings {
        &self.settings
    }

    /// What its clients hold.
    pub const fn partition(&self) -> &'a ClientData {
        self.partition
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

    /// The ranker that a client uses after the rounds so far; none if it has none of its own.
    pub fn own_ranker(&self, client: u32) -> Option<OwnRanker> {
        let models = Models { global: &self.task().global, clusters: &self.cluster_models };
        self.personal.as_ref().and_then(|learner| learner.own_ranker(models, self.states.of(client)))
    }

    /// Whether there is a ranker that all clients help to train; devices that learn alone and clusters have none.
    pub fn has_global_ranker(&self) -> bool {
        let destination = self.settings.personalisation.map(|method| method.destination());
        !matches!(destination, Some(Destination::Nobody | Destination::Cluster))
    }

    /// Messages of attackers that the server did not take.
    pub fn n_refused(&self) -> u64 {
        self.gathered.as_ref().map_or(0, PerMessageRound::n_refused)
    }

    /// The attackers' share of the last step; nothing without attackers, or where the rule mixes coordinates.
    pub fn attacker_share(&self) -> Option<f64> {
        self.gathered.as_ref().and_then(PerMessageRound::attacker_share)
    }

    /// What clients keep from round to round.
    pub const fn states(&self) -> &ClientStates {
        &self.states
    }

    /// How the server reads messages.
    pub const fn rule(&self) -> PayloadSemantics {
        self.rule
    }

    /// What clients have done so far.
    pub const fn effort(&self) -> ClientWork {
        self.effort
    }

    /// Runs one round and says what happened in it.
    pub fn round(&mut self) -> Result<RoundStats, RoundError> {
        let number = self.task().round;
        self.keep_state();
        let (drawn, arrived) = self.clients_of(number);
        if let Some((speeds, time)) = &mut self.clock {
            *time += speeds.slowest(&drawn, number);
        }
        // A device whose message is lost has learnt for itself all the same; without a state nothing of it is left.
        let is_lost = |client: u32| arrived.len() < drawn.len() && arrived.binary_search(&client).is_err();
        let clients = if self.personal.is_some() { &drawn } else { &arrived };
        self.effort.add(self.partition, clients, arrived.len());
        self.taken.begin(self.history.as_ref(), number);
        let (task, cluster_models) = (self.coordinator.task().clone(), self.cluster_models.clone());
        let round = Round {
            task: &task,
            clusters: &cluster_models,
            partition: self.partition,
            privacy: &self.settings.privacy,
            sums_only: self.settings.noise_is_drawn_at_once(),
            rule: self.rule,
            streams: &self.streams,
        };
        let destination = self.settings.personalisation.map_or(Destination::Global, |method| method.destination());
        let mut tally = RoundStats::default();
        for (wave, clients) in clients.chunks(WAVE * CHUNK).enumerate() {
            if let Some(published) = &mut self.published {
                for (i, (partial, part)) in published.run(&round, clients).into_iter().enumerate() {
                    self.coordinator.receive_partial(wave * WAVE + i, partial)?;
                    tally.merge(&part);
                }
                continue;
            }
            if let Some(gathered) = &mut self.gathered {
                tally.merge(&gathered.run(&self.workers, &round, clients));
                continue;
            }
            let stretches = self.states.stretches(clients.chunks(CHUNK));
            let work = clients.par_chunks(CHUNK).zip(stretches);
            let wants = self.taken.wants_updates();
            let run = |(chunk, states)| run_chunk(&self.workers, &round, destination, &is_lost, chunk, states, wants);
            let chunks: Vec<(Sums, RoundStats)> = work.map(run).collect();
            for (i, (sums, part)) in chunks.into_iter().enumerate() {
                self.coordinator.receive_partial(wave * WAVE + i, sums.global)?;
                self.taken.steps(&sums.updates);
                for (cluster, partial) in self.clusters.iter_mut().zip(sums.clusters) {
                    cluster.receive_partial(wave * WAVE + i, partial)?;
                }
                tally.merge(&part);
            }
        }
        match &mut self.gathered {
            Some(gathered) => gathered.deliver(&mut self.coordinator, &self.streams, &mut self.taken)?,
            None => self.taken.clients(&arrived),
        }
        for cluster in &mut self.clusters {
            close_plainly(cluster)?;
        }
        self.cluster_models = models_of(&self.clusters);
        let closed = self.close(arrived.len() as u32);
        self.keep_round(number, &task.global, matches!(closed, Ok(true)));
        closed?;
        if let Some(gathered) = &mut self.gathered {
            gathered.judge(self.coordinator.shares());
        }
        if let Some(tail) = &mut self.tail {
            tail.add(self.coordinator.task().round, self.coordinator.master());
        }
        Ok(tally)
    }

    /// Who takes part in a round, and whose message arrives. The absent are taken out of what is drawn for all.
    fn clients_of(&self, round: u32) -> (Vec<u32>, Vec<u32>) {
        let settings = &self.settings;
        let mut drawn = settings.participation.draw(&self.streams, round, settings.n_clients);
        let mut arrived = survivors(drawn.clone(), settings.dropout, &self.streams, round);
        if !self.is_absent.is_empty() {
            for clients in [&mut drawn, &mut arrived] {
                clients.retain(|&client| !self.is_absent[client as usize]);
            }
        }
        (drawn, arrived)
    }

    /// Closes the round; says whether it moved the model.
    fn close(&mut self, n_survivors: u32) -> Result<bool, CloseError> {
        let round = self.coordinator.task().round;
        let mut noise = self.streams.open(Purpose::Noise, u32::MAX, round);
        let cohort = self.settings.participation.expected(self.settings.n_clients);
        let closed = match &self.settings.privacy {
            Mechanism::DistributedLaplace(mechanism) if self.settings.noise_is_drawn_at_once() => {
                self.coordinator.close_with(|step| mechanism.laplace_of_mean(cohort as u32, &mut noise, step))
            }
            Mechanism::DiscreteGaussian(mechanism) => {
                self.coordinator.close_with(|step| mechanism.noise_of_sum(n_survivors, cohort, &mut noise, step))
            }
            Mechanism::Gaussian(mechanism) => {
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
        settle(&mut self.coordinator, closed)
    }
}

fn models_of(coordinators: &[Coordinator]) -> Vec<Params> {
    coordinators.iter().map(|coordinator| coordinator.task().global.clone()).collect()
}

fn close_plainly(coordinator: &mut Coordinator) -> Result<bool, CloseError> {
    let closed = coordinator.close();
    settle(coordinator, closed)
}

/// Goes on after a round that left the model as it was; says whether it moved.
fn settle(coordinator: &mut Coordinator, closed: Result<RoundReport, CloseError>) -> Result<bool, CloseError> {
    match closed {
        Err(CloseError::TooFewSurvivors { .. } | CloseError::TooFewClients { .. }) => Ok(false),
        // Everybody was lost, or nobody sends anything here.
        Err(CloseError::Empty { .. }) => {
            coordinator.skip();
            Ok(false)
        }
        other => other.map(|_| true),
    }
}

/// What the coordinators of clusters are made of: that of all clients, with a model to be added, or one to be used alone.
fn cluster_setups(settings: &FederationSettings, setup: &Setup) -> impl Iterator<Item = Setup> {
    let (n_clusters, is_added) =
        settings.personalisation.map_or((0, false), |method| (method.n_clusters(), method.clusters_are_added()));
    let initial = if is_added { vec![0.0; setup.initial.len()] } else { setup.initial.clone() };
    std::iter::repeat_n(Setup { initial, ..setup.clone() }, n_clusters)
}

pub(crate) fn client_learner(settings: &FederationSettings) -> Box<dyn ClientLearner> {
    match (settings.personalisation, settings.learning) {
        (Some(method), Learning::Pdgd(pdgd)) => method.learner(settings.shape, pdgd, Boxed),
        (_, learning) => learning.learner(settings.shape, Boxed),
    }
}

/// What a chunk of clients sends, summed.
struct Sums {
    global: PartialSum,
    clusters: Vec<PartialSum>,
    /// One by one, if somebody wants to see them.
    updates: Contributions,
}

/// The worker of this thread.
pub(crate) fn own_worker(workers: &[Mutex<Worker>]) -> MutexGuard<'_, Worker> {
    let thread = rayon::current_thread_index().unwrap_or(workers.len() - 1);
    // A worker is only memory: after a panic elsewhere it is begun anew like any other.
    workers[thread % workers.len()].lock().unwrap_or_else(PoisonError::into_inner)
}

/// One chunk of clients on the worker of this thread.
fn run_chunk(
    workers: &[Mutex<Worker>],
    round: &Round<'_>,
    destination: Destination,
    is_lost: &(impl Fn(u32) -> bool + Sync),
    clients: &[u32],
    mut states: StateStretch<'_>,
    wants_updates: bool,
) -> (Sums, RoundStats) {
    let mut worker = own_worker(workers);
    let n_params = round.task.global.len();
    let clusters = vec![PartialSum::new(n_params); round.clusters.len()];
    let updates = Contributions::new(n_params);
    let (mut sums, mut tally) = (Sums { global: PartialSum::new(n_params), clusters, updates }, RoundStats::default());
    worker.run_clients(round, clients.iter().copied(), &mut states, |sent| {
        tally.add(&sent.session);
        if is_lost(sent.client) {
            return;
        }
        if wants_updates && let Payload::Step { n_interactions, delta } = sent.payload {
            sums.updates.push(sent.client, f64::from(*n_interactions), delta);
        }
        if matches!(destination, Destination::Global | Destination::GlobalAndCluster) {
            sums.global.add_payload_with(sent.payload, &round.rule, sent.direction);
        }
        if let Some(cluster) = sent.cluster {
            sums.clusters[cluster].add_payload_with(sent.payload, &round.rule, sent.direction);
        }
    });
    (sums, tally)
}
