//! The coordinator that a plan asks for: with rounds, with shards, or without rounds.

use foltr_federation::protocol::{Plan, PlanError};
use foltr_federation::{
    AsynchronousCoordinator, Checkpoint, CloseError, Coordinator, Message, NoiseSource, OpenRound, Received, Refused,
    Rejected, RoundReport, RoundTask, ShardedCoordinator,
};
use foltr_rank::Params;
use foltr_rank::bytes::BytesError;

#[derive(Debug)]
pub enum Engine {
    Rounds(Box<Coordinator>),
    Shards(Box<ShardedCoordinator>),
    Asynchronous(Box<AsynchronousCoordinator>),
}

impl Engine {
    /// Begins with this model in every shard.
    pub fn new(plan: &Plan, initial: Params) -> Result<Self, PlanError> {
        let federation = plan.federation();
        match (federation.asynchrony, federation.shards) {
            (Some(_), _) => Ok(Self::Asynchronous(Box::new(plan.asynchronous_coordinator(initial)?))),
            (None, Some(_)) => Ok(Self::Shards(Box::new(plan.sharded_coordinator(initial)?))),
            (None, None) => Ok(Self::Rounds(Box::new(plan.coordinator(initial)?))),
        }
    }

    /// Goes on from saved bytes.
    pub fn load(plan: &Plan, bytes: &[u8]) -> Result<Self, EngineError> {
        let mut engine = Self::new(plan, vec![0.0; plan.shape().n_params()])?;
        match &mut engine {
            Self::Rounds(coordinator) => coordinator.load(bytes)?,
            Self::Shards(coordinator) => coordinator.load(bytes)?,
            Self::Asynchronous(coordinator) => coordinator.load(bytes)?,
        }
        Ok(engine)
    }

    pub fn save(&self) -> Vec<u8> {
        match self {
            Self::Rounds(coordinator) => coordinator.save(),
            Self::Shards(coordinator) => coordinator.save(),
            Self::Asynchronous(coordinator) => coordinator.save(),
        }
    }

    pub const fn is_asynchronous(&self) -> bool {
        matches!(self, Self::Asynchronous(_))
    }

    /// Of a shard; there is only one without shards.
    pub fn task(&self, shard: u32) -> &RoundTask {
        match self {
            Self::Rounds(coordinator) => coordinator.task(),
            Self::Shards(coordinator) => coordinator.shards()[shard as usize].task(),
            Self::Asynchronous(coordinator) => coordinator.task(),
        }
    }

    pub fn round(&self) -> u32 {
        self.task(0).round
    }

    /// The ranker to use: the mean of shards, or of the last models, where the plan asks for it.
    pub fn ranker(&self) -> Params {
        match self {
            Self::Rounds(coordinator) => coordinator.ranker(),
            Self::Shards(coordinator) => coordinator.ranker(),
            Self::Asynchronous(coordinator) => coordinator.task().global.clone(),
        }
    }

    /// Whether it must not be seen if anybody came to a round.
    pub fn hides_who(&self) -> bool {
        match self {
            Self::Rounds(coordinator) => coordinator.hides_who(),
            Self::Shards(_) | Self::Asynchronous(_) => false,
        }
    }

    /// What a message is refused for before it is stored.
    pub fn check(&self, message: &Message) -> Result<(), MessageRefused> {
        match self {
            Self::Rounds(coordinator) => Ok(coordinator.check(message)?),
            Self::Shards(coordinator) => Ok(coordinator.check(message)?),
            Self::Asynchronous(coordinator) => Ok(coordinator.check(message)?),
        }
    }

    /// Says who was drawn into the open round.
    pub fn open(&mut self, drawn: &[u32]) -> Result<(), Rejected> {
        match self {
            Self::Rounds(coordinator) => coordinator.open(drawn),
            Self::Shards(coordinator) => coordinator.open(drawn),
            Self::Asynchronous(_) => Ok(()),
        }
    }

    /// Takes a message; says whether there is a new version, which is only without rounds.
    pub fn receive(&mut self, message: Message) -> Result<Received, MessageRefused> {
        match self {
            Self::Rounds(coordinator) => coordinator.receive(message)?,
            Self::Shards(coordinator) => coordinator.receive(message)?,
            Self::Asynchronous(coordinator) => return Ok(coordinator.receive(&message)?),
        }
        Ok(Received::Buffered)
    }

    /// Closes the round of every shard. One without a step goes on to the next round.
    pub fn close(&mut self, noise: &mut dyn NoiseSource) -> Vec<Result<RoundReport, CloseError>> {
        match self {
            Self::Rounds(coordinator) => {
                let closed = coordinator.close(noise);
                if let Err(CloseError::Empty { .. }) = closed {
                    coordinator.skip();
                }
                vec![closed]
            }
            Self::Shards(coordinator) => coordinator.close(noise),
            Self::Asynchronous(_) => Vec::new(),
        }
    }

    /// What a history records of the round if it is closed now, shard by shard.
    pub fn open_rounds(&self, with_updates: bool) -> Vec<OpenRound> {
        match self {
            Self::Rounds(coordinator) => vec![coordinator.open_round(with_updates)],
            Self::Shards(coordinator) => {
                coordinator.shards().iter().map(|shard| shard.open_round(with_updates)).collect()
            }
            Self::Asynchronous(_) => Vec::new(),
        }
    }

    pub fn n_shards(&self) -> u32 {
        match self {
            Self::Shards(coordinator) => coordinator.shards().len() as u32,
            _ => 1,
        }
    }

    /// The state of a shard as a history records it; nothing without rounds.
    pub fn checkpoint(&self, shard: u32) -> Option<Checkpoint> {
        match self {
            Self::Rounds(coordinator) => Some(coordinator.checkpoint()),
            Self::Shards(coordinator) => Some(coordinator.shards()[shard as usize].checkpoint()),
            Self::Asynchronous(_) => None,
        }
    }

    /// Returns a shard to an earlier state. The round number stays.
    pub fn roll_back(&mut self, shard: u32, state: &Checkpoint) -> Result<(), EngineError> {
        match self {
            Self::Rounds(coordinator) => coordinator.roll_back(state)?,
            // A shard's number is that of its first client.
            Self::Shards(coordinator) => coordinator.roll_back(shard, state)?,
            Self::Asynchronous(_) => return Err(EngineError::NoRounds),
        }
        Ok(())
    }

    /// Drops the open round and begins the next one: a round that devices have booked never comes again.
    pub fn skip(&mut self) {
        match self {
            Self::Rounds(coordinator) => coordinator.skip(),
            Self::Shards(coordinator) => coordinator.skip(),
            Self::Asynchronous(_) => {}
        }
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("the state of the coordinator cannot be read: {0}")]
    State(#[from] BytesError),
    #[error(transparent)]
    Checkpoint(#[from] foltr_federation::PayloadError),
    #[error("a federation without rounds cannot return to an earlier state")]
    NoRounds,
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MessageRefused {
    #[error(transparent)]
    Rounds(#[from] Rejected),
    #[error(transparent)]
    Asynchronous(#[from] Refused),
}
