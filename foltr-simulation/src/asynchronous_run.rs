//! One whole asynchronous federation: clients start when they are ready, and nobody waits for anybody.
//!
//! Events are ends of client rounds, in order of simulated time and then of client. At an end the client's message
//! reaches the server (or is lost); when all messages of the moment have come, the client starts again with the model
//! that they made. What a client does
//! depends on the version that it started from and on its own random streams only. So all that have started from one
//! version are simulated together, on all threads, when the first of their messages is due or the model is about to
//! change, and results do not depend on the number of threads.
//!
//! For comparison with a synchronous federation a round is over when as many client rounds have ended as there are
//! clients: where clients have equally many interactions, equal rounds are equal interactions.
//!
//! Memory: one message for each client that is on its way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foltr_federation::asynchronous::Refused;
use foltr_federation::{
    AsynchronousCoordinator, Asynchrony, Combination, Message, Part, Payload, Received, RoundTask, Setup, TailMean,
};
use foltr_rank::Params;
use foltr_rank::rng::Streams;
use rand::RngExt;
use rayon::prelude::*;

use crate::client_data::ClientData;
use crate::client_round::{ClientStats, RoundStats, Workers};
use crate::client_states::StateStretch;
use crate::federation_run::{FederationError, FederationSettings};
use crate::pace::{Speeds, Stragglers};

/// Clients that a thread simulates at a time. Nothing is summed there, so the number changes no result.
const SIDE_BY_SIDE: usize = 4;

#[derive(Debug, Default)]
struct OpenTurn {
    /// Rounds that the client has begun, this one included.
    n_begun: u32,
    version: u32,
    is_lost: bool,
    /// What the client did; none until it is simulated.
    outcome: Option<(Payload, ClientStats)>,
}

/// An asynchronous federation in the middle of its run.
pub struct AsynchronousRun<'a> {
    settings: FederationSettings,
    partition: &'a ClientData,
    streams: Streams,
    speeds: Speeds,
    coordinator: AsynchronousCoordinator,
    newest: RoundTask,
    workers: Workers,
    turns: Vec<OpenTurn>,
    /// Ends of client rounds: the earliest first, then the lowest client. Bits of times that are not negative rise with
    /// the times.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    /// Clients whose round has ended at this moment; they start again when all messages of the moment have come.
    ended: Vec<u32>,
    /// Clients that have started from the newest version and are not simulated yet.
    begun: Vec<u32>,
    time: f64,
    n_rounds: u32,
    n_refused: u64,
    n_dropped_steps: u64,
    tail: Option<TailMean>,
    record: Option<DeliveryRecord>,
}

/// What reached the server, and what it published.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRecord {
    /// In the order in which they came.
    pub deliveries: Vec<Delivery>,
    /// Models from version 1 on.
    pub versions: Vec<Params>,
}

/// A message that reached the server, taken or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub client: u32,
    /// The version that the client started from.
    pub version: u32,
    /// How many rounds of its own the client had begun before: its random streams are named by this.
    pub own_round: u32,
}

impl<'a> AsynchronousRun<'a> {
    /// A federation at time 0, in which all clients are about to start.
    pub fn new(
        settings: FederationSettings,
        asynchrony: Asynchrony,
        pace: Stragglers,
        partition: &'a ClientData,
    ) -> Result<Self, FederationError> {
        settings.check(partition)?;
        Combination::check(&[settings.parts(), vec![Part::Asynchrony]].concat())?;
        let setup = Setup::averaging(settings.initial.clone(), settings.n_clients, partition.most_interactions());
        let setup = Setup {
            rule: settings.usual_rule(),
            privacy: settings.privacy.clone().into(),
            optimiser: settings.optimiser,
            ..setup
        };
        let coordinator = AsynchronousCoordinator::new(setup, asynchrony)?;
        let streams = settings.streams();
        Ok(Self {
            workers: Workers::new(&settings, &streams),
            turns: (0..settings.n_clients).map(|_| OpenTurn::default()).collect(),
            speeds: Speeds::new(pace, settings.n_clients, &streams),
            tail: settings.average_from.map(|round| TailMean::new(round, settings.initial.len())),
            ends: BinaryHeap::with_capacity(settings.n_clients as usize),
            ended: (0..settings.n_clients).collect(),
            begun: Vec::new(),
            record: None,
            time: 0.0,
            n_rounds: 0,
            n_refused: 0,
            n_dropped_steps: 0,
            newest: coordinator.task().clone(),
            settings,
            partition,
            streams,
            coordinator,
        })
    }

    /// The same with a record of what reaches the server, and of all models.
    #[must_use]
    pub fn with_record(self) -> Self {
        Self { record: Some(DeliveryRecord::default()), ..self }
    }

    /// The record so far, if there is one.
    pub const fn record(&self) -> Option<&DeliveryRecord> {
        self.record.as_ref()
    }

    /// What a client receives that starts now.
    pub const fn task(&self) -> &RoundTask {
        &self.newest
    }

    /// The ranker to use now: the newest, or the mean of the last ones.
    pub fn ranker(&self) -> Params {
        let mean = self.tail.as_ref().and_then(TailMean::mean);
        mean.unwrap_or_else(|| self.task().global.clone())
    }

    /// Simulated time so far, in rounds of a usual client.
    pub const fn time(&self) -> f64 {
        self.time
    }

    /// Messages that the server has refused so far: too stale, or too many of one client.
    pub const fn n_refused(&self) -> u64 {
        self.n_refused
    }

    /// Steps so far that would have made a parameter infinite, and were dropped.
    pub const fn n_dropped_steps(&self) -> u64 {
        self.n_dropped_steps
    }

    /// Runs until as many client rounds have ended as there are clients, and says what happened in them.
    pub fn round(&mut self) -> Result<RoundStats, Refused> {
        let mut stats = RoundStats::default();
        for _ in 0..self.settings.n_clients {
            self.step(&mut stats)?;
        }
        self.n_rounds += 1;
        if let Some(tail) = &mut self.tail {
            tail.add(self.n_rounds, self.coordinator.master());
        }
        Ok(stats)
    }

    fn step(&mut self, stats: &mut RoundStats) -> Result<(), Refused> {
        if self.ends.peek().is_none_or(|Reverse((next, _))| f64::from_bits(*next) > self.time) {
            std::mem::take(&mut self.ended).into_iter().for_each(|client| self.begin(client));
        }
        let Reverse((time, client)) = self.ends.pop().expect("all clients are on their way");
        self.time = f64::from_bits(time);
        if !self.turns[client as usize].is_lost {
            if self.turns[client as usize].outcome.is_none() {
                self.simulate();
            }
            let turn = &mut self.turns[client as usize];
            let (payload, client_stats) = turn.outcome.take().expect("it was simulated just now or before");
            stats.add(&client_stats);
            let delivery = Delivery { client, version: turn.version, own_round: turn.n_begun - 1 };
            self.record.iter_mut().for_each(|record| record.deliveries.push(delivery));
            let message = Message { round: turn.version, start: turn.version, client, payload };
            self.deliver(&message)?;
        }
        self.ended.push(client);
        Ok(())
    }

    fn deliver(&mut self, message: &Message) -> Result<(), Refused> {
        match self.coordinator.receive(message) {
            Ok(Received::NewVersion) => {
                // Who has begun with the version before must still learn from that one.
                self.simulate();
                self.newest = self.coordinator.task().clone();
                self.record.iter_mut().for_each(|record| record.versions.push(self.newest.global.clone()));
            }
            Ok(Received::Buffered) => {}
            // A client whose message is refused goes on like any other.
            Err(Refused::TooStale { .. } | Refused::RateLimit { .. }) => self.n_refused += 1,
            Err(Refused::Overflow { .. }) => self.n_dropped_steps += 1,
            Err(broken) => return Err(broken),
        }
        Ok(())
    }

    fn begin(&mut self, client: u32) {
        let n_before = self.turns[client as usize].n_begun;
        let (duration, mut stream) = self.speeds.duration(client, n_before);
        let is_lost = stream.random::<f64>() < self.settings.dropout;
        self.turns[client as usize] =
            OpenTurn { n_begun: n_before + 1, version: self.newest.round, is_lost, outcome: None };
        self.ends.push(Reverse(((self.time + duration).to_bits(), client)));
        if !is_lost {
            self.begun.push(client);
        }
    }

    /// Simulates all that have begun with the newest version.
    fn simulate(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        let outcomes: Vec<(Payload, ClientStats)> =
            begun.par_chunks(SIDE_BY_SIDE).flat_map_iter(|clients| self.outcomes(clients)).collect();
        for (&client, outcome) in begun.iter().zip(outcomes) {
            self.turns[client as usize].outcome = Some(outcome);
        }
    }

    /// What these clients do, on the worker of this thread.
    fn outcomes(&self, clients: &[u32]) -> Vec<(Payload, ClientStats)> {
        let (mut worker, mut task) = (self.workers.own(), self.newest.clone());
        let mut outcomes = Vec::with_capacity(clients.len());
        for &client in clients {
            // Random streams are named by the client's own rounds: it may start twice from one version.
            task.round = self.turns[client as usize].n_begun - 1;
            let round = self.settings.round(&task, self.partition, &self.streams);
            worker.run_clients(&round, std::iter::once(client), &mut StateStretch::none(), |sent| {
                outcomes.push((sent.payload.clone(), sent.stats));
            });
        }
        outcomes
    }
}
