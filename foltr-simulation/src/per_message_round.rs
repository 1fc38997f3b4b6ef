//! A round in which single messages matter: all of them are gathered, attackers replace theirs, the server sees each.
//!
//! Client work -> momentum on the device -> attackers -> the server's checks. Memory is one update a client of the
//! round, and one running mean for each client with momentum.

use std::sync::Mutex;

use foltr_federation::history::Devices;
use foltr_federation::{
    CHUNK, Contributions, Coordinator, Defence, Message, Payload, Rejected, RoundTask, WorkerMomentum,
};
use foltr_rank::rng::{Purpose, Stream, Streams};
use rayon::prelude::*;

use crate::adversary::{Adversary, Fitted, Knowledge, Own, RewardRange, Rows, Seeds, Seen};
use crate::client_round::{Round, RoundStats, Worker};
use crate::client_states::StateStretch;
use crate::federation_run::{FederationSettings, Learning, RoundRecorder, own_worker};

/// The messages of the open round, and what happens to them.
#[derive(Debug)]
pub(crate) struct PerMessageRound {
    n_attackers: u32,
    knowledge: Knowledge,
    adversary: Option<Box<dyn Adversary>>,
    seeds: Seeds,
    /// Of FOLtR-ES clients.
    rewards: Option<RewardRange>,
    momentum: Option<Memory>,
    messages: Messages,
    n_refused: u64,
    /// Of the last round.
    attacker_share: Option<f64>,
}

/// What the devices keep for their momentum.
#[derive(Debug)]
struct Memory {
    momentum: WorkerMomentum,
    len: usize,
    states: Vec<f32>,
}

/// Messages in client order.
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

    fn append(&mut self, other: &Self) {
        let rows = other.steps.clients().iter().zip(other.steps.weights()).zip(other.steps.rows());
        rows.for_each(|((&client, &weight), row)| self.steps.push(client, weight, row));
        self.rewards.extend_from_slice(&other.rewards);
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.rewards.clear();
    }
}

impl PerMessageRound {
    /// What these settings need; nothing if no single message matters.
    pub(crate) fn of(settings: &FederationSettings) -> Option<Self> {
        settings.needs_messages()?;
        let n_params = settings.initial.len();
        let memory = |momentum: WorkerMomentum| {
            let len = momentum.state_len(n_params);
            Memory { momentum, len, states: vec![0.0; len * settings.n_clients as usize] }
        };
        let attackers = settings.attackers;
        let rewards = match settings.learning {
            Learning::Pdgd(_) => None,
            Learning::Evolution { settings: evolution, .. } => {
                RewardRange::of(settings.rule(), evolution.reward, evolution.n_shown)
            }
        };
        Some(Self {
            n_attackers: attackers.map_or(0, |attackers| attackers.attackers),
            knowledge: attackers.map_or(Knowledge::Full, |attackers| attackers.knowledge),
            adversary: attackers.and_then(|attackers| attackers.start()),
            seeds: attackers.map_or(Seeds::Own, |attackers| attackers.seeds),
            rewards,
            momentum: settings.defence.momentum.map(memory),
            messages: Messages::new(n_params),
            n_refused: 0,
            attacker_share: None,
        })
    }

    /// Messages of attackers that the server did not take.
    pub(crate) const fn n_refused(&self) -> u64 {
        self.n_refused
    }

    /// The same with another adversary.
    pub(crate) fn with_adversary(self, adversary: Box<dyn Adversary>) -> Self {
        Self { adversary: Some(adversary), ..self }
    }

    /// Simulates clients, in rising order, and keeps what they would send. What attackers see on their screens does not
    /// count.
    pub(crate) fn run(&mut self, workers: &[Mutex<Worker>], round: &Round<'_>, clients: &[u32]) -> RoundStats {
        let n_attackers = self.n_attackers;
        let run = |chunk: &[u32], messages: &mut Messages| {
            let mut tally = RoundStats::default();
            own_worker(workers).run_clients(round, chunk.iter().copied(), &mut StateStretch::none(), |sent| {
                if sent.client >= n_attackers {
                    tally.add(&sent.session);
                }
                messages.push(sent.client, sent.payload);
            });
            tally
        };
        if clients.len() <= CHUNK {
            return run(clients, &mut self.messages);
        }
        let chunks = clients.par_chunks(CHUNK).map(|chunk| {
            let mut messages = Messages::new(round.task.global.len());
            (run(chunk, &mut messages), messages)
        });
        let mut tally = RoundStats::default();
        for (part, messages) in chunks.collect::<Vec<_>>() {
            tally.merge(&part);
            self.messages.append(&messages);
        }
        tally
    }

    /// For work that a server asks for beside its rounds: attackers are there, momentum is not.
    pub(crate) fn beside_rounds(settings: &FederationSettings) -> Self {
        let all = FederationSettings { defence: Defence::NONE, ..settings.clone() };
        Self::of(&all).unwrap_or_else(|| Self::plain(settings.initial.len()))
    }

    const fn plain(n_params: usize) -> Self {
        Self {
            n_attackers: 0,
            knowledge: Knowledge::Full,
            adversary: None,
            seeds: Seeds::Own,
            rewards: None,
            momentum: None,
            messages: Messages::new(n_params),
            n_refused: 0,
            attacker_share: None,
        }
    }

    /// Simulates clients, lets attackers replace their steps, and hands all of them out, for the caller to change.
    pub(crate) fn steps(
        &mut self,
        workers: &[Mutex<Worker>],
        round: &Round<'_>,
        clients: &[u32],
    ) -> (&mut Contributions, RoundStats) {
        self.messages.clear();
        let tally = self.run(workers, round, clients);
        self.corrupt(round.task, &mut round.streams.open(Purpose::Attack, 0, round.task.round));
        (&mut self.messages.steps, tally)
    }

    /// What devices remember.
    pub(crate) fn devices(&self) -> Devices {
        let devices = |memory: &Memory| Devices { len: memory.len, values: memory.states.clone() };
        self.momentum.as_ref().map(devices).unwrap_or_default()
    }

    /// Makes devices remember something else; says whether it fits them.
    pub(crate) fn restore(&mut self, devices: &Devices) -> bool {
        match &mut self.momentum {
            None => devices.values.is_empty(),
            Some(memory) if (memory.len, memory.states.len()) == (devices.len, devices.values.len()) => {
                memory.states.copy_from_slice(&devices.values);
                true
            }
            Some(_) => false,
        }
    }

    /// Lets devices and attackers do what they do with the messages, and hands them to the server.
    pub(crate) fn deliver(
        &mut self,
        coordinator: &mut Coordinator,
        streams: &Streams,
        taken: &mut RoundRecorder,
    ) -> Result<(), Rejected> {
        if let Some(memory) = &mut self.momentum {
            memory.replace(&mut self.messages.steps);
        }
        let task = coordinator.task();
        self.corrupt(task, &mut streams.open(Purpose::Attack, 0, task.round));
        let steps = &self.messages.steps;
        for ((&client, &weight), row) in steps.clients().iter().zip(steps.weights()).zip(steps.rows()) {
            let answer = coordinator.receive_step(client, weight as u32, row);
            let n_refused = refused(answer, client < self.n_attackers)?;
            self.n_refused += n_refused;
            if n_refused == 0 {
                taken.step(client, weight, row);
            }
        }
        let round = coordinator.task().round;
        for (client, payload) in self.messages.rewards.drain(..) {
            let answer = coordinator.receive(Message { round, client, payload });
            let n_refused = refused(answer, client < self.n_attackers)?;
            self.n_refused += n_refused;
            if n_refused == 0 {
                taken.client(client);
            }
        }
        self.messages.clear();
        Ok(())
    }

    /// Lets attackers replace their messages.
    fn corrupt(&mut self, task: &RoundTask, stream: &mut Stream) {
        let Some(adversary) = &mut self.adversary else { return };
        let Messages { steps, rewards } = &mut self.messages;
        let Some(range) = self.rewards else {
            return corrupt_rows(adversary.as_mut(), self.n_attackers, self.knowledge, task, steps, stream);
        };
        // What the server will read in the messages; what attackers want instead is then fitted.
        let mut read = Contributions::new(task.global.len());
        let mut update = vec![0.0; task.global.len()];
        for (client, payload) in rewards.iter() {
            range.read(payload, &mut update);
            read.push(*client, 1.0, &update);
        }
        corrupt_rows(adversary.as_mut(), self.n_attackers, self.knowledge, task, &mut read, stream);
        let own = rewards.iter_mut().filter(|(client, _)| *client < self.n_attackers);
        for ((_, payload), wanted) in own.zip(read.rows()) {
            *payload = Fitted::new(range, wanted).message(payload, self.seeds, stream);
        }
    }

    /// Notes how much of the closed round's step came from attackers.
    pub(crate) fn judge(&mut self, shares: &[(u32, f64)]) {
        let own = shares.iter().filter(|(client, _)| *client < self.n_attackers);
        let is_known = self.n_attackers > 0 && !shares.is_empty();
        self.attacker_share = is_known.then(|| own.map(|(_, share)| share).sum());
    }

    /// How much of the last step came from attackers, if the rule says so.
    pub(crate) const fn attacker_share(&self) -> Option<f64> {
        self.attacker_share
    }
}

/// Counts a message that the server did not take, which only an attacker's may be.
fn refused(answer: Result<(), Rejected>, is_attacker: bool) -> Result<u64, Rejected> {
    match answer {
        Err(Rejected::Payload(_)) if is_attacker => Ok(1),
        other => other.map(|()| 0),
    }
}

/// Shows an adversary the messages of its knowledge, and lets it write those of its clients.
fn corrupt_rows(
    adversary: &mut dyn Adversary,
    n_attackers: u32,
    knowledge: Knowledge,
    task: &RoundTask,
    messages: &mut Contributions,
    stream: &mut Stream,
) {
    let (n_params, n_clients) = (messages.n_params(), messages.len());
    // Clients are in rising order, and attackers are the first.
    let n_own = messages.clients().partition_point(|&client| client < n_attackers);
    let (own, honest) = messages.values_mut().split_at_mut(n_own * n_params);
    let honest = (knowledge == Knowledge::Full).then_some(Rows::new(honest, n_params));
    let seen = Seen { round: task.round, global: &task.global, n_clients, honest };
    if n_own > 0 {
        adversary.corrupt(&seen, &mut Own::new(own, n_params), stream);
    }
}

impl Memory {
    fn replace(&mut self, steps: &mut Contributions) {
        let n_params = steps.n_params().max(1);
        let clients: Vec<u32> = steps.clients().to_vec();
        for (client, update) in clients.into_iter().zip(steps.values_mut().chunks_exact_mut(n_params)) {
            let state = &mut self.states[client as usize * self.len..][..self.len];
            self.momentum.replace(state, update);
        }
    }
}
