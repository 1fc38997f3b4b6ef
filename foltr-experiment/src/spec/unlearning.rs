//! `[history]` and `[unlearning]`: what is kept for the day on which clients leave, and how they are forgotten.

use foltr_federation::unlearn::Need;
use foltr_federation::{HistoryPolicy, Unlearning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::check::Problems;

/// Clients that leave after the last round, and what is done about it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnlearningRequest {
    /// Who is forgotten. With `[attack]`, attackers are the clients 0, 1, ...
    pub clients: Vec<u32>,
    /// How.
    pub method: Unlearning,
}

impl Experiment {
    /// What a run keeps: what the file says, or what the method of `[unlearning]` needs.
    pub fn keeping(&self) -> Option<HistoryPolicy> {
        self.history.or_else(|| self.unlearning.as_ref().map(|leaving| needed_for(&leaving.method)))
    }

    pub(super) fn check_unlearning(&self, problems: &mut Problems) {
        let Some(UnlearningRequest { clients: leavers, method }) = &self.unlearning else { return };
        problems.when(leavers.is_empty(), "unlearning.clients", "name at least one client");
        let n_clients = self.clients.as_ref().map_or(usize::MAX, |clients| clients.n_clients);
        let unknown = leavers.iter().any(|&client| client as usize >= n_clients);
        problems.when(unknown, "unlearning.clients", format!("must be clients: 0 to {}", n_clients.saturating_sub(1)));
        problems.when(leavers.len() >= n_clients, "unlearning.clients", "somebody has to stay");
        match (method, self.federation.as_ref().and_then(|federation| federation.shards)) {
            (Unlearning::ShardIsolation(isolation), shards) => {
                let right = format!("must be the same as `federation.shards` = {}", shards.unwrap_or(1));
                problems.when(shards != Some(isolation.shards), "unlearning.method.shards", right);
            }
            (_, Some(_)) => {
                problems.add("unlearning.method.kind", "must be \"shard-isolation\" with `federation.shards`")
            }
            (_, None) => {}
        }
        if let Some(keeping) = self.history {
            let missing = method.needs().into_iter().find(|need| !need.is_met(&keeping));
            if let Some(need) = missing {
                problems
                    .add("history", format!("{} needs {need}; leave [history] out to keep just that", method.name()));
            }
        }
    }
}

/// The least that a method can work with.
fn needed_for(method: &Unlearning) -> HistoryPolicy {
    let mut keeping = HistoryPolicy::default();
    for need in method.needs() {
        match need {
            Need::Updates { every } => keeping.updates_every = Some(every),
            Need::Checkpoints { every } => keeping.checkpoints_every = Some(every.unwrap_or(USUAL_INTERVAL)),
            Need::Ledger => keeping.ledger = true,
        }
    }
    keeping
}

/// Rounds between two checkpoints when nothing is said.
const USUAL_INTERVAL: u32 = 100;
