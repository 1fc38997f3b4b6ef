//! From `[partition]`, `[users]` and `[clients]` to what every client holds in one run.
//!
//! Everything random about it follows from the seed of the run.

use anyhow::{Context, Result, ensure};
use foltr_rank::rng::Streams;
use foltr_simulation::adversary::Attack;
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::Fold;
use foltr_simulation::normalise::normalise_per_query;
use foltr_simulation::partition::dirichlet::split_by_dirichlet;
use foltr_simulation::partition::feature_clusters::split_by_features;
use foltr_simulation::partition::intents::{merged_intents, shuffled_intents};
use foltr_simulation::partition::labels::split_by_labels;
use foltr_simulation::partition::shared::{draw_shared, shared_docs, with_shared};
use foltr_simulation::partition::{Holding, Partition, Queries};

use crate::spec::{self, Clients, Experiment};

/// What the clients of a run hold, and by what they are judged.
pub struct ClientData {
    /// What they learn from.
    pub partition: Partition,
    /// By number of a holding's group: the fold whose labels its clients are judged by.
    pub groups: Vec<Fold>,
    /// Queries that all clients share, to be learned from before the first round.
    pub shared: Option<TrainingSet>,
}

/// Training data by client, before users and quantities.
struct Parts {
    sets: Vec<Dataset>,
    /// Of each client, when all learn from the same set.
    queries: Vec<Vec<u32>>,
    groups: Vec<Fold>,
    shared: Option<Dataset>,
}

impl Parts {
    fn same(fold: Fold) -> Self {
        Self { sets: vec![fold.train.clone()], queries: Vec::new(), groups: vec![fold], shared: None }
    }

    fn listed(fold: &Fold, queries: Vec<Vec<u32>>) -> Self {
        Self { queries, ..Self::same(fold.clone()) }
    }

    fn docs(fold: &Fold, docs: &[Vec<u32>], finish: impl Fn(Dataset) -> Dataset) -> Self {
        let sets = docs.iter().map(|docs| finish(fold.train.with_docs(docs))).collect();
        Self { sets, ..Self::same(fold.clone()) }
    }
}

/// What every client of a learner from clicks holds. `users` are the different ones, client c having number c modulo how many they are.
///
/// # Errors
/// If the data does not have what the partition asks for.
pub fn held(experiment: &Experiment, fold: &Fold, users: Vec<Users>, seed: u64) -> Result<ClientData> {
    let training = |data: Dataset| TrainingSet::new(data, experiment.metrics.cutoff);
    let Some(clients) = &experiment.clients else { return centralised(experiment, fold, users, training) };
    let parts = parts(experiment, fold, clients.n_clients, &Streams::new(seed))?;
    let has_intents = parts.groups.len() > 1;
    let (mut holdings, mut own_queries) = (Vec::new(), Vec::new());
    for client in 0..n_holdings(&parts, clients, users.len()) {
        let queries = match parts.queries.get(client) {
            None => Queries::All,
            Some(queries) => {
                let start = u32::try_from(own_queries.len())?;
                own_queries.extend_from_slice(queries);
                Queries::Listed { start, len: u32::try_from(queries.len())? }
            }
        };
        let set = (client % parts.sets.len()) as u32;
        holdings.push(Holding {
            set,
            users: (client % users.len()) as u32,
            n_interactions: u32::try_from(clients.interactions_of(client))?,
            queries,
            group: if has_intents { set } else { 0 },
        });
    }
    let sets = parts.sets.into_iter().map(training).collect();
    let partition = Partition::new(sets, users, holdings, own_queries)?;
    Ok(ClientData {
        partition: poisoned(experiment, partition, fold)?,
        groups: parts.groups,
        shared: parts.shared.map(training),
    })
}

/// The same with attackers that lie with their clicks, if there are any.
fn poisoned(experiment: &Experiment, partition: Partition, fold: &Fold) -> Result<Partition> {
    let (Some(attack), Some(clients)) = (experiment.attack, &experiment.clients) else { return Ok(partition) };
    let n_clients = u32::try_from(clients.n_clients)?;
    match attack.method {
        Attack::Promotion(promotion) => {
            promotion.check_width(fold.train.n_features()).context("attack.method")?;
            let targets = promotion.targets(&fold.train);
            let relabel = |set: &TrainingSet| TrainingSet::new(targets.relabel(set.data()), experiment.metrics.cutoff);
            Ok(partition.with_labels_of(attack.attackers, n_clients, relabel))
        }
        method if method.reverses_clicks() => {
            let grades = experiment.users.as_ref().and_then(|users| users.grades()).unwrap_or(fold.max_label() + 1);
            let poison = Users::Cascade(Cascade::preset(Preset::Poison, grades - 1)?);
            Ok(partition.with_clicks_of(attack.attackers, n_clients, poison))
        }
        _ => Ok(partition),
    }
}

/// All interactions in one place.
fn centralised(
    experiment: &Experiment,
    fold: &Fold,
    users: Vec<Users>,
    training: impl Fn(Dataset) -> TrainingSet,
) -> Result<ClientData> {
    let schedule = experiment.schedule().context("a learner from clicks needs a schedule")?;
    let users = users.into_iter().next().context("a learner from clicks needs [users]")?;
    let partition = Partition::iid(training(fold.train.clone()), users, u32::try_from(schedule.interactions)?);
    Ok(ClientData { partition, groups: vec![fold.clone()], shared: None })
}

/// After how many clients everything repeats, if it does before the last one.
fn n_holdings(parts: &Parts, clients: &Clients, n_users: usize) -> usize {
    let n_quantities = clients.quantities.as_ref().map_or(1, Vec::len);
    let periods = [parts.sets.len(), parts.queries.len().max(1), n_users, n_quantities];
    let period = periods.into_iter().try_fold(1_usize, |all, one| (all / common_divisor(all, one)).checked_mul(one));
    period.map_or(clients.n_clients, |period| period.min(clients.n_clients))
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

fn parts(experiment: &Experiment, fold: &Fold, n_clients: usize, streams: &Streams) -> Result<Parts> {
    let key = "partition";
    Ok(match experiment.partition.unwrap_or(spec::Partition::Iid {}) {
        spec::Partition::Iid {} => Parts::same(fold.clone()),
        spec::Partition::MergedIntents {} => Parts::same(merged_intents(fold)),
        spec::Partition::Intents { shuffled } => {
            let n_intents = fold.n_intents();
            ensure!(n_intents > 1, "{key}: the data has but one intent");
            ensure!(n_clients >= n_intents, "{key}: {n_clients} clients cannot have {n_intents} intents");
            let fold = if shuffled { shuffled_intents(fold, streams) } else { fold.clone() };
            let groups: Vec<Fold> = (0..n_intents).map(|intent| fold.of_intent(intent)).collect();
            let sets = groups.iter().map(|fold| fold.train.clone()).collect();
            Parts { sets, queries: Vec::new(), groups, shared: None }
        }
        spec::Partition::Labels { labels_per_client, split, normalise_after, shared } => {
            let n_labels = usize::from(fold.max_label()) + 1;
            let own = split_by_labels(&fold.train, n_labels, n_clients, labels_per_client, split, streams);
            let own = own.context(key)?;
            let finish = |data: Dataset| if normalise_after == Some(true) { normalise_per_query(&data) } else { data };
            let Some(spec::Shared { queries, .. }) = shared else { return Ok(Parts::docs(fold, &own, finish)) };
            let shared = draw_shared(fold.train.n_queries(), queries, streams);
            let all: Vec<Vec<u32>> = own.iter().map(|own| with_shared(&fold.train, own, &shared)).collect();
            let shared = finish(fold.train.with_docs(&shared_docs(&fold.train, &shared)));
            Parts { shared: Some(shared), ..Parts::docs(fold, &all, finish) }
        }
        spec::Partition::Dirichlet { alpha } => {
            let docs = split_by_dirichlet(&fold.train, n_clients, alpha, streams).context(key)?;
            Parts::docs(fold, &docs, |data| data)
        }
        spec::Partition::FeatureClusters {} => {
            Parts::listed(fold, split_by_features(&fold.train, n_clients, streams).context(key)?)
        }
        spec::Partition::UserLog {} => {
            let owners = fold.owners.as_ref().with_context(|| format!("{key}: the data does not know its users"))?;
            let n_users = owners.n_users as usize;
            ensure!(
                n_clients == n_users,
                "{key}: the log has {n_users} users for {n_clients} clients; every user is a client: set \
                 clients.n_clients to {n_users}, or choose users with data.max_users and data.min_queries"
            );
            let mut queries = vec![Vec::new(); n_users];
            (0..).zip(&owners.train).for_each(|(query, &user)| queries[user as usize].push(query));
            Parts::listed(fold, queries)
        }
    })
}
