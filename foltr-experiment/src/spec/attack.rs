//! `[attack]` and `[defence]`: who lies, what is done about it, and what cannot be had together.

use foltr_federation::aggregate::FlTrust;
use foltr_federation::{Aggregation, Defence};
use foltr_simulation::adversary::Seeds;

use super::check::Problems;
use super::{Experiment, Learner};

impl Experiment {
    /// What is done against clients that lie.
    pub fn defence(&self) -> Defence {
        self.defence.unwrap_or(Defence::NONE)
    }

    pub(super) fn check_attack(&self, problems: &mut Problems) {
        let Some(attack) = self.attack else { return };
        let n_clients = self.clients.as_ref().map_or(usize::MAX, |clients| clients.n_clients);
        let sound = (1..n_clients).contains(&(attack.attackers as usize));
        let some = "must be at least 1 and below the number of clients: somebody has to be honest";
        problems.when(!sound, "attack.attackers", some);
        if let Err(bad) = attack.check() {
            let section = if bad.name == "candidates" { "seeds" } else { "method" };
            problems.add(format!("attack.{section}.{}", bad.name), format!("must be {}", bad.right));
        }
        let steps = self.learner.is_federated() && !matches!(self.learner, Learner::Evolution { .. });
        let idle = "has no effect: only evolution sends seeds";
        problems.when(steps && attack.seeds != Seeds::Own, "attack.seeds", idle);
    }

    pub(super) fn check_defence(&self, problems: &mut Problems) {
        let Some(defence) = self.defence else { return };
        if let (Aggregation::FlTrust(FlTrust { trusted }), Some(clients)) = (defence.rule, &self.clients) {
            let unknown = format!("must be a client: 0 to {}", clients.n_clients.saturating_sub(1));
            problems.when(trusted as usize >= clients.n_clients, "defence.rule.trusted", unknown);
            let is_sampled =
                clients.cohort.is_some_and(|size| size < clients.n_clients) || clients.participation.is_some();
            let always = "must take part in every round; leave `clients.cohort` and `clients.participation` out";
            problems.when(is_sampled, "defence.rule.trusted", always);
            let bribed = self.attack.is_some_and(|attack| trusted < attack.attackers);
            problems.when(
                bribed,
                "defence.rule.trusted",
                "is an attacker: those are the clients 0, 1, ... of [attack]",
            );
        }
        if let (Some(schedule), needed) = (self.schedule(), defence.least_clients()) {
            let few = format!("needs at least {needed} clients in a round, there are {}", schedule.cohort);
            problems.when(schedule.cohort < needed, "defence.rule", few);
            let dropout = self.clients.as_ref().and_then(|clients| clients.dropout).unwrap_or(0.0);
            let left = (schedule.cohort as f64 * (1.0 - dropout)) as usize;
            let rest =
                format!("needs at least {needed} clients in a round; with this dropout about {left} messages come");
            problems.when(schedule.cohort >= needed && left < needed, "clients.dropout", rest);
        }
    }
}
