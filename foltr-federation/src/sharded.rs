//! Coordinators of shards: several federations that do not see each other, so that each can forget by itself.
//!
//! A client belongs to one shard for good ([`ShardIsolation::shard_of`]): it starts from that shard's model and its messages
//! go there. All shards are in the same round. What is published is the mean of their rankers.

use foltr_rank::Params;
use foltr_rank::bytes::{BytesError, Reader, Writer};

use crate::coordinator::{CloseError, Coordinator, Rejected, RoundReport, Setup, SetupError};
use crate::history::Checkpoint;
use crate::message::{Message, PayloadError};
use crate::noise::NoiseSource;
use crate::unlearn::{ShardIsolation, Unlearning};

const NAME: &str = "foltr shards 1";

#[derive(Debug)]
pub struct ShardedCoordinator {
    setup: Setup,
    isolation: ShardIsolation,
    shards: Vec<Coordinator>,
}

impl ShardedCoordinator {
    /// Shards that all begin with the same model.
    pub fn new(setup: &Setup, isolation: ShardIsolation) -> Result<Self, SetupError> {
        Unlearning::ShardIsolation(isolation).check()?;
        if setup.semantics()?.is_protected_sum() {
            return Err(SetupError::OneSum);
        }
        let shards = (0..isolation.shards).map(|_| Coordinator::new(setup.clone())).collect::<Result<_, _>>()?;
        let mut sharded = Self { setup: setup.clone(), isolation, shards };
        sharded.expect_everyone();
        Ok(sharded)
    }

    /// Each shard counts on its own clients, until the caller says who was drawn.
    fn expect_everyone(&mut self) {
        let n_clients = self.shards.first().map_or(0, |shard| shard.task().n_clients);
        for (shard, coordinator) in (0..).zip(&mut self.shards) {
            let own: Vec<u32> = (shard..n_clients).step_by(self.isolation.shards as usize).collect();
            coordinator.open(&own).expect("clients of this federation");
        }
    }

    /// See [`Coordinator::enrol`]. Call it between rounds: messages of the open one are dropped.
    pub fn enrol(&mut self, n_clients: u32) {
        self.shards.iter_mut().for_each(|shard| shard.enrol(n_clients));
        self.expect_everyone();
    }

    pub fn shards(&self) -> &[Coordinator] {
        &self.shards
    }

    /// The coordinator of a client's shard: its task is the client's.
    pub fn of_client(&self, client: u32) -> &Coordinator {
        &self.shards[self.isolation.shard_of(client) as usize]
    }

    /// See [`Coordinator::open`]. Nothing changes on an error.
    pub fn open(&mut self, drawn: &[u32]) -> Result<(), Rejected> {
        drawn.iter().try_for_each(|&client| self.of_client(client).check_known(client))?;
        for (shard, coordinator) in (0..).zip(&mut self.shards) {
            let of_shard = |client: &u32| self.isolation.shard_of(*client) == shard;
            coordinator.open(&drawn.iter().copied().filter(of_shard).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    pub fn receive(&mut self, message: Message) -> Result<(), Rejected> {
        let shard = self.isolation.shard_of(message.client) as usize;
        self.shards[shard].receive(message)
    }

    /// See [`Coordinator::check`].
    pub fn check(&self, message: &Message) -> Result<(), Rejected> {
        self.of_client(message.client).check(message)
    }

    /// Closes the round of every shard; one to which nobody contributed goes on to the next round without a step.
    pub fn close(&mut self, noise: &mut dyn NoiseSource) -> Vec<Result<RoundReport, CloseError>> {
        let close = |shard: &mut Coordinator| {
            let closed = shard.close(noise);
            if let Err(CloseError::Empty { .. }) = closed {
                shard.skip();
            }
            closed
        };
        let closed: Vec<_> = self.shards.iter_mut().map(close).collect();
        // With noise from a seed no shard was closed, and all messages are still there.
        if !matches!(closed.first(), Some(Err(CloseError::SimulatedNoise { .. }))) {
            self.expect_everyone();
        }
        closed
    }

    /// See [`Coordinator::skip`].
    pub fn skip(&mut self) {
        self.shards.iter_mut().for_each(Coordinator::skip);
        self.expect_everyone();
    }

    /// Returns the shard of a client that is to be forgotten to an earlier model: see [`Coordinator::roll_back`].
    pub fn roll_back(&mut self, client: u32, checkpoint: &Checkpoint) -> Result<(), PayloadError> {
        self.shards[self.isolation.shard_of(client) as usize].roll_back(checkpoint)
    }

    /// The published ranker: the mean of the shards' rankers.
    pub fn ranker(&self) -> Params {
        let rankers: Vec<Params> = self.shards.iter().map(Coordinator::ranker).collect();
        self.isolation.publish(rankers.iter().map(Vec::as_slice))
    }

    /// See [`Coordinator::save`].
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        for shard in &self.shards {
            let bytes = shard.save();
            out.len(bytes.len()).bytes(&bytes);
        }
        out.0
    }

    /// Goes on from saved bytes. On an error nothing has changed.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        let input = &mut Reader::new(bytes);
        let name = input.text()?;
        input.require(name == NAME, "these are no states of shards")?;
        let mut shards = Vec::with_capacity(self.shards.len());
        for _ in &self.shards {
            let len = input.len(1)?;
            let mut shard = Coordinator::new(self.setup.clone()).expect("the setup that all shards have");
            shard.enrol(self.of_client(0).task().n_clients);
            shard.load(input.take(len)?)?;
            shards.push(shard);
        }
        let are_together = shards.windows(2).all(|pair| pair[0].task().round == pair[1].task().round);
        input.require(are_together, "shards in different rounds")?;
        input.clone().finish()?;
        self.shards = shards;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::aggregate::Aggregation;
    use crate::defence::Defence;
    use crate::message::Payload;
    use crate::noise::seeded::seeded;
    use crate::privacy::{CentralDiscreteGaussian, Clip};
    use foltr_rank::rng::Purpose;

    fn sharded() -> ShardedCoordinator {
        ShardedCoordinator::new(&Setup::averaging(vec![0.0], 4, 1), ShardIsolation { shards: 2 }).expect("sound")
    }

    fn send(server: &mut ShardedCoordinator, client: u32, value: f32) -> Result<(), Rejected> {
        let round = server.of_client(client).task().round;
        let payload = Payload::Step { n_interactions: 1, delta: vec![value] };
        server.receive(Message { round, start: round, client, payload })
    }

    #[test]
    fn messages_move_their_own_shard_and_rounds_stay_together() {
        let mut server = sharded();
        assert_eq!(server.open(&[1, 9]), Err(Rejected::UnknownClient { client: 9, n_clients: 4 }));
        server.open(&[1, 3]).expect("known clients");
        assert!(send(&mut server, 0, 1.0).is_err(), "it was not drawn");
        send(&mut server, 1, 2.0).expect("a good message");
        send(&mut server, 3, 4.0).expect("a good message");
        let closed = server.close(&mut seeded(1, Purpose::Noise, 0, 0));
        assert_eq!(closed[0], Err(CloseError::Empty { round: 0 }));
        assert!(closed[1].is_ok());
        let models: Vec<f32> = server.shards().iter().map(|shard| shard.task().global[0]).collect();
        assert_eq!((models, server.ranker()), (vec![0.0, 3.0], vec![1.5]));
        assert!(server.shards().iter().all(|shard| shard.task().round == 1));
    }

    #[test]
    fn a_shard_with_a_defence_counts_on_its_own_clients_only() {
        // With zeros for the clients of the other shard the median would never move.
        let defence = Defence::of_rule(Aggregation::Median(crate::aggregate::Median {}));
        let setup = Setup { defence, ..Setup::averaging(vec![0.0], 6, 1) };
        let mut server = ShardedCoordinator::new(&setup, ShardIsolation { shards: 2 }).expect("sound");
        for _ in 0..2 {
            (0..6).for_each(|client| send(&mut server, client, 1.0).expect("a good message"));
            server.close(&mut seeded(1, Purpose::Noise, 0, 0)).into_iter().for_each(|closed| {
                assert_eq!(closed.expect("everybody came").n_stand_ins, 0);
            });
            let bytes = server.save();
            server = ShardedCoordinator::new(&setup, ShardIsolation { shards: 2 }).expect("sound");
            server.load(&bytes).expect("its own bytes");
        }
        assert_eq!(server.ranker(), [2.0]);
        server.enrol(8);
        assert_eq!(send(&mut server, 7, 1.0), Ok(()));
        let private = CentralDiscreteGaussian::new(Clip::Fixed(1.0), 1.0).expect("sound");
        let setup = Setup { privacy: Arc::new(private), ..Setup::averaging(vec![0.0], 6, 1) };
        let refused = ShardedCoordinator::new(&setup, ShardIsolation { shards: 2 }).expect_err("one sum");
        assert_eq!(refused, SetupError::OneSum);
    }

    #[test]
    fn one_shard_returns_to_an_earlier_model_and_rounds_go_on() {
        let mut server = sharded();
        let before = server.of_client(1).checkpoint();
        for round in 1..=3 {
            (0..4).for_each(|client| send(&mut server, client, 1.0).expect("a good message"));
            server.close(&mut seeded(1, Purpose::Noise, 0, round));
        }
        server.roll_back(1, &before).expect("a model of the same length");
        let models: Vec<f32> = server.shards().iter().map(|shard| shard.task().global[0]).collect();
        assert_eq!(models, [3.0, 0.0]);
        assert!(server.shards().iter().all(|shard| shard.task().round == 3), "no round comes again");
    }

    #[test]
    fn shards_are_saved_together_or_not_at_all() {
        let mut server = sharded();
        send(&mut server, 1, 2.0).expect("a good message");
        server.close(&mut seeded(1, Purpose::Noise, 0, 0));
        let bytes = server.save();
        let mut loaded = sharded();
        for len in 0..bytes.len() {
            assert!(loaded.load(&bytes[..len]).is_err());
            assert_eq!(loaded.save(), sharded().save());
        }
        loaded.load(&bytes).expect("its own bytes");
        assert_eq!((loaded.save(), loaded.ranker()), (bytes, vec![1.0]));
    }
}
