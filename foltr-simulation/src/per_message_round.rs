//! A round in which single messages matter: all of them are collected, attackers replace theirs, the server sees each.
//!
//! Client work -> momentum on the device -> attackers -> the server's checks. Memory is one update a client of the
//! round, and one running mean for each client with momentum.

use foltr_federation::history::Devices;
use foltr_federation::{
    CHUNK, Contributions, Coordinator, Defence, Message, Payload, PayloadError, Rejected, RoundTask, WorkerMomentum,
};
use foltr_rank::learn::evolution::EvolutionSettings;
use foltr_rank::rng::{Purpose, Stream, Streams};
use rayon::prelude::*;

use crate::adversary::{Adversary, Attackers, Knowledge, Own, Preparation, Rehearsal, RewardRange, Rows, Seen};
use crate::client_data::ClientData;
use crate::client_round::{Round, RoundStats, Workers};
use crate::client_states::StateStretch;
use crate::federation_run::{FederationSettings, RoundRecorder, append};

/// The messages of the open round, and what happens to them.
#[derive(Debug)]
pub(crate) struct PerMessageRound {
    attackers: Option<Attackers>,
    pub(crate) adversary: Option<Box<dyn Adversary>>,
    memory: Vec<f64>,
    rewards: Option<RewardRange>,
    /// What the devices remember for their momentum.
    momentum: Option<(WorkerMomentum, Devices)>,
    messages: Messages,
    pub(crate) n_refused: u64,
    /// How much of the last step came from attackers, if the rule says so.
    pub(crate) attacker_share: Option<f64>,
}

#[derive(Clone, Debug)]
struct Messages {
    steps: Contributions,
    /// What FOLtR-ES clients send instead, which then has no row in `steps`.
    rewards: Vec<(u32, Payload)>,
}

impl Messages {
    const fn new(n_params: usize) -> Self {
        Self { steps: Contributions::new(n_params), rewards: Vec::new() }
    }

    fn push(&mut self, client: u32, payload: &Payload) {
        match payload {
            Payload::Step { n_interactions, delta } => self.steps.push(client, f64::from(*n_interactions), delta),
            other => self.rewards.push((client, other.clone())),
        }
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.rewards.clear();
    }
}

impl PerMessageRound {
    pub(crate) fn new(settings: &FederationSettings) -> Self {
        let n_params = settings.initial.len();
        let momentum = |momentum: WorkerMomentum| {
            let len = momentum.state_len(n_params);
            (momentum, Devices { len, values: vec![0.0; len * settings.n_clients as usize] })
        };
        let range =
            |evolution: &EvolutionSettings| RewardRange::of(settings.rule(None), evolution.reward, evolution.n_shown);
        let rewards = settings.learning.evolution().and_then(range);
        Self {
            attackers: settings.attackers,
            adversary: settings.attackers.and_then(|attackers| attackers.method.adversary()),
            memory: Vec::new(),
            rewards,
            momentum: settings.defence.momentum.map(momentum),
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
                messages.push(sent.client, sent.payload);
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
            append(&mut self.messages.steps, &messages.steps);
            self.messages.rewards.extend(messages.rewards);
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
        self.momentum.as_ref().map(|(_, devices)| devices.clone()).unwrap_or_default()
    }

    /// Makes devices remember something else; says whether it fits them.
    pub(crate) fn restore(&mut self, stored: &Devices) -> bool {
        match &mut self.momentum {
            None => stored.values.is_empty(),
            Some((_, devices)) => {
                let fits = (devices.len, devices.values.len()) == (stored.len, stored.values.len());
                if fits {
                    devices.clone_from(stored);
                }
                fits
            }
        }
    }

    /// Lets devices and attackers do what they do with the messages, and hands them to the server.
    pub(crate) fn deliver(
        &mut self,
        coordinator: &mut Coordinator,
        streams: &Streams,
        recorder: &mut RoundRecorder,
    ) -> Result<(), Rejected> {
        let steps = &mut self.messages.steps;
        if let Some((momentum, devices)) = &mut self.momentum {
            let (n_params, clients) = (steps.n_params().max(1), steps.clients().to_vec());
            for (client, update) in clients.into_iter().zip(steps.values_mut().chunks_exact_mut(n_params)) {
                momentum.replace(&mut devices.values[client as usize * devices.len..][..devices.len], update);
            }
        }
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
        let steps = &self.messages.steps;
        for ((&client, &weight), row) in steps.clients().iter().zip(steps.weights()).zip(steps.rows()) {
            note(client, coordinator.receive_step(client, weight as u32, row), Some((weight, row)))?;
        }
        for (client, payload) in self.messages.rewards.drain(..) {
            note(client, coordinator.receive(Message { round, start: round, client, payload }), None)?;
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
        let Messages { steps, rewards } = &mut self.messages;
        let Some(range) = self.rewards else {
            return corrupt_rows(adversary.as_mut(), attackers, task, server, steps, &mut self.memory, stream);
        };
        // What the server will read in the messages; what attackers want instead is then fitted.
        let mut read = Contributions::new(task.global.len());
        let mut update = vec![0.0; task.global.len()];
        for (client, payload) in rewards.iter() {
            range.read(payload, &mut update);
            read.push(*client, 1.0, &update);
        }
        corrupt_rows(adversary.as_mut(), attackers, task, server, &mut read, &mut self.memory, stream);
        let own = rewards.iter_mut().filter(|(client, _)| *client < attackers.attackers);
        for ((_, payload), update) in own.zip(read.rows()) {
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
    let seen = Seen { round: task.round, global: &task.global, n_clients, honest, rule };
    if n_own > 0 {
        adversary.corrupt(&seen, &mut Own::new(own, n_params, memory), stream);
    }
}
