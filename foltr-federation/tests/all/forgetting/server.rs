//! What a server has and does, but for the network and the disk.

use foltr_federation::receipt::public_key;
use foltr_federation::unlearn::{Forgotten, ServerRequest, ShardIsolation, forget_on_server};
use foltr_federation::{
    Assurance, Coordinator, FederationPlan, Fingerprint, History, Kind, Message, Payload, Receipt, ShardedCoordinator,
    UnlearnError,
};
use foltr_rank::rng::{Purpose, Stream, Streams};

use super::{LATE, N_CLIENTS};
use crate::noise::seeded;

const SECRET: [u8; 32] = [7; 32];

pub(super) enum Coordinators {
    One(Box<Coordinator>),
    Shards(Box<ShardedCoordinator>, ShardIsolation),
}

pub(super) struct Server {
    pub(super) plan: FederationPlan,
    pub(super) coordinators: Coordinators,
    pub(super) histories: Vec<History>,
    gone: Vec<u32>,
    n_salts: u32,
    n_closed: u32,
}

impl Server {
    pub(super) fn new(plan: FederationPlan) -> Self {
        let setup = plan.setup(vec![0.5, -0.5], true).expect("a sound plan");
        let coordinators = match plan.shards {
            None => Coordinators::One(Box::new(Coordinator::new(setup).expect("sound"))),
            Some(shards) => {
                let isolation = ShardIsolation { shards };
                let shards = ShardedCoordinator::new(&setup, isolation).expect("sound");
                Coordinators::Shards(Box::new(shards), isolation)
            }
        };
        let mut server = Self { plan, coordinators, histories: Vec::new(), gone: Vec::new(), n_salts: 0, n_closed: 0 };
        let settings = Fingerprint::of(b"the plan");
        for shard in 0..server.all().len() {
            let (state, mut salts) = (server.all()[shard].checkpoint(), server.salts());
            let history = History::begin(&server.plan, settings, u32::MAX, state, &mut salts);
            server.histories.push(history);
        }
        server
    }

    /// Others every time, as from an operating system.
    pub(super) fn salts(&mut self) -> Stream {
        self.n_salts += 1;
        Streams::new(1).open(Purpose::Noise, 0, self.n_salts)
    }

    pub(super) fn all(&self) -> &[Coordinator] {
        match &self.coordinators {
            Coordinators::One(one) => std::slice::from_ref(one),
            Coordinators::Shards(shards, _) => shards.shards(),
        }
    }

    pub(super) fn shard_of(&self, client: u32) -> usize {
        match self.coordinators {
            Coordinators::One(_) => 0,
            Coordinators::Shards(_, isolation) => isolation.shard_of(client) as usize,
        }
    }

    pub(super) fn ranker(&self) -> Vec<f32> {
        match &self.coordinators {
            Coordinators::One(one) => one.ranker(),
            Coordinators::Shards(shards, _) => shards.ranker(),
        }
    }

    pub(super) fn models(&self) -> Vec<Vec<f64>> {
        self.all().iter().map(|it| it.master().to_vec()).collect()
    }

    /// Rounds of everybody who is there; client 3 only if it `may_come`.
    pub(super) fn play(&mut self, n_rounds: u32, may_come: bool) {
        for _ in 0..n_rounds {
            let is_there = |client: &u32| !self.gone.contains(client) && (*client != LATE || may_come);
            let drawn: Vec<u32> = (0..N_CLIENTS).filter(is_there).collect();
            let messages: Vec<Message> = drawn.iter().map(|&client| self.message(client)).collect();
            for message in &messages {
                self.all()[self.shard_of(message.client)].check(message).expect("a good message");
            }
            match &mut self.coordinators {
                Coordinators::One(one) => one.open(&drawn).expect("clients"),
                Coordinators::Shards(shards, _) => shards.open(&drawn).expect("clients"),
            }
            self.close(messages);
        }
    }

    pub(super) fn message(&self, client: u32) -> Message {
        let coordinator = &self.all()[self.shard_of(client)];
        let task = coordinator.task();
        // What a client does depends on the model, and so on all others.
        let delta: Vec<f32> = task.global.iter().map(|&value| 0.1 * (client as f32 - 2.5 - value)).collect();
        let payload = match coordinator.expected().kind {
            Kind::Clipped => Payload::Clipped { within: true, delta: delta.iter().map(|value| 0.2 * value).collect() },
            _ => Payload::Step { n_interactions: 1 + client % 3, delta },
        };
        Message { round: task.round, start: task.round, client, payload }
    }

    /// Hands stored messages over, closes the round and records it. What is recorded is stored, and read again.
    pub(super) fn close(&mut self, messages: Vec<Message>) {
        for message in messages {
            let received = match &mut self.coordinators {
                Coordinators::One(one) => one.receive(message),
                Coordinators::Shards(shards, _) => shards.receive(message),
            };
            received.expect("checked before");
        }
        let open = self.all().iter().zip(&self.histories).map(|(it, history)| it.open_round(history.needs_updates()));
        let open: Vec<_> = open.collect();
        let mut noise = seeded(5, Purpose::Noise, 0, self.n_closed);
        self.n_closed += 1;
        let closed = match &mut self.coordinators {
            Coordinators::One(one) => vec![one.close(&mut noise)],
            Coordinators::Shards(shards, _) => shards.close(&mut noise),
        };
        for (shard, (open, closed)) in open.iter().zip(&closed).enumerate() {
            let (state, mut salts) = (self.all()[shard].checkpoint(), self.salts());
            let mut history = History::from_parts(&self.histories[shard].to_parts()).expect("its own parts");
            history.record_round(open, closed, state, &mut salts).expect("nobody who was forgotten");
            self.histories[shard] = history;
        }
    }

    pub(super) fn request(&mut self, leavers: &[u32], shard: usize) -> Result<Forgotten, UnlearnError> {
        let mut salts = self.salts();
        let (state, history) = (&self.all()[shard].checkpoint(), &self.histories[shard]);
        let request = ServerRequest { plan: &self.plan, is_simulated: true, history, state, leavers };
        let mut noise = seeded(6, Purpose::Noise, 0, self.n_closed);
        forget_on_server(&request, &mut noise, &mut salts)
    }

    /// Meets a batch of requests: all of them or none.
    pub(super) fn forget(&mut self, leavers: &[u32]) -> Result<Vec<Receipt>, UnlearnError> {
        let mut met = Vec::new();
        for shard in 0..self.histories.len() {
            let own: Vec<u32> = leavers.iter().copied().filter(|&client| self.shard_of(client) == shard).collect();
            if !own.is_empty() {
                met.push((shard, self.request(&own, shard)?));
            }
        }
        let before = self.ranker();
        for (shard, forgotten) in &met {
            if let Some(state) = &forgotten.state {
                match &mut self.coordinators {
                    Coordinators::One(one) => one.roll_back(state),
                    Coordinators::Shards(shards, _) => shards.roll_back(forgotten.leavers[0], state),
                }
                .expect("a state of this federation");
            }
            self.histories[*shard] = forgotten.history.clone();
        }
        let after = self.ranker();
        self.gone.extend(leavers);
        let sign = |it: &Forgotten| it.claim(&before, &after, "2024-05-01T12:00:00Z").sign(&SECRET);
        Ok(met.iter().map(|(_, forgotten)| sign(forgotten)).collect())
    }

    /// A history as it is given to whoever checks a receipt.
    pub(super) fn history_now(&mut self, shard: usize) -> History {
        let (mut history, mut salts) = (self.histories[shard].clone(), self.salts());
        history.record_newest(self.all()[shard].checkpoint(), &mut salts);
        history
    }

    pub(super) fn check(&mut self, receipt: &Receipt, guarantee: &Assurance) {
        assert_eq!(&receipt.claim.guarantee, guarantee);
        assert_eq!(receipt.verify(&public_key(&SECRET)), Ok(()));
        let shard = self.shard_of(receipt.claim.leavers[0]);
        let history = self.history_now(shard);
        assert_eq!(receipt.matches(&history), Ok(()));
        let parts = history.to_parts();
        for leaver in &receipt.claim.leavers {
            assert!(history.is_forgotten(*leaver) && !parts.clients.contains_key(leaver), "{leaver}");
        }
    }
}
