//! Values and combinations that cannot work, refused before any work.

use std::collections::HashSet;

use foltr_federation::privacy::DiscreteGaussianParameters;
use foltr_rank::rng::MAX_ROUNDS;
use foltr_rank::{Initialisation, MAX_SHOWN};
use foltr_simulation::adversary::AttackMethod;

use super::{
    AssignedPer, Data, Evaluate, EvolutionStream, Experiment, Federation, Learner, Metric, Normalise, Partition,
    Privacy, Problem, RankerShape, Shared, Split, Users,
};

/// Intents that can be generated.
const MAX_INTENTS: usize = 64;

/// Beyond any use, and within any memory.
const MAX_HIDDEN: usize = 65_536;

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
        let no_width = |n_features: Option<usize>| n_features == Some(0);
        match &self.data {
            Data::Synthetic { queries, validation_queries, test_queries, intents, conflict, .. } => {
                let n_intents = intents.unwrap_or(1);
                problems.when(!(1..=MAX_INTENTS).contains(&n_intents), "data.intents", "must be 1 to 64");
                let in_range = conflict.is_none_or(|conflict| (0.0..=1.0).contains(&conflict.share()));
                problems.when(!in_range, "data.conflict", "must be \"mild\", \"strong\" or a number from 0 to 1");
                let idle = conflict.is_some() && n_intents == 1;
                problems.when(idle, "data.conflict", "has no effect with one intent; set data.intents to 2 or more");
                problems.when(*queries == 0, "data.queries", "at least one query is needed");
                problems.when(*test_queries == Some(0), "data.test_queries", "at least one query is needed");
                let unseen = *validation_queries == Some(0) && self.metrics.evaluate_on.contains(&Split::Validation);
                problems.when(unseen, "metrics.evaluate_on", "`data.validation_queries` is 0: nothing to evaluate on");
            }
            Data::Folder { path, folds, n_features, .. } => {
                problems.when(path.as_os_str().is_empty(), "data.path", "a folder is needed");
                problems.when(no_width(*n_features), "data.n_features", "at least one feature is needed");
                let folds = folds.as_deref().unwrap_or(&[1]);
                problems.when(folds.is_empty(), "data.folds", "name at least one fold, or leave the key out for all");
                problems.when(folds.contains(&0), "data.folds", "folds are counted from 1");
                let mut sorted = folds.to_vec();
                sorted.sort_unstable();
                let twice = sorted.windows(2).any(|pair| pair[0] == pair[1]);
                problems.when(twice, "data.folds", "a fold is there twice; equal runs would count as two");
            }
            Data::Files { train, test, validation, n_features, .. } => {
                problems.when(train.is_empty(), "data.train", "at least one file is needed");
                problems.when(test.is_empty(), "data.test", "at least one file is needed");
                problems.when(no_width(*n_features), "data.n_features", "at least one feature is needed");
                let unseen = validation.is_empty() && self.metrics.evaluate_on.contains(&Split::Validation);
                problems.when(unseen, "metrics.evaluate_on", "`data.validation` names no file to evaluate on");
            }
            Data::Intents { path, n_features, .. } => {
                problems.when(path.as_os_str().is_empty(), "data.path", "a folder is needed");
                problems.when(no_width(*n_features), "data.n_features", "at least one feature is needed");
            }
            Data::UserLog { min_queries, max_users, test_share, n_features, .. } => {
                problems.when(no_width(*n_features), "data.n_features", "at least one feature is needed");
                problems.when(*min_queries == 0, "data.min_queries", "a user has at least one query");
                problems.when(
                    *max_users == Some(0),
                    "data.max_users",
                    "at least one user is needed; leave it out for all",
                );
                let sound = *test_share > 0.0 && *test_share < 1.0;
                problems.when(!sound, "data.test_share", "must be above 0 and below 1");
            }
        }
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

    /// What clients hold.
    fn check_partition(&self, problems: &mut Problems) {
        let Some(partition) = &self.partition else { return };
        let key = "partition.kind";
        match partition {
            Partition::Intents { .. } | Partition::MergedIntents {} => {
                let right = "needs data with intents: data.kind = \"intents\", or data.intents of 2 or more";
                problems.when(!self.data.has_intents(), key, right);
            }
            Partition::Labels { labels_per_client, shared, normalise_after, .. } => {
                let unlike = *normalise_after == Some(true) && self.data.normalise() == Normalise::None;
                let advice = "needs data.normalise = \"query\": held-out queries would keep their raw features";
                problems.when(unlike, "partition.normalise_after", advice);
                let unknown = !(1..=2).contains(labels_per_client);
                problems.when(unknown, "partition.labels_per_client", "must be 1 or 2");
                if let Some(Shared { queries, warm_up }) = shared {
                    problems.when(*queries == 0, "partition.shared.queries", "at least one draw is needed");
                    let pdgd = matches!(self.learner, Learner::Pdgd { .. });
                    let other = *warm_up > 0 && !pdgd;
                    problems.when(other, "partition.shared.warm_up", "needs learner.kind = \"pdgd\"");
                }
            }
            Partition::Dirichlet { alpha } => problems.positive("partition.alpha", *alpha),
            Partition::UserLog {} => {
                let is_log = matches!(self.data, Data::UserLog { .. });
                problems.when(!is_log, key, "needs data.kind = \"user-log\", which knows users");
            }
            Partition::Iid {} | Partition::FeatureClusters {} => {}
        }
    }

    /// Coins and losses.
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
        let other = !matches!(self.privacy, Privacy::Gaussian(_));
        let only = "needs privacy.kind = \"gaussian\": for the others nothing is proven about coins";
        problems.when(other, key, only);
    }

    fn check_users(&self, problems: &mut Problems) {
        let Some(users) = &self.users else { return };
        for (i, model) in users.models().iter().enumerate() {
            let of = if matches!(users, Users::Several { .. }) { format!("users.models[{i}]") } else { "users".into() };
            let nested = matches!(model, Users::Several { .. });
            problems.when(nested, &format!("{of}.kind"), "\"several\" cannot be among the models of \"several\"");
            let unknown = model.grades().is_some_and(|grades| ![2, 3, 5].contains(&grades));
            problems.when(unknown && !nested, &format!("{of}.grades"), "users are defined for 2, 3 or 5 grades");
            if let Users::PositionBased { eta, .. } = model {
                let sound = eta.is_finite() && *eta >= 0.0;
                problems.when(!sound, &format!("{of}.eta"), "must be 0 (no position bias) or a positive number");
            }
        }
        if let Users::Several { models, each } = users {
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
        if let RankerShape::Mlp { hidden, .. } = ranker {
            problems.when(hidden == 0, "ranker.hidden", "a network needs at least one hidden unit");
            problems.when(hidden > MAX_HIDDEN, "ranker.hidden", format!("at most {MAX_HIDDEN} hidden units"));
        }
        if let Initialisation::RandomNorm { norm } = ranker.initialisation() {
            let sound = norm.is_finite() && norm > 0.0;
            problems.when(!sound, "ranker.initialisation.norm", "must be a positive number; use kind = \"zero\" for 0");
        }
        // With zero weights every gradient of a hidden layer is zero, for ever.
        let stuck = matches!(ranker, RankerShape::Mlp { .. }) && ranker.initialisation() == Initialisation::Zero;
        let stuck = stuck && matches!(self.learner, Learner::Pdgd { .. } | Learner::CentralisedPdgd { .. });
        let advice = "a network with zero weights has no gradient and PDGD would never move it; use \"fan-in\"";
        problems.when(stuck, "ranker.initialisation.kind", advice);
    }

    fn check_learner(&self, problems: &mut Problems) {
        match self.learner {
            Learner::Pdgd { learning_rate, .. } => {
                problems.positive("learner.learning_rate", learning_rate);
            }
            Learner::Evolution { sigma, antithetic, stream, .. } => {
                problems.positive("learner.sigma", sigma);
                if let Some(interactions) = self.clients.as_ref().and_then(|clients| clients.interactions) {
                    let odd = antithetic && !interactions.is_multiple_of(2);
                    let advice = "must be even: half of them try the opposite perturbation (learner.antithetic = true)";
                    problems.when(odd, "clients.interactions", advice);
                }
                if stream == EvolutionStream::Published {
                    self.check_published_stream(problems);
                }
            }
            Learner::CentralisedPdgd { learning_rate, batch, decay, budget, interactions_per_round } => {
                problems.positive("learner.learning_rate", learning_rate);
                problems.when(batch == 0, "learner.batch", "at least one interaction a step is needed");
                let sound = decay.is_none_or(|decay| decay > 0.0 && decay <= 1.0);
                problems.when(!sound, "learner.decay", "must be above 0 and at most 1");
                let none = interactions_per_round == 0;
                problems.when(none, "learner.interactions_per_round", "at least one interaction a round is needed");
                let short = format!("is less than one round (interactions_per_round = {interactions_per_round})");
                problems.when(budget < interactions_per_round.max(1), "learner.budget", short);
            }
            Learner::LeastSquares => {}
            Learner::RankingSvm { c } => problems.positive("learner.c", c),
            Learner::Random => {
                let other = self.metrics.offline.iter().any(|metric| !matches!(metric, Metric::Ndcg(_)));
                problems.when(other, "metrics.offline", "a random ranking has an expected value of ndcg@K only");
            }
        }
    }

    /// The published generator is only defined for what the published code did.
    fn check_published_stream(&self, problems: &mut Problems) {
        let only = |what: &str| format!("\"published\" needs {what}: the published code did nothing else");
        let cascade = matches!(self.users, Some(Users::Cascade { .. }) | None);
        problems.when(!cascade, "learner.stream", only("users.kind = \"cascade\""));
        let equal = matches!(self.partition, None | Some(Partition::Iid {} | Partition::MergedIntents {}));
        problems.when(!equal, "learner.stream", only("clients that hold the same (no [partition])"));
    }

    fn check_federation(&self, problems: &mut Problems) {
        let Some(Federation { rounds, budget, average_last, shards, .. }) = &self.federation else { return };
        let sound = average_last.is_none_or(|share| share > 0.0 && share <= 1.0);
        problems.when(!sound, "federation.average_last", "must be above 0 and at most 1");
        let n_clients = self.clients.as_ref().map_or(usize::MAX, |clients| clients.n_clients);
        let sound = shards.is_none_or(|shards| shards > 0 && shards as usize <= n_clients);
        problems.when(!sound, "federation.shards", "must be at least 1 and at most the number of clients");
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

    /// Clients and rounds are numbered in the messages and in the random streams.
    fn check_schedule(&self, problems: &mut Problems) {
        let Some(schedule) = self.schedule() else { return };
        let key = match (&self.learner, &self.federation) {
            (Learner::CentralisedPdgd { .. }, _) => "learner.interactions_per_round",
            (_, Some(Federation { rounds: Some(_), .. })) => "federation.rounds",
            _ => "federation.budget",
        };
        let too_long = format!("makes {} rounds, at most {} can be numbered", schedule.n_rounds, MAX_ROUNDS - 1);
        problems.when(schedule.n_rounds >= MAX_ROUNDS as usize, key, too_long);
        let too_many = schedule.n_clients > u32::MAX as usize;
        problems.when(too_many, "clients.n_clients", format!("at most {} clients can be numbered", u32::MAX));
        let too_busy = schedule.interactions > u32::MAX as usize;
        problems.when(too_busy && self.learner.is_federated(), "clients.interactions", format!("at most {}", u32::MAX));
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
        let range = format!("must be 1 to {MAX_SHOWN}");
        problems.when(!(1..=MAX_SHOWN).contains(&shown), "metrics.list_length", range);
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
        if let Some(Err(bad)) = metrics.promotion.map(|promotion| AttackMethod::check(&promotion)) {
            problems.add(format!("metrics.promotion.{}", bad.name), format!("must be {}", bad.right));
        }
        let homeless = metrics.offline.contains(&Metric::ExpectedMaxRr) && self.users.is_none();
        problems.when(homeless, "metrics.offline", "expected-maxrr needs a section [users]: it is about their clicks");
    }
}

/// Problems found so far.
#[derive(Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem::new(key, message));
    }

    pub(super) fn when(&mut self, wrong: bool, key: &str, message: impl Into<String>) {
        if wrong {
            self.add(key, message);
        }
    }

    fn positive(&mut self, key: &str, value: f64) {
        self.when(!(value.is_finite() && value > 0.0), key, "must be a positive number");
    }
}
