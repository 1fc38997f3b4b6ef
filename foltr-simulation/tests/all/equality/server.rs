//! The three kinds of server that a plan may ask for. Tests of other crates include this file.

use foltr_federation::protocol::Plan;
use foltr_federation::{
    AsynchronousCoordinator, CloseError, Coordinator, Message, NoiseSource, RoundTask, ShardedCoordinator,
};
use foltr_rank::Params;

use super::harness::INITIAL;

pub enum Server {
    Rounds(Box<Coordinator>),
    Shards(Box<ShardedCoordinator>),
    Asynchronous(Box<AsynchronousCoordinator>),
}

impl Server {
    pub fn new(plan: &Plan) -> Self {
        let initial = vec![INITIAL; plan.shape().n_params()];
        let federation = plan.federation();
        if federation.asynchrony.is_some() {
            return Self::Asynchronous(Box::new(plan.asynchronous_coordinator(initial).expect("a sound plan")));
        }
        match federation.shards {
            Some(_) => Self::Shards(Box::new(plan.sharded_coordinator(initial).expect("a sound plan"))),
            None => Self::Rounds(Box::new(plan.coordinator(initial).expect("a sound plan"))),
        }
    }

    pub fn task(&self, shard: u32) -> &RoundTask {
        match self {
            Self::Rounds(server) => server.task(),
            Self::Shards(server) => server.shards()[shard as usize].task(),
            Self::Asynchronous(server) => server.task(),
        }
    }

    pub fn ranker(&self) -> Params {
        match self {
            Self::Rounds(server) => server.ranker(),
            Self::Shards(server) => server.ranker(),
            Self::Asynchronous(server) => server.task().global.clone(),
        }
    }

    pub fn save(&self) -> Vec<u8> {
        match self {
            Self::Rounds(server) => server.save(),
            Self::Shards(server) => server.save(),
            Self::Asynchronous(server) => server.save(),
        }
    }

    pub fn load(&mut self, bytes: &[u8]) {
        let loaded = match self {
            Self::Rounds(server) => server.load(bytes),
            Self::Shards(server) => server.load(bytes),
            Self::Asynchronous(server) => server.load(bytes),
        };
        loaded.expect("its own bytes");
    }

    pub fn open(&mut self, drawn: &[u32]) {
        match self {
            Self::Rounds(server) => server.open(drawn).expect("known clients"),
            Self::Shards(server) => server.open(drawn).expect("known clients"),
            Self::Asynchronous(_) => panic!("there are no rounds"),
        }
    }

    pub fn receive(&mut self, message: Message) {
        match self {
            Self::Rounds(server) => server.receive(message).expect("a sound message"),
            Self::Shards(server) => server.receive(message).expect("a sound message"),
            Self::Asynchronous(_) => panic!("there are no rounds"),
        }
    }

    /// Closes the round; one to which nobody contributed is over, too.
    pub fn close(&mut self, noise: &mut dyn NoiseSource) {
        match self {
            Self::Rounds(server) => {
                if let Err(CloseError::Empty { .. }) = server.close(noise) {
                    server.skip();
                }
            }
            Self::Shards(server) => drop(server.close(noise)),
            Self::Asynchronous(_) => panic!("there are no rounds"),
        }
    }
}
