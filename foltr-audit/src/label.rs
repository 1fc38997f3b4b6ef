//! What a mechanism promises in a round, and about which neighbouring inputs.

use foltr_federation::accountant::{Guarantee, PrivacyCost};
use foltr_federation::{LocalPrivacy, Mode, Participation};

use crate::federation::Federation;

/// Deltas at which a label is tried that has no finite epsilon without one.
const DELTAS: [f64; 7] = [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3];

/// Which inputs a label compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adjacency {
    /// One client is there or is not.
    Removed,
    /// Another client is in the place of one.
    Replaced,
    /// Zero is in the place of one client's updates.
    Zeroed,
    /// One client sends what it would send for any other clicks.
    OtherClicks,
}

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observer {
    /// Sees the model, and messages if they are not sealed; not who takes part, if coins decide that.
    OfModels,
    /// Sees who takes part, as well.
    OfParticipants,
}

/// What one round costs, and between which inputs.
pub(super) fn cost(federation: &Federation, observer: Observer) -> (Adjacency, PrivacyCost) {
    let privacy: &dyn LocalPrivacy = &*federation.devices;
    let cost = privacy.cost(federation.n_params, federation.n_interactions);
    match (cost, federation.participation) {
        (PrivacyCost::Gaussian { mu }, Participation::Sample(_)) => {
            (Adjacency::Replaced, PrivacyCost::Gaussian { mu: 2.0 * mu })
        }
        (PrivacyCost::Gaussian { mu }, Participation::PoissonSampling(probability))
            if observer == Observer::OfModels =>
        {
            (Adjacency::Removed, PrivacyCost::Subsampled { probability, noise_multiplier: mu.recip() })
        }
        // Who sees the coins sees who is there: what is left to hide is what was sent.
        (PrivacyCost::Gaussian { .. }, Participation::PoissonSampling(_)) => (Adjacency::Zeroed, cost),
        (PrivacyCost::Gaussian { .. }, Participation::Everyone) => (Adjacency::Removed, cost),
        _ if privacy.mode() == Mode::Sealed => (Adjacency::Zeroed, cost),
        _ => (Adjacency::OtherClicks, cost),
    }
}

/// What so many rounds guarantee: purely where they can, else at several deltas.
pub(super) fn after(cost: PrivacyCost, n_rounds: u32) -> Vec<Guarantee> {
    let deltas = if cost.epsilon().is_finite() { &[0.0][..] } else { &DELTAS };
    deltas.iter().map(|&delta| cost.after(n_rounds, delta)).collect()
}
