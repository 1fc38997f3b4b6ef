//! `[asynchrony]` and `clients.stragglers`: who waits for whom, and how long clients take.

use foltr_rank::rng::MAX_ROUNDS;
use foltr_simulation::pace::Pace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::check::Problems;

/// Clients that are slow. A synchronous round waits for the slowest of its clients; time is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stragglers {
    /// Share of the clients that are slow, drawn once a run.
    pub share: f64,
    /// How many times as long they take for a round of their own.
    pub slowdown: f64,
    /// Every duration is multiplied by a number drawn uniformly from 1 - jitter to 1 + jitter; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<f64>,
}

impl Stragglers {
    /// In the words of the simulation.
    pub fn pace(&self) -> Pace {
        Pace { share: self.share, slowdown: self.slowdown, jitter: self.jitter.unwrap_or(0.0) }
    }
}

impl Experiment {
    /// Whether simulated time is measured, and with which speeds.
    pub fn pace(&self) -> Option<Pace> {
        let stragglers =
            self.clients.as_ref().and_then(|clients| clients.stragglers).map(|stragglers| stragglers.pace());
        stragglers.or_else(|| self.asynchrony.map(|_| Pace::default()))
    }

    pub(super) fn check_asynchrony(&self, problems: &mut Problems) {
        if let Some(Stragglers { share, slowdown, jitter }) =
            self.clients.as_ref().and_then(|clients| clients.stragglers)
        {
            let key = "clients.stragglers";
            problems.when(!(0.0..=1.0).contains(&share), &format!("{key}.share"), "must be 0 to 1");
            let slower = slowdown.is_finite() && slowdown >= 1.0;
            problems.when(!slower, &format!("{key}.slowdown"), "must be a number of at least 1");
            let sound = jitter.is_none_or(|jitter| (0.0..1.0).contains(&jitter));
            problems.when(!sound, &format!("{key}.jitter"), "must be at least 0 and below 1");
        }
        if self.asynchrony.is_none() || !self.learner.is_federated() {
            return;
        }
        // A fast client may do in one stretch what all clients together are counted on for.
        let most = self.schedule().map_or(0, |schedule| schedule.n_rounds.saturating_mul(schedule.n_clients));
        let too_long = format!("makes up to {most} rounds of one client, at most {} can be numbered", MAX_ROUNDS - 1);
        problems.when(most >= MAX_ROUNDS as usize, "federation", too_long);
    }
}
