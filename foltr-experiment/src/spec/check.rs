//! Values and combinations that cannot work, refused before any work.

use std::collections::HashSet;

use foltr_federation::Aggregation;
use foltr_federation::aggregate::FlTrust;
use foltr_federation::privacy::DiscreteGaussianParameters;
use foltr_rank::learn::evolution::MAX_REPORTED;
use foltr_rank::rng::MAX_ROUNDS;
use foltr_rank::{Initialisation, MAX_SHOWN, ParameterError};
use foltr_simulation::adversary::{Adversary, Seeds};
use foltr_simulation::click::{AssignedPer, Mixture};
use foltr_simulation::partition::Needs;

use super::{
    AdoptionRule, ClickModel, Data, Evaluate, EvolutionStream, Experiment, Federation, Learner, Metric, Normalisation,
    Partition, Personalisation, Privacy, Problem, RankerShape, Split, Unlearning, UnlearningRequest,
};

/// With a pull of this times the learning rate, a step leads as far beyond the model it is pulled to.
const MAX_PULL: f64 = 2.0;

impl Experiment {
    /// Everything that is wrong with this experiment; nothing when it can be run.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        self.check_seeds(&mut problems);
        self.check_data(&mut problems);
        self.check_sections(&mut problems);
        self.check_clients(&mut problems);
        self.check_participation(&mut problems);
        self.check_partition(&mut problems);
        self.check_users(&mut problems);
        self.check_ranker(&mut problems);
        self.check_learner(&mut problems);
        self.check_federation(&mut problems);
        self.check_schedule(&mut problems);
        self.check_plan(&mut problems);
        self.check_pulls(&mut problems);
        self.check_asynchrony(&mut problems);
        problems.parameters("adoption", self.adoption.iter().flat_map(AdoptionRule::check));
        self.check_attack(&mut problems);
        self.check_defence(&mut problems);
        self.check_unlearning(&mut problems);
        self.check_privacy(&mut problems);
        self.check_budget(&mut problems);
        self.check_metrics(&mut problems);
        problems.0
    }

    /// What the sections of the federation exclude, and their parameters.
    fn check_plan(&self, problems: &mut Problems) {
        if self.learner.is_federated() {
            for problem in self.plan().check_with(&self.simulated_parts()) {
                problems.add(problem.key, problem.message);
            }
            return;
        }
        let learner = self.learner.name();
        let sections = [
            ("personalisation", self.personalisation.is_some()),
            ("asynchrony", self.asynchrony.is_some()),
            ("adoption", self.adoption.is_some()),
            ("attack", self.attack.is_some()),
            ("defence", self.defence.is_some()),
            ("history", self.history.is_some()),
            ("unlearning", self.unlearning.is_some()),
            ("privacy", !self.privacy.is_none()),
        ];
        for (section, is_there) in sections {
            problems.when(is_there, section, format!("remove this section: {learner} has no clients"));
        }
    }

    fn check_seeds(&self, problems: &mut Problems) {
        problems.when(self.seeds.is_empty(), "seeds", "at least one seed is needed, such as seeds = [1, 2, 3]");
        let mut sorted = self.seeds.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            problems.add("seeds", format!("seed {} is there twice; equal runs would count as two", pair[0]));
        }
    }

    fn check_data(&self, problems: &mut Problems) {
        problems.0.extend(self.data.check());
        let key = match &self.data {
            Data::Synthetic { validation_queries: Some(0), .. } => "data.validation_queries",
            Data::Files { validation, .. } if validation.is_empty() => "data.validation",
            _ => return,
        };
        let is_asked = self.metrics.evaluate_on.contains(&Split::Validation);
        problems.when(is_asked, "metrics.evaluate_on", format!("`{key}` has nothing to evaluate on"));
    }

    /// Which sections a learner needs, and which ones it cannot have.
    fn check_sections(&self, problems: &mut Problems) {
        let learner = self.learner.name();
        let (federated, baseline) = (self.learner.is_federated(), self.learner.is_baseline());
        let sections = [
            ("clients", self.clients.is_some(), federated),
            ("federation", self.federation.is_some(), federated),
            ("ranker", self.ranker.is_some(), !baseline),
        ];
        for (section, is_there, belongs) in sections {
            let refusal = if baseline {
                "an offline baseline; it learns from labels, has no clients and is always linear"
            } else {
                "centralised; its length is `learner.budget`"
            };
            problems.when(is_there && !belongs, section, format!("remove this section: {learner} is {refusal}"));
            problems.when(!is_there && belongs, section, format!("missing; {learner} needs a section [{section}]"));
        }
        let alone = self.partition.is_some() && !federated;
        problems.when(alone, "partition", format!("remove this section: {learner} has no clients that could differ"));
        problems.when(!baseline && self.users.is_none(), "users", format!("missing; {learner} learns from clicks"));
    }

    fn check_clients(&self, problems: &mut Problems) {
        let Some(clients) = &self.clients else { return };
        // Clients and interactions are numbered with 32 bits on the wire.
        let most = u32::MAX as usize;
        problems.when(clients.n_clients == 0, "clients.n_clients", "at least one client is needed");
        problems.when(clients.n_clients > most, "clients.n_clients", format!("must be at most {most}"));
        match (clients.interactions, &clients.quantities) {
            (None, None) => problems.add("clients", "either `interactions` or `quantities` is needed"),
            (Some(_), Some(_)) => {
                problems.add("clients.quantities", "give either `interactions` or `quantities`, not both")
            }
            (Some(0), None) => problems.add("clients.interactions", "at least one interaction a round is needed"),
            (Some(n), None) => problems.when(n > most, "clients.interactions", format!("must be at most {most}")),
            (None, Some(quantities)) => self.check_quantities(quantities, problems),
        }
        if let Some(absent) = &clients.absent {
            let known = |client: &u32| (*client as usize) < clients.n_clients;
            let unknown = format!("must be clients: 0 to {}", clients.n_clients.saturating_sub(1));
            problems.when(!absent.iter().all(known), "clients.absent", unknown);
            problems.when(absent.len() >= clients.n_clients, "clients.absent", "somebody has to take part");
        }
        let Some(cohort) = clients.cohort else { return };
        problems.when(cohort == 0, "clients.cohort", "at least one client must take part; leave the key out for all");
        let too_many = format!("more than there are clients (n_clients = {})", clients.n_clients);
        problems.when(cohort > clients.n_clients, "clients.cohort", too_many);
    }

    /// Numbers of interactions that differ between clients.
    fn check_quantities(&self, quantities: &[usize], problems: &mut Problems) {
        let key = "clients.quantities";
        problems.when(quantities.is_empty(), key, "name at least one number of interactions");
        problems.when(quantities.contains(&0), key, "at least one interaction a round is needed for every client");
        let too_many = quantities.iter().any(|&n| n > u32::MAX as usize);
        problems.when(too_many, key, format!("each must be at most {}", u32::MAX));
    }

    fn check_partition(&self, problems: &mut Problems) {
        let Some(partition) = &self.partition else { return };
        problems.parameters("partition", partition.check());
        let (is_met, right) = match partition.needs() {
            None => (true, ""),
            Some(Needs::Intents) => {
                let right = "needs data with intents: data.kind = \"intents\", or data.intents of 2 or more";
                (self.data.has_intents(), right)
            }
            Some(Needs::Users) => {
                (matches!(self.data, Data::UserLog(_)), "needs data.kind = \"user-log\", which knows users")
            }
        };
        problems.when(!is_met, "partition.kind", right);
        if let Partition::Labels(labels) = partition {
            let unlike = labels.normalise_after == Some(true) && self.data.normalise() == Normalisation::None;
            let advice = "needs data.normalise = \"query\": held-out queries would keep their raw features";
            problems.when(unlike, "partition.normalise_after", advice);
        }
        let warms_up = partition.shared().is_some_and(|shared| shared.warm_up > 0);
        let other = warms_up && !matches!(self.learner, Learner::Pdgd(_));
        problems.when(other, "partition.shared.warm_up", "needs learner.kind = \"pdgd\"");
    }

    fn check_participation(&self, problems: &mut Problems) {
        let Some(clients) = &self.clients else { return };
        if let Some(dropout) = clients.dropout {
            problems.when(!(0.0..1.0).contains(&dropout), "clients.dropout", "must be at least 0 and below 1");
        }
        let Some(probability) = clients.participation else { return };
        let key = "clients.participation";
        problems.when(!(probability > 0.0 && probability <= 1.0), key, "must be above 0 and at most 1");
        problems.when(clients.cohort.is_some(), key, "give either this or `cohort`, which the server draws");
        let nobody = probability * (clients.n_clients as f64) < 1.0;
        problems.when(nobody, key, "less than one client is expected in a round");
    }

    fn check_users(&self, problems: &mut Problems) {
        let Some(users) = &self.users else { return };
        for (i, model) in users.models().iter().enumerate() {
            let is_mixture = matches!(users, ClickModel::Mixture(_));
            let section = if is_mixture { format!("users.models[{i}]") } else { "users".into() };
            let nested = matches!(model, ClickModel::Mixture(_));
            problems.when(nested, &format!("{section}.kind"), "\"several\" cannot be among the models of \"several\"");
            problems.parameters(&section, model.check());
        }
        if let ClickModel::Mixture(Mixture { models, each }) = users {
            problems.when(models.len() < 2, "users.models", "at least two models are needed to differ");
            let alone = *each == AssignedPer::Client && !self.learner.is_federated();
            problems.when(alone, "users.each", format!("\"client\" needs clients; {} has none", self.learner.name()));
            let few = self.clients.as_ref().is_some_and(|clients| clients.n_clients < models.len());
            let message = "fewer than users.models: some models would have no client";
            problems.when(few && *each == AssignedPer::Client, "clients.n_clients", message);
        }
    }

    fn check_ranker(&self, problems: &mut Problems) {
        let Some(ranker) = self.ranker else { return };
        problems.parameters("ranker", ranker.check());
        let is_linear = matches!(ranker, RankerShape::Linear { initialisation: Initialisation::Zero });
        let other = matches!(self.learner, Learner::PairRank(_)) && !is_linear;
        problems.when(other, "ranker.kind", "must be \"linear\" with initialisation zero: pair-rank has no other");
        // With zero weights every gradient of a hidden layer is zero, for ever.
        let stuck = matches!(ranker, RankerShape::Mlp { .. }) && ranker.initialisation() == Initialisation::Zero;
        let stuck = stuck && matches!(self.learner, Learner::Pdgd(_) | Learner::CentralisedPdgd(_));
        let advice = "a network with zero weights has no gradient and PDGD would never move it; use \"fan-in\"";
        problems.when(stuck, "ranker.initialisation.kind", advice);
    }

    fn check_learner(&self, problems: &mut Problems) {
        problems.parameters("learner", self.learner.check());
        match self.learner {
            Learner::Evolution(evolution) => {
                if let Some(interactions) = self.clients.as_ref().and_then(|clients| clients.interactions) {
                    let odd = evolution.antithetic && !interactions.is_multiple_of(2);
                    let advice = "must be even: half of them try the opposite perturbation (learner.antithetic = true)";
                    problems.when(odd, "clients.interactions", advice);
                }
                if evolution.stream == EvolutionStream::Published {
                    self.check_published_stream(problems);
                }
            }
            Learner::Random(_) => {
                let other = self.metrics.offline.iter().any(|metric| !matches!(metric, Metric::Ndcg(_)));
                problems.when(other, "metrics.offline", "a random ranking has an expected value of ndcg@K only");
            }
            _ => {}
        }
    }

    /// Pulls towards another model that overshoot it.
    fn check_pulls(&self, problems: &mut Problems) {
        let Learner::Pdgd(pdgd) = self.learner else { return };
        let proximal = pdgd.proximal.map(|mu| ("learner.proximal", "proximal", mu));
        let own = match self.personalisation {
            Some(Personalisation::Ditto(ditto)) => Some(("personalisation.pull", "pull", ditto.pull)),
            _ => None,
        };
        for (key, name, pull) in [proximal, own].into_iter().flatten() {
            let product = pdgd.learning_rate * pull;
            let message = format!("learning_rate x {name} = {product} must be below 2, or steps overshoot");
            problems.when(product >= MAX_PULL, key, message);
        }
    }

    /// The published generator is only defined for what the published code did.
    fn check_published_stream(&self, problems: &mut Problems) {
        let only = |what: &str| format!("\"published\" needs {what}: the published code did nothing else");
        let cascade = matches!(self.users, Some(ClickModel::Cascade(_)) | None);
        problems.when(!cascade, "learner.stream", only("users.kind = \"cascade\""));
        let equal = self.partition.is_none_or(|partition| partition.is_iid());
        problems.when(!equal, "learner.stream", only("clients that hold the same (no [partition])"));
    }

    fn check_federation(&self, problems: &mut Problems) {
        let Some(Federation { rounds, budget, average_last, shards, .. }) = &self.federation else { return };
        let sound = average_last.is_none_or(|share| share > 0.0 && share <= 1.0);
        problems.when(!sound, "federation.average_last", "must be above 0 and at most 1");
        let n_clients = self.clients.as_ref().map_or(usize::MAX, |clients| clients.n_clients);
        let sound = shards.is_none_or(|shards| shards > 0 && shards as usize <= n_clients);
        problems.when(!sound, "federation.shards", "must be at least 1 and at most the number of clients");
        let has_slow = self.clients.as_ref().is_some_and(|clients| clients.stragglers.is_some());
        let is_idle = self.federation.as_ref().is_some_and(|federation| federation.staleness.is_some()) && !has_slow;
        problems.when(
            is_idle,
            "federation.staleness",
            "needs `clients.stragglers`: without slow clients nothing is stale",
        );
        match (rounds, budget) {
            (None, None) => problems.add("federation", "either `rounds` or `budget` (interactions) is needed"),
            (Some(_), Some(_)) => problems.add("federation.budget", "give either `rounds` or `budget`, not both"),
            (Some(0), None) => problems.add("federation.rounds", "at least one round is needed"),
            _ => {}
        }
        if let (Some(_), Some(schedule)) = (budget, self.schedule()) {
            let short = format!("is less than one round of {} interactions", schedule.interactions_per_round());
            problems.when(rounds.is_none() && schedule.n_rounds == 0, "federation.budget", short);
        }
    }

    /// Rounds are numbered in the messages and in the random streams.
    fn check_schedule(&self, problems: &mut Problems) {
        let Some(schedule) = self.schedule() else { return };
        let key = match (&self.learner, &self.federation) {
            (Learner::CentralisedPdgd(_), _) => "learner.interactions_per_round",
            (_, Some(Federation { rounds: Some(_), .. })) => "federation.rounds",
            _ => "federation.budget",
        };
        let too_long = format!("makes {} rounds, at most {} can be numbered", schedule.n_rounds, MAX_ROUNDS - 1);
        problems.when(schedule.n_rounds >= MAX_ROUNDS as usize, key, too_long);
    }

    fn check_asynchrony(&self, problems: &mut Problems) {
        if let Some(stragglers) = self.clients.as_ref().and_then(|clients| clients.stragglers) {
            problems.parameters("clients.stragglers", stragglers.check());
        }
        if self.asynchrony.is_none() || !self.learner.is_federated() {
            return;
        }
        // A fast client may do in one stretch what all clients together are counted on for.
        let most = self.schedule().map_or(0, |schedule| schedule.n_rounds.saturating_mul(schedule.n_clients));
        let too_long = format!("makes up to {most} rounds of one client, at most {} can be numbered", MAX_ROUNDS - 1);
        problems.when(most >= MAX_ROUNDS as usize, "federation", too_long);
    }

    fn check_attack(&self, problems: &mut Problems) {
        let Some(attack) = self.attack else { return };
        let n_clients = self.clients.as_ref().map_or(usize::MAX, |clients| clients.n_clients);
        let sound = (1..n_clients).contains(&(attack.attackers as usize));
        let some = "must be at least 1 and below the number of clients: somebody has to be honest";
        problems.when(!sound, "attack.attackers", some);
        if let Err(error) = attack.check() {
            let section = if error.name == "candidates" { "attack.seeds" } else { "attack.method" };
            problems.parameters(section, [error]);
        }
        let steps = self.learner.is_federated() && !matches!(self.learner, Learner::Evolution(_));
        let idle = "has no effect: only evolution sends seeds";
        problems.when(steps && attack.seeds != Seeds::Own, "attack.seeds", idle);
    }

    fn check_defence(&self, problems: &mut Problems) {
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
    }

    fn check_unlearning(&self, problems: &mut Problems) {
        let Some(request) = &self.unlearning else { return };
        let UnlearningRequest { clients: leavers, method, .. } = request;
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
        let again = request.requests().count() > 1 && !self.privacy.is_none() && method.most_replayed_rounds(1) > 0;
        let message = "every request costs those who stay again, and the guarantee is stated for one: use \"at-once\", or \
                       remove [privacy]";
        problems.when(again, "unlearning.order", message);
        if let Some(policy) = self.history {
            let missing = method.needs().into_iter().find(|need| !need.is_met(&policy));
            if let Some(need) = missing {
                problems
                    .add("history", format!("{} needs {need}; leave [history] out to store just that", method.name()));
            }
        }
    }

    fn check_privacy(&self, problems: &mut Problems) {
        if let Privacy::DiscreteGaussian(DiscreteGaussianParameters { min_survivors, .. }) = self.privacy
            && let Some(schedule) = self.schedule()
        {
            let dropout = self.clients.as_ref().and_then(|clients| clients.dropout).unwrap_or(0.0);
            let expected = schedule.cohort as f64 * (1.0 - dropout);
            let never = f64::from(min_survivors) > expected;
            let message = format!("only {expected:.0} messages are expected in a round: sums would not be opened");
            problems.when(never, "privacy.min_survivors", message);
        }
    }

    fn check_budget(&self, problems: &mut Problems) {
        let idle = self.budget.is_some() && self.privacy.is_none();
        problems.when(idle, "budget", "without [privacy] the first message costs more than any budget");
    }

    fn check_metrics(&self, problems: &mut Problems) {
        let metrics = &self.metrics;
        let shown = metrics.list_length;
        let (longest, why) = match self.learner {
            Learner::Evolution(_) => (MAX_REPORTED, "with this learner: a message has a bit for each shown document"),
            _ => (MAX_SHOWN, ""),
        };
        let range = format!("must be 1 to {longest} {why}");
        problems.when(!(1..=longest).contains(&shown), "metrics.list_length", range.trim_end());
        problems.when(metrics.cutoff == 0, "metrics.cutoff", "must be at least 1");
        problems.when(metrics.offline.is_empty(), "metrics.offline", "at least one metric is needed");
        problems.when(metrics.evaluate_on.is_empty(), "metrics.evaluate_on", "at least one split is needed");
        let n_metrics = metrics.offline.iter().collect::<HashSet<_>>().len();
        let n_splits = metrics.evaluate_on.iter().collect::<HashSet<_>>().len();
        let twice = "is there twice; its rows would count twice";
        problems.when(n_metrics < metrics.offline.len(), "metrics.offline", format!("a metric {twice}"));
        problems.when(n_splits < metrics.evaluate_on.len(), "metrics.evaluate_on", format!("a split {twice}"));
        let never = metrics.evaluate == Evaluate::Every(0);
        let advice = "must be at least 1; use evaluate = \"first-and-last\" for the ends only";
        problems.when(never, "metrics.evaluate.every", advice);
        let never = metrics.evaluate == Evaluate::Logarithmic(0);
        problems.when(never, "metrics.evaluate.logarithmic", "must be at least 1");
        let (every, n_rounds) =
            (metrics.online.rounds_a_row(), self.schedule().map_or(0, |schedule| schedule.n_rounds));
        let uneven = every == 0 || !n_rounds.is_multiple_of(every);
        let message = format!("must divide the {n_rounds} rounds, so that the mean of all rows is that of all rounds");
        problems.when(uneven, "metrics.online.every", message);
        let largest = self.data.max_label().unwrap_or(0);
        let undefined = metrics.offline.iter().find(|metric| metric.largest_label() < largest);
        let message = |metric: &Metric| format!("{metric} is defined for labels up to {}", metric.largest_label());
        problems.when(undefined.is_some(), "metrics.offline", undefined.map(message).unwrap_or_default());
        let promotion = metrics.promotion.and_then(|promotion| Adversary::check(&promotion).err());
        problems.parameters("metrics.promotion", promotion);
        let homeless = metrics.offline.contains(&Metric::ExpectedMaxRr) && self.users.is_none();
        problems.when(homeless, "metrics.offline", "expected-maxrr needs a section [users]: it is about their clicks");
    }
}

#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem::new(key, message));
    }

    fn when(&mut self, is_wrong: bool, key: &str, message: impl Into<String>) {
        if is_wrong {
            self.add(key, message);
        }
    }

    fn parameters(&mut self, section: &str, errors: impl IntoIterator<Item = ParameterError>) {
        errors
            .into_iter()
            .for_each(|error| self.add(format!("{section}.{}", error.name), format!("must be {}", error.right)));
    }
}
