//! What a mechanism promises in a round, and about which neighbouring inputs.

use foltr_federation::accountant::{Guarantee, PrivacyCost};
use foltr_federation::privacy::{Adjacency, Circumstances};

use crate::federation::Federation;

/// Deltas at which a label is tried that has no finite epsilon without one.
const DELTAS: [f64; 7] = [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3];

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
    let circumstances = Circumstances {
        participation: federation.participation,
        dropout: federation.dropout,
        ..Circumstances::complete(federation.n_params, federation.n_interactions)
    };
    let cost = federation.devices.cost(&circumstances);
    match observer {
        Observer::OfModels => cost.unseen,
        Observer::OfParticipants => cost.seen,
    }
}

/// What so many rounds guarantee: purely where they can, else at several deltas.
pub(super) fn after(cost: PrivacyCost, n_rounds: u32) -> Vec<Guarantee> {
    let deltas = if cost.epsilon().is_finite() { &[0.0][..] } else { &DELTAS };
    deltas.iter().map(|&delta| cost.after(n_rounds, delta)).collect()
}
