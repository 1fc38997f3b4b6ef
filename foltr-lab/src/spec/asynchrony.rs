//! `[asynchrony]` and `clients.stragglers`: who waits for whom, and how long clients take.

use foltr_federation::Asynchrony;
use foltr_simulation::pace::Pace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Problems;
use super::{EvolutionStream, Experiment, Learner, Privacy};

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
        let Some(asynchrony) = self.asynchrony else { return };
        if !self.learner.is_federated() {
            let message = format!("remove this section: {} has no clients", self.learner.name());
            return problems.add("asynchrony", message);
        }
        if let Some(clients) = &self.clients {
            let n_clients = u32::try_from(clients.n_clients).unwrap_or(u32::MAX);
            if let Err(bad) = asynchrony.check(n_clients) {
                problems.add(format!("asynchrony.{}", bad.name), format!("must be {}", bad.right));
            }
            let no_cohort =
                "remove this key: without rounds nobody is chosen, every client takes part when it is ready";
            problems.when(clients.cohort.is_some(), "clients.cohort", no_cohort);
            problems.when(clients.participation.is_some(), "clients.participation", no_cohort);
        }
        let private = self.privacy != Privacy::None;
        let needs_rounds = "cannot be had with [asynchrony]: what is proven is about clients that come together in \
                            rounds, each with as many messages as there are rounds";
        problems.when(private, "privacy.kind", needs_rounds);
        if let Learner::Evolution { stream, .. } = self.learner {
            let naive = matches!(asynchrony, Asynchrony::Naive(_));
            let advice = "mixes models, and evolution sends rewards; use \"buffered\"";
            problems.when(naive, "asynchrony.kind", advice);
            let published = stream == EvolutionStream::Published;
            problems.when(
                published,
                "learner.stream",
                "\"published\" needs rounds; use \"separate\" with [asynchrony]",
            );
        }
    }
}
