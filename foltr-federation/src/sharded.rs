//! Coordinators of shards: several federations that do not see each other, so that each can forget by itself.
//!
//! A client belongs to one shard for good ([`ShardIsolation::shard_of`]): it starts from that shard's model and its messages
//! go there. All shards are in the same round. What is published is the mean of their rankers.

use foltr_rank::Params;
use foltr_rank::bytes::{BytesError, Reader, Writer};

use crate::coordinator::{CloseError, Coordinator, Rejected, RoundReport, Setup, SetupError};
use crate::message::Message;
use crate::noise::NoiseSource;
use crate::unlearn::{ShardIsolation, Unlearning};

const NAME: &str = "foltr shards 1";

#[derive(Debug)]
pub struct ShardedCoordinator {
    isolation: ShardIsolation,
    shards: Vec<Coordinator>,
}

impl ShardedCoordinator {
    /// Shards that all begin with the same model.
    pub fn new(setup: &Setup, isolation: ShardIsolation) -> Result<Self, SetupError> {
        Unlearning::ShardIsolation(isolation).check()?;
        let shards = (0..isolation.shards).map(|_| Coordinator::new(setup.clone())).collect::<Result<_, _>>()?;
        Ok(Self { isolation, shards })
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

    /// Closes the round of every shard; one to which nobody contributed goes on to the next round without a step.
    pub fn close(&mut self, noise: &mut dyn NoiseSource) -> Vec<Result<RoundReport, CloseError>> {
        let close = |shard: &mut Coordinator| {
            let closed = shard.close(noise);
            if let Err(CloseError::Empty { .. }) = closed {
                shard.skip();
            }
            closed
        };
        self.shards.iter_mut().map(close).collect()
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
        let before = self.save();
        let loaded = self.read(bytes);
        if loaded.is_err() {
            self.read(&before)?;
        }
        loaded
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        let input = &mut Reader::new(bytes);
        let name = input.text()?;
        input.require(name == NAME, "these are no states of shards")?;
        for shard in &mut self.shards {
            let len = input.len(1)?;
            shard.load(input.take(len)?)?;
        }
        input.clone().finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Payload;
    use crate::noise::seeded::seeded;
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
