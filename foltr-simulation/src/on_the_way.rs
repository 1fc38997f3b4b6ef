//! Updates of clients whose message is not made yet: slow clients join a later round than the one they started in.

use foltr_federation::history::Devices;
use foltr_federation::{Kind, Outgoing, Payload};
use foltr_rank::Update;
use foltr_rank::rng::Purpose;

use crate::client_round::Round;
use crate::simulated_noise::SimulatedNoise;

/// What a client has learnt in the round in which it started, and the round that it will join.
#[derive(Clone, Debug)]
pub(crate) struct OnTheWay {
    pub(crate) client: u32,
    pub(crate) start: u32,
    pub(crate) joins: u32,
    pub(crate) update: StoredUpdate,
}

#[derive(Clone, Debug)]
pub(crate) enum StoredUpdate {
    Step { delta: Vec<f32>, n_interactions: u32 },
    Evolution { seed: u32, plus: Vec<u16>, minus: Vec<u16> },
}

impl StoredUpdate {
    pub(crate) fn of(update: Update<'_>) -> Self {
        match update {
            Update::Step { delta, n_interactions } => Self::Step { delta: delta.to_vec(), n_interactions },
            Update::Evolution { seed, plus, minus } => {
                Self::Evolution { seed, plus: plus.to_vec(), minus: minus.to_vec() }
            }
        }
    }

    fn update(&self) -> Update<'_> {
        match self {
            Self::Step { delta, n_interactions } => Update::Step { delta, n_interactions: *n_interactions },
            Self::Evolution { seed, plus, minus } => Update::Evolution { seed: *seed, plus, minus },
        }
    }
}

/// Which stream the noise of a client's message of this kind has.
pub const fn noise_purpose(kind: Kind) -> Purpose {
    match kind {
        Kind::Evolution | Kind::EvolutionAntithetic => Purpose::RandomisedResponse,
        Kind::Step | Kind::Clipped | Kind::Share => Purpose::Noise,
    }
}

impl OnTheWay {
    /// Makes the message with which the client joins the open round, and moves its memory on.
    pub(crate) fn message(&self, round: &Round<'_>, outgoing: &Outgoing<'_>, devices: &mut Devices) -> Payload {
        let (update, mut payload) = (self.update.update(), Payload::default());
        let purpose = noise_purpose(round.rule.kind());
        let mut noise = SimulatedNoise::open(round.streams, purpose, self.client, round.task.round);
        let memory = devices.of_mut(self.client);
        outgoing.make(update, round.task.round - self.start, memory, round.task, &mut noise, &mut payload);
        payload
    }
}
