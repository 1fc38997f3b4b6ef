//! Learners: one client, one round. Event driven, so that the same code serves a loop in the lab and a day on a phone.

pub mod evolution;
mod learner;
pub mod pdgd;

pub use learner::{EvolutionStream, Learner, Learning};

use crate::query::{Impression, QueryView, Ranking};
use crate::rng::Stream;

/// One client's learner. It is begun with the global model, shown clicks, and finished into an [`Update`].
///
/// A learner owns its scratch memory and is begun anew each round: nothing is allocated between interactions.
pub trait OnlineLearner {
    /// Starts a round from the global parameters. What is drawn from `public` may be transmitted.
    fn begin(&mut self, global: &[f32], public: &mut Stream);

    /// The list to show for this query. `private` never leaves the device.
    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking);

    /// Learns from the clicks on the list that [`Self::rank`] returned last.
    fn observe(&mut self, impression: &Impression<'_>);

    /// The raw outcome of the round. It must pass a privacy mechanism before it can leave the device.
    fn finish(&mut self) -> Update<'_>;
}

/// The raw outcome of a client's round. Not serialisable: it cannot leave the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Update<'a> {
    /// Local parameters minus global parameters, after `n_interactions` interactions.
    Step {
        /// Local minus global.
        delta: &'a [f32],
        /// Interactions of this round, clicked or not.
        n_interactions: u32,
    },
    /// What users did with a ranker perturbed in the direction that `seed` generates.
    Evolution {
        /// Generates the perturbation. Public.
        seed: u32,
        /// One outcome index an interaction with global + perturbation; see [`Reward::value`](evolution::Reward::value).
        plus: &'a [u16],
        /// The same with global - perturbation; empty when not antithetic.
        minus: &'a [u16],
    },
}
