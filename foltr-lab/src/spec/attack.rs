//! `[attack]` and `[defence]`: who lies, what is done about it, and what cannot be had together.

use foltr_federation::aggregate::FlTrust;
use foltr_federation::{Aggregation, Defence};
use foltr_simulation::adversary::Seeds;

use super::check::Problems;
use super::{EvolutionStream, Experiment, Learner, Privacy};

impl Experiment {
    /// What is done against clients that lie.
    pub fn defence(&self) -> Defence {
        self.defence.unwrap_or(Defence::NONE)
    }

    pub(super) fn check_attack(&self, problems: &mut Problems) {
        let Some(attack) = self.attack else { return };
        self.check_messages("attack", problems);
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
        self.check_messages("defence", problems);
        if let Err(bad) = defence.rule.check() {
            problems.add(format!("defence.rule.{}", bad.name), format!("must be {}", bad.right));
        }
        if let Some(Err(bad)) = defence.momentum.map(|momentum| momentum.check()) {
            problems.add(format!("defence.momentum.{}", bad.name), format!("must be {}", bad.right));
        }
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
        let rewards = matches!(self.learner, Learner::Evolution { .. });
        let steps = "cannot be had with evolution, whose devices send a seed and a reward, and no update to remember";
        problems.when(rewards && defence.momentum.is_some(), "defence.momentum", steps);
    }

    /// What looks at single messages needs messages that say what the client did.
    fn check_messages(&self, section: &'static str, problems: &mut Problems) {
        if !self.learner.is_federated() {
            let message = format!("remove this section: {} has no clients", self.learner.name());
            return problems.add(section, message);
        }
        let personal = "cannot be had with [personalisation] yet: it is defined for one global ranker";
        problems.when(self.personalisation.is_some(), section, personal);
        let waits = "cannot be had with [asynchrony] yet: it is defined for rounds";
        problems.when(self.asynchrony.is_some(), section, waits);
        let plain = matches!(self.privacy, Privacy::None | Privacy::RandomisedResponse { .. });
        let unproven = "cannot be had with this kind of [privacy]: what is proven is about sums of all updates, and \
                        nothing about what is shown of single ones";
        problems.when(!plain, section, unproven);
        let published = matches!(self.learner, Learner::Evolution { stream: EvolutionStream::Published, .. });
        problems.when(published, "learner.stream", format!("use \"separate\" with [{section}]"));
    }
}
