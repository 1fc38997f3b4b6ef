//! A round in which single messages matter: all of them are collected, attackers replace theirs, the server sees each.
//!
//! Client work -> staleness, momentum and protection on the device -> losses -> attackers -> the server's checks. Memory is
//! one update a client of the round or on its way to one, and one running mean for each client with momentum.

use foltr_federation::history::Devices;
use foltr_federation::{
    CHUNK, Contributions, Coordinator, Defence, Message, Outgoing, PartialSum, Payload, PayloadError, PayloadSemantics,
    Rejected, RoundTask, Staleness, WorkerMomentum,
};
use foltr_rank::learn::evolution::EvolutionSettings;
use foltr_rank::rng::{Purpose, Stream, Streams};
use rayon::prelude::*;

use crate::adversary::{Adversary, Attackers, Knowledge, Own, Preparation, Rehearsal, RewardRange, Rows, Seen};
use crate::client_data::ClientData;
use crate::client_round::{Round, RoundStats, Workers};
use crate::client_states::StateStretch;
use crate::federation_run::{FederationSettings, RoundRecorder, append};
use crate::on_the_way::OnTheWay;

/// The messages of the open round, and what happens to them.
#[derive(Debug)]
pub(crate) struct PerMessageRound {
    attackers: Option<Attackers>,
    pub(crate) adversary: Option<Box<dyn Adversary>>,
    memory: Vec<f64>,
    rewards: Option<RewardRange>,
    momentum: Option<WorkerMomentum>,
    staleness: Staleness,
    /// What the devices remember for their momentum.
    devices: Devices,
    on_the_way: Vec<OnTheWay>,
    messages: Messages,
    pub(crate) n_refused: u64,
    /// How much of the last step came from attackers, if the rule says so.
    pub(crate) attacker_share: Option<f64>,
}

#[derive(Clone, Debug)]
struct Messages {
    steps: Contributions,
    /// The release that each of the steps started from.
    starts: Vec<u32>,
    /// What clients send instead of steps: client, the release that it started from, payload.
    others: Vec<(u32, u32, Payload)>,
}

impl Messages {
    const fn new(n_params: usize) -> Self {
        Self { steps: Contributions::new(n_params), starts: Vec::new(), others: Vec::new() }
    }

    fn push(&mut self, client: u32, start: u32, payload: &Payload) {
        match payload {
            Payload::Step { n_interactions, delta } => {
                self.steps.push(client, f64::from(*n_interactions), delta);
                self.starts.push(start);
            }
            other => self.others.push((client, start, other.clone())),
        }
    }

    fn append(&mut self, other: Self) {
        append(&mut self.steps, &other.steps);
        self.starts.extend(other.starts);
        self.others.extend(other.others);
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.starts.clear();
        self.others.clear();
    }
}

impl PerMessageRound {
    pub(crate) fn new(settings: &FederationSettings) -> Self {
        let n_params = settings.initial.len();
        let momentum = settings.defence.momentum;
        let len = momentum.map_or(0, |momentum| momentum.state_len(n_params));
        let range =
            |evolution: &EvolutionSettings| RewardRange::of(settings.rule(None), evolution.reward, evolution.n_shown);
        let rewards = settings.learning.evolution().and_then(range);
        Self {
            attackers: settings.attackers,
            adversary: settings.attackers.and_then(|attackers| attackers.method.adversary()),
            memory: Vec::new(),
            rewards,
            momentum,
            staleness: settings.staleness,
            devices: Devices { len, values: vec![0.0; len * settings.n_clients as usize] },
            on_the_way: Vec::new(),
            messages: Messages::new(n_params),
            n_refused: 0,
            attacker_share: None,
        }
    }

    /// For work that a server asks for beside its rounds: attackers are there, momentum is not.
    pub(crate) fn beside_rounds(settings: &FederationSettings) -> Self {
        Self::new(&FederationSettings { defence: Defence::NONE, ..settings.clone() })
    }

    fn n_attackers(&self) -> u32 {
        self.attackers.map_or(0, |attackers| attackers.attackers)
    }

    /// Whether something happens to updates between the end of a client's round and its message.
    pub(crate) const fn stores_updates(&self) -> bool {
        self.momentum.is_some() || self.staleness.most > 0
    }

    /// Simulates clients that start now, each to join the round beside it, and makes the messages of those that join the
    /// open round. Whoever has not `arrived` has moved its memory on all the same.
    pub(crate) fn run_stored(
        &mut self,
        workers: &Workers,
        round: &Round<'_>,
        starting: &[(u32, u32)],
        arrived: &[u32],
    ) -> RoundStats {
        let (start, n_attackers) = (round.task.round, self.n_attackers());
        let simulate = |&(client, joins): &(u32, u32)| {
            let (update, stats) = workers.own().update_of(round, client);
            (OnTheWay { client, start, joins, update }, stats)
        };
        let started: Vec<_> = match starting.len() <= CHUNK {
            true => starting.iter().map(simulate).collect(),
            false => starting.par_iter().with_min_len(CHUNK / 4).map(simulate).collect(),
        };
        let mut stats = RoundStats::default();
        for (update, client_stats) in started {
            if update.client >= n_attackers {
                stats.add(&client_stats);
            }
            self.on_the_way.push(update);
        }
        let mut joining: Vec<OnTheWay> = self.on_the_way.extract_if(.., |update| update.joins == start).collect();
        joining.sort_by_key(|update| update.client);
        let outgoing = Outgoing { staleness: self.staleness, momentum: self.momentum, privacy: &**round.privacy };
        for update in &joining {
            let payload = update.message(round, &outgoing, &mut self.devices);
            if arrived.binary_search(&update.client).is_ok() {
                self.messages.push(update.client, update.start, &payload);
            }
        }
        stats
    }

    /// Clients that join this round, in rising order, and did not start in it.
    pub(crate) fn joining(&self, round: u32) -> Vec<u32> {
        let joining = self.on_the_way.iter().filter(|update| update.joins == round);
        joining.map(|update| update.client).collect()
    }

    /// Simulates clients, in rising order, and collects what they would send. What attackers see on their screens does
    /// not count.
    pub(crate) fn run(&mut self, workers: &Workers, round: &Round<'_>, clients: &[u32]) -> RoundStats {
        let n_attackers = self.n_attackers();
        let run = |chunk: &[u32], messages: &mut Messages| {
            let mut stats = RoundStats::default();
            workers.own().run_clients(round, chunk.iter().copied(), &mut StateStretch::none(), |sent| {
                if sent.client >= n_attackers {
                    stats.add(&sent.stats);
                }
                messages.push(sent.client, round.task.round, sent.payload);
            });
            stats
        };
        if clients.len() <= CHUNK {
            return run(clients, &mut self.messages);
        }
        let chunks = clients.par_chunks(CHUNK).map(|chunk| {
            let mut messages = Messages::new(round.task.global.len());
            (run(chunk, &mut messages), messages)
        });
        let mut stats = RoundStats::default();
        for (part, messages) in chunks.collect::<Vec<_>>() {
            stats.merge(&part);
            self.messages.append(messages);
        }
        stats
    }

    /// Simulates clients, lets attackers replace their steps, and hands all of them out, for the caller to change.
    pub(crate) fn steps(
        &mut self,
        workers: &Workers,
        round: &Round<'_>,
        clients: &[u32],
    ) -> (&mut Contributions, RoundStats) {
        self.messages.clear();
        let stats = self.run(workers, round, clients);
        self.corrupt(round.task, None, &mut round.streams.open(Purpose::Attack, 0, round.task.round));
        (&mut self.messages.steps, stats)
    }

    pub(crate) fn devices(&self) -> Devices {
        if self.momentum.is_some() { self.devices.clone() } else { Devices::default() }
    }

    /// Makes devices remember something else; says whether it fits them.
    pub(crate) fn restore(&mut self, stored: &Devices) -> bool {
        if self.momentum.is_none() {
            return stored.values.is_empty();
        }
        let fits = (self.devices.len, self.devices.values.len()) == (stored.len, stored.values.len());
        if fits {
            self.devices.clone_from(stored);
        }
        fits
    }

    /// Lets attackers do what they do with the messages, and hands them to the server.
    pub(crate) fn deliver(
        &mut self,
        coordinator: &mut Coordinator,
        streams: &Streams,
        recorder: &mut RoundRecorder,
    ) -> Result<(), Rejected> {
        let task = coordinator.task();
        let round = task.round;
        self.corrupt(task, Some(coordinator), &mut streams.open(Purpose::Attack, 0, round));
        let n_attackers = self.n_attackers();
        let mut note = |client: u32, answer: Result<(), Rejected>, step: Option<(f64, &[f32])>| match answer {
            // Where attackers have pushed the model far away, honest clients send such messages as well.
            Err(Rejected::TooLong { .. } | Rejected::Payload(PayloadError::NotFinite { .. })) => {
                self.n_refused += 1;
                Ok(())
            }
            Err(Rejected::Payload(_)) if client < n_attackers => {
                self.n_refused += 1;
                Ok(())
            }
            other => other.map(|()| recorder.accepted(client, step)),
        };
        let Messages { steps, starts, others } = &mut self.messages;
        for ((client, weight, row), &start) in steps.iter().zip(&*starts) {
            note(client, coordinator.receive_step(client, start, weight as u32, row), Some((weight, row)))?;
        }
        for (client, start, payload) in others.drain(..) {
            note(client, coordinator.receive(Message { round, start, client, payload }), None)?;
        }
        self.messages.clear();
        Ok(())
    }

    /// Stands in for secure aggregation: adds messages up that no server sees, and hands over the sums.
    pub(crate) fn deliver_sums(
        &mut self,
        coordinator: &mut Coordinator,
        rule: &PayloadSemantics,
    ) -> Result<(), Rejected> {
        let mut partial = PartialSum::new(coordinator.task().global.len());
        for (chunk_idx, chunk) in self.messages.others.chunks(CHUNK).enumerate() {
            partial.clear();
            chunk.iter().for_each(|(_, _, payload)| partial.add_payload(payload, rule, 1.0, &mut []));
            coordinator.receive_partial(chunk_idx, &partial)?;
        }
        self.messages.clear();
        Ok(())
    }

    /// Lets attackers work out what they can before the first round.
    pub(crate) fn prepare(&mut self, settings: &FederationSettings, data: &ClientData) {
        if let (Some(attackers), Some(adversary)) = (settings.attackers, &self.adversary) {
            self.memory = adversary.prepare(&Preparation { settings, data, n_attackers: attackers.attackers });
        }
    }

    fn corrupt(&mut self, task: &RoundTask, server: Option<&Coordinator>, stream: &mut Stream) {
        let (Some(attackers), Some(adversary)) = (&self.attackers, &mut self.adversary) else { return };
        let Messages { steps, others: rewards, .. } = &mut self.messages;
        let Some(range) = self.rewards else {
            return corrupt_rows(adversary.as_mut(), attackers, task, server, steps, &mut self.memory, stream);
        };
        // What the server will read in the messages; what attackers want instead is then fitted.
        let mut read = Contributions::new(task.global.len());
        let mut update = vec![0.0; task.global.len()];
        for (client, _, payload) in rewards.iter() {
            range.read(payload, &mut update);
            read.push(*client, 1.0, &update);
        }
        corrupt_rows(adversary.as_mut(), attackers, task, server, &mut read, &mut self.memory, stream);
        let own = rewards.iter_mut().filter(|(client, ..)| *client < attackers.attackers);
        for ((_, _, payload), update) in own.zip(read.rows()) {
            *payload = range.nearest_message(update, payload, attackers.seeds, stream);
        }
    }

    /// Measures how much of the closed round's step came from attackers.
    pub(crate) fn measure_share(&mut self, shares: &[(u32, f64)]) {
        let n_attackers = self.n_attackers();
        let own = shares.iter().filter(|(client, _)| *client < n_attackers);
        let is_known = n_attackers > 0 && !shares.is_empty();
        self.attacker_share = is_known.then(|| own.map(|(_, share)| share).sum());
    }
}

/// Shows an adversary the messages of its knowledge, and lets it write those of its clients.
fn corrupt_rows(
    adversary: &mut dyn Adversary,
    attackers: &Attackers,
    task: &RoundTask,
    server: Option<&Coordinator>,
    messages: &mut Contributions,
    memory: &mut Vec<f64>,
    stream: &mut Stream,
) {
    let (n_params, n_clients) = (messages.n_params(), messages.len());
    // Clients are in rising order, and attackers are the first.
    let n_own = messages.clients().partition_point(|&client| client < attackers.attackers);
    let (clients, weights) = (messages.clients().to_vec(), messages.weights().to_vec());
    let (own, honest) = messages.values_mut().split_at_mut(n_own * n_params);
    let rehearse = |own: &[f32]| {
        let mut round = Contributions::new(n_params);
        let rows = own.chunks_exact(n_params).chain(honest.chunks_exact(n_params));
        clients.iter().zip(&weights).zip(rows).for_each(|((&client, &weight), row)| round.push(client, weight, row));
        server.and_then(|server| server.rehearse(&round))
    };
    let sees_all = attackers.knowledge == Knowledge::Full;
    let rule: Option<Rehearsal<'_>> = if sees_all { Some(&rehearse) } else { None };
    let honest = sees_all.then_some(Rows::new(honest, n_params));
    let seen = Seen {
        round: task.round,
        global: &task.global,
        n_clients,
        honest,
        rule,
        defence: server.map(Coordinator::defence),
    };
    if n_own > 0 {
        adversary.corrupt(&seen, &mut Own::new(own, n_params, memory), stream);
    }
}
