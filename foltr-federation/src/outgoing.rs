//! From the update of a device's round to the payload of its message, in one order for devices and simulation: update,
//! staleness, momentum, protection.
//!
//! Staleness and momentum come first because a mechanism bounds what it protects: a guarantee is about what is clipped and
//! randomised last. Momentum advances when a message is made, whether or not it arrives: a device makes it durable
//! together with its new state, and resends the same bytes.

use foltr_rank::Update;

use crate::message::{Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::LocalPrivacy;
use crate::staleness::Staleness;
use crate::worker_momentum::WorkerMomentum;

/// What a plan asks of devices between the end of a round and its message.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    pub staleness: Staleness,
    pub momentum: Option<WorkerMomentum>,
    pub privacy: &'a dyn LocalPrivacy,
}

impl Outgoing<'_> {
    /// Numbers that a device remembers for its momentum; they begin as zeros.
    pub fn memory_len(&self, n_params: usize) -> usize {
        self.momentum.map_or(0, |momentum| momentum.state_len(n_params))
    }

    /// Makes the payload of an update that started `staleness` releases before the task's, and moves the memory on.
    pub fn make(
        &self,
        update: Update<'_>,
        staleness: u32,
        memory: &mut [f32],
        task: &RoundTask,
        noise: &mut dyn NoiseSource,
        payload: &mut Payload,
    ) {
        match update {
            Update::Step { delta, n_interactions } if staleness > 0 || self.momentum.is_some() => {
                let mut delta = delta.to_vec();
                self.staleness.apply(staleness, &mut delta);
                if let Some(momentum) = self.momentum {
                    momentum.replace(memory, &mut delta);
                }
                self.privacy.protect(Update::Step { delta: &delta, n_interactions }, task, noise, payload);
            }
            // Rewards are scaled by the server.
            update => self.privacy.protect(update, task, noise, payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::seeded::seeded;
    use crate::privacy::{CentralMode, Clip, Gaussian, Unprotected};
    use foltr_rank::learn::evolution::Reward;
    use foltr_rank::rng::Purpose;

    fn made(outgoing: &Outgoing<'_>, delta: &[f32], staleness: u32, memory: &mut [f32]) -> Vec<f32> {
        let global = vec![0.0; delta.len()];
        let task = RoundTask { round: 5, global, n_clients: 1, n_interactions: 4, clip_norm: None };
        let mut payload = Payload::default();
        let update = Update::Step { delta, n_interactions: 4 };
        outgoing.make(update, staleness, memory, &task, &mut seeded(1, Purpose::Noise, 0, 0), &mut payload);
        match payload {
            Payload::Step { delta, .. } | Payload::Clipped { delta, .. } => delta,
            other => panic!("{other:?} is no step"),
        }
    }

    #[test]
    fn staleness_then_momentum_then_protection() {
        let privacy = Gaussian::new(Clip::Fixed(1.0), 1.0, CentralMode::Clear).expect("positive");
        let staleness = Staleness { most: 3, exponent: 1.0 };
        let outgoing = Outgoing { staleness, momentum: Some(WorkerMomentum::Fixed { beta: 0.5 }), privacy: &privacy };
        let mut memory = vec![0.0; outgoing.memory_len(2)];
        // 8 / 4, halved: 1, just within the norm. Clipped first it would be 1/8.
        let sent = made(&outgoing, &[8.0, 0.0], 3, &mut memory);
        assert!((sent[0] - 1.0).abs() < 1e-5, "{sent:?}");
        // What is remembered is not clipped.
        let sent = made(&outgoing, &[0.0, 32.0], 3, &mut memory);
        assert_eq!(memory, [0.5, 4.0]);
        assert!((sent[0].hypot(sent[1]) - 1.0).abs() < 1e-5, "{sent:?}");
    }

    #[test]
    fn a_fresh_update_without_momentum_is_sent_as_it_is() {
        let privacy = Unprotected { reward: Reward::MaxRr };
        let outgoing = Outgoing { staleness: Staleness { most: 3, exponent: 1.0 }, momentum: None, privacy: &privacy };
        assert_eq!(made(&outgoing, &[0.1, -0.2], 0, &mut []), [0.1, -0.2]);
        assert_eq!(made(&outgoing, &[0.1, -0.2], 1, &mut []), [0.05, -0.1]);
    }
}
