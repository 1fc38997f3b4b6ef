//! One whole federation, round after round: task, client rounds in parallel, aggregation.
//!
//! Clients of a chunk are simulated in order by one thread and folded at once; chunks are merged in order by the
//! coordinator. Results therefore do not depend on the number of threads, and a million clients need no more memory
//! than the partial sums.

mod cohort;
mod recorder;
mod settings;

use foltr_federation::{
    CHUNK, CloseError, Combination, Contributions, Coordinator, History, Part, PartialSum, Payload, Rejected, RoundTask,
};
use foltr_rank::Params;
use foltr_rank::adoption::AdoptionRule;
use foltr_rank::learn::pair_rank::statistics;
use foltr_rank::learn::{Models, OwnRanker};
use foltr_rank::personal::Destination;
use foltr_rank::rng::{Purpose, Streams};
use rayon::prelude::*;

use crate::adoption::AdoptingClients;
use crate::adversary::Adversary;
use crate::client_data::ClientData;
use crate::client_round::{ClientLearner, ClientOutput, Round, RoundStats, Workers};
use crate::client_states::{ClientStates, StateStretch};
use crate::pace::{Speeds, Stragglers};
use crate::per_message_round::PerMessageRound;
use crate::published_stream::PublishedClients;
use crate::simulated_noise::SimulatedNoise;
use crate::unlearning::Cost;

use cohort::Cohort;
pub(crate) use recorder::{RoundRecorder, append};
pub use settings::{FederationError, FederationSettings, Learning};

/// Chunks whose sums are in memory at a time. They are merged in order, so the number changes no result.
const WAVE: usize = 256;

/// The last client that a stream can have is the server.
pub const SERVER: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RoundError {
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

/// A federation in the middle of its run.
pub struct FederationRun<'a> {
    settings: FederationSettings,
    partition: &'a ClientData,
    streams: Streams,
    coordinator: Coordinator,
    cluster_models: Vec<Params>,
    /// Reads states and writes the first ones; every worker has a learner of its own.
    personal: Option<Box<dyn ClientLearner>>,
    states: ClientStates,
    workers: Workers,
    published: Option<PublishedClients>,
    /// Where single messages matter: for a rule that compares them, for momentum, and for attackers.
    per_message: Option<PerMessageRound>,
    /// Clients that test releases, if they do.
    adoption: Option<AdoptingClients>,
    /// Speeds of the clients and the simulated time so far, if they are asked for.
    clock: Option<(Speeds, f64)>,
    /// The last round that each client is busy with, where slow clients join later rounds.
    busy_until: Vec<Option<u32>>,
    cost: Cost,
    history: Option<History>,
    recorder: RoundRecorder,
    /// Whether an adversary was given that may remember anything.
    has_own_adversary: bool,
    n_dropped_steps: u64,
}

impl<'a> FederationRun<'a> {
    /// A federation in round 0, if the settings do not contradict each other.
    pub fn new(settings: FederationSettings, partition: &'a ClientData) -> Result<Self, FederationError> {
        settings.check(partition)?;
        let coordinator = Coordinator::new(settings.setup(partition))?;
        let streams = settings.streams();
        let personal = settings.personalisation.map(|_| settings.client_learner());
        let start =
            |learner: &dyn ClientLearner| ClientStates::start(learner, &settings.initial, settings.n_clients, &streams);
        let published = match settings.learning {
            Learning::Evolution { settings: evolution, published_stream: true } => {
                Some(PublishedClients::new(settings.seed, settings.n_clients, settings.shape, evolution))
            }
            _ => None,
        };
        let mut per_message = settings.needs_messages().then(|| PerMessageRound::new(&settings));
        if let Some(per_message) = &mut per_message {
            per_message.prepare(&settings, partition);
        }
        Ok(Self {
            cluster_models: models_of(&coordinator),
            coordinator,
            states: personal.as_deref().map_or_else(ClientStates::default, start),
            workers: Workers::new(&settings, &streams),
            per_message,
            recorder: RoundRecorder::new(settings.initial.len()),
            busy_until: Vec::new(),
            cost: Cost::default(),
            history: None,
            has_own_adversary: false,
            n_dropped_steps: 0,
            settings,
            partition,
            streams,
            personal,
            published,
            clock: None,
            adoption: None,
        })
    }

    /// The same with a simulated time: every round lasts as long as the slowest of its clients.
    #[must_use]
    pub fn with_pace(mut self, pace: Stragglers) -> Self {
        self.clock = Some((Speeds::new(pace, self.settings.n_clients, &self.streams), 0.0));
        self
    }

    /// The same with clients that refuse releases which rank their own clicks worse.
    pub fn with_adoption(mut self, rule: AdoptionRule) -> Result<Self, FederationError> {
        let mut parts = [self.settings.parts(), vec![Part::Adoption]].concat();
        parts.extend(self.settings.average_from.is_some().then_some(Part::AverageLast));
        parts.extend(self.history.is_some().then_some(Part::History));
        Combination::check(&parts)?;
        if let Learning::Pdgd(pdgd) = self.settings.learning {
            self.adoption = Some(AdoptingClients::new(rule, &self.settings, pdgd, &self.streams)?);
        }
        Ok(self)
    }

    /// The same with another mind behind the attackers than that of the settings.
    #[must_use]
    pub fn with_adversary(mut self, adversary: Box<dyn Adversary>) -> Self {
        assert!(self.settings.attackers.is_some(), "an adversary needs attackers to speak for it");
        self.per_message.as_mut().expect("attackers have messages").adversary = Some(adversary);
        self.has_own_adversary = true;
        self
    }

    /// Simulated time so far, in rounds of a usual client, if clients have a pace.
    pub fn time(&self) -> Option<f64> {
        self.clock.as_ref().map(|(_, time)| *time)
    }

    pub const fn task(&self) -> &RoundTask {
        self.coordinator.task()
    }

    /// The ranker to use after the rounds so far: the newest, or the mean of the last ones.
    pub fn ranker(&self) -> Params {
        let params = self.coordinator.ranker();
        if let Learning::PairRank(_) = self.settings.learning { statistics::weights(&params) } else { params }
    }

    /// The ranker that a client uses after the rounds so far; none if it has none of its own.
    pub fn own_ranker(&self, client: u32) -> Option<OwnRanker> {
        let models = Models { global: &self.task().global, clusters: &self.cluster_models };
        if let Some(params) = self.adoption.as_ref().and_then(|it| it.present(client, self.task())) {
            return Some(OwnRanker { shape: self.settings.shape, params });
        }
        self.personal.as_ref().and_then(|learner| learner.own_ranker(models, self.states.of(client)))
    }

    /// Whether there is a ranker that all clients help to train; devices that learn alone and clusters have none.
    pub fn has_global_ranker(&self) -> bool {
        matches!(self.destination(), Destination::Global | Destination::GlobalAndCluster)
    }

    fn destination(&self) -> Destination {
        self.settings.personalisation.map_or(Destination::Global, |method| method.destination())
    }

    /// Messages that the server has refused so far.
    pub fn n_refused(&self) -> u64 {
        self.per_message.as_ref().map_or(0, |messages| messages.n_refused)
    }

    /// Steps so far that would have made a parameter infinite, and were dropped.
    pub const fn n_dropped_steps(&self) -> u64 {
        self.n_dropped_steps
    }

    /// The attackers' share of the last step; nothing without attackers, or where the rule mixes coordinates.
    pub fn attacker_share(&self) -> Option<f64> {
        self.per_message.as_ref().and_then(|messages| messages.attacker_share)
    }

    /// The share of the honest clients of the last round that refused its release; nothing if nobody tests releases.
    pub fn refused_share(&self) -> Option<f64> {
        self.adoption.as_ref().and_then(AdoptingClients::refused_share)
    }

    /// What clients with rankers of their own store from round to round.
    pub const fn states(&self) -> &ClientStates {
        &self.states
    }

    /// What clients have done since this run was made or resumed.
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// Runs one round and says what happened in it.
    pub fn round(&mut self) -> Result<RoundStats, RoundError> {
        let number = self.task().round;
        self.record_state();
        let mut cohort = self.cohort_of(number);
        if let Some((speeds, time)) = &mut self.clock {
            let waits = self.settings.staleness.most == 0;
            *time += if waits { speeds.slowest(&cohort.joining, number) } else { speeds.round_length() };
        }
        self.recorder.begin(self.history.as_ref(), number);
        let task = self.coordinator.task().clone();
        let mut stats = RoundStats::default();
        if let Some(adoption) = &mut self.adoption {
            let round = self.settings.round(&task, self.partition, &self.streams);
            let working: Vec<u32> = cohort.starting.iter().map(|&(client, _)| client).collect();
            let refusals = adoption.meet(&round, &working);
            cohort.leave_out(&refusals.clients);
            stats = refusals.stats;
        }
        stats.merge(&self.run_clients(&task, &cohort)?);
        if let Some(per_message) = &mut self.per_message {
            self.coordinator.open(&cohort.joining)?;
            match self.coordinator.is_sealed() {
                true => per_message.deliver_sums(&mut self.coordinator, &self.settings.rule(task.clip_norm))?,
                false => per_message.deliver(&mut self.coordinator, &self.streams, &mut self.recorder)?,
            }
        }
        let Cohort { joining, arrived, .. } = cohort;
        let has_moved = self.close();
        self.cluster_models = models_of(&self.coordinator);
        // A stand-in moves the model as a message does: whoever was drawn has a part in the step.
        let involved = if self.settings.defence.only_sums() { arrived } else { joining };
        self.record_round(number, &task.global, &involved, has_moved);
        if let Some(per_message) = &mut self.per_message {
            per_message.measure_share(self.coordinator.shares());
        }
        Ok(stats)
    }

    /// Simulates the clients of a round. What they send is with the coordinator afterwards, or waits to be delivered.
    fn run_clients(&mut self, task: &RoundTask, cohort: &Cohort) -> Result<RoundStats, RoundError> {
        let Cohort { starting, joining, arrived } = cohort;
        let round = Round {
            clusters: &self.cluster_models,
            noise_shares: self.settings.noise_shares(),
            ..self.settings.round(task, self.partition, &self.streams)
        };
        let interactions = |&(client, _): &(u32, u32)| u64::from(self.partition.holding(client).n_interactions);
        let (local_steps, n_params) = (starting.iter().map(interactions).sum(), task.global.len());
        self.cost.add_round(local_steps, starting.len(), arrived.len(), round.rule.kind(), n_params);
        match &mut self.per_message {
            Some(messages) if messages.stores_updates() => {
                return Ok(messages.run_stored(&self.workers, &round, starting, arrived));
            }
            Some(messages) if self.personal.is_none() => return Ok(messages.run(&self.workers, &round, arrived)),
            _ => {}
        }
        let destination = self.destination();
        let is_lost = |client: u32| arrived.len() < joining.len() && arrived.binary_search(&client).is_err();
        let groups = chunks_of_arrived(starting, is_lost);
        let mut stats = RoundStats::default();
        for (wave, groups) in groups.chunks(WAVE).enumerate() {
            let chunks: Vec<ChunkSums> = if let Some(published) = &mut self.published {
                published.run(&round, &groups.concat())
            } else {
                let states = self.states.stretches(groups.iter().map(Vec::as_slice));
                let simulate = |(chunk, mut states): (&Vec<u32>, StateStretch<'_>)| {
                    let mut sums = ChunkSums::new(&round);
                    self.workers.own().run_clients(&round, chunk.iter().copied(), &mut states, |sent| {
                        sums.stats.add(&sent.stats);
                        if !is_lost(sent.client) {
                            sums.add(&round, destination, &sent, self.recorder.needs_updates);
                        }
                    });
                    sums
                };
                // One chunk is one thread's work: no task is made of it for others to look at.
                match groups.len() <= 1 {
                    true => groups.iter().zip(states).map(simulate).collect(),
                    false => groups.par_iter().zip(states).map(simulate).collect(),
                }
            };
            for (i, sums) in chunks.into_iter().enumerate() {
                self.coordinator.receive_partial(wave * WAVE + i, &sums.global)?;
                append(&mut self.recorder.updates, &sums.updates);
                for (cluster, partial) in sums.clusters.iter().enumerate() {
                    self.coordinator.receive_cluster_partial(cluster, wave * WAVE + i, partial)?;
                }
                stats.merge(&sums.stats);
            }
        }
        Ok(stats)
    }

    /// Closes the round with noise of its own; says whether the model has moved. The next round is open in any case.
    fn close(&mut self) -> bool {
        let round = self.coordinator.task().round;
        let mut noise = SimulatedNoise::open(&self.streams, Purpose::Noise, SERVER, round);
        match self.coordinator.close(&mut noise) {
            Ok(report) => {
                self.n_dropped_steps += u64::from(report.n_dropped_clusters);
                true
            }
            Err(CloseError::TooFewSurvivors { .. }) => false,
            Err(CloseError::SimulatedNoise { .. }) => unreachable!("the setup says that this is a simulation"),
            // Everybody was lost, or nobody sends anything here.
            Err(CloseError::Empty { .. }) => {
                self.coordinator.skip();
                false
            }
            Err(CloseError::Overflow { .. }) => {
                self.n_dropped_steps += 1;
                false
            }
        }
    }
}

/// Clients in groups of as many whose message arrives as there are in a chunk: that is how a server folds them.
fn chunks_of_arrived(starting: &[(u32, u32)], is_lost: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let (mut groups, mut group, mut n_arrived) = (Vec::new(), Vec::new(), 0);
    for &(client, _) in starting {
        if n_arrived == CHUNK {
            groups.push(std::mem::take(&mut group));
            n_arrived = 0;
        }
        group.push(client);
        n_arrived += usize::from(!is_lost(client));
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

fn models_of(coordinator: &Coordinator) -> Vec<Params> {
    coordinator.cluster_models().map(<[f32]>::to_vec).collect()
}

pub(crate) struct ChunkSums {
    pub(crate) global: PartialSum,
    clusters: Vec<PartialSum>,
    /// One by one, if the history records them.
    updates: Contributions,
    pub(crate) stats: RoundStats,
}

impl ChunkSums {
    pub(crate) fn new(round: &Round<'_>) -> Self {
        let n_params = round.task.global.len();
        Self {
            global: PartialSum::new(n_params),
            clusters: vec![PartialSum::new(n_params); round.clusters.len()],
            updates: Contributions::new(n_params),
            stats: RoundStats::default(),
        }
    }

    fn add(&mut self, round: &Round<'_>, destination: Destination, sent: &ClientOutput<'_>, needs_updates: bool) {
        if needs_updates && let Payload::Step { n_interactions, delta } = sent.payload {
            self.updates.push(sent.client, f64::from(*n_interactions), delta);
        }
        if matches!(destination, Destination::Global | Destination::GlobalAndCluster) {
            self.global.add_payload_with(sent.payload, &round.rule, 1.0, sent.direction);
        }
        if let Some(cluster) = sent.cluster {
            self.clusters[cluster].add_payload_with(sent.payload, &round.rule, 1.0, sent.direction);
        }
    }
}
