//! `[history]` and `[unlearning]`: what is kept for the day on which clients leave, and how they are forgotten.

use foltr_federation::unlearn::Need;
use foltr_federation::{Keeping, Unlearning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Problems;
use super::{EvolutionStream, Experiment, Learner, Privacy};

/// Clients that leave after the last round, and what is done about it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Leaving {
    /// Who is forgotten. With `[attack]`, attackers are the clients 0, 1, ...
    pub clients: Vec<u32>,
    /// How.
    pub method: Unlearning,
}

impl Experiment {
    /// What a run keeps: what the file says, or what the method of `[unlearning]` needs.
    pub fn keeping(&self) -> Option<Keeping> {
        self.history.or_else(|| self.unlearning.as_ref().map(|leaving| needed_for(&leaving.method)))
    }

    pub(super) fn check_history(&self, problems: &mut Problems) {
        let Some(history) = self.history else { return };
        self.check_whole_rounds("history", problems);
        if let Err(bad) = history.check() {
            problems.add(format!("history.{}", bad.name), format!("must be {}", bad.right));
        }
        let single = history.ledger || history.updates_every.is_some();
        let plain = self.privacy == Privacy::None && matches!(self.learner, Learner::Pdgd { .. });
        let needs = "single updates can be kept of pdgd without [privacy] only; `checkpoints_every` can be kept always";
        problems.when(single && !plain, "history", needs);
    }

    pub(super) fn check_unlearning(&self, problems: &mut Problems) {
        let Some(Leaving { clients: leavers, method }) = &self.unlearning else { return };
        self.check_whole_rounds("unlearning", problems);
        if let Err(bad) = method.check() {
            problems.add(format!("unlearning.method.{}", bad.name), format!("must be {}", bad.right));
        }
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

    /// What is kept and replayed are rounds of one global ranker.
    fn check_whole_rounds(&self, section: &'static str, problems: &mut Problems) {
        if !self.learner.is_federated() {
            let message = format!("remove this section: {} has no clients", self.learner.name());
            return problems.add(section, message);
        }
        let personal = "cannot be had with [personalisation] yet: rankers of clients' own never leave their devices";
        problems.when(self.personalisation.is_some(), section, personal);
        let waits = "cannot be had with [asynchrony] yet: it is defined for rounds";
        problems.when(self.asynchrony.is_some(), section, waits);
        let published = matches!(self.learner, Learner::Evolution { stream: EvolutionStream::Published, .. });
        problems.when(published, "learner.stream", format!("use \"separate\" with [{section}]"));
    }
}

/// The least that a method can work with.
fn needed_for(method: &Unlearning) -> Keeping {
    let mut keeping = Keeping::default();
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
